"""Which mutants of a solution get past its check, and which of them have a right to?

`solutions_of` makes the mutants of what is in the answer cell of an exercise, and `try_mutants`
hands each of them to the exercise's own check. A mutant that passes with every seed is a survivor.
Some survivors are no wrongs at all (a difference turned round and then squared): the cell tagged
`equivalent` names these with the reason, and they do not count. An explanation for something that
does not survive is stale, and is told too.

A mutant may loop for ever or fill the memory, so mutants run in a child process with a deadline.
"""

import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from attn_course.authoring.entries import Entry
from attn_course.authoring.release import source_chapter
from attn_course.authoring.source import SourceChapter, SourceExercise
from attn_course.practice.exercise import Exercise
from attn_course.practice.mutants import Mutant, mutants_of
from attn_course.practice.results import Verdict
from attn_course.translate import _

SEEDS = (0, 1, 2)  # inputs are drawn afresh: what holds for one draw must hold for others
WANTED_RATE = 0.97
_SHORTEST_DEADLINE = 3.0  # seconds of computing for one mutant …
_TIMES_THE_SOLUTION = 20.0  # … and at least so often what the solution itself takes
_MOST_MEMORY = 4 * 2**30  # bytes
_PASSED, _REJECTED = b"p", b"r"


class NoMutants(Exception):  # noqa: N818  (something is missing; the text says what to do)
    """There are no solutions here to make mutants of, or no way to run what may never end."""


Program = tuple[str, ...]  # statements of a notebook, to be run in order


@dataclass(frozen=True)
class Explanation:
    """Why some mutants are right answers too: a name, the reason, and which mutants these are."""

    name: str
    reason: str
    covers: Callable[[Mutant], bool]


@dataclass(frozen=True)
class Tested:
    """What is in an exercise's answer cell with all that it needs, and its mutants."""

    exercise: Exercise
    program: Program
    mutants: tuple[tuple[Mutant, Program], ...]
    explanations: tuple[Explanation, ...] = ()


@dataclass(frozen=True)
class Trial:
    """How the check of one exercise did against the mutants of its solution."""

    exercise: Exercise
    tried: int
    survivors: tuple[Mutant, ...]
    explanations: tuple[Explanation, ...] = ()
    endless: int = 0  # of the killed ones, those that did not come to an end

    def reason_of(self, mutant: Mutant) -> str | None:
        """Return why a mutant is a right answer too, or None where no reason is known."""
        return next((one.reason for one in self.explanations if one.covers(mutant)), None)

    @property
    def unexplained(self) -> tuple[Mutant, ...]:
        """The survivors that the check should have rejected."""
        return tuple(one for one in self.survivors if self.reason_of(one) is None)

    @property
    def stale(self) -> tuple[str, ...]:
        """The names of the explanations that explain no survivor."""
        return tuple(
            explanation.name
            for explanation in self.explanations
            if not any(map(explanation.covers, self.survivors))
        )

    @property
    def killed(self) -> int:
        """How many mutants were rejected."""
        return self.tried - len(self.survivors)

    @property
    def wrong(self) -> int:
        """How many mutants ought to be rejected: all that are not equivalent."""
        return self.killed + len(self.unexplained)

    @property
    def rate(self) -> float:
        """The share of the wrong mutants that were rejected."""
        return self.killed / self.wrong if self.wrong else 1.0

    @property
    def is_good(self) -> bool:
        """Whether enough were rejected, and every explanation still explains something."""
        return self.rate >= WANTED_RATE and not self.stale


def solutions_of(exercises: Iterable[Exercise], root: Path | None) -> list[Tested]:
    """Return the solutions of exercises, from `solutions/` in the checkout `root`."""
    sources: dict[str, SourceChapter] = {}
    found = []
    for exercise in exercises:
        stem = exercise.chapter.stem
        if root is None or not (root / "solutions" / f"{stem}.md").is_file():
            raise NoMutants(
                _(
                    "Mutants are made of solutions/{stem}.md, which is not here: it comes with a "
                    "checkout of the course. Leave the mutants out: --no-mutants"
                ).format(stem=stem)
            )
        if stem not in sources:
            sources[stem] = source_chapter(root, stem)
        found.append(solution_in(sources[stem], exercise))
    return found


def _covers(source: SourceChapter, written: SourceExercise, entry: Entry, mutant: Mutant) -> bool:
    return source.is_equivalent(written, entry, mutant.source)


def solution_in(source: SourceChapter, exercise: Exercise) -> Tested:
    """Return the solution of an exercise in the source of its chapter."""
    written = source.exercises[exercise.name]
    mutants = mutants_of(written.answer)
    programs = source.programs_with(exercise.name, (mutant.source for mutant in mutants))
    (unchanged,) = source.programs_with(exercise.name, [written.answer])
    # A mutant of a line that the answer does not need leaves the program as it was.
    tried = tuple(one for one in zip(mutants, programs, strict=True) if one[1] != unchanged)
    explanations = tuple(
        Explanation(entry.name, entry.message, partial(_covers, source, written, entry))
        for entry in written.equivalents
    )
    return Tested(exercise, source.program(exercise.name), tried, explanations)


def try_mutants(
    solution: Tested,
    seeds: Iterable[int] = SEEDS,
    tried: Callable[[], None] = lambda: None,
) -> Trial:
    """Check every mutant with every seed until it is rejected; call `tried` after each."""
    if not hasattr(os, "fork"):
        raise NoMutants(
            _(
                "Mutants may never end, so they run in a child process made by fork, and "
                "{system} has none. Leave the mutants out: --no-mutants"
            ).format(system=sys.platform)
        )
    exercise, alive = solution.exercise, list(solution.mutants)
    endless = 0
    for round_, seed in enumerate(seeds):
        survived = []
        verdicts = _verdicts(solution, [program for _mutant, program in alive], seed)
        for one, verdict in zip(alive, verdicts, strict=True):
            if verdict == "passed":
                survived.append(one)
            endless += verdict == "did not end"
            if round_ == 0:
                tried()
        alive = survived
    survivors = tuple(mutant for mutant, _program in alive)
    return Trial(exercise, len(solution.mutants), survivors, solution.explanations, endless)


def _verdicts(solution: Tested, programs: Sequence[Program], seed: int) -> Iterator[str]:
    """Yield what came of each program: "passed", "rejected", "did not end" or "crashed".

    A child checks them one after the other and writes a letter for each. Where it ends before its
    time, the program it was at is to blame, and the next child goes on after that.
    """
    done = 0
    while done < len(programs):
        reading, writing = os.pipe()
        with warnings.catch_warnings():
            # Of a process with threads the child has one: enough for it, as the solution shows.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            _check_and_leave(solution, programs[done:], seed, writing)
        os.close(writing)
        status = None
        try:
            with os.fdopen(reading, "rb", buffering=0) as letters:
                if letters.read(1) != _PASSED:  # then no mutant proves anything
                    fault = f"the solution of {solution.exercise.id} does not pass its own check"
                    raise ValueError(fault)
                while letter := letters.read(1):
                    done += 1
                    yield "passed" if letter == _PASSED else "rejected"
            status = os.waitpid(child, 0)[1]
        finally:
            if status is None:  # the rest is not needed
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
        if done < len(programs):
            if not os.WIFSIGNALED(status):  # an answer's faults are caught: this is the check's
                program = "\n".join(programs[done])
                fault = f"the check of {solution.exercise.id} itself broke on:\n{program}"
                raise RuntimeError(fault)
            done += 1
            timers = (signal.SIGPROF, signal.SIGALRM)
            yield "did not end" if os.WTERMSIG(status) in timers else "crashed"


def _check_and_leave(
    solution: Tested, programs: Sequence[Program], seed: int, writing: int
) -> None:
    """In the child: write a letter for the solution and each program, and never return."""
    try:
        _prepare_child()
        start = time.process_time()
        for program in (solution.program, *programs):
            passes = _passes(solution.exercise, program, seed)
            os.write(writing, _PASSED if passes else _REJECTED)
            if program is solution.program:  # the cases are drawn, and its time is known
                took = time.process_time() - start
                deadline = max(_SHORTEST_DEADLINE, _TIMES_THE_SOLUTION * took)
            signal.setitimer(signal.ITIMER_PROF, deadline)  # of computing: a busy machine …
            signal.setitimer(signal.ITIMER_REAL, 20 * deadline)  # … is no endless loop
        os._exit(0)
    finally:
        os._exit(1)


def _prepare_child() -> None:
    """Be silent, take no more memory than is reasonable, and end when a timer says so."""
    import resource

    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silence, stream)
    sys.stdout = sys.stderr = os.fdopen(silence, "w")
    warnings.simplefilter("ignore")
    if "torch" in sys.modules:  # the parent's other threads did not come along
        sys.modules["torch"].set_num_threads(1)
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    most = _MOST_MEMORY if hard == resource.RLIM_INFINITY else min(_MOST_MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    for timer in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(timer, signal.SIG_DFL)  # which ends the process, whatever it is at


def _passes(exercise: Exercise, program: Program, seed: int) -> bool:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    try:
        for part in program:
            exec(compile(part, "<mutant>", "exec"), namespace)
    except (Exception, SystemExit):
        return False
    if exercise.name not in namespace:
        return False
    answer = namespace[exercise.name]
    return exercise.check(exercise.local(answer), seed=seed).verdict is Verdict.PASSED
