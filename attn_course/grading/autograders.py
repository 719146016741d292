"""What other systems need to run the checks themselves: Gradescope's zip, a workflow of Classroom.

The files are small and made of what is installed here: the package as it is, the versions of what
it needs, the chapter's exercises. They follow what the systems document; nothing here can run them,
so they are linted, and said to be untested.
"""

import io
import json
import shlex
import zipfile
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path

import attn_course
from attn_course.grading.instructor import files_in
from attn_course.practice.exercise import Chapter
from attn_course.translate import _

OPTIONS = "options.json"  # of `attn-course grade`, in the zip
_PYTHON = "3.12"
_CPU_BUILDS = "https://download.pytorch.org/whl/cpu"
_DAY = (2020, 1, 1, 0, 0, 0)  # so that the same files give the same zip
_KINDS = (".py", ".json")  # of the package's files: what grading needs
_CHECKS = "checks"

_SETUP = f"""\
#!/usr/bin/env bash
# Gradescope runs this once, when it builds the image. It was not tested there.
set -euo pipefail

apt-get update
apt-get install -y --no-install-recommends bubblewrap python3-venv
python3 -m venv /autograder/uv
/autograder/uv/bin/pip install uv

# A Python that the course runs on, whatever the image has.
export UV_PYTHON_INSTALL_DIR=/autograder/python
/autograder/uv/bin/uv venv --python {_PYTHON} /autograder/venv
/autograder/uv/bin/uv pip install --python /autograder/venv/bin/python \\
    --extra-index-url {_CPU_BUILDS} -r /autograder/source/requirements.txt

# The course itself is in the zip.
site=$(/autograder/venv/bin/python -c 'import site; print(site.getsitepackages()[0])')
echo /autograder/source > "$site/attn_course.pth"
"""
_RUN = """\
#!/usr/bin/env bash
# Gradescope runs this for each submission. It was not tested there.
set -euo pipefail

export OMP_NUM_THREADS=1
exec /autograder/venv/bin/python -m attn_course.grading.gradescope_harness /autograder
"""
_WORKFLOW = """\
# Written by `attn-course autograder classroom`; it was not tested on GitHub.
# Put it into the template of the assignment, as .github/workflows/classroom.yml, with the notebook.
# An exercise has all of its points or none, and learners can change this file: for grades that
# count, collect the clones and run `attn-course grade`.
name: Exercises
on: [push, workflow_dispatch]
permissions: {{checks: write, actions: read, contents: read}}
jobs:
  run-autograding-tests:
    runs-on: ubuntu-latest
    timeout-minutes: 30
    if: github.actor != 'github-classroom[bot]'
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: {{python-version: "{python}"}}
      - run: |
          pip install --extra-index-url {cpu_builds} {install} pytest
{steps}
      - name: Report the points
        uses: classroom-resources/autograding-grading-reporter@v1
        env:
{results}
        with: {{runners: "{runners}"}}
"""
_STEP = """\
      - name: {id}
        id: {step}
        uses: classroom-resources/autograding-command-grader@v1
        with:
          test-name: {id}
          command: pytest --all-exercises '{notebook}::{id}'
          timeout: 10
          max-score: {points}"""


class AutograderProblem(Exception):  # noqa: N818  (it says what is the matter)
    """Something that an autograder needs is not here: the text says what."""


def gradescope_zip(
    chapters: Sequence[Chapter], checks: Path | None, without_sandbox: bool = False
) -> bytes:
    """Return the zip that Gradescope makes an autograder of."""
    options = ["--chapters", *(chapter.number for chapter in chapters)]
    options += ["--checks", _CHECKS] if checks else []
    options += ["--i-trust-these-files"] if without_sandbox else []
    files = {
        "setup.sh": _SETUP.encode(),
        "run_autograder": _RUN.encode(),
        "requirements.txt": "".join(f"{line}\n" for line in requirements()).encode(),
        OPTIONS: (json.dumps(options) + "\n").encode(),
        **_package(),
        **{f"{_CHECKS}/{path.name}": path.read_bytes() for path in _own(checks)},
    }
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            member = zipfile.ZipInfo(name, _DAY)
            is_program = name in ("setup.sh", "run_autograder")
            member.external_attr = (0o755 if is_program else 0o644) << 16
            archive.writestr(member, content, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def classroom_workflow(chapters: Sequence[Chapter], install: str) -> str:
    """Return the workflow that GitHub Classroom runs: pytest, once for each exercise."""
    steps: dict[str, str] = {}
    for chapter in chapters:
        for one in chapter.exercises.values():
            step = one.id.replace(".", "_")
            steps[f"e{step}"] = _STEP.format(
                id=one.id, step=f"e{step}", notebook=f"{chapter.stem}.ipynb", points=one.points
            )
    # GitHub's own ${{ … }} is none of our fields.
    outputs = "${{{{steps.{step}.outputs.result}}}}"
    results = [f'          {step.upper()}_RESULTS: "{outputs.format(step=step)}"' for step in steps]
    return _WORKFLOW.format(
        python=_PYTHON,
        cpu_builds=_CPU_BUILDS,
        install=shlex.quote(" ".join(install.split())),
        steps="\n".join(steps.values()),
        results="\n".join(results),
        runners=",".join(steps),
    )


def requirements() -> list[str]:
    """Return what the package needs, at the versions that are installed here."""
    try:
        needed = metadata.requires("attn-course") or []
        names = [line.split(";")[0] for line in needed if "extra ==" not in line]
        bare = [name.strip().split("[")[0] for name in map(_bare, names)]
        return [f"{name}=={metadata.version(name).partition('+')[0]}" for name in sorted(bare)]
    except metadata.PackageNotFoundError as fault:
        raise AutograderProblem(
            _("{name} is not installed, so its version is not known here.").format(name=fault.name)
        ) from fault


def _bare(requirement: str) -> str:
    """Return the name of a package without its versions.

    >>> _bare("numpy>=2.1"), _bare("torch (>=2.6)")
    ('numpy', 'torch ')
    """
    for place, letter in enumerate(requirement):
        if letter in "<>=!~(":
            return requirement[:place]
    return requirement


def _package() -> Mapping[str, bytes]:
    """Return the files of the package, as they are installed."""
    package = Path(attn_course.__file__).parent
    found = sorted(path for path in package.rglob("*") if path.suffix in _KINDS)
    return {
        f"attn_course/{path.relative_to(package).as_posix()}": path.read_bytes() for path in found
    }


def _own(checks: Path | None) -> list[Path]:
    return files_in(checks) if checks else []
