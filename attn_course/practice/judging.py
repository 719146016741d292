"""How an answer is checked: the submission is called on every case and compared with the reference.

Where they differ, `naming` looks for a known mistake with the same outputs, `observations` for what
can be seen without one, and `shrinking` for a smaller input that fails. `closer_look` alone reads
the learner's source, in the learner's own process, and no point depends on what it finds.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attn_course.inside.submission import FirstPrints, LocalSubmission, Submission
from attn_course.inside.wire import Plain
from attn_course.practice.closer_look import look_closer
from attn_course.practice.compare import (
    as_array,
    converting_once,
    difference,
    hint_at,
    same,
    tolerating,
)
from attn_course.practice.definition import Case, Group
from attn_course.practice.naming import name_the_mistake
from attn_course.practice.observations import Ask, observe
from attn_course.practice.results import Failure, GroupResult, Raised, Result, Verdict
from attn_course.practice.shrinking import shrunk
from attn_course.translate import _

if TYPE_CHECKING:
    from attn_course.practice.exercise import Exercise, KnownMistake

_MOST_NUMBERS = 1_000_000  # of a module: we draw weights for it, so its word is not taken for it
_MOST_AXES = 8
_SHAPE = re.compile(r"\([\d, ]*\)")  # as messages write them: (3,), (2,5) or (2, 5)


@dataclass(frozen=True)
class Outcome:
    """What one call brought: a value, an exception, or that there is nothing to call."""

    value: Plain = None
    raised: Raised | None = None
    is_todo: bool = False
    is_missing: bool = False
    parameters: dict[str, Plain] | None = None  # that were loaded into a module

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

    def agrees_but_for_order(self, other: "Outcome") -> bool:
        """Return whether both brought the same, whatever the order of shapes in a message.

        NumPy lists them in the order of the operands, and `a * b` is the same mistake as `b * a`.
        """
        if self.raised and other.raised:
            return _without_order(self.raised) == _without_order(other.raised)
        return self.agrees_with(other)

    def resembles(self, other: "Outcome") -> bool:
        """Return whether both brought the same, or exceptions of one type for any reason."""
        if self.raised and other.raised:
            return self.raised.type == other.raised.type
        return self.agrees_with(other)


def _without_order(raised: Raised) -> tuple[str, str, list[str]]:
    """Return the type, the message around its shapes, and the shapes in an order of our own."""
    return raised.type, _SHAPE.sub("()", raised.message), sorted(_SHAPE.findall(raised.message))


def check(
    exercise: "Exercise",
    submission: Submission,
    seed: int | None = None,
    closer: bool = False,
    observing: bool = False,
) -> Result:
    """Run every group of cases, on inputs drawn from `seed` (fresh ones by default).

    With `closer`, a wrong answer is called a few times more, to say what can be seen in it and to
    find a small input on which it fails. With `observing`, only what can be seen without that is
    said.
    """
    with converting_once(), tolerating(*exercise.definition.tolerance):
        return _checked(exercise, submission, drawn_cases(exercise, seed), closer, observing)


def _checked(
    exercise: "Exercise", submission: Submission, drawn: "Drawn", closer: bool, observing: bool
) -> Result:
    ask = partial(outcome_of, exercise, submission, weights_seed=drawn.weights_seed)
    got = dict(zip(drawn.cases, _until_unanswered(map(ask, drawn.cases)), strict=False))
    results = tuple(_judge(exercise, group, cases, got, drawn) for group, cases in drawn.groups)
    mistake = name_the_mistake(got, results, drawn)
    failures = [result.failure for result in results if result.failure]
    if failures and observing and mistake is None:
        return Result(exercise, results, None, observe(exercise, drawn, got, None, failures[0]))
    if not closer or not failures:
        return Result(exercise, results, mistake)
    results = _with_a_small_failure(results, drawn, got, ask)
    if mistake is not None and mistake.is_certain:
        return Result(exercise, results, mistake)
    shown = next(result.failure for result in results if result.failure)
    found = look_closer(exercise, drawn, got, _answer_itself(submission, exercise.name))
    if mistake is not None and not (found and found.is_certain):
        return Result(exercise, results, mistake)
    seen = observe(exercise, drawn, got, ask, shown)
    return Result(exercise, results, None, (*seen, *([found.sentence] if found else [])))


def _answer_itself(submission: Submission, name: str) -> Any:
    """Return the learner's function where it lives in this process; a sandbox hands none out."""
    if isinstance(submission, LocalSubmission | FirstPrints):
        return submission.answer(name)
    return None


def _with_a_small_failure(
    results: tuple[GroupResult, ...], drawn: "Drawn", got: dict[Case, Outcome], ask: "Ask"
) -> tuple[GroupResult, ...]:
    """Return the results with the first failure, which is the one shown, on a smaller input."""
    place = next(n for n, result in enumerate(results) if result.failure)
    failure = results[place].failure
    case = next(case for case in drawn.groups[place][1] if drawn.failure(case, got[case]))
    assert failure is not None  # so `place` was found

    def fails(smaller: Case) -> Failure | None:
        # An answer may rely on what the task promises, and never end where that is broken.
        return drawn.failure(smaller, ask(smaller)) if drawn.is_allowed(smaller) else None

    small = shrunk(case, failure, fails)
    return (*results[:place], replace(results[place], failure=small), *results[place + 1 :])


def _until_unanswered(outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
    """Stop calling a submission that is not there or says that it is not written yet."""
    for outcome in outcomes:
        yield outcome
        if not outcome.is_answer:
            return


def drawn_cases(exercise: "Exercise", seed: int | None) -> "Drawn":
    """Return the cases of a seed; those of the last seed are kept, for the next submission.

    It has a seed of its own. But what takes longest to work out, such as training on the numbers
    of the notebook, does not depend on the seed. Without a seed nothing is kept: a check must not
    repeat itself.
    """
    kept = exercise.drawn
    same_groups = kept is not None and [group for group, _cases in kept.groups] == exercise.groups
    if kept is not None and seed is not None and kept.seed == seed and same_groups:
        return kept  # an instructor may have added groups since
    rng = np.random.default_rng(seed)
    groups = [(group, list(group.generate(rng))) for group in exercise.groups]
    drawn = Drawn(exercise, seed, groups, weights_seed=int(rng.integers(2**32)))
    if kept is not None and same_groups:
        drawn.take_over(kept)
    exercise.drawn = drawn if seed is not None else None
    return drawn


class Drawn:
    """The cases of one seed, and what the reference and the known mistakes make of each.

    That is worked out when it is first wanted, and once.
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
        self._outcomes: dict[Case, dict[str, Outcome]] = {}  # by case and by mistake

    def wanted(self, case: Case) -> Outcome:
        """Return what the reference makes of a case."""
        outcome = self._of_reference(case)
        assert outcome.raised is None, (
            f"the reference of {self._exercise.id} raised {outcome.raised}"
        )
        return outcome

    def _of_reference(self, case: Case) -> Outcome:
        return self._outcome_of("", lambda: self._exercise.reference, case)

    def is_allowed(self, case: Case) -> bool:
        """Return whether the reference accepts a case, which may have been made smaller."""
        return self._of_reference(case).raised is None

    def of_mistake(self, known: "KnownMistake", case: Case) -> Outcome:
        """Return what a known mistake makes of a case."""
        return self._outcome_of(known.name, lambda: known.answer, case)

    @property
    def mistakes(self) -> "list[KnownMistake]":
        """The known mistakes."""
        return self._exercise.mistakes

    def mistakes_like(
        self,
        got: dict[Case, Outcome],
        cases: list[Case],
        alike: Callable[[Outcome, Outcome], bool] = Outcome.agrees_with,
    ) -> "list[KnownMistake]":
        """Return the known mistakes that do as the submission did on all these cases."""
        return [
            known
            for known in self.mistakes
            if all(case in got and alike(got[case], self.of_mistake(known, case)) for case in cases)
        ]

    def failure(self, case: Case, outcome: Outcome) -> Failure | None:
        """Return what is wrong with what a case brought; None where all is right."""
        if not outcome.is_answer:
            return None
        wanted = self.wanted(case)
        arguments = self._exercise.named_arguments(case)
        if outcome.raised:
            return Failure(arguments, raised=outcome.raised, parameters=outcome.parameters)
        # The right value is for the learner to find.
        compare = hint_at if self._exercise.kind == "value" else difference
        found = compare(outcome.value, wanted.value)
        if found is None:
            return None
        return Failure(arguments, difference=found, parameters=outcome.parameters)

    def take_over(self, before: "Drawn") -> None:
        """Take over what is known already about cases that are the same as before.

        But what a module returns depends on its weights, which are drawn too.
        """
        if self._exercise.kind == "module":
            return
        for old, new in zip(before.cases, self.cases, strict=False):
            if old in before._outcomes and old.is_same_as(new):
                self._outcomes[new] = before._outcomes[old]

    def _outcome_of(self, name: str, answer: Callable[[], Any], case: Case) -> Outcome:
        known = self._outcomes.setdefault(case, {})
        if name not in known:
            submission = self._exercise.local(answer())
            known[name] = outcome_of(self._exercise, submission, case, self.weights_seed)
        return known[name]


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
        drawn.wanted(case)  # a reference that raises is our fault, whatever came
        failure = drawn.failure(case, outcome)
        if failure:
            verdict = Verdict.ERROR if failure.raised else Verdict.FAILED
            return GroupResult(group.label, group.points, verdict, failure)
    return GroupResult(group.label, group.points, Verdict.PASSED)


# --- asking a submission ----------------------------------------------------------------------


def outcome_of(
    exercise: "Exercise", submission: Submission, case: Case, weights_seed: int = 0
) -> Outcome:
    """Return what a submission makes of a case."""
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
    # Rounded, so that a learner can redo an example with them.
    weights = {name: _rounded(rng.normal(size=shape)) for name, shape in sorted(shapes.items())}
    loaded = _ask(submission, "load", module=module, parameters=weights)
    output = _ask(submission, "forward", module=module, args=case.args)
    if loaded.raised or output.raised or output.is_todo:
        return replace(loaded if loaded.raised else output, parameters=weights)
    found = {"parameters": shapes, "output": output.value, "gradients": {}}
    several = isinstance(output.value, list | tuple) and len(output.value) > 0
    first = as_array(output.value[0] if several else output.value)
    # No array came out, or a giant one: there is nothing to take the gradient of.
    if first is None or first.size > _MOST_NUMBERS:
        return Outcome(found, parameters=weights)
    cotangent = rng.normal(size=first.shape).astype(np.float32)
    gradients = _ask(submission, "vjp", module=module, args=case.args, cotangent=cotangent)
    if gradients.raised:
        return replace(gradients, parameters=weights)
    return Outcome(found | {"gradients": gradients.value}, parameters=weights)


def _rounded(numbers: np.ndarray) -> np.ndarray:
    """Return numbers with one decimal, none of them 0: a parameter must matter."""
    short = np.round(numbers, 1)
    return np.where(short == 0, 0.3, short)


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
