"""Targets for the exercises in which the points predict each other."""

import numpy as np

from attn_course.practice.inputs import Floats


def up_and_down(rng: np.random.Generator, n: int) -> Floats:
    """Return `n` targets that jump at every step, so that it matters who attends to whom."""
    return np.round(rng.uniform(0.5, 2.5, n), 1) * (-1.0) ** np.arange(n)


def require_others(inputs):
    """Refuse a single point, which has no others to be predicted from: no example may be so small."""
    if len(inputs) < 2:
        raise ValueError("a point needs others to be predicted from")
