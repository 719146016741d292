"""What feedback is made of: a small report, made from a live check or from a stored record."""

from dataclasses import dataclass

from attn_course.practice.exercise import Chapter, Solution
from attn_course.practice.other_ways import other_ways
from attn_course.practice.results import Failure, Result, Verdict


@dataclass(frozen=True)
class GroupReport:
    """How one group of cases went."""

    label: str
    points: int
    verdict: Verdict


@dataclass(frozen=True)
class Section:
    """A section of the book to read."""

    chapter: str  # its number
    heading: str
    label: str = ""
    page: str = ""  # the stem of its file


@dataclass(frozen=True)
class Report:
    """How one exercise went, for a person to read.

    `is_live`: it is about code that the reader can change and check again at once.
    """

    id: str
    title: str
    kind: str
    verdict: Verdict
    points: int
    most: int
    groups: tuple[GroupReport, ...]
    section: Section
    mistake: str = ""  # the name of a known mistake, and what there is to say about it
    mistake_sentence: str = ""
    observations: tuple[str, ...] = ()  # what can be seen where no mistake is known
    failure: Failure | None = None
    uses: tuple[str, ...] = ()
    solution: Solution | None = None  # shown, folded, where all is right
    others: tuple[str, ...] = ()  # other right ways to write it, shown below
    is_live: bool = True

    @property
    def name(self) -> str:
        """What the learner defines."""
        return self.id.partition(".")[2]


def report_of(result: Result, with_solution: bool = False) -> Report:
    """Return the report of a check that was just made."""
    exercise, mistake = result.exercise, result.mistake
    solution = exercise.solution if with_solution else None
    is_right = result.verdict is Verdict.PASSED
    label = mistake.section if mistake else exercise.section
    return Report(
        id=exercise.id,
        title=exercise.title,
        kind=exercise.kind,
        verdict=result.verdict,
        points=result.points,
        most=exercise.points,
        groups=tuple(GroupReport(one.label, one.points, one.verdict) for one in result.groups),
        section=section_of(exercise.chapter, label),
        mistake=mistake.name if mistake else "",
        mistake_sentence=mistake.sentence if mistake else "",
        observations=result.observations,
        failure=result.failure,
        uses=exercise.uses,
        solution=solution,
        others=other_ways(exercise) if solution and is_right else (),
    )


def section_of(chapter: Chapter, label: str) -> Section:
    """Return a section that an exercise of `chapter` points to."""
    return Section(chapter.number, chapter.sections[label], label, chapter.pages.get(label, ""))
