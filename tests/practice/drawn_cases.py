"""The cases of a notebook's exercises, as its tests look at them."""

import numpy as np


def reference(chapter, name):
    """Return the right answer to an exercise."""
    return chapter.exercises[name].reference


def groups_of(chapter, name, seed):
    """Return the cases of an exercise, drawn from a seed, group by group."""
    rng = np.random.default_rng(seed)
    return [list(group.generate(rng)) for group in chapter.exercises[name].groups]


def drawn(chapter, name, seed):
    """Return all cases of an exercise, drawn from a seed."""
    return [case for group in groups_of(chapter, name, seed) for case in group]
