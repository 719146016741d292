"""Do the numbers come out the same? Runs every page and solution twice and compares strictly.

    python tools/reproduce.py                    all pages and solutions
    python tools/reproduce.py solutions/01_nadaraya_watson.md

The first run stores the outputs, the second compares with them (nbval): equal numbers, or the
cell carries the tag `nbval-ignore-output` and says in a comment why it may differ. Pictures are
not compared, the numbers behind them are. Exit code 1 where anything differs.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import jupytext
import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
MAY_DIFFER = "nbval-ignore-output"
SECONDS_A_CELL = 600


@dataclass
class Report:
    """How one file went."""

    name: str
    compared: int = 0
    may_differ: int = 0
    stopped: bool = False  # the first run did not reach the end, so there is nothing to compare
    problems: list[str] = field(default_factory=list)


def sources() -> list[Path]:
    """Return the pages that run code, and the solutions."""
    pages = [*sorted((ROOT / "book").glob("*.md")), *sorted((ROOT / "solutions").glob("*.md"))]
    return [page for page in pages if "{code-cell}" in page.read_text(encoding="utf-8")]


def lay_out(folder: Path) -> None:
    """Make `folder` look like the project, so that a page finds the files that it reads."""
    for path in ROOT.iterdir():
        if path.name not in ("book", "solutions", "_build"):
            (folder / path.name).symlink_to(path)
    for name in ("book", "solutions"):
        (folder / name).mkdir()
        for path in (ROOT / name).iterdir():
            if path.suffix != ".md":
                (folder / name / path.name).symlink_to(path)


def execute(source: Path, folder: Path) -> tuple[Path, Report]:
    """Turn a source into a notebook in `folder` and run it once; the outputs are stored in it."""
    name = source.relative_to(ROOT)
    report = Report(name.as_posix())
    notebook = jupytext.read(source, fmt="md:myst")
    target = (folder / name).with_suffix(".ipynb")
    for cell in notebook.cells:
        if MAY_DIFFER in cell.metadata.get("tags", []):
            report.may_differ += 1
            if not any(line.lstrip().startswith("#") for line in cell.source.split("\n")):
                first = cell.source.split("\n")[0]
                report.problems.append(f"a cell may differ and does not say why: {first}")
    where = {"metadata": {"path": str(target.parent)}}
    client = NotebookClient(
        notebook,
        timeout=SECONDS_A_CELL,
        kernel_name="python3",
        resources=where,
        extra_arguments=["--log-level=ERROR"],  # no word about how the kernel is reached
    )
    try:
        client.execute()
    except Exception as fault:  # a failing cell, a dead kernel, a time-out: all end this file
        last = str(fault).strip().split("\n")[-1]
        report.problems.append(f"the first run stopped: {last}")
        report.stopped = True
    nbformat.write(notebook, target)
    return target, report


def compare(notebooks: Iterable[Path], folder: Path, workers: int = 2) -> Path:
    """Run the notebooks again with nbval; return its report as a JUnit file."""
    results = folder / "results.xml"
    settings = folder / "empty.ini"  # the project's own pytest settings are for its tests
    settings.write_text("[pytest]\njunit_family = xunit1\n")
    command = [sys.executable, "-m", "pytest", "--nbval", "--nbval-current-env", "-q"]
    command += [f"--nbval-cell-timeout={SECONDS_A_CELL}", f"--junitxml={results}"]
    command += ["-c", str(settings), f"--rootdir={folder}", "-p", "no:cacheprovider"]
    command += ["-n", str(workers), "--dist", "loadfile", *map(str, notebooks)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode not in (0, 1):
        raise SystemExit(f"reproduce: nbval did not run:\n{done.stdout}{done.stderr}")
    return results


def read_results(results: Path, reports: dict[str, Report]) -> None:
    """Put what nbval found into the reports, by the name of the notebook."""
    for case in ElementTree.parse(results).iter("testcase"):
        place = case.get("file") or case.get("classname", "")
        report = next(report for stem, report in reports.items() if stem in place)
        report.compared += 1
        for fault in (*case.iter("failure"), *case.iter("error")):
            text = (fault.text or fault.get("message") or "").strip()
            report.problems.append(f"{case.get('name')} differs:\n{text}")


def table(reports: Iterable[Report]) -> str:
    """Return a line for each file."""
    lines = [f"{'file':40} {'cells':>6} {'may differ':>11}  result"]
    for report in reports:
        result = "the same" if not report.problems else f"{len(report.problems)} PROBLEMS"
        lines.append(f"{report.name:40} {report.compared:6} {report.may_differ:11}  {result}")
    return "\n".join(lines)


def reproduce(files: list[Path], folder: Path) -> list[Report]:
    """Run every file twice; return a report for each."""
    lay_out(folder)
    with ThreadPoolExecutor(max_workers=2) as pool:  # two kernels at a time
        executed = list(pool.map(lambda source: execute(source, folder), files))
    ran = [path for path, report in executed if not report.stopped]
    if ran:
        by_stem = {f"{path.parent.name}/{path.stem}": report for path, report in executed}
        by_stem |= {stem.replace("/", "."): report for stem, report in by_stem.items()}
        read_results(compare(ran, folder), by_stem)
    return [report for _path, report in executed]


def main() -> int:
    """Reproduce what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, help="pages or solutions (all)")
    files = [path.resolve() for path in parser.parse_args().files] or sources()
    for path in files:
        if not path.is_file() or path.parent not in (ROOT / "book", ROOT / "solutions"):
            parser.error(f"{path} is no page in book/ and no file in solutions/")
    os.environ["PYTHONPATH"] = str(ROOT)  # the kernels run the package of this checkout
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")  # a warning of the debugger's
    with tempfile.TemporaryDirectory(prefix="reproduce-") as folder:
        os.environ["ATTN_COURSE_HOME"] = folder  # not the learner's progress
        reports = reproduce(files, Path(folder).resolve())
    for report in reports:
        for problem in report.problems:
            print(f"{report.name}: {problem}\n", file=sys.stderr)
    print(table(reports))
    return 1 if any(report.problems for report in reports) else 0


if __name__ == "__main__":
    raise SystemExit(main())
