"""A learner's answer next to the right one: `practice.play(f, beside="05c.affinity")`.

The inputs are those of the exercise's own cases, always the same ones. The slider `example` chooses
one; a range for an argument changes it: a number is replaced, an array is multiplied.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from attn_course.inside.submission import LocalSubmission
from attn_course.practice import judging
from attn_course.practice.compare import difference
from attn_course.practice.definition import Case
from attn_course.practice.results import Difference
from attn_course.translate import _

if TYPE_CHECKING:
    from attn_course.practice.exercise import Exercise

EXAMPLE = "example"
_SEED = 0
_MOST_NUMBERS = 60  # of the inputs of an example: a learner looks at them


class SideBySide:
    """The examples of an exercise, and both answers to one of them."""

    def __init__(self, answer: Any, exercise: "Exercise") -> None:
        if exercise.kind != "function":
            raise TypeError(
                _("Only a function can be played with, and {id} asks for a {kind}.").format(
                    id=exercise.id, kind=exercise.kind
                )
            )
        self.exercise = exercise
        self._submission = exercise.local(answer)
        self._reference = LocalSubmission({exercise.name: exercise.reference})
        groups = judging.drawn_cases(exercise, _SEED).groups
        cases = [case for _group, cases in groups for case in cases]
        self.cases = [case for case in cases if _size(case) <= _MOST_NUMBERS] or cases[:1]

    def ranges(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the ranges of the sliders, that of the examples first."""
        names = self.exercise.named_arguments(self.cases[0])
        for name in given:
            if name not in names:
                raise ValueError(
                    _("{id} has no argument {name}; it has {names}.").format(
                        id=self.exercise.id, name=name, names=", ".join(names)
                    )
                )
        examples = {EXAMPLE: (1, len(self.cases))} if len(self.cases) > 1 else {}
        return examples | dict(given)

    def start(self, name: str) -> float:
        """Return where a slider begins: at the number itself, or at once the array."""
        value = self.exercise.named_arguments(self.cases[0]).get(name, 1)
        return value if isinstance(value, int | float) else 1

    def compared(self, **values: float) -> tuple[dict[str, Any], Difference]:
        """Return the arguments of the chosen example, and how both answers to it compare."""
        case = self.cases[int(values.pop(EXAMPLE, 1)) - 1]
        arguments = self.exercise.named_arguments(case)
        for name, value in values.items():
            was = arguments[name]
            arguments[name] = was * value if isinstance(was, np.ndarray) else value
        positional = tuple(arguments.values())[: len(case.args)]
        changed = Case(*positional, **{name: arguments[name] for name in case.kwargs})
        yours = judging.outcome_of(self.exercise, self._submission, changed)
        if yours.is_todo:
            raise NotImplementedError
        right = judging.outcome_of(self.exercise, self._reference, changed).value
        if yours.raised:
            sentence = f"{yours.raised.type}: {yours.raised.message}"
            return arguments, Difference(sentence, None, right)
        found = difference(yours.value, right)
        return arguments, found or Difference(_("Both are the same."), yours.value, right)

    def show(self, **values: float) -> None:
        """Show the example and both answers in a notebook."""
        from IPython.display import HTML, display

        from attn_course.practice.feedback import comparison_html

        display(HTML(comparison_html(*self.compared(**values))))


def _size(case: Case) -> int:
    return sum(int(np.size(value)) for value in (*case.args, *case.kwargs.values()))
