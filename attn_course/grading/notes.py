"""What a learner is told about an exercise that went wrong, and what not.

Inputs are named and not shown, so that they can't be answered by heart. An answer that has seen a
private input could repeat it in whatever it says itself: in the text of an exception, in the name
of its class, in a line that it pretends to have, in a number that it returns. So of a private
group, and of everything that comes later from the same child, only this is told: which of Python's
own exceptions was raised, in which cell and line of the notebook (where such a line is there), and
what we work out ourselves by comparing numbers.
"""

import builtins
from collections.abc import Sequence
from typing import Protocol

from attn_course.grading.instructor import PrivateGroup
from attn_course.inside.notebook import Cell
from attn_course.practice.exercise import Exercise
from attn_course.practice.results import Difference, Failure, GroupResult, Raised, Result, Verdict
from attn_course.translate import _

_MOST_PLACES = 3  # of a line that is written several times


class Ended(Protocol):
    """A child that ended, as far as it is told."""

    @property
    def verdict(self) -> Verdict | None:
        """What ended it."""
        ...

    @property
    def last_words(self) -> str:
        """The same in a sentence, with what is known about it."""
        ...


def is_private(exercise: Exercise) -> bool:
    """Return whether an exercise asks something that must not get about."""
    return any(isinstance(group, PrivateGroup) for group in exercise.groups)


def on_failure(result: Result, cells: Sequence[Cell], has_seen: bool) -> list[str]:
    """Say what went wrong; `has_seen`: the child had seen private inputs before this exercise."""
    place, failure = next((n, g.failure) for n, g in enumerate(result.groups) if g.failure)
    group, asked = result.groups[place], result.exercise.groups
    if isinstance(asked[place], PrivateGroup):
        return _of_private_group(group, failure, cells)
    if has_seen or any(isinstance(before, PrivateGroup) for before in asked[:place]):
        said = _("In “{label}”: {said}.").format(label=group.label, said=_guarded(failure))
        return [said, *_at(failure.raised, cells), *_inputs(failure)]
    notes = [_("In “{label}”: {sentence}").format(label=group.label, sentence=failure.sentence)]
    if failure.raised and failure.raised.line:
        notes.append(_("At the line: {line}").format(line=failure.raised.line.strip()))
    return [*notes, *_inputs(failure)]


def on_end(child: Ended, has_seen: bool) -> str:
    """Say what ended a child; of one that has seen private inputs, nothing that it could choose."""
    chosen = {
        Verdict.CRASHED: _("It ended the whole Python process."),
        Verdict.BROKE_PROTOCOL: _("What came back is no answer to what was asked."),
    }
    guarded = chosen.get(child.verdict) if child.verdict and has_seen else None
    return guarded or child.last_words


def on_our_fault(fault: Exception, has_seen: bool) -> str:
    """Say that a check stopped: its words may repeat what came back."""
    if has_seen:
        why = _("The check itself stopped with {type}. Please tell your instructor.")
        return why.format(type=type(fault).__name__)
    why = _("The check itself stopped with {type}: {message}. Please tell your instructor.")
    return why.format(type=type(fault).__name__, message=fault)


def _of_private_group(group: GroupResult, failure: Failure, cells: Sequence[Cell]) -> list[str]:
    sentence = _("In “{label}”: {said}. The input is private.")
    said = _kind_of(failure.raised) if failure.raised else _("it is not right")
    return [sentence.format(label=group.label, said=said), *_at(failure.raised, cells)]


def _guarded(failure: Failure) -> str:
    if failure.raised:
        return _kind_of(failure.raised)
    if failure.difference and _is_ours(failure.difference):
        return failure.difference.sentence.rstrip(".")
    return _("it is not right")


def _is_ours(difference: Difference) -> bool:
    """Return whether the sentence counts numbers that differ: others quote a word, a key, a shape.

    A shape can tell much: its sizes are chosen by whoever returns it.
    """
    return difference.where is not None


def _kind_of(raised: Raised) -> str:
    """Name the exception where it is one of Python's: others have a name that somebody chose."""
    thing = getattr(builtins, raised.type, None)
    if isinstance(thing, type) and issubclass(thing, BaseException):
        return _("it raised {type}").format(type=raised.type)
    return _("it raised an exception")


def _at(raised: Raised | None, cells: Sequence[Cell]) -> list[str]:
    """Say where it was raised, by number: a line counts only where the notebook has it."""
    line = raised.line.strip() if raised else ""
    places = [
        _("cell {cell}, line {line}").format(cell=cell.number, line=number)
        for cell in cells
        for number, own in enumerate(cell.source.splitlines(), start=1)
        if line and own.strip() == line
    ]
    if not 1 <= len(places) <= _MOST_PLACES:
        return []
    return [_("Where: {places}.").format(places=_(" or ").join(places))]


def _inputs(failure: Failure) -> list[str]:
    words = []
    for name, value in failure.arguments.items():
        shape = getattr(value, "shape", None)
        shaped = _("{name} of shape {shape}")
        words.append(name if shape is None else shaped.format(name=name, shape=tuple(shape)))
    return [_("The input, not shown here: {names}.").format(names=", ".join(words))] * bool(words)
