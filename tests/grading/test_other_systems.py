"""Where nothing can be graded at all, one sentence says so, and nothing is changed."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# What the grader would find on Windows: no such modules, no such functions, no library of C.
LIKE_WINDOWS = """
import ctypes, os, sys
for name in ("resource", "fcntl", "pwd", "grp", "termios"):
    sys.modules[name] = None
for name in ("fork", "geteuid", "getuid", "setsid", "wait4", "kill", "sched_getaffinity"):
    delattr(os, name)
honest = ctypes.CDLL.__init__
def of_windows(self, name, *arguments, **choices):
    if name is None:
        raise TypeError("bad argument type for built-in operation")
    honest(self, name, *arguments, **choices)
ctypes.CDLL.__init__ = of_windows
"""
GRADE = """
from attn_course.cli import main
sys.argv = ["attn-course", "grade", *sys.argv[1:]]
sys.exit(main())
"""


@pytest.mark.parametrize("trust", [[], ["--i-trust-these-files"], ["--isolation", "none"]])
def test_on_windows_grading_is_refused_in_a_sentence(tmp_path, trust):
    (tmp_path / "in").mkdir()
    command = [sys.executable, "-c", LIKE_WINDOWS + GRADE, str(tmp_path / "in")]
    done = subprocess.run(
        [*command, "--out", str(tmp_path / "out"), *trust],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.stderr == "Grading needs Linux or macOS; on Windows, use WSL.\n"
    assert (done.returncode, done.stdout) == (2, "")
    assert not (tmp_path / "out").exists()
