"""How an answer is checked, and how a mistake gets its name.

The submission is called on every case and compared with the reference. Where they differ, the
known wrong answers are called on the same cases: the one that gives the learner's very outputs
names the mistake. If it gives them on some cases only, or if NaN is all there is to go by, the
name is a guess. The learner's source is never read.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from attn_course.practice.compare import as_array, difference, hint_at, same, same_but_for_nan
from attn_course.practice.definition import Case, Group
from attn_course.practice.results import Failure, GroupResult, Mistake, Raised, Result, Verdict
from attn_course.practice.submission import Submission
from attn_course.practice.wire import Plain
from attn_course.translate import _

if TYPE_CHECKING:
    from attn_course.practice.exercise import Exercise, KnownMistake

_MOST_NUMBERS = 1_000_000  # of a module: we draw weights for it, so its word is not taken for it
_MOST_AXES = 8


@dataclass(frozen=True)
class Outcome:
    """What one call brought: a value, an exception, or that there is nothing to call."""

    value: Plain = None
    raised: Raised | None = None
    is_todo: bool = False
    is_missing: bool = False

    @property
    def is_answer(self) -> bool:
        """Whether there was something to call, and it was written."""
        return not self.is_todo and not self.is_missing

    def agrees_with(self, other: "Outcome") -> bool:
        """Return whether both brought the same: values, or exceptions with the same message.

        NumPy raises a ValueError for most things, and only the shapes in its message tell one
        mistake from another.
        """
        if self.raised and other.raised:
            one, two = self.raised, other.raised
            return (one.type, one.message) == (two.type, two.message)
        if self.raised or other.raised:
            return False
        return same(self.value, other.value)

    def resembles(self, other: "Outcome") -> bool:
        """Return whether both brought the same, or exceptions of one type for any reason."""
        if self.raised and other.raised:
            return self.raised.type == other.raised.type
        return self.agrees_with(other)


def check(exercise: "Exercise", submission: Submission, seed: int | None = None) -> Result:
    """Run every group of cases, on inputs drawn from `seed` (fresh ones by default)."""
    drawn = drawn_cases(exercise, seed)
    outcomes = (_outcome(exercise, submission, one, drawn.weights_seed) for one in drawn.cases)
    got = dict(zip(drawn.cases, _until_unanswered(outcomes), strict=False))
    results = tuple(_judge(exercise, group, cases, got, drawn) for group, cases in drawn.groups)
    return Result(exercise, results, _name_the_mistake(got, results, drawn))


def _until_unanswered(outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
    """Stop calling a submission that is not there or says that it is not written yet."""
    for outcome in outcomes:
        yield outcome
        if not outcome.is_answer:
            return


def drawn_cases(exercise: "Exercise", seed: int | None) -> "Drawn":
    """Return the cases of a seed; of the last seed they are kept, for a class that shares it.

    Without a seed nothing is kept: a check must not repeat itself.
    """
    kept = exercise.drawn
    same_groups = kept is not None and [group for group, _cases in kept.groups] == exercise.groups
    if kept is not None and seed is not None and kept.seed == seed and same_groups:
        return kept  # an instructor may have added groups since
    rng = np.random.default_rng(seed)
    groups = [(group, list(group.generate(rng))) for group in exercise.groups]
    drawn = Drawn(exercise, seed, groups, weights_seed=int(rng.integers(2**32)))
    exercise.drawn = drawn if seed is not None else None
    return drawn


class Drawn:
    """The cases of one seed, and what the reference and the known mistakes make of each.

    That is worked out when it is first wanted, and once: a class of a thousand shares it.
    """

    def __init__(
        self,
        exercise: "Exercise",
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
        outcome = self._outcome_of("", lambda: self._exercise.reference, case)
        assert outcome.raised is None, (
            f"the reference of {self._exercise.id} raised {outcome.raised}"
        )
        return outcome

    def of_mistake(self, known: "KnownMistake", case: Case) -> Outcome:
        """Return what a known mistake makes of a case."""
        return self._outcome_of(known.name, lambda: known.answer, case)

    def mistakes_like(
        self,
        got: dict[Case, Outcome],
        looked_at: list[list[Case]],
        alike: Callable[[Outcome, Outcome], bool] = Outcome.agrees_with,
    ) -> "list[KnownMistake]":
        """Return the known mistakes that do as the submission did on all these cases."""
        cases = [case for group in looked_at for case in group]
        return [
            known
            for known in self._exercise.mistakes
            if all(case in got and alike(got[case], self.of_mistake(known, case)) for case in cases)
        ]

    def only_nan_is_wrong(self, got: dict[Case, Outcome]) -> bool:
        """Return whether all other numbers are right: many a mistake ends in NaN."""
        return all(
            same_but_for_nan(got[case].value, self.wanted(case).value) for case in self.cases
        )

    def _outcome_of(self, name: str, answer: Callable[[], Any], case: Case) -> Outcome:
        if (name, case) not in self._outcomes:
            submission = self._exercise.local(answer())
            outcome = _outcome(self._exercise, submission, case, self.weights_seed)
            self._outcomes[name, case] = outcome
        return self._outcomes[name, case]


def _judge(
    exercise: "Exercise",
    group: Group,
    cases: list[Case],
    got: dict[Case, Outcome],
    drawn: Drawn,
) -> GroupResult:
    for case in cases:
        outcome = got.get(case)
        if outcome is None or not outcome.is_answer:
            nothing = any(one.is_missing for one in got.values())
            verdict = Verdict.MISSING if nothing else Verdict.TODO
            return GroupResult(group.label, group.points, verdict)
        arguments = exercise.named_arguments(case)
        if outcome.raised:
            failure = Failure(arguments, raised=outcome.raised)
            return GroupResult(group.label, group.points, Verdict.ERROR, failure)
        # The right value is for the learner to find.
        compare = hint_at if exercise.kind == "value" else difference
        found = compare(outcome.value, drawn.wanted(case).value)
        if found:
            failure = Failure(arguments, difference=found)
            return GroupResult(group.label, group.points, Verdict.FAILED, failure)
    return GroupResult(group.label, group.points, Verdict.PASSED)


def _name_the_mistake(
    got: dict[Case, Outcome], results: tuple[GroupResult, ...], drawn: Drawn
) -> Mistake | None:
    """Return the known mistake that gives the same outputs as the submission.

    On all cases. Or perhaps, if just one does: on all but for the words of an exception; on
    those that passed and those of the first group that failed, for who made two mistakes; on
    those that failed, for who made it in one place and not in another.
    """
    judged = list(zip(results, (cases for _group, cases in drawn.groups), strict=True))
    passed = [cases for result, cases in judged if result.verdict is Verdict.PASSED]
    failing = [cases for result, cases in judged if result.failure]
    if not failing:
        return None
    alike = drawn.mistakes_like(got, [drawn.cases])
    if alike:
        return _recognised(alike[0], is_certain=not drawn.only_nan_is_wrong(got))
    guesses = [
        drawn.mistakes_like(got, [*passed, failing[0]]),
        drawn.mistakes_like(got, failing),
    ]
    if not all(outcome.raised for outcome in got.values()):  # else there is nothing to go by
        guesses.insert(0, drawn.mistakes_like(got, [drawn.cases], Outcome.resembles))
    found = next((alike[0] for alike in guesses if len(alike) == 1), None)
    return None if found is None else _recognised(found, is_certain=False)


def _recognised(known: "KnownMistake", is_certain: bool) -> Mistake:
    return Mistake(known.name, known.message, known.section, is_certain)


# --- asking a submission ----------------------------------------------------------------------


def _outcome(
    exercise: "Exercise", submission: Submission, case: Case, weights_seed: int
) -> Outcome:
    if exercise.kind == "value":
        answer = _ask(submission, "value", name=exercise.name)
        unanswered = answer.value is None and answer.raised is None and not answer.is_missing
        return Outcome(is_todo=True) if unanswered else answer
    if exercise.kind == "module":
        return _module_outcome(exercise.name, submission, case, weights_seed)
    return _ask(submission, "call", name=exercise.name, args=case.args, kwargs=case.kwargs)


def _module_outcome(name: str, submission: Submission, case: Case, weights_seed: int) -> Outcome:
    """Build, load weights of our own, run forward and backward: all of it is the outcome."""
    built = _ask(submission, "construct", name=name, kwargs=case.kwargs)
    if built.raised or not built.is_answer:
        return built
    module = built.value
    parameters = _ask(submission, "parameters", module=module)
    if parameters.raised:
        return parameters
    shapes = _shapes(parameters.value)
    if shapes is None:
        sentence = _("its parameters are not tensors of a reasonable size")
        return Outcome(raised=Raised("TypeError", sentence))
    rng = np.random.default_rng(weights_seed)
    weights = {name: rng.normal(size=shape) for name, shape in sorted(shapes.items())}
    loaded = _ask(submission, "load", module=module, parameters=weights)
    output = _ask(submission, "forward", module=module, args=case.args)
    if loaded.raised or output.raised or output.is_todo:
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


def _ask(submission: Submission, op: str, **payload: Plain) -> Outcome:
    response = submission.request(op, payload)
    if "missing" in response:
        return Outcome(is_missing=True)
    if "raised" not in response:
        return Outcome(value=response.get("value"))
    raised = Raised(**response["raised"])
    return Outcome(raised=raised, is_todo=_is_todo(raised))


def _is_todo(raised: Raised) -> bool:
    """Return whether the stub spoke; PyTorch raises the same error for a dtype it can't do."""
    if raised.type != "NotImplementedError":
        return False
    return not raised.line or "NotImplementedError" in raised.line


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
