"""The class of a rehearsal: what its instructor decides, and the files that it begins with.

The download is laid out as nbgrader's folder `submitted`, with the time of each notebook, so that
late work is late.
"""

import csv
import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from attn_course.practice.exercises import chapters
from benchmarks.grader.synthetic_course import Planted, solved

COMMENT = "We look at this again on Monday."
REASON = "We agreed on this after class."
_SECOND_ATTEMPTS = 3


@dataclass(frozen=True)
class Decided:
    """What the instructor of the rehearsal decides, and who hands in again."""

    learner: str
    exercise: str
    mistake: str
    points: int
    again: tuple[tuple[str, str], ...]  # learner and stem
    extended: str  # the late learner with an extension


def decide(planted: Planted) -> Decided:
    """Choose the commonest mistake, one who made it, and further learners who hand in again."""
    ordinary = [name for name, kind in planted.kinds.items() if kind == "ordinary"]
    (exercise, mistake), _count = next(
        one for one in planted.ranked() if any(_made(planted, name, *one[0]) for name in ordinary)
    )
    learner = next(name for name in ordinary if _made(planted, name, exercise, mistake))
    again = {learner: stem_of(exercise.partition(".")[0])}
    for (name, other), wrong in sorted(planted.answers.items()):
        if wrong and name in ordinary and len(again) < _SECOND_ATTEMPTS:
            again.setdefault(name, stem_of(other.partition(".")[0]))
    late = sorted(planted.late)
    extended = late[0] if len(late) > 1 else ""  # somebody must stay late
    return Decided(learner, exercise, mistake, 1, tuple(again.items()), extended)


def _made(planted: Planted, learner: str, exercise: str, mistake: str) -> bool:
    return planted.answers.get((learner, exercise)) == mistake


def stem_of(word: str) -> str:
    """Return the stem of a chapter that is named by its number, or by its stem."""
    return chapters()[word.partition("_")[0]].stem


def write_files(planted: Planted, decided: Decided, folder: Path) -> None:
    """Write both downloads, the roster and the policy; the first download comes last."""
    _write_again(planted, decided, folder)
    _write_desk(planted, decided, folder)
    _write_download(planted, folder)


def _write_download(planted: Planted, folder: Path) -> None:
    place = folder / "download.part" / "submitted"
    for path in sorted(planted.folder.glob("*/*.ipynb")):
        learner, stem = path.parent.name, path.stem
        when = datetime.fromtimestamp(path.stat().st_mtime, planted.deadline.tzinfo)
        _hand_in(place / learner / stem, path.read_text(encoding="utf-8"), when)
    place.parent.rename(folder / "download")


def _write_again(planted: Planted, decided: Decided, folder: Path) -> None:
    for learner, stem in decided.again:
        place = folder / "again" / "submitted" / learner / stem
        _hand_in(place, solved(stem), planted.deadline - timedelta(minutes=1))


def _hand_in(place: Path, text: str, when: datetime) -> None:
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{place.name}.ipynb").write_text(text, encoding="utf-8")
    (place / "timestamp.txt").write_text(f"{when:%Y-%m-%d %H:%M:%S} UTC\n", encoding="utf-8")


def _write_desk(planted: Planted, decided: Decided, folder: Path) -> None:
    """Write the roster and the policy of the instructor."""
    with (folder / "roster.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["login"], *([name] for name in planted.kinds)])
    numbers = sorted({stem.partition("_")[0] for stem in planted.stems})
    lines = [
        *("[late]", 'grace = "15 minutes"', "per_day = 0.1", "floor = 0.5", 'exports = "final"'),
        *("[deadlines]", *(f"{number} = {planted.deadline.isoformat()}" for number in numbers)),
    ]
    if decided.extended:
        lines += [f"[extensions.{json.dumps(decided.extended)}]", 'all = "30 days"']
    (folder / "policy.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
