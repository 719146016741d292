"""What the results of a class say: how hard, how telling, which mistakes, what is not known.

Numbers are of what was judged: a blank is no 0. *Difficulty* is the mean share of the points.
*Discrimination* is the corrected item–total correlation: that of the points of an exercise with
those of the rest of the notebook. Where it is high, who can do the rest can do this too; where it
is negative, something may be wrong with the exercise.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from attn_course.grading.gradebook import Entry
from attn_course.grading.records import ExerciseRecord
from attn_course.practice.feedback import readable
from attn_course.practice.results import Verdict, in_words
from attn_course.translate import _

LEAST_LEARNERS = 10  # for a correlation: of fewer it says next to nothing
_NEGATIVE, _LITTLE, _WELL = -0.1, 0.2, 0.4  # between the first two it is near 0
_UNWRITTEN = (Verdict.TODO, Verdict.MISSING)

_FoundIn = Callable[[ExerciseRecord], list[tuple[str, str]]]  # a name and a sentence each


@dataclass(frozen=True)
class Item:
    """How a class did in one exercise, or in one group of its cases (`label`)."""

    chapter: str
    exercise: str
    title: str
    label: str  # empty for the exercise as a whole
    most: int
    judged: int
    answered: int  # of those that were judged, how many had written something
    right: int  # … and how many had all points
    difficulty: float | None  # the mean share of the points
    discrimination: float | None

    @property
    def words(self) -> str:
        """What the discrimination says."""
        if self.judged < LEAST_LEARNERS:
            return _("too few learners to say")
        if self.discrimination is None:
            return _("all have the same points, so it tells nothing")
        if self.discrimination < _NEGATIVE:
            return _("negative: who did well elsewhere did worse here, so look at the exercise")
        if self.discrimination < _LITTLE:
            return _("hardly tells who can do the rest")
        if self.discrimination < _WELL:
            return _("tells a little about the rest")
        return _("tells well who can do the rest")


@dataclass(frozen=True)
class Shared:
    """A named mistake, or what was observed (`name` is empty), and who shares it."""

    exercise: str
    title: str
    name: str
    message: str
    section: str
    section_label: str
    section_page: str
    learners: tuple[str, ...]
    answered: int  # how many wrote something for the exercise

    @property
    def readable(self) -> str:
        """The name in words."""
        return readable(self.name)


@dataclass(frozen=True)
class ChapterFacts:
    """One chapter: the share of the points of each notebook, and the time that grading took."""

    chapter: str
    title: str
    most: int
    notebooks: int  # that were handed in
    percents: tuple[float, ...]  # of those with points
    seconds: tuple[tuple[float, str], ...]  # of those that were run, with the learner, in order


@dataclass(frozen=True)
class Blank:
    """A notebook, or an exercise, without points: whose, and why."""

    learner: str
    chapter: str
    status: str
    reason: str


@dataclass(frozen=True)
class ClassStatistics:
    """All that a report shows of the gradebook."""

    learners: int
    chapters: tuple[ChapterFacts, ...]
    items: tuple[Item, ...]
    mistakes: tuple[Shared, ...]  # the one that most share first
    observations: tuple[Shared, ...]
    blanks: tuple[Blank, ...]
    overrides: int


def statistics_of(entries: Sequence[Entry]) -> ClassStatistics:
    """Return what the results that count say about a class."""
    by_chapter: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_chapter[entry.chapter].append(entry)
    ordered = [by_chapter[chapter] for chapter in sorted(by_chapter)]
    return ClassStatistics(
        learners=len({entry.learner for entry in entries}),
        chapters=tuple(_chapter(several) for several in ordered),
        items=tuple(item for several in ordered for item in _items(several)),
        mistakes=tuple(_ranked(entries, _mistake)),
        observations=tuple(_ranked(entries, _observed)),
        blanks=tuple(_blanks(entries)),
        overrides=sum(bool(one.decision) for e in entries for one in e.record.exercises),
    )


def _chapter(entries: Sequence[Entry]) -> ChapterFacts:
    judged = [(entry.record.points, entry.record.max_points) for entry in entries]
    ran = sorted((entry.seconds, entry.learner) for entry in entries if entry.seconds)
    return ChapterFacts(
        chapter=entries[0].chapter,
        title=next((entry.record.title for entry in entries if entry.record.title), ""),
        most=max(entry.record.max_points for entry in entries),
        notebooks=sum(entry.record.status is not Verdict.NOTHING_HANDED_IN for entry in entries),
        percents=tuple(100 * (p / most if most else 0) for p, most in judged if p is not None),
        seconds=tuple(ran),
    )


# --- difficulty and discrimination -----------------------------------------------------------


def _items(entries: Sequence[Entry]) -> list[Item]:
    """Return the exercises of a chapter, each followed by its groups."""
    records: dict[str, list[tuple[ExerciseRecord, int | None]]] = defaultdict(list)
    for entry in entries:
        for one in entry.record.exercises:
            if one.is_judged:
                records[one.id].append((one, entry.record.points))
    return [
        item
        for several in records.values()
        for item in (_exercise_item(entries[0].chapter, several), *_group_items(entries, several))
    ]


def _exercise_item(chapter: str, records: Sequence[tuple[ExerciseRecord, int | None]]) -> Item:
    earned = [(one.points or 0, total) for one, total in records]
    return _item(chapter, records, "", records[0][0].max_points, earned)


def _group_items(
    entries: Sequence[Entry], records: Sequence[tuple[ExerciseRecord, int | None]]
) -> list[Item]:
    worth = {group.label: group.points for one, _total in records for group in one.groups}
    if len(worth) < 2:
        return []  # the exercise says the same
    found = []
    for label, points in worth.items():
        with_group = [
            (one, total, group)
            for one, total in records
            for group in one.groups
            if group.label == label
        ]
        earned = [
            (group.points if group.status is Verdict.PASSED else 0, total)
            for _one, total, group in with_group
        ]
        kept = [(one, total) for one, total, _group in with_group]
        found.append(_item(entries[0].chapter, kept, label, points, earned))
    return found


def _item(
    chapter: str,
    records: Sequence[tuple[ExerciseRecord, int | None]],
    label: str,
    most: int,
    earned: Sequence[tuple[int, int | None]],
) -> Item:
    first = records[0][0]
    rest = [(points, total - points) for points, total in earned if total is not None]
    return Item(
        chapter=chapter,
        exercise=first.id,
        title=first.title,
        label=label,
        most=most,
        judged=len(records),
        answered=sum(one.verdict not in _UNWRITTEN for one, _total in records),
        right=sum(points == most for points, _total in earned),
        difficulty=sum(points for points, _total in earned) / (most * len(earned))
        if most
        else None,
        discrimination=correlation(rest) if len(rest) >= LEAST_LEARNERS else None,
    )


def correlation(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Return Pearson's correlation, or None where one side does not vary.

    >>> round(correlation([(0, 1), (1, 3), (2, 5)]), 3)
    1.0
    """
    count = len(pairs)
    means = [sum(side) / count for side in zip(*pairs, strict=True)] if count else [0.0, 0.0]
    centred = [(one - means[0], other - means[1]) for one, other in pairs]
    spread = math.sqrt(sum(a * a for a, _b in centred)) * math.sqrt(sum(b * b for _a, b in centred))
    return sum(a * b for a, b in centred) / spread if spread > 1e-12 else None


# --- mistakes --------------------------------------------------------------------------------


def _mistake(record: ExerciseRecord) -> list[tuple[str, str]]:
    return [(record.mistake, record.mistake_message)] if record.mistake else []


def _observed(record: ExerciseRecord) -> list[tuple[str, str]]:
    return [] if record.mistake else [("", sentence) for sentence in record.observations]


def _ranked(entries: Iterable[Entry], found_in: _FoundIn) -> list[Shared]:
    """Return what learners share, the most shared first; mistakes are known by their names."""
    answered: Counter[str] = Counter()
    who: dict[tuple[str, str], list[str]] = defaultdict(list)
    about: dict[tuple[str, str], list[ExerciseRecord]] = defaultdict(list)
    said: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for entry in entries:
        for one in entry.record.exercises:
            answered[one.id] += one.is_judged and one.verdict not in _UNWRITTEN
            for name, message in found_in(one):
                key = one.id, name or message
                who[key].append(entry.learner)
                about[key].append(one)
                said[key][message] += 1
    made = [
        Shared(
            exercise=exercise,
            title=about[exercise, key][0].title,
            name=about[exercise, key][0].mistake,
            message=said[exercise, key].most_common(1)[0][0],
            section=about[exercise, key][0].section,
            section_label=about[exercise, key][0].section_label,
            section_page=about[exercise, key][0].section_page,
            learners=tuple(learners),
            answered=answered[exercise],
        )
        for (exercise, key), learners in who.items()
    ]
    return sorted(made, key=lambda one: (-len(one.learners), one.exercise, one.name, one.message))


# --- what is not known -----------------------------------------------------------------------


def _blanks(entries: Iterable[Entry]) -> list[Blank]:
    return [
        Blank(entry.learner, entry.chapter, in_words(entry.record.status), entry.record.reason)
        for entry in entries
        if entry.record.points is None
    ]
