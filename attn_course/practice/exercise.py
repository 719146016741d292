"""Exercises and chapters: what is asked, and the known right and wrong answers to it.

The exercises of the course are written in two places. What a person reads is in
`solutions/NN_topic.md`, from where `attn-course release` compiles it to
`attn_course/practice/exercises/NN_topic.json`; `practice.exercises` reads that. What has to be
Python is in `attn_course/practice/exercises/<topic>/<name>.py` and is imported when an answer
is first checked (see `definition`). So titles, points and hints cost no import at all.

An instructor may write an exercise in Python alone:

    chapter = Chapter("90_project", title="My project", sections={"rows": "Weights in rows"})

    @chapter.exercise(title=…, goal=…, difficulty=1, minutes=5, section="rows", hints=(…))
    def row_weights(scores):
        return scores / scores.sum(-1, keepdims=True)

    @row_weights.cases(points=1, label="one row")
    def one_row(rng):
        yield Case(rng.uniform(1, 2, size=(1, 3)))

**What describes an exercise.** `name` (the function, class or variable a learner defines; the id is
`<NN>.<name>`), `title`, `goal` (one sentence), `difficulty` (1 easy, 2 medium, 3 hard), `minutes`,
`points` (the sum over its groups of cases), `task` (what a learner does: one of `TASKS`), `hints`
(three, from gentle to nearly the answer), `section` (the label of the section in the book to read),
`kind` ("function", "value" for a number or shape to predict, "module" for an `nn.Module`),
`without` (dotted names that a learner is asked to do without, such as "torch.softmax": see
`shortcuts`), `uses` (earlier exercises whose functions a learner is asked to call).

Read next: `judging`, which checks an answer.
"""

import inspect
import linecache
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np

from attn_course.inside.submission import LocalSubmission, Submission
from attn_course.inside.wire import Plain
from attn_course.practice import judging
from attn_course.practice.definition import Case, Definition, Group
from attn_course.practice.results import Result
from attn_course.translate import _

__all__ = ["KINDS", "TASKS", "Case", "Chapter", "Exercise", "Group", "KnownMistake", "Solution"]

Kind = Literal["function", "value", "module"]
KINDS = ("function", "value", "module")
TASKS = ("implement", "find the bug", "predict", "complete the training step", "reproduce")
THE_SOLUTION, IN_SINGLE_PRECISION = "the_solution", "the_solution_in_single_precision"


@dataclass(frozen=True)
class KnownMistake:
    """A wrong answer that has a name, and the sentence for a learner who wrote it."""

    name: str
    message: str
    section: str
    make: Callable[[], Any] = field(repr=False)
    program: str = field(default="", repr=False)  # where it is an edit of the solution

    @cached_property
    def answer(self) -> Any:
        """The wrong answer itself, made when it is first wanted."""
        return self.make()


@dataclass(frozen=True)
class Solution:
    """The solution of an exercise as it was compiled from `solutions/`."""

    answer: str  # the code of the answer cell
    program: str  # that code with all that it needs
    explanation: str = ""
    mistakes: tuple[KnownMistake, ...] = ()


@dataclass(eq=False)
class Exercise:
    """One exercise of a chapter."""

    chapter: "Chapter" = field(repr=False)
    name: str
    title: str
    goal: str
    difficulty: int
    minutes: int
    section: str
    hints: tuple[str, ...]
    load: Callable[[], Definition] = field(repr=False)
    kind: Kind = "function"
    task: str = "implement"
    without: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    stated_points: int | None = None  # so that no code need be loaded to know them
    solution: Solution | None = field(default=None, repr=False)
    drawn: "judging.Drawn | None" = field(default=None, repr=False)  # of the last seed

    @property
    def id(self) -> str:
        """The id as learners type it: `01.average_pooling`."""
        return f"{self.chapter.number}.{self.name}"

    @property
    def points(self) -> int:
        """All points that can be earned."""
        if self.stated_points is not None and "definition" not in vars(self):
            return self.stated_points
        return sum(group.points for group in self.groups)

    @cached_property
    def definition(self) -> Definition:
        """What Python says about the exercise, loaded when it is first wanted."""
        found = self.load()
        return Definition(
            found.reference,
            list(found.groups),
            list(found.misconceptions),
            dict(found.variants),
            found.tolerance,
        )

    @property
    def groups(self) -> list[Group]:
        """The groups of cases."""
        return self.definition.groups

    @cached_property
    def reference(self) -> Any:
        """What a right answer is."""
        return self._answer(self.definition.reference)

    @property
    def mistakes(self) -> list[KnownMistake]:
        """The mistakes that are known by name: edits of the solution, then those in Python."""
        compiled = self.solution.mistakes if self.solution else ()
        return [*compiled, *self._written_mistakes]

    @cached_property
    def _written_mistakes(self) -> list[KnownMistake]:
        return [
            KnownMistake(
                one.name,
                one.message,
                one.section or self.section,
                partial(self._answer, one.solution),
            )
            for one in self.definition.misconceptions
        ]

    @property
    def variants(self) -> dict[str, Any]:
        """Right answers that must be accepted, by name."""
        written = {name: self._answer(one) for name, one in self.definition.variants.items()}
        return self._solution_variants() | written

    def _solution_variants(self) -> dict[str, Any]:
        if self.solution is None:
            return {}
        answer = run_program(self.solution.program, self.name)
        if self.kind != "function":
            return {THE_SOLUTION: answer}
        return {THE_SOLUTION: answer, IN_SINGLE_PRECISION: _in_single_precision(answer)}

    def cases(self, points: int, label: str) -> Callable[[Callable[..., Any]], Any]:
        """Add a group of cases, as `Definition.cases` does."""
        return self.definition.cases(points, label)

    def misconception(self, message: str, section: str | None = None) -> Callable[[Any], Any]:
        """Add a known mistake, as `Definition.misconception` does."""
        vars(self).pop("_written_mistakes", None)
        return self.definition.misconception(message, section)

    def variant(self, solution: Any) -> Any:
        """Add a right answer, as `Definition.variant` does."""
        return self.definition.variant(solution)

    def _answer(self, solution: Any) -> Any:
        """Return what a learner would define: the function itself, or the value it returns."""
        return solution() if self.kind == "value" else solution

    def local(self, answer: Any) -> LocalSubmission:
        """Return a submission with `answer` as this exercise's solution."""
        return LocalSubmission({self.name: answer})

    def check(
        self,
        submission: Submission,
        seed: int | None = None,
        closer: bool = False,
        observing: bool = False,
    ) -> Result:
        """Run every group of cases, as `judging.check` describes."""
        return judging.check(self, submission, seed, closer, observing)

    def named_arguments(self, case: Case) -> dict[str, Plain]:
        """Return the arguments of a case under the names that the exercise gives them."""
        target = self.reference.forward if self.kind == "module" else self.reference
        parameters = inspect.signature(target).parameters if callable(target) else ()
        names = [name for name in parameters if name != "self"]
        return dict(zip(names, case.args, strict=False)) | case.kwargs


class Chapter:
    """The exercises of one notebook, in the order in which they are written down.

    `sections` are headings of the book by their labels, and `pages` the pages they are on.
    """

    def __init__(
        self,
        stem: str,
        title: str,
        sections: Mapping[str, str],
        pages: Mapping[str, str] | None = None,
    ) -> None:
        self.stem = stem
        self.title = title
        self.sections = sections
        self.pages = pages or {}
        self.exercises: dict[str, Exercise] = {}

    @property
    def number(self) -> str:
        """The number at the start of the stem: `01`, or `05b` for one page of a long chapter."""
        return self.stem.partition("_")[0]

    @property
    def points(self) -> int:
        """All points of the chapter."""
        return sum(exercise.points for exercise in self.exercises.values())

    def exercise(self, **described: Any) -> Callable[[Any], Exercise]:
        """Make an exercise of the decorated reference: for exercises in Python alone."""
        task, uses = described.get("task", TASKS[0]), described.get("uses", ())
        assert task in TASKS, f"task must be one of {TASKS}, but is {task!r}"
        assert set(uses) <= set(self.exercises), f"uses names earlier exercises, not {uses}"

        def add(reference: Any) -> Exercise:
            name, definition = reference.__name__, Definition(reference)
            made = Exercise(chapter=self, name=name, load=lambda: definition, **described)
            self.exercises[name] = made
            return made

        return add


def run_program(program: str, name: str) -> Any:
    """Run a program of the course's own and return what it calls `name`."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    file = f"<{name} {hash(program):x}>"
    linecache.cache[file] = (len(program), None, program.splitlines(keepends=True), file)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(program, file, "exec"), namespace)  # tracebacks quote its lines
    return namespace[name]


def _in_single_precision(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that is given its arrays in single precision."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*map(_single, args), **{name: _single(one) for name, one in kwargs.items()})

    return call


def _single(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype == np.float64:
        return value.astype(np.float32)
    if isinstance(value, list | tuple):
        return type(value)(map(_single, value))
    return value


def title_of(task: str) -> str:
    """Return what a learner does in an exercise, in words."""
    words = {
        "implement": _("implement"),
        "find the bug": _("find the bug"),
        "predict": _("predict"),
        "complete the training step": _("complete the training step"),
        "reproduce": _("reproduce an experiment"),
    }
    return words[task]
