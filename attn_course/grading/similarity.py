"""Learners whose notebooks look alike: a hint to look at two files, and never a verdict.

Code that is alike for a good reason is taken out first: what was handed out, the course's own
right answers (the natural way to write a short formula is often the only one), and what more
learners share than `commonest` says. Of the fingerprints that are left, a pair must have at least
`LEAST_SHARED` in common, and they must be at least `LEAST_SHARE` of all that the shorter notebook
has. This is asked of each chapter, and of all chapters together. Half as many are enough for two
who have nearly everything of their own in common, in several chapters. So a short answer alone
never makes a pair.

Renamed variables, other comments and another order of functions and cells change nothing. Who
rewrites every line is not found, nor is a group of copies larger than `commonest`.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from attn_course.grading.fingerprints import grams, prints
from attn_course.inside.notebook import Cell, source_of
from attn_course.practice import exercises

LEAST_SHARED = 30
LEAST_SHARE = 0.5
# A learner who is mostly right has little code of their own, and a copy has all of it. In one
# chapter two learners may get there by the same slip; in several they do not.
FEW_SHARED, NEARLY_ALL, SEVERAL = 15, 0.85, 2
_FEW, _MANY = 4, 10  # the bounds of `commonest`

Two = tuple[str, str]  # the names of two learners, in order


@dataclass(frozen=True)
class Place:
    """Lines of a cell from which a fingerprint comes."""

    cell: int  # its number in the notebook
    first: int
    last: int


Prints = Mapping[int, Sequence[Place]]  # the fingerprints of a notebook, and where they are


@dataclass(frozen=True)
class Overlap:
    """What two notebooks of one chapter have in common; `sizes` are the prints of each."""

    chapter: str
    shared: tuple[int, ...]
    sizes: tuple[int, int]
    places: tuple[tuple[Place, ...], tuple[Place, ...]]  # of one, of the other, in step

    @property
    def share(self) -> float:
        """The share of the shorter one's own code that is in the other."""
        return len(self.shared) / max(min(self.sizes), 1)

    def cells(self) -> list[tuple[tuple[int, int], int]]:
        """Return the cells that match, with how many fingerprints they share, the most first."""
        numbers = zip(*([place.cell for place in side] for side in self.places), strict=True)
        return Counter(numbers).most_common()


@dataclass(frozen=True)
class Pair:
    """Two learners who look alike, in one chapter or in all of them together."""

    learners: Two
    shared: int  # fingerprints in common, in all chapters that both have
    share: float  # of those that the shorter notebooks have
    overlaps: tuple[Overlap, ...]  # by chapter, where there is one; the largest first


@dataclass(frozen=True)
class Compared:
    """The notebooks of a chapter: what each has of its own, without what is common."""

    chapter: str
    own: Mapping[str, Prints]  # by learner
    shared: Mapping[Two, Sequence[int]]

    def overlap(self, two: Two) -> Overlap:
        """Return what two learners have in common."""
        values = self.shared.get(two, ())
        first, second = (
            tuple(self.own[one][value][0] for value in values if one in self.own) for one in two
        )
        sizes = len(self.own.get(two[0], ())), len(self.own.get(two[1], ()))
        return Overlap(self.chapter, tuple(values), sizes, (first, second))


def commonest(learners: int) -> int:
    """Return how many learners may share a passage before it counts as common.

    >>> [commonest(learners) for learners in (8, 60, 300)]
    [4, 6, 10]
    """
    return min(max(_FEW, learners // 10), _MANY)


def compare(
    chapter: str, notebooks: Mapping[str, Sequence[Cell]], given: Iterable[str]
) -> Compared:
    """Compare the code cells of every learner in a chapter; the code `given` does not count."""
    known = {one.hash for source in given for one in grams(source)}
    own = {learner: _own(cells, known) for learner, cells in sorted(notebooks.items())}
    owners: dict[int, list[str]] = defaultdict(list)
    for learner, found in own.items():
        for value in found:
            owners[value].append(learner)
    most = commonest(len(notebooks))
    for value in [value for value, whose in owners.items() if len(whose) > most]:
        for learner in owners.pop(value):
            del own[learner][value]
    shared: dict[Two, list[int]] = defaultdict(list)
    for value, whose in owners.items():
        for one, other in combinations(whose, 2):
            shared[one, other].append(value)
    return Compared(chapter, own, shared)


def pairs(chapters: Sequence[Compared]) -> list[Pair]:
    """Return the learners who look alike, in a chapter or in all together, the most alike first."""
    every = dict.fromkeys(two for chapter in chapters for two in chapter.shared)
    found = [pair for two in every if (pair := _pair(two, chapters)) is not None]
    return sorted(found, key=lambda pair: (-pair.shared * pair.share, pair.learners))


def _pair(two: Two, chapters: Sequence[Compared]) -> Pair | None:
    both = [one for one in chapters if two[0] in one.own and two[1] in one.own]
    shared = sum(len(one.shared.get(two, ())) for one in both)
    size = sum(min(len(one.own[learner]) for learner in two) for one in both)
    overlaps = [one.overlap(two) for one in both if two in one.shared]
    alone = any(_is_much(len(one.shared), min(one.sizes)) for one in overlaps)
    if not alone and not _is_much(shared, size) and not _is_nearly_all(shared, size, overlaps):
        return None
    overlaps.sort(key=lambda one: (-len(one.shared) * one.share, one.chapter))
    return Pair(two, shared, shared / max(size, 1), tuple(overlaps))


def _is_much(shared: int, size: int) -> bool:
    return shared >= LEAST_SHARED and shared >= LEAST_SHARE * size


def _is_nearly_all(shared: int, size: int, overlaps: Sequence[Overlap]) -> bool:
    return shared >= FEW_SHARED and shared >= NEARLY_ALL * size and len(overlaps) >= SEVERAL


def _own(cells: Sequence[Cell], known: set[int]) -> dict[int, list[Place]]:
    made: dict[int, list[Place]] = defaultdict(list)
    for cell in cells:
        for one in prints(cell.source):
            if one.hash not in known:
                made[one.hash].append(Place(cell.number, one.first, one.last))
    return dict(made)


def given_code(stem: str) -> list[str]:
    """Return the code of a chapter that does not count: handed out, or a right answer of ours.

    Of a chapter that the course does not have, none is known.
    """
    if not (exercises.FOLDER / f"{stem}.json").is_file():
        return []
    compiled = exercises.compiled(stem)
    solutions = [one["program"] for one in compiled["exercises"]]
    # The variants, which are right answers too, are in the files with the checks.
    folder = Path(exercises.FOLDER, stem.partition("_")[2])
    variants = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py"))]
    return [*handed_out(stem), *solutions, *variants]


def handed_out(stem: str) -> list[str]:
    """Return the cells of a chapter's notebook as learners get it."""
    return [source_of(one) for one in exercises.compiled(stem)["notebook"]["cells"]]
