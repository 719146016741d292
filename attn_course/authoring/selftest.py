"""Are the checks themselves right? Every known mistake must be rejected and named, no right
answer may be rejected, and hardly a mutant of a solution may pass.

`attn-course selftest` prints the table, and `tests/course/test_exercises.py` holds it at 100 %.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attn_course.authoring.first_look import Look, in_words, rates
from attn_course.authoring.survivors import SEEDS, WANTED_RATE, Trial
from attn_course.inside.submission import Submission
from attn_course.practice.exercise import Exercise
from attn_course.practice.feedback import aligned
from attn_course.practice.results import Result, Verdict
from attn_course.translate import _

WANTED_NAMING_RATE = 0.95


@dataclass(frozen=True)
class Examination:
    """How the checks of one exercise did, by the names of the wrong and right solutions."""

    exercise: Exercise
    survived: tuple[str, ...]  # misconceptions that passed
    unnamed: tuple[str, ...]  # misconceptions that were rejected without their own name
    rejected: tuple[str, ...]  # right solutions that did not pass

    @property
    def mistakes(self) -> int:
        """How many known mistakes there are."""
        return len(self.exercise.mistakes)

    @property
    def killed(self) -> int:
        """How many of them were rejected."""
        return self.mistakes - len(self.survived)

    @property
    def named(self) -> int:
        """How many of them were rejected and called by their own name."""
        return self.mistakes - len({*self.survived, *self.unnamed})

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
        for known in exercise.mistakes:
            result = result_of(known.answer, seed)
            if result.verdict is Verdict.PASSED:
                survived.add(known.name)
            elif result.mistake is None or result.mistake.name != known.name:
                unnamed.add(known.name)
        for name, solution in right.items():
            if result_of(solution, seed).verdict is not Verdict.PASSED:
                rejected.add(name)
    return Examination(
        exercise, tuple(sorted(survived)), tuple(sorted(unnamed)), tuple(sorted(rejected))
    )


def is_good(examined: Sequence[Examination], trials: Sequence[Trial] = ()) -> bool:
    """Return whether the checks are as good as they must be.

    All mistakes rejected, 95 % of them by name, no right answer rejected; and of each solution
    97 % of the mutants that are wrong.
    """
    mistakes, named = sum(one.mistakes for one in examined), sum(one.named for one in examined)
    return (
        all(one.is_good for one in examined)
        and named >= WANTED_NAMING_RATE * mistakes
        and all(trial.is_good for trial in trials)
    )


def report(
    examined: Iterable[Examination],
    trials: Iterable[Trial] = (),
    looks: Mapping[str, Sequence[Look]] | None = None,
) -> str:
    """Return the table, what went wrong by name, which mutants survive and why, and the rates.

    `looks` are the first looks by exercise: how the checks did on mistakes that were in no list.
    """
    examined, tried = list(examined), {trial.exercise.id: trial for trial in trials}
    heading = [_("Exercise"), _("mistakes rejected"), _("called by name"), _("variants accepted")]
    heading += [_("first look")] * bool(looks)
    rows = [tuple(heading + [_("mutants killed"), _("equivalent")] * bool(tried))]
    for one in examined:
        row = [one.exercise.id, *_shares_of(one)]
        if looks:
            found = rates(looks.get(one.exercise.id, ()))
            row.append(_n_of(found.helpful, found.wrong) if found.wrong else "–")
        if tried:
            row += _shares_of_mutants(tried.get(one.exercise.id))
        rows.append(tuple(row))
    faults = [line for one in examined for line in _faults_of(one)]
    faults += [line for trial in tried.values() for line in _faults_of_check(trial)]
    explained = [line for trial in tried.values() for line in _explained(trial)]
    if explained:
        explained.insert(0, _("Mutants that pass and are right answers too:"))
    shares = [*_rates(examined), *_mutant_rates(list(tried.values()))]
    if looks:
        ids = {one.exercise.id for one in examined}
        seen = [look for name, found in looks.items() if name in ids for look in found]
        shares += [in_words(rates(seen))] if seen else []
    parts = [aligned(rows), faults, explained, shares]
    return "\n\n".join("\n".join(part) for part in parts if part)


def _shares_of(one: Examination) -> list[str]:
    variants = one.exercise.variants
    accepted = len(variants) - len(set(one.rejected) & set(variants))
    return [
        _n_of(one.killed, one.mistakes),
        _n_of(one.named, one.mistakes),
        _n_of(accepted, len(variants)),
    ]


def _shares_of_mutants(trial: Trial | None) -> list[str]:
    if trial is None:
        return ["–", "–"]
    return [_n_of(trial.killed, trial.tried), str(trial.tried - trial.wrong)]


def _faults_of(one: Examination) -> list[str]:
    sentences = (
        (_("{id}: the mistake {name} passed"), one.survived),
        (_("{id}: the mistake {name} was not called by its name"), one.unnamed),
        (_("{id}: the right answer {name} was rejected"), one.rejected),
    )
    return [
        sentence.format(id=one.exercise.id, name=name)
        for sentence, names in sentences
        for name in names
    ]


def _faults_of_check(trial: Trial) -> list[str]:
    survivors = [
        _("{id}: this mutant passed ({kind}): {change}").format(
            id=trial.exercise.id, kind=mutant.kind, change=mutant.change
        )
        for mutant in trial.unexplained
    ]
    return survivors + [
        _("{id}: the cell `equivalent` explains {name}, but no such mutant passes").format(
            id=trial.exercise.id, name=name
        )
        for name in trial.stale
    ]


def _explained(trial: Trial) -> list[str]:
    """Return the survivors that are no wrongs, under the reasons why."""
    lines: list[str] = []
    by_reason: dict[str, list[str]] = {}
    for mutant in trial.survivors:
        reason = trial.reason_of(mutant)
        if reason:
            by_reason.setdefault(reason, []).append(mutant.change)
    for reason, changes in by_reason.items():
        lines.append(f"  {trial.exercise.id}: {reason}")
        lines += [f"    {change}" for change in changes]
    return lines


def _rates(examined: list[Examination]) -> list[str]:
    mistakes = sum(one.mistakes for one in examined)
    killed, named = sum(one.killed for one in examined), sum(one.named for one in examined)
    right = sum(1 + len(one.exercise.variants) for one in examined)
    refused = sum(len(one.rejected) for one in examined)
    return [
        _("Kill rate: {share} ({n} of {all})").format(
            share=_share(killed, mistakes), n=killed, all=mistakes
        ),
        _("Naming rate: {share} ({n} of {all})").format(
            share=_share(named, mistakes), n=named, all=mistakes
        ),
        _("False rejections: {n} of {all}").format(n=refused, all=right),
    ]


def _mutant_rates(trials: list[Trial]) -> list[str]:
    if not trials:
        return []
    killed, tried = sum(trial.killed for trial in trials), sum(trial.tried for trial in trials)
    wrong = sum(trial.wrong for trial in trials)
    endless = sum(trial.endless for trial in trials)
    weakest = min(trials, key=lambda trial: trial.rate)
    return [
        _("Mutants killed: {n} of {all}, {endless} because they did not end").format(
            n=killed, all=tried, endless=endless
        ),
        _("Mutants that passed: {n}, of which {right} are right answers too").format(
            n=tried - killed, right=tried - wrong
        ),
        _("Mutant kill rate: {share} ({n} of the {wrong} that are wrong)").format(
            share=_share(killed, wrong), n=killed, wrong=wrong
        ),
        _("Least in one exercise: {share} ({id}); {wanted:.0f} % are wanted in each").format(
            share=_share(weakest.killed, weakest.wrong),
            id=weakest.exercise.id,
            wanted=100 * WANTED_RATE,
        ),
    ]


def _n_of(part: int, whole: int) -> str:
    return _("{n} of {all}").format(n=part, all=whole)


def _share(part: int, whole: int) -> str:
    # Rounded down, so that 100 % means all of them.
    return f"{100 * part // whole} %" if whole else "–"
