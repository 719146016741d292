r"""Exercises: what is asked, how it is checked, and which mistakes are known by name.

A chapter's exercises stand in `attn_course/practice/exercises/<topic>.py`, written like this:

    chapter = Chapter(
        "01_nadaraya_watson",
        title=_("Attention before deep learning"),
        sections={"average-pooling": _("Average pooling")},  # what may be pointed to in the book
    )

    @chapter.exercise(title=…, goal=…, difficulty=1, minutes=5, section="average-pooling", hints=…)
    def average_pooling(values):                 # the reference; its name is the exercise's name
        return values.mean()

    @average_pooling.cases(points=1, label=_("a few numbers"))
    def a_few_numbers(rng):                      # fresh inputs, the smallest first
        yield Case(rng.normal(size=2))
        yield Case(rng.normal(size=7))

    @average_pooling.misconception(_("You added the values up; the mean divides by their number."))
    def sums_instead_of_averaging(values):       # a wrong solution, known by its outputs
        return values.sum()

    @average_pooling.variant
    def with_a_loop(values):                     # a right solution that must be accepted
        return sum(values) / len(values)

**Metadata of an exercise.** `name` (the function, class or variable a learner defines; the id is
`<NN>.<name>`), `title`, `goal` (one sentence), `difficulty` (1 easy, 2 medium, 3 hard), `minutes`,
`points` (the sum over its groups of cases), `task` (what a learner does: one of `TASKS`), `hints`
(three, from gentle to nearly the answer), `section` (the label of the section in the book to read),
`kind` ("function", "value" for a number or shape to predict, with the answer returned by a function
without arguments, "module" for an `nn.Module`), `without` (dotted names that a learner is asked to
do without, such as "torch.softmax": see `shortcuts`), `uses` (earlier exercises whose functions a
learner is asked to call).

**How a check works.** The submission is called on every case and compared with the reference.
Where they differ, the known wrong solutions are called on the same cases: the one that gives the
learner's very outputs names the mistake. If it gives them on some cases only, or if NaN is all
there is to go by, the name is said with a "perhaps". Nobody reads the learner's source.
"""

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from attn_course.practice.compare import as_array, difference, guidance, same, same_but_for_nan
from attn_course.practice.submission import LocalSubmission, Submission
from attn_course.practice.wire import Plain
from attn_course.translate import _

Kind = Literal["function", "value", "module"]
TASKS = ("implement", "find the bug", "predict", "complete the training step", "reproduce")
Status = Literal["passed", "failed", "error", "todo"]


class Case:
    """One call of the submission: `Case(queries, keys, mask=mask)`.

    For an exercise of kind "module" the keywords build the module and the rest are the inputs of
    its forward pass: `Case(x, d_model=5)`.
    """

    def __init__(self, *args: Plain, **kwargs: Plain) -> None:
        self.args = args
        self.kwargs = kwargs


@dataclass(frozen=True)
class Misconception:
    """A wrong solution that has a name, and the sentence for a learner who wrote it."""

    name: str
    message: str
    solution: Any
    section: str


@dataclass(frozen=True)
class Group:
    """Cases that are worth points together."""

    label: str
    points: int
    generate: Callable[[np.random.Generator], Iterable[Case]]


@dataclass(frozen=True)
class Failure:
    """What went wrong on the smallest failing case."""

    arguments: dict[str, Plain]
    got: Plain
    wanted: Plain
    sentence: str
    line: str = ""  # the learner's own line that raised


@dataclass(frozen=True)
class GroupResult:
    """How one group of cases went."""

    label: str
    points: int
    status: Status
    failure: Failure | None = None


@dataclass(frozen=True)
class Result:
    """How one exercise went; `practice.feedback` shows it."""

    exercise: "Exercise"
    groups: tuple[GroupResult, ...]
    misconception: Misconception | None

    @property
    def points(self) -> int:
        """The points earned."""
        return sum(group.points for group in self.groups if group.status == "passed")

    @property
    def status(self) -> Status:
        """The worst that happened: "todo" before "error" before "failed" before "passed"."""
        seen = {group.status for group in self.groups}
        order: tuple[Status, ...] = ("todo", "error", "failed")
        return next((status for status in order if status in seen), "passed")

    @property
    def failure(self) -> Failure | None:
        """The first failure, which is the one on the smallest input."""
        return next((group.failure for group in self.groups if group.failure), None)


@dataclass(frozen=True)
class Outcome:
    """What one call brought: a value, or an exception by its type and message."""

    value: Plain = None
    raised: dict[str, str] | None = None

    def agrees_with(self, other: "Outcome") -> bool:
        """Return whether both brought the same: values, or exceptions with the same message.

        NumPy raises a ValueError for most things, and only the shapes in its message tell one
        mistake from another.
        """
        if self.raised and other.raised:
            return all(self.raised[part] == other.raised[part] for part in ("type", "message"))
        if self.raised or other.raised:
            return False
        return same(self.value, other.value)

    def resembles(self, other: "Outcome") -> bool:
        """Return whether both brought the same, or exceptions of one type for any reason."""
        if self.raised and other.raised:
            return self.raised["type"] == other.raised["type"]
        return self.agrees_with(other)


@dataclass
class Exercise:
    """One exercise of a chapter; see the module's text for how to write one."""

    chapter: "Chapter" = field(repr=False)
    name: str
    kind: Kind
    title: str
    goal: str
    task: str
    difficulty: int
    minutes: int
    section: str
    hints: tuple[str, ...]
    reference: Any
    without: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    groups: list[Group] = field(default_factory=list)
    misconceptions: list[Misconception] = field(default_factory=list)
    variants: dict[str, Any] = field(default_factory=dict)
    _last_drawn: "_Drawn | None" = field(default=None, repr=False)

    @property
    def id(self) -> str:
        """The id as learners type it: `01.average_pooling`."""
        return f"{self.chapter.number}.{self.name}"

    @property
    def points(self) -> int:
        """All points that can be earned."""
        return sum(group.points for group in self.groups)

    def cases(self, points: int, label: str) -> Callable[[Callable[..., Any]], None]:
        """Add a group of cases worth `points`: decorates a generator that takes an rng."""

        def add(generate: Callable[[np.random.Generator], Iterable[Case]]) -> None:
            self.groups.append(Group(label, points, generate))

        return add

    def misconception(self, message: str, section: str | None = None) -> Callable[[Any], Any]:
        """Add a wrong solution: decorates it; `message` tells a learner what was done wrong."""

        def add(solution: Any) -> Any:
            answer = self._answer(solution)
            found = Misconception(solution.__name__, message, answer, section or self.section)
            self.misconceptions.append(found)
            return solution

        return add

    def variant(self, solution: Any) -> Any:
        """Add a right solution that is written in another way."""
        self.variants[solution.__name__] = self._answer(solution)
        return solution

    def _answer(self, solution: Any) -> Any:
        """Return what a learner would define: the function itself, or the value it returns."""
        return solution() if self.kind == "value" else solution

    def local(self, answer: Any) -> LocalSubmission:
        """Return a submission that holds `answer` as this exercise's solution."""
        return LocalSubmission({self.name: answer})

    def check(self, submission: Submission, seed: int | None = None) -> Result:
        """Run every group of cases, on inputs drawn from `seed` (fresh ones by default)."""
        drawn = self._drawn(seed)
        outcomes = (self._outcome(submission, case, drawn.weights_seed) for case in drawn.cases)
        got = dict(zip(drawn.cases, self._until_todo(outcomes), strict=False))
        results = tuple(self._judge(group, cases, got, drawn) for group, cases in drawn.groups)
        return Result(self, results, self._name_the_mistake(got, results, drawn))

    def _drawn(self, seed: int | None) -> "_Drawn":
        """Return the cases of a seed; of the last seed they are kept, for a class that shares it.

        Whoever draws afresh (no seed) keeps nothing: a check must not repeat itself.
        """
        kept = self._last_drawn
        same_groups = kept is not None and [group for group, _cases in kept.groups] == self.groups
        if kept is not None and seed is not None and kept.seed == seed and same_groups:
            return kept  # an instructor may have added groups since
        rng = np.random.default_rng(seed)
        groups = [(group, list(group.generate(rng))) for group in self.groups]
        drawn = _Drawn(self, seed, groups, weights_seed=int(rng.integers(2**32)))
        self._last_drawn = drawn if seed is not None else None
        return drawn

    @staticmethod
    def _until_todo(outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
        """Stop calling a submission that says it is not written yet."""
        for outcome in outcomes:
            yield outcome
            if _is_todo(outcome):
                return

    def _outcome(self, submission: Submission, case: Case, weights_seed: int) -> Outcome:
        if self.kind == "value":
            answer = _ask(submission, "value", name=self.name)
            unanswered = answer.value is None and answer.raised is None
            return _NOT_ANSWERED if unanswered else answer
        if self.kind == "module":
            return self._module_outcome(submission, case, weights_seed)
        return _ask(submission, "call", name=self.name, args=case.args, kwargs=case.kwargs)

    def _module_outcome(self, submission: Submission, case: Case, weights_seed: int) -> Outcome:
        """Build, load weights of our own, run forward and backward: all of it is the outcome."""
        built = _ask(submission, "construct", name=self.name, kwargs=case.kwargs)
        if built.raised:
            return built
        module = built.value
        parameters = _ask(submission, "parameters", module=module)
        if parameters.raised:
            return parameters
        shapes = _shapes(parameters.value)
        if shapes is None:
            return _NO_SHAPES
        rng = np.random.default_rng(weights_seed)
        weights = {name: rng.normal(size=shape) for name, shape in sorted(shapes.items())}
        loaded = _ask(submission, "load", module=module, parameters=weights)
        output = _ask(submission, "forward", module=module, args=case.args)
        if loaded.raised or output.raised:
            return loaded if loaded.raised else output
        found = {"parameters": shapes, "output": output.value, "gradients": {}}
        several = isinstance(output.value, list | tuple) and len(output.value) > 0
        first = as_array(output.value[0] if several else output.value)
        # No array came out, or a giant one: there is nothing to take the gradient of.
        if first is None or first.size > _MOST_NUMBERS:
            return Outcome(found)
        cotangent = rng.normal(size=first.shape).astype(np.float32)
        gradients = _ask(submission, "vjp", module=module, args=case.args, cotangent=cotangent)
        return gradients if gradients.raised else Outcome(found | {"gradients": gradients.value})

    def _judge(
        self,
        group: Group,
        cases: list[Case],
        got: dict[Case, Outcome],
        drawn: "_Drawn",
    ) -> GroupResult:
        for case in cases:
            outcome = got.get(case)
            if outcome is None or _is_todo(outcome):
                return GroupResult(group.label, group.points, "todo")
            expected = drawn.wanted(case).value
            if outcome.raised:
                sentence = _("It raised {type}: {message}").format(**outcome.raised)
                line = outcome.raised.get("line", "")
                failure = Failure(self._named(case), None, expected, sentence, line)
                return GroupResult(group.label, group.points, "error", failure)
            difference_found = difference(outcome.value, expected)
            if difference_found:
                if self.kind == "value":  # the right value is for the learner to find
                    difference_found, expected = guidance(outcome.value, expected), None
                failure = Failure(self._named(case), outcome.value, expected, difference_found)
                return GroupResult(group.label, group.points, "failed", failure)
        return GroupResult(group.label, group.points, "passed")

    def _name_the_mistake(
        self, got: dict[Case, Outcome], results: tuple[GroupResult, ...], drawn: "_Drawn"
    ) -> Misconception | None:
        """Return the known mistake that gives the same outputs as the submission.

        On all cases. Or perhaps, if just one does: on all but for the words of an exception; on
        those that passed and those of the first group that failed, for who made two mistakes; on
        those that failed, for who made it in one place and not in another.
        """
        judged = list(zip(results, (cases for _group, cases in drawn.groups), strict=True))
        passed = [cases for result, cases in judged if result.status == "passed"]
        failing = [cases for result, cases in judged if result.failure]
        if not failing:
            return None
        alike = drawn.mistakes_like(got, [drawn.cases])
        if alike:
            return _perhaps(alike[0]) if drawn.only_nan_is_wrong(got) else alike[0]
        guesses = [
            drawn.mistakes_like(got, [*passed, failing[0]]),
            drawn.mistakes_like(got, failing),
        ]
        if not all(outcome.raised for outcome in got.values()):  # else there is nothing to go by
            guesses.insert(0, drawn.mistakes_like(got, [drawn.cases], Outcome.resembles))
        return next((_perhaps(alike[0]) for alike in guesses if len(alike) == 1), None)

    def _named(self, case: Case) -> dict[str, Plain]:
        """Return the arguments of a case under the names that the exercise gives them."""
        target = self.reference.forward if self.kind == "module" else self.reference
        names = [name for name in self._parameter_names(target) if name != "self"]
        return dict(zip(names, case.args, strict=False)) | case.kwargs

    @staticmethod
    def _parameter_names(target: Any) -> list[str]:
        return list(inspect.signature(target).parameters) if callable(target) else []


class _Drawn:
    """The cases of one seed, and what the reference and the known mistakes make of each.

    That is worked out when it is first wanted, and once: a class of a thousand shares it.
    """

    def __init__(
        self,
        exercise: Exercise,
        seed: int | None,
        groups: list[tuple[Group, list[Case]]],
        weights_seed: int,
    ) -> None:
        self.seed = seed
        self.groups = groups
        self.cases = [case for _group, cases in groups for case in cases]
        self.weights_seed = weights_seed  # for the weights loaded into modules
        self._exercise = exercise
        self._outcomes: dict[tuple[str, Case], Outcome] = {}

    def wanted(self, case: Case) -> Outcome:
        """Return what the reference makes of a case."""
        outcome = self._outcome_of("", self._exercise.reference, case)
        assert outcome.raised is None, (
            f"the reference of {self._exercise.id} raised {outcome.raised}"
        )
        return outcome

    def of_mistake(self, known: Misconception, case: Case) -> Outcome:
        """Return what a known mistake makes of a case."""
        return self._outcome_of(known.name, known.solution, case)

    def mistakes_like(
        self,
        got: dict[Case, Outcome],
        looked_at: list[list[Case]],
        alike: Callable[[Outcome, Outcome], bool] = Outcome.agrees_with,
    ) -> list[Misconception]:
        """Return the known mistakes that do as the submission did on all these cases."""
        cases = [case for group in looked_at for case in group]
        return [
            known
            for known in self._exercise.misconceptions
            if all(case in got and alike(got[case], self.of_mistake(known, case)) for case in cases)
        ]

    def only_nan_is_wrong(self, got: dict[Case, Outcome]) -> bool:
        """Return whether all other numbers are right: many a mistake ends in NaN."""
        return all(
            same_but_for_nan(got[case].value, self.wanted(case).value) for case in self.cases
        )

    def _outcome_of(self, name: str, solution: Any, case: Case) -> Outcome:
        if (name, case) not in self._outcomes:
            submission = self._exercise.local(solution)
            outcome = self._exercise._outcome(submission, case, self.weights_seed)
            self._outcomes[name, case] = outcome
        return self._outcomes[name, case]


class Chapter:
    """The exercises of one chapter, in the order in which they are written down."""

    def __init__(self, stem: str, title: str, sections: Mapping[str, str]) -> None:
        self.stem = stem
        self.title = title
        self.sections = sections  # headings in the book by their labels, for "Read: …"
        self.exercises: dict[str, Exercise] = {}

    @property
    def number(self) -> str:
        """The number at the start of the stem: `01`, or `05b` for one page of a long chapter."""
        return self.stem.partition("_")[0]

    @cached_property
    def points(self) -> int:
        """All points of the chapter."""
        return sum(exercise.points for exercise in self.exercises.values())

    def exercise(
        self,
        *,
        title: str,
        goal: str,
        difficulty: int,
        minutes: int,
        section: str,
        hints: tuple[str, ...],
        task: str = "implement",
        kind: Kind = "function",
        without: tuple[str, ...] = (),
        uses: tuple[str, ...] = (),
    ) -> Callable[[Any], Exercise]:
        """Make an exercise of the decorated reference solution."""
        assert task in TASKS, f"task must be one of {TASKS}, but is {task!r}"
        assert set(uses) <= set(self.exercises), f"uses names earlier exercises, not {uses}"

        def add(reference: Any) -> Exercise:
            name = reference.__name__
            made = Exercise(
                chapter=self,
                name=name,
                kind=kind,
                title=title,
                goal=goal,
                task=task,
                difficulty=difficulty,
                minutes=minutes,
                section=section,
                hints=hints,
                without=without,
                uses=uses,
                reference=reference,
            )
            made.reference = made._answer(reference)
            self.exercises[name] = made
            return made

        return add


def _perhaps(known: Misconception) -> Misconception:
    """Return a known mistake whose sentence says that it is a guess."""
    return replace(known, message=_("Perhaps: {message}").format(message=known.message))


def _ask(submission: Submission, op: str, **payload: Plain) -> Outcome:
    response = submission.request(op, payload)
    return Outcome(value=response.get("value"), raised=response.get("raised"))


_NOT_ANSWERED = Outcome(raised={"type": "NotImplementedError", "message": ""})
_MOST_NUMBERS = 1_000_000  # of a module: we draw weights for it, so its word is not taken for it
_MOST_AXES = 8
_NO_SHAPES = Outcome(
    raised={
        "type": "TypeError",
        "message": _("its parameters are not tensors of a reasonable size"),
    }
)


def _shapes(parameters: Plain) -> dict[str, tuple[int, ...]] | None:
    """Return the shapes of a module's parameters by name, or None where they can't be such."""
    if not isinstance(parameters, dict):
        return None
    left = _MOST_NUMBERS
    for name, shape in parameters.items():
        if type(name) is not str or not _is_shape(shape):
            return None
        left -= math.prod(shape)
        if left < 0:
            return None
    return {name: tuple(shape) for name, shape in parameters.items()}


def _is_shape(shape: Plain) -> bool:
    """Return whether it can be one. Small numbers, and few: a product of others takes hours."""
    return (
        isinstance(shape, list | tuple)
        and len(shape) <= _MOST_AXES
        and all(type(size) is int and 0 <= size <= _MOST_NUMBERS for size in shape)
    )


def _is_todo(outcome: Outcome) -> bool:
    """Return whether the stub spoke; PyTorch raises the same error for a dtype it can't do."""
    if outcome.raised is None or outcome.raised["type"] != "NotImplementedError":
        return False
    line = outcome.raised.get("line", "")
    return not line or "NotImplementedError" in line
