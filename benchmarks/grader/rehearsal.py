"""A dress rehearsal of a whole course: `python -m benchmarks.grader.rehearsal`.

A class that never was (`synthetic_course`) hands in as in nbgrader's folder `submitted`. It is
collected, graded in one run, in parts and by Dask, and reported; then points are overridden, a
mistake gets a comment, some learners hand in again, and the class is graded once more. Every step
is the command that an instructor types. What was planted is known, so a table of claims
(`rehearsal_claims`) says whether the desk found it; the exit code is 1 if a claim does not hold.

Some of the notebooks are hostile. They run in the grader's sandbox, and without one the rehearsal
ends at the first step that grades.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from attn_course._files import replace_file
from benchmarks.grader.claim import Claim, table
from benchmarks.grader.rehearsal_claims import claims
from benchmarks.grader.rehearsal_class import COMMENT, REASON, Decided, decide, stem_of, write_files
from benchmarks.grader.synthetic_course import Mix, make_course

PROGRAM = [sys.executable, "-m", "attn_course.cli"]
PARTS = 3
SYSTEMS = ("canvas", "moodle", "gradescope")
_SHOWN = "grading:"  # how the lines of progress begin


class StepFailed(Exception):  # noqa: N818  (the step failed; the text says which)
    """A command did not do its work."""


@dataclass(frozen=True)
class Step:
    """A command, and the file in the folder of the rehearsal that is there afterwards."""

    name: str
    words: tuple[str, ...]
    leaves: str


def rehearse(folder: Path, arguments: argparse.Namespace) -> list[Claim]:
    """Play the whole course in `folder`; return what became of each claim."""
    print("Writing the notebooks of the class.", flush=True)
    each = arguments.notebooks_each
    stems = [stem_of(word) for word in arguments.stems]
    mix = Mix(absent=0.01)
    made = folder / "made"
    planted = make_course(made, arguments.learners, arguments.seed, stems, mix, each)
    decided = decide(planted)
    if not (folder / "download").exists():
        write_files(planted, decided, folder)
    for step in steps(decided, arguments):
        _play(step, folder)
        if step.name == "grade":  # a later step grades into the same folder
            _keep_tables(folder / "results", folder / "before")
    return list(claims(planted, decided, folder, not arguments.no_dask))


def _keep_tables(results: Path, before: Path) -> None:
    if not before.exists():
        part = before.with_name("before.part")
        shutil.rmtree(part, ignore_errors=True)
        shutil.copytree(results, part, ignore=shutil.ignore_patterns("*.sqlite*", "feedback"))
        part.rename(before)


def steps(decided: Decided, arguments: argparse.Namespace) -> Iterator[Step]:
    """Yield what an instructor types, in its order."""
    collect = ("--from", "nbgrader", "--roster", "roster.csv", "--into", "submissions")
    yield Step("collect", ("collect", "download", *collect), "submissions/collected.csv")
    exports = [word for system in SYSTEMS for word in ("--export", system)]
    grade = ("grade", "submissions", "--policy", "policy.toml", "--roster", "roster.csv", *exports)
    grade = (*grade, "--seed", str(arguments.seed))
    if arguments.jobs:
        grade = (*grade, "--jobs", str(arguments.jobs))
    yield Step("grade", (*grade, "--out", "results"), "results/grades.csv")
    parts = [f"part-{number}" for number in range(1, PARTS + 1)]
    for number, part in enumerate(parts, start=1):
        words = (*grade, "--out", part, "--shard", f"{number}/{PARTS}")
        yield Step(f"grade {part}", words, f"{part}/grades.csv")
    yield Step("merge", ("merge", *parts, "--out", "merged", *exports), "merged/grades.csv")
    if not arguments.no_dask:
        words = (*grade, "--out", "dask", "--engine", "dask")
        yield Step("grade by Dask", words, "dask/grades.csv")
    yield Step("report", ("report", "results"), "results/report/alike.csv")
    at = ("--in", "results", "--by", "rehearsal")
    override = (decided.learner, decided.exercise, "--points", str(decided.points))
    words = ("override", *override, "--reason", REASON, *at)
    yield Step("override", words, "results/grades.csv")
    words = ("comment", decided.exercise, decided.mistake, COMMENT, *at)
    yield Step("comment", words, "results/grades.csv")
    yield Step("collect again", ("collect", "again", *collect), "submissions/collected.csv")
    yield Step("grade again", (*grade, "--out", "results"), "results/changes.csv")


# --- the commands ----------------------------------------------------------------------------


def _play(step: Step, folder: Path) -> None:
    """Run a command, unless it came to its end before, and keep what it said."""
    log = folder / "steps" / f"{step.name.replace(' ', '-')}.txt"
    if log.exists():
        print(f"{step.name}: done before", flush=True)
        return
    start = time.monotonic()
    code, said = _run(step.words, folder)
    # The exit code 1 also means that somebody has no points, and there are such learners.
    if code not in (0, 1) or not (folder / step.leaves).exists():
        last = "\n".join(said.splitlines()[-20:])
        raise StepFailed(f"{step.name}: exit code {code}\n{last}")
    log.parent.mkdir(exist_ok=True)
    replace_file(log, said)
    print(f"{step.name}: {time.monotonic() - start:.0f} s", flush=True)


def _run(words: Sequence[str], folder: Path) -> tuple[int, str]:
    english = os.environ | {"LC_ALL": "C.UTF-8", "LANGUAGE": "en", "OMP_NUM_THREADS": "1"}
    root = str(Path(__file__).parents[2])  # so that a course that is not installed is found
    english["PYTHONPATH"] = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    said = []
    with subprocess.Popen(
        [*PROGRAM, *words],
        cwd=folder,
        env=english,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
    ) as process:
        for line in process.stdout or ():
            said.append(line)
            if line.startswith(_SHOWN):
                print(line, end="", file=sys.stderr, flush=True)
    return process.returncode, "".join(said)


def main(words: Sequence[str] | None = None) -> int:
    """Rehearse, print the table of claims, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.grader.rehearsal",
        description="Rehearse a whole course with learners who never were, from the download to "
        "the exports, and check that what was planted is found.",
        epilog="Each learner works on a few of the notebooks, so that many learners over all "
        "chapters stay affordable; the chapters are dealt out like cards, and none is left out. "
        "With --keep, a rehearsal that was stopped goes on where it was.",
    )
    parser.add_argument("--learners", type=int, default=300, help="how many (%(default)s)")
    parser.add_argument(
        "--notebooks-each",
        type=int,
        default=4,
        metavar="N",
        help="notebooks per learner (%(default)s; 0: all of them)",
    )
    parser.add_argument(
        "--stems", nargs="+", default=[], metavar="NN", help="only these chapters (all)"
    )
    parser.add_argument("--seed", type=int, default=1, help="what everything is drawn from (1)")
    parser.add_argument("--jobs", type=int, help="notebooks at once (one for each core)")
    parser.add_argument("--no-dask", action="store_true", help="leave the Dask run out")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep all files there")
    arguments = parser.parse_args(words)
    with tempfile.TemporaryDirectory(prefix="attn-course-rehearsal-") as name:
        folder = (arguments.keep or Path(name)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        _refuse_another(parser, folder, arguments)
        try:
            found = rehearse(folder, arguments)
        except StepFailed as fault:
            print(fault, file=sys.stderr)
            return 1
    print(table(found))
    return 0 if all(claim.holds for claim in found) else 1


def _refuse_another(
    parser: argparse.ArgumentParser, folder: Path, arguments: argparse.Namespace
) -> None:
    """Refuse a folder that has another rehearsal in it."""
    file = folder / "rehearsal.json"
    names = ("learners", "notebooks_each", "stems", "seed")
    asked = json.dumps({name: getattr(arguments, name) for name in names}) + "\n"
    if not file.exists():
        replace_file(file, asked)
    elif file.read_text(encoding="utf-8") != asked:
        parser.error(f"{folder} has another rehearsal in it: {file.read_text(encoding='utf-8')}")


if __name__ == "__main__":
    sys.exit(main())
