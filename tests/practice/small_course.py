"""A course of one small chapter, for the tests of release, workspace and command line.

It has an exercise of every kind: a function, a value, a module and a bug to find.
"""

from pathlib import Path

import numpy as np

from attn_course.practice import exercises, workspace
from attn_course.practice.exercise import Case, Chapter


def small_chapter() -> Chapter:
    """Return chapter 77 with four exercises."""
    import torch

    chapter = Chapter(
        "77_small", title="A small chapter", sections={"small-section": "A small section"}
    )
    hints = ("look", "look closer", "nearly the answer")

    def facts(title: str, **others):
        common = {"difficulty": 1, "minutes": 5, "section": "small-section", "hints": hints}
        return common | {"title": title, "goal": f"Learn about {title}."} | others

    @chapter.exercise(**facts("doubling"))
    def double(x):
        return 2 * x

    @double.cases(points=2, label="a few numbers")
    def _double_cases(rng):
        yield Case(rng.normal(size=3))

    @double.misconception("You squared; doubling is adding a number to itself.")
    def squares(x):
        return x**2

    @double.variant
    def by_adding(x):
        return x + x

    @chapter.exercise(**facts("counting", kind="value"))
    def count():
        return 6

    @count.cases(points=1, label="the number")
    def _count_cases(rng):
        yield Case()

    @count.misconception("You counted from zero.")
    def from_zero():
        return 5

    @chapter.exercise(**facts("scaling", kind="module", difficulty=2))
    class Scale(torch.nn.Module):
        def __init__(self, d):
            super().__init__()
            self.w = torch.nn.Parameter(torch.ones(d))

        def forward(self, x):
            return self.w * x

    @Scale.cases(points=3, label="three numbers")
    def _scale_cases(rng):
        yield Case(torch.as_tensor(rng.normal(size=3), dtype=torch.float32), d=3)

    @chapter.exercise(**facts("a bug", difficulty=3))
    def mean(x):
        return np.mean(x)

    @mean.cases(points=1, label="a few numbers")
    def _mean_cases(rng):
        yield Case(rng.normal(size=5))

    @mean.misconception("You divide by one too few.")
    def divides_by_one_too_few(x):
        return np.sum(x) / (len(x) - 1)

    return chapter


def use_small_course(monkeypatch, root: Path) -> Chapter:
    """Put the small course, with a checkout in `root`, in place of the real one."""
    (root / "solutions").mkdir(parents=True)
    (root / "solutions" / "77_small.md").write_text(SOURCE)
    chapter = small_chapter()
    monkeypatch.setattr(exercises, "chapters", lambda: {"77": chapter})
    monkeypatch.setattr(workspace, "course_root", lambda: root)
    return chapter


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

+++ {"exercise": "double"}

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

+++ {"tags": ["solution"]}

The explanation that nobody may see before.

```{code-cell}
:tags: [solution]

print("shown with the solution only")
```

+++ {"exercise": "count"}

How many?

```{code-cell}
### BEGIN SOLUTION
count = 6
### END SOLUTION
```

```{code-cell}
practice.check("77.count", count)
```

+++ {"exercise": "Scale"}

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

+++ {"exercise": "mean"}

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

```{code-cell}
print("the end")
```
'''
