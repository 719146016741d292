"""The part of an exercise that is Python: reference, cases, and answers that are other algorithms.

What a person reads about an exercise (task, hints, mistakes) is in `solutions/NN_topic.md`. The
rest is in `attn_course/practice/exercises/<topic>/<name>.py`, one file per exercise:

    @reference
    def average_pooling(queries, values):        # what a right answer returns
        return np.full(len(queries), definition.average_pooling(values))

    @average_pooling.cases(points=1, label=_("a few numbers"))
    def a_few_numbers(rng):                      # fresh inputs, the smallest first
        yield Case(readable(rng, 2), readable(rng, 3))

    @average_pooling.variant
    def with_a_loop(queries, values):            # a right answer that is another algorithm
        return [sum(values) / len(values) for _query in queries]

`@average_pooling.misconception(_("…"))` adds the rare mistake that is no edit of the solution.
`average_pooling.tolerance = (1e-3, 1e-30)` compares small numbers as closely as large ones.
For an exercise of kind "value", reference, variants and mistakes are functions without arguments
that return the value; for one of kind "module" they are classes.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from attn_course.inside.wire import Plain, pack
from attn_course.practice.compare import ABSOLUTE, RELATIVE


class Case:
    """One call of the submission: `Case(queries, keys, mask=mask)`.

    For an exercise of kind "module" the keywords build the module and the rest are the inputs of
    its forward pass: `Case(x, d_model=5)`.
    """

    def __init__(self, *args: Plain, **kwargs: Plain) -> None:
        self.args = args
        self.kwargs = kwargs

    def is_same_as(self, other: "Case") -> bool:
        """Return whether the other case asks exactly the same."""
        if len(self.args) != len(other.args) or self.kwargs.keys() != other.kwargs.keys():
            return False
        mine = [*self.args, *self.kwargs.values()]
        theirs = [*other.args, *(other.kwargs[name] for name in self.kwargs)]
        return all(pack(one) == pack(two) for one, two in zip(mine, theirs, strict=True))


@dataclass(frozen=True)
class Group:
    """Cases that are worth points together."""

    label: str
    points: int
    generate: Callable[[np.random.Generator], Iterable[Case]]


@dataclass(frozen=True)
class WrittenMistake:
    """A mistake that is written in Python: its name, its message, and the wrong answer."""

    name: str
    message: str
    solution: Any
    section: str | None = None


@dataclass
class Definition:
    """What Python says about an exercise; the decorators return what they decorate."""

    reference: Any
    groups: list[Group] = field(default_factory=list)
    misconceptions: list[WrittenMistake] = field(default_factory=list)
    variants: dict[str, Any] = field(default_factory=dict)
    tolerance: tuple[float, float] = (RELATIVE, ABSOLUTE)  # of what is compared

    def cases(self, points: int, label: str) -> Callable[[Callable[..., Any]], Any]:
        """Add a group of cases worth `points`: decorates a generator that takes an rng."""

        def add(generate: Callable[[np.random.Generator], Iterable[Case]]) -> Any:
            self.groups.append(Group(label, points, generate))
            return generate

        return add

    def misconception(self, message: str, section: str | None = None) -> Callable[[Any], Any]:
        """Add a wrong answer: decorates it; `message` tells a learner what is wrong with it."""

        def add(solution: Any) -> Any:
            found = WrittenMistake(solution.__name__, message, solution, section)
            self.misconceptions.append(found)
            return solution

        return add

    def variant(self, solution: Any) -> Any:
        """Add a right answer that is written in another way: decorates it."""
        self.variants[solution.__name__] = solution
        return solution


def reference(solution: Any) -> Definition:
    """Begin the definition of an exercise: decorates the reference, a function or a class."""
    return Definition(solution)
