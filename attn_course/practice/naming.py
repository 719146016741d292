"""Which known mistake is it? Told by the outputs alone: the learner's source is never read.

A mistake that returns exactly the learner's outputs on every case is certain. If only some cases
fit, the name is a guess, said with "perhaps". Guesses are tried from the best to the weakest,
and one counts only where no other mistake fits as well:

0. of a list of values to be found, all parts that it gets wrong are wrong in the same way;
1. it agrees on all cases, but for the words of an exception;
2. it agrees on every case that fails (who made a mistake in one place and not in another);
3. the same, but for how far NaN spreads (one cleans up at the end, the other does not);
4. it agrees on the cases that pass and on the first group that fails (who made two mistakes).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from attn_course.practice.compare import as_array, same, same_but_for_nan
from attn_course.practice.definition import Case
from attn_course.practice.results import GroupResult, Mistake, Verdict

if TYPE_CHECKING:
    from attn_course.practice.exercise import KnownMistake
    from attn_course.practice.judging import Drawn, Outcome

Got = dict[Case, "Outcome"]
Alike = Callable[["Outcome", "Outcome"], bool]


def name_the_mistake(
    got: "Got", results: tuple[GroupResult, ...], drawn: "Drawn"
) -> Mistake | None:
    """Return the known mistake that returns the same outputs as the submission, if there is one."""
    if not any(result.failure for result in results):
        return None
    exact = _exact(got, drawn)
    if exact:
        return _recognised(exact, is_certain=not _only_nan_is_wrong(drawn.cases, got, drawn))
    guess = _guess_at_parts(got, drawn) or _guess(got, results, drawn)
    return None if guess is None else _recognised(guess, is_certain=False)


def _exact(got: "Got", drawn: "Drawn") -> "KnownMistake | None":
    """Return the mistake with the same outputs on all cases, if need be whatever `b * a` raised."""
    fitting = drawn.mistakes_like(got, drawn.cases)
    if fitting:
        return fitting[0]
    return _only_one(drawn.mistakes_like(got, drawn.cases, _but_for_order))


def _guess(got: "Got", results: tuple[GroupResult, ...], drawn: "Drawn") -> "KnownMistake | None":
    failing = [case for case in drawn.cases if case in got and not _is_right(case, got, drawn)]
    if all(outcome.raised for outcome in got.values()):  # there is little to go by
        return _only_one(drawn.mistakes_like(got, failing))
    first = next(
        cases
        for result, (_group, cases) in zip(results, drawn.groups, strict=True)
        if result.failure
    )
    passing = [case for case in drawn.cases if case not in failing]
    with_the_first_group = [*_of_passed(results, drawn), *first]
    if _only_nan_is_wrong(failing, got, drawn):  # NaN on a case says little about the mistake
        found = _only_one(drawn.mistakes_like(got, with_the_first_group))
        if found:
            return found
    return (
        _only_one(drawn.mistakes_like(got, drawn.cases, _resembles))
        or _nearest(drawn.mistakes_like(got, failing), passing, got, drawn)
        or _nearest(_but_for_nan(failing, got, drawn), passing, got, drawn)
        or _only_one(drawn.mistakes_like(got, with_the_first_group))
    )


def _guess_at_parts(got: "Got", drawn: "Drawn") -> "KnownMistake | None":
    """Return the mistake whose wrong parts are all in a list of values that was to be found.

    Of several, the one that explains most parts: each part may be wrong for a reason of its own.
    """
    if len(drawn.cases) != 1 or not isinstance(drawn.wanted(drawn.cases[0]).value, list):
        return None
    case = drawn.cases[0]
    mine, right = got[case].value, drawn.wanted(case).value
    if not isinstance(mine, list | tuple) or len(mine) != len(right):
        return None
    explained: dict[int, list[KnownMistake]] = {}
    for known in drawn.mistakes:
        theirs = drawn.of_mistake(known, case).value
        if not isinstance(theirs, list | tuple) or len(theirs) != len(right):
            continue
        wrong = [
            n
            for n, (one, other) in enumerate(zip(theirs, right, strict=True))
            if not same(one, other)
        ]
        if wrong and all(same(mine[n], theirs[n]) for n in wrong):
            explained.setdefault(len(wrong), []).append(known)
    return explained[max(explained)][0] if explained else None


def _is_right(case: Case, got: "Got", drawn: "Drawn") -> bool:
    return got[case].raised is None and same(got[case].value, drawn.wanted(case).value)


def _of_passed(results: tuple[GroupResult, ...], drawn: "Drawn") -> list[Case]:
    pairs = zip(results, drawn.groups, strict=True)
    return [c for result, (_g, cases) in pairs if result.verdict is Verdict.PASSED for c in cases]


def _but_for_order(one: "Outcome", other: "Outcome") -> bool:
    return one.agrees_but_for_order(other)


def _resembles(one: "Outcome", other: "Outcome") -> bool:
    return one.resembles(other)


def _only_one(fitting: "list[KnownMistake]") -> "KnownMistake | None":
    return fitting[0] if len(fitting) == 1 else None


def _nearest(
    fitting: "list[KnownMistake]", cases: list[Case], got: "Got", drawn: "Drawn"
) -> "KnownMistake | None":
    """Return the one that also agrees on most of the other cases, if no other does on as many."""
    counts = [
        sum(got[case].agrees_with(drawn.of_mistake(known, case)) for case in cases)
        for known in fitting
    ]
    if not counts or counts.count(max(counts)) > 1:
        return None
    return fitting[counts.index(max(counts))]


def _but_for_nan(failing: list[Case], got: "Got", drawn: "Drawn") -> "list[KnownMistake]":
    """Return the mistakes that agree on failing cases wherever both have numbers.

    Somewhere they must agree on a number that is wrong: NaN alone says too little.
    """
    return [known for known in drawn.mistakes if _fits_but_for_nan(known, failing, got, drawn)]


def _fits_but_for_nan(
    known: "KnownMistake", failing: list[Case], got: "Got", drawn: "Drawn"
) -> bool:
    is_telling = False
    for case in failing:  # the first that does not fit ends it: calls may take long
        theirs = drawn.of_mistake(known, case)
        if not _alike_but_for_nan(got[case], theirs):
            return False
        is_telling = is_telling or _share_a_wrong_number(got[case], theirs, drawn.wanted(case))
    return is_telling


def _alike_but_for_nan(one: "Outcome", other: "Outcome") -> bool:
    if one.raised or other.raised:
        return one.agrees_with(other)
    mine, theirs = as_array(one.value), as_array(other.value)
    if mine is None or theirs is None or mine.shape != theirs.shape:
        return one.agrees_with(other)
    known = ~np.isnan(mine.astype(float)) & ~np.isnan(theirs.astype(float))
    return same(np.where(known, mine, 0), np.where(known, theirs, 0))


def _share_a_wrong_number(one: "Outcome", other: "Outcome", wanted: "Outcome") -> bool:
    arrays = [as_array(outcome.value) for outcome in (one, other, wanted)]
    if any(array is None for array in arrays):
        return one.raised is None and other.raised is None
    mine, theirs, right = (np.asarray(array, dtype=float) for array in arrays)
    if not mine.shape == theirs.shape == right.shape:
        return mine.shape == theirs.shape
    both = np.isclose(mine, theirs, rtol=1e-4, atol=1e-5)
    return bool((both & ~np.isclose(mine, right, rtol=1e-4, atol=1e-5)).any())


def _only_nan_is_wrong(cases: list[Case], got: "Got", drawn: "Drawn") -> bool:
    """Return whether all other numbers are right: many a mistake ends in NaN."""
    return all(same_but_for_nan(got[case].value, drawn.wanted(case).value) for case in cases)


def _recognised(known: "KnownMistake", is_certain: bool) -> Mistake:
    return Mistake(known.name, known.message, known.section, is_certain)
