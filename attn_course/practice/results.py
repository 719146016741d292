"""What a check found, as data: verdicts, what was raised, where values differ.

Nothing here is a text that other code has to read back: who wants to know how a check ended asks
for its `Verdict`, and who wants to know what was raised asks for `Raised.type`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attn_course.inside.wire import Plain
from attn_course.translate import _

if TYPE_CHECKING:
    from attn_course.practice.exercise import Exercise


class Verdict(StrEnum):
    """How a group of cases, an exercise or a whole notebook ended; gradebooks keep these words."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    TODO = "todo"
    MISSING = "missing"
    # The grader alone gives these. The faults of an exercise, the worst first:
    BROKE_PROTOCOL = "broke the protocol"
    CRASHED = "crashed"
    OUT_OF_MEMORY = "out of memory"
    TIMED_OUT = "timed out"
    NOT_JUDGED = "not judged"
    # … and those of a notebook:
    GRADED = "graded"
    NO_CODE = "no code"
    UNREADABLE = "unreadable"
    NOT_GRADED = "not graded"
    NOTHING_HANDED_IN = "nothing handed in"


# An exercise or a notebook has the first of these that one of its parts has.
WORST_FIRST = (
    Verdict.BROKE_PROTOCOL,
    Verdict.CRASHED,
    Verdict.OUT_OF_MEMORY,
    Verdict.TIMED_OUT,
    Verdict.NOT_JUDGED,
    Verdict.MISSING,
    Verdict.TODO,
    Verdict.ERROR,
    Verdict.FAILED,
)
FAULTS = WORST_FIRST[:5]


def in_words(verdict: Verdict) -> str:
    """Return a verdict in the reader's language."""
    words = {
        Verdict.PASSED: _("passed"),
        Verdict.FAILED: _("wrong"),
        Verdict.ERROR: _("stopped"),
        Verdict.TODO: _("to do"),
        Verdict.MISSING: _("missing"),
        Verdict.BROKE_PROTOCOL: _("broke the protocol"),
        Verdict.CRASHED: _("crashed"),
        Verdict.OUT_OF_MEMORY: _("out of memory"),
        Verdict.TIMED_OUT: _("timed out"),
        Verdict.NOT_JUDGED: _("not judged"),
        Verdict.GRADED: _("graded"),
        Verdict.NO_CODE: _("no code"),
        Verdict.UNREADABLE: _("unreadable"),
        Verdict.NOT_GRADED: _("not graded"),
        Verdict.NOTHING_HANDED_IN: _("nothing handed in"),
    }
    return words[verdict]


@dataclass(frozen=True)
class Raised:
    """An exception: the name of its class, its text, and the learner's own line if it is known."""

    type: str
    message: str
    line: str = ""

    @property
    def sentence(self) -> str:
        """What a learner reads."""
        return _("It raised {type}: {message}").format(type=self.type, message=self.message)


@dataclass(frozen=True)
class Difference:
    """How what came differs from what was wanted.

    `place` leads to the part that differs (`("gradients", "W")`, empty for the whole), `got` and
    `wanted` are that part, and `where` marks the numbers of it that differ, where both are arrays
    of one shape. `is_secret`: the right value is for the learner to find, so it is not here.
    """

    sentence: str
    got: Plain
    wanted: Plain
    place: tuple[str, ...] = ()
    where: NDArray[np.bool_] | None = None
    is_secret: bool = False


@dataclass(frozen=True)
class Failure:
    """What went wrong on the smallest failing case: something was raised, or values differ."""

    arguments: dict[str, Plain]
    raised: Raised | None = None
    difference: Difference | None = None
    parameters: dict[str, Plain] | None = None  # that the check loaded into a module

    @property
    def sentence(self) -> str:
        """What a learner reads first."""
        found = self.raised or self.difference
        assert found is not None  # a failure has the one or the other
        return found.sentence


@dataclass(frozen=True)
class GroupResult:
    """How one group of cases went."""

    label: str
    points: int
    verdict: Verdict
    failure: Failure | None = None


@dataclass(frozen=True)
class Mistake:
    """A known mistake that was recognised; `is_certain` is False where it is a guess."""

    name: str
    message: str
    section: str
    is_certain: bool = True

    @property
    def sentence(self) -> str:
        """What a learner reads: a guess begins with "perhaps"."""
        if self.is_certain:
            return self.message
        return _("Perhaps: {message}").format(message=self.message)


@dataclass(frozen=True)
class Result:
    """How one exercise went; `practice.feedback` shows it."""

    exercise: "Exercise"
    groups: tuple[GroupResult, ...]
    mistake: Mistake | None
    observations: tuple[str, ...] = ()  # what can be seen where no mistake is known

    @property
    def points(self) -> int:
        """The points earned."""
        return sum(group.points for group in self.groups if group.verdict is Verdict.PASSED)

    @property
    def verdict(self) -> Verdict:
        """The worst that happened to one of its groups."""
        return worst(group.verdict for group in self.groups)

    @property
    def failure(self) -> Failure | None:
        """The first failure, which is the one on the smallest input."""
        return next((group.failure for group in self.groups if group.failure), None)


def worst(verdicts: Iterable[Verdict], otherwise: Verdict = Verdict.PASSED) -> Verdict:
    """Return the worst of some verdicts, or `otherwise` where all went well."""
    met = set(verdicts)
    return next((verdict for verdict in WORST_FIRST if verdict in met), otherwise)
