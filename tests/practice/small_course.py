"""A course of one small chapter, for the tests of release, workspace and command line.

It has an exercise of every kind: a function, a value, a module and a bug to find. What a person
reads is in `SOURCE`, what has to be Python comes from `small_definition`.
"""

import json
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np

from attn_course.authoring.release import Released, released_from
from attn_course.authoring.source import book_sections
from attn_course.practice import exercises, workspace
from attn_course.practice.definition import Case, Definition, reference
from attn_course.practice.exercise import Chapter

STEM = "77_small"


def write_small_course(root: Path) -> Path:
    """Write a checkout of the small course into `root`; return its source."""
    for name, text in (("solutions", SOURCE), ("book", PAGE)):
        (root / name).mkdir(parents=True)
        (root / name / f"{STEM}.md").write_text(text, encoding="utf-8")
    return root / "solutions" / f"{STEM}.md"


def released_course(source: Path) -> Released:
    """Return what the source of a small course becomes; raises `SourceProblems`."""
    sections = book_sections((source.parents[1] / "book").glob("*.md"))
    return released_from(source, sections, small_definition)


def use_small_course(monkeypatch, root: Path) -> Chapter:
    """Put the small course, with a checkout in `root`, in place of the real one."""
    compiled = released_course(write_small_course(root)).compiled
    for name in definitions():  # where `definition_of` looks for what is Python
        module = ModuleType(f"{exercises.__name__}.small.{name}")
        setattr(module, name, small_definition(STEM, name))
        monkeypatch.setitem(sys.modules, module.__name__, module)
    chapter = exercises.chapter_from(json.loads(compiled))
    monkeypatch.setattr(exercises, "chapters", lambda: {"77": chapter})
    monkeypatch.setattr(exercises, "compiled", {STEM: json.loads(compiled)}.__getitem__)
    monkeypatch.setattr(workspace, "course_root", lambda: root)
    return chapter


def small_definition(stem: str, name: str) -> Definition:
    """Return the part of an exercise that is Python, as `exercises.definition_of` does."""
    assert stem == STEM
    if name not in definitions():
        raise ModuleNotFoundError(f"No module named {name!r}")
    return definitions()[name]


@cache
def definitions() -> dict[str, Definition]:
    """Return the Python of all four exercises; an exercise copies it before it adds anything."""
    import torch

    @reference
    def double(x):
        return 2 * x

    @double.cases(points=2, label="a few numbers")
    def a_few_numbers(rng):
        yield Case(rng.normal(size=3))

    @double.variant
    def by_multiplying(x):
        return 2.0 * x

    @reference
    def count():
        return 6

    @count.cases(points=1, label="the number")
    def the_number(rng):
        yield Case()

    @reference
    class Scale(torch.nn.Module):
        def __init__(self, d):
            super().__init__()
            self.w = torch.nn.Parameter(torch.zeros(d))

        def forward(self, x):
            return self.w * x

    @Scale.cases(points=3, label="three numbers")
    def three_numbers(rng):
        yield Case(torch.as_tensor(rng.normal(size=3), dtype=torch.float32), d=3)

    @reference
    def mean(x):
        return np.mean(x)

    @mean.cases(points=1, label="a few numbers")
    def five_numbers(rng):
        yield Case(rng.normal(size=5))

    @mean.misconception("You return the number in the middle.")
    def median(x):
        return np.median(x)

    return {"double": double, "count": count, "Scale": Scale, "mean": mean}


PAGE = """\
# A small chapter

(small)=
## A small section

(other)=
## Another section
"""

SOURCE = '''\
---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

# A small chapter

Run this first.

```{code-cell}
import numpy as np
import torch

from attn_course import practice
```

+++ {"exercise": "double", "difficulty": 1, "minutes": 5, "section": "small"}

## doubling

**Goal:** Learn about doubling.

Double it: `double(x)` with `x` of shape `(n,)`.

```{code-cell}
def double(x):
    """Return twice x."""
    ### BEGIN SOLUTION
    secret_sum = x + x
    return secret_sum
    ### END SOLUTION
```

```{code-cell}
practice.check("77.double", double)
```

+++ {"tags": ["hints"]}

1. look
2. look closer
3. nearly the answer

+++ {"tags": ["mistakes"]}

squares: `x + x` -> `x**2`
: You squared; doubling is adding a number to itself. {ref}`other`

+++ {"tags": ["solution"]}

The explanation, for afterwards only.

```{code-cell}
:tags: [solution]

print("shown with the solution only")
```

+++ {"exercise": "count", "difficulty": 1, "minutes": 5, "section": "small", "kind": "value"}

## counting

**Goal:** Learn about counting.

How many?

```{code-cell}
### BEGIN SOLUTION
count = 6
### END SOLUTION
```

```{code-cell}
practice.check("77.count", count)
```

+++ {"tags": ["hints"]}

1. look
2. look closer
3. nearly the answer

+++ {"tags": ["mistakes"]}

from_zero: `5`
: You counted from zero.

+++ {"exercise": "Scale", "difficulty": 2, "minutes": 5, "section": "small", "kind": "module"}

## scaling

**Goal:** Learn about scaling.

A module with a weight `w` of shape `(d,)`.

```{code-cell}
class Scale(torch.nn.Module):
    def __init__(self, d):
        super().__init__()
        ### BEGIN SOLUTION
        self.w = torch.nn.Parameter(torch.ones(d))
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        return self.w * x
        ### END SOLUTION
```

```{code-cell}
practice.check("77.Scale", Scale)
```

+++ {"tags": ["hints"]}

1. look
2. look closer
3. nearly the answer

+++ {"exercise": "mean", "difficulty": 3, "minutes": 5, "section": "small", "task": "find the bug"}

## a bug

**Goal:** Learn about a bug.

Find the bug.

```{code-cell}
def mean(x):
    ### BEGIN SOLUTION
    ### STUB: total = sum(x)
    ### STUB: return total / (len(x) - 1)
    return sum(x) / len(x)
    ### END SOLUTION
```

```{code-cell}
practice.check("77.mean", mean)
```

+++ {"tags": ["hints"]}

1. look
2. look closer
3. nearly the answer

+++ {"tags": ["mistakes"]}

divides_by_one_too_few: the stub
: You divide by one too few.

```{code-cell}
print("the end")
```
'''
