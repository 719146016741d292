"""Test what has changed, in less than two minutes: `tools/quick_tests.py [ARGUMENTS FOR PYTEST]`.

What has changed is what differs from the last commit that is on `main` too, or, where nothing does,
the last commit. A test file runs if it has changed or needs something that has; the doctests of
changed modules run as well. What needs the built book, a browser or a sandbox, or trains models, is
for `make test`.
"""

import subprocess
import sys
from pathlib import Path

from attn_course._sources import files_behind, imported_by

ROOT = Path(__file__).resolve().parents[1]
TOO_LONG = (
    *("tests/browser/", "tests/grading/", "tests/inside/test_worker.py"),
    *("tests/inside/test_lockdown.py", "tests/tasks/test_tasks.py", "tests/explanation/"),
    *(f"tests/course/test_{name}.py" for name in ("exercises", "setup", "notebooks", "taxonomy")),
)


def main(arguments):
    changed = changed_files()
    chosen = [*tests_of(changed), *doctests_of(changed)]
    if not chosen:
        print("quick: nothing has changed that a quick test would notice; `make test` runs all.")
        return 0
    print(f"quick: {len(changed)} files have changed, {len(chosen)} files with tests need them.")
    command = [sys.executable, "-m", "pytest", "-q", *arguments, *chosen]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def changed_files():
    """Return the paths that differ from `main`, or in the last commit; new files count."""
    base = git("merge-base", "HEAD", "main") or ["HEAD"]
    new = git("ls-files", "--others", "--exclude-standard")
    changed = git("diff", "--name-only", *base) + new
    changed = changed or git("diff", "--name-only", "HEAD~1")
    return {ROOT / name for name in changed}


def git(*words):
    asked = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return asked.stdout.split("\n")[:-1] if asked.returncode == 0 else []


def tests_of(changed):
    """Return the test files that have changed, or that need what has."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(TOO_LONG) and changed & {path, *needed_by(path)}:
            yield name


def needed_by(test):
    """Return the files of the course and the helpers of its folder that a test file imports."""
    source = test.read_text(encoding="utf-8")
    helpers = [path for path in (ROOT / "tests").rglob("*.py") if f".{path.stem} import" in source]
    return {*files_behind(imported_by(source), ROOT), *helpers}


def doctests_of(changed):
    """Return the modules of the package that have changed."""
    package = ROOT / "attn_course"
    found = (path for path in changed if package in path.parents and path.suffix == ".py")
    return sorted(path.relative_to(ROOT).as_posix() for path in found if path.is_file())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
