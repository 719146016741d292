"""Are the checks themselves right? Every known mistake must be rejected and named, no right
answer may be rejected.

`attn-course selftest` prints the table, and `tests/course/test_exercises.py` holds it at 100 %.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from attn_course.practice.exercise import Exercise, Result
from attn_course.practice.feedback import aligned
from attn_course.practice.submission import Submission
from attn_course.translate import _

SEEDS = (0, 1, 2)  # inputs are drawn afresh: what holds for one draw must hold for others


@dataclass(frozen=True)
class Examination:
    """How the checks of one exercise did, by the names of the wrong and right solutions."""

    exercise: Exercise
    survived: tuple[str, ...]  # misconceptions that passed
    unnamed: tuple[str, ...]  # misconceptions that were rejected without their own name
    rejected: tuple[str, ...]  # right solutions that did not pass

    @property
    def is_good(self) -> bool:
        """Whether every mistake was rejected and every right answer accepted."""
        return not self.survived and not self.rejected


def examine(
    exercise: Exercise,
    seeds: Iterable[int] = SEEDS,
    through: Callable[[Submission], Submission] = lambda submission: submission,
) -> Examination:
    """Check every known wrong and right solution of `exercise`, each `through` a proxy if given."""

    def result_of(solution: Any, seed: int) -> Result:
        return exercise.check(through(exercise.local(solution)), seed=seed)

    survived, unnamed, rejected = set[str](), set[str](), set[str]()
    right = {"reference": exercise.reference, **exercise.variants}
    for seed in seeds:
        for known in exercise.misconceptions:
            result = result_of(known.solution, seed)
            if result.status == "passed":
                survived.add(known.name)
            elif result.misconception is None or result.misconception.name != known.name:
                unnamed.add(known.name)
        for name, solution in right.items():
            if result_of(solution, seed).status != "passed":
                rejected.add(name)
    return Examination(
        exercise, tuple(sorted(survived)), tuple(sorted(unnamed)), tuple(sorted(rejected))
    )


def report(examined: Iterable[Examination]) -> str:
    """Return the table, what went wrong by name, and the three rates."""
    examined = list(examined)
    heading = (_("Exercise"), _("mistakes rejected"), _("called by name"), _("variants accepted"))
    rows: list[tuple[str, ...]] = [heading]
    faults: list[str] = []
    mistakes = killed = named = right = refused = 0
    for one in examined:
        exercise, wrong = one.exercise, len(one.exercise.misconceptions)
        caught = wrong - len(one.survived)
        called = wrong - len({*one.survived, *one.unnamed})
        accepted = len(exercise.variants) - len(set(one.rejected) & set(exercise.variants))
        rows.append(
            (
                exercise.id,
                _("{n} of {all}").format(n=caught, all=wrong),
                _("{n} of {all}").format(n=called, all=wrong),
                _("{n} of {all}").format(n=accepted, all=len(exercise.variants)),
            )
        )
        faults += [
            _("{id}: the mistake {name} passed").format(id=exercise.id, name=name)
            for name in one.survived
        ]
        faults += [
            _("{id}: the mistake {name} was not called by its name").format(
                id=exercise.id, name=name
            )
            for name in one.unnamed
        ]
        faults += [
            _("{id}: the right answer {name} was rejected").format(id=exercise.id, name=name)
            for name in one.rejected
        ]
        mistakes, killed, named = mistakes + wrong, killed + caught, named + called
        right += 1 + len(exercise.variants)
        refused += len(one.rejected)
    rates = [
        _("Kill rate: {share} ({n} of {all})").format(
            share=_share(killed, mistakes), n=killed, all=mistakes
        ),
        _("Naming rate: {share} ({n} of {all})").format(
            share=_share(named, mistakes), n=named, all=mistakes
        ),
        _("False rejections: {n} of {all}").format(n=refused, all=right),
    ]
    return "\n".join([*aligned(rows), "", *faults, *([""] if faults else []), *rates])


def _share(part: int, whole: int) -> str:
    # Rounded down, so that 100 % means all of them.
    return f"{100 * part // whole} %" if whole else "–"
