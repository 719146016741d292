"""How long a learner waits for a word: processor seconds of whole commands, no PyTorch loaded."""

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.measure import Line

_COMMANDS = {
    "hint": (["hint", "01.average_pooling"], 0.4),
    "progress": (["progress"], 0.4),
    "start": (["start", "exercises"], 0.4),
    "check, an untouched NumPy exercise": (["check", "01.average_pooling"], None),
}


def run(repeats: int) -> Iterator[Line]:
    """Yield a line for each command: the median of at most seven runs."""
    with TemporaryDirectory() as folder:
        _seconds(["start", "."], Path(folder))  # something to check, and files compiled
        for what, (words, bound) in _COMMANDS.items():
            samples = [_seconds(words, Path(folder)) for _ in range(min(repeats, 7))]
            low, *_, high = sorted(samples)
            detail = f"{low:.2f} to {high:.2f} s of the processor"
            yield Line(f"attn-course {what}", median(samples), bound, detail)


def _seconds(words: list[str], folder: Path) -> float:
    """Return the processor's time that one command took, its start included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "attn_course.cli", *words],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
        stdout=subprocess.DEVNULL,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
