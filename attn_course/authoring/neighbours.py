"""Each mistake of an exercise as an author wants to see it: change, output, nearest neighbour.

Two mistakes that agree on nearly all cases are hard to tell apart: where they agree on all, the
first one takes the other's name.
"""

import difflib
import inspect
from collections.abc import Sequence

import numpy as np

from attn_course.practice.compare import difference
from attn_course.practice.exercise import Exercise, KnownMistake
from attn_course.practice.judging import Drawn, Outcome, drawn_cases
from attn_course.practice.printing import argument_lines, print_alike
from attn_course.translate import _


def mistakes_in_words(exercise: Exercise, seed: int = 0) -> str:
    """Return a paragraph for each mistake of an exercise, on the inputs of one seed."""
    drawn = drawn_cases(exercise, seed)
    with np.errstate(all="ignore"):
        return "\n\n".join(_in_words(exercise, known, drawn) for known in exercise.mistakes)


def _in_words(exercise: Exercise, known: KnownMistake, drawn: Drawn) -> str:
    parts = [
        known.name,
        f"  {known.message}",
        *_indented(_change(exercise, known)),
        *_output(exercise, known, drawn),
        f"  {_neighbour(exercise, known, drawn)}",
    ]
    return "\n".join(parts)


def _change(exercise: Exercise, known: KnownMistake) -> list[str]:
    """Return the lines that an edit takes out and puts in, or the code of a mistake in Python."""
    if not known.program or exercise.solution is None:
        try:
            return inspect.getsource(known.answer).rstrip().split("\n")
        except (OSError, TypeError):
            return [repr(known.answer)]
    before, after = exercise.solution.program.split("\n"), known.program.split("\n")
    lines = difflib.unified_diff(before, after, lineterm="", n=0)
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


def _output(exercise: Exercise, known: KnownMistake, drawn: Drawn) -> list[str]:
    """Return what the mistake gives on the smallest case where a right answer gives another."""
    for case in drawn.cases:
        got, wanted = drawn.of_mistake(known, case), drawn.wanted(case)
        if got.agrees_with(wanted):
            continue
        return [
            _("  on the smallest case that shows it:"),
            *_indented(argument_lines(exercise.named_arguments(case))),
            *_indented(_printed(got, wanted)),
        ]
    return [_("  right on every case")]


def _printed(got: Outcome, wanted: Outcome) -> list[str]:
    if got.raised:
        return [got.raised.sentence]
    found = difference(got.value, wanted.value)
    assert found is not None  # else both agree
    yours, expected = print_alike(found.got, found.wanted)
    return [found.sentence, yours, _("instead of"), expected]


def _neighbour(exercise: Exercise, known: KnownMistake, drawn: Drawn) -> str:
    others = [other for other in exercise.mistakes if other is not known]
    agreeing = {other.name: _agreeing(known, other, drawn) for other in others}
    nearest = max(agreeing, key=lambda name: agreeing[name], default=None)
    if nearest is None or not agreeing[nearest]:
        return _("no other mistake agrees with it on any case")
    sentence = _("nearest: {name}, the same on {count} of {total} cases")
    return sentence.format(name=nearest, count=agreeing[nearest], total=len(drawn.cases))


def _agreeing(one: KnownMistake, other: KnownMistake, drawn: Drawn) -> int:
    outcomes = ((drawn.of_mistake(one, c), drawn.of_mistake(other, c)) for c in drawn.cases)
    return sum(first.agrees_with(second) for first, second in outcomes)


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for text in lines for line in text.split("\n")]
