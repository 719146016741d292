"""Let output step t attend to the keys from t - D to t + D."""

import numpy as np

from attn_course import alignment
from attn_course.definitions import alignment as definition
from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.alignment._windows import best_outside
from attn_course.practice.inputs import huge, readable, row_by_row, softmax
from attn_course.translate import _


@reference
def local_monotonic(scores, steps, half_width):
    return alignment.local_monotonic(scores, steps, half_width)


@local_monotonic.cases(points=1, label=_("windows inside the sentence"))
def windows_inside(rng):
    yield Case(readable(rng, 1, 3), np.array([2]), 1)
    yield Case(readable(rng, 2, 5), np.array([2, 3]), 1)
    yield best_outside(readable(rng, 2, 5), np.array([2, 4]), 1)
    yield Case(readable(rng, 3, 7), np.array([3, 4, 5]), 2)


@local_monotonic.cases(points=1, label=_("windows that are clipped at both ends"))
def clipped_windows(rng):
    yield Case(readable(rng, 2, 3), np.array([1, 3]), 1)
    yield Case(readable(rng, 5, 7), np.arange(2, 7), 3)


@local_monotonic.cases(points=1, label=_("batches, each sentence at steps of its own"))
def batches_of_windows(rng):
    yield Case(readable(rng, 2, 3, 5), np.array([[1, 2, 3], [3, 4, 5]]), 1)
    yield Case(huge(rng, 3, 2, 7), rng.integers(1, 8, (3, 2)), 2)
    yield Case(readable(rng, 5, 2, 3), rng.integers(1, 4, (5, 2)), 0)
    yield Case(readable(rng, 2, 3, 5, 7), rng.integers(1, 8, (2, 3, 5)), 1)


@local_monotonic.cases(points=1, label=_("a step after the end: no key in reach, weights 0"))
def windows_past_the_end(rng):
    yield Case(readable(rng, 2, 3), np.array([3, 5]), 1)
    yield Case(readable(rng, 3, 5), np.array([7, 8, 9]), 2)


@local_monotonic.variant
def windows_in_loops(scores, steps, half_width):
    return row_by_row(
        lambda row, t: np.array(definition.local_monotonic(row, t, half_width)), scores, steps
    )


@local_monotonic.variant
def windows_by_slices(scores, steps, half_width):
    def one_row(row, t):
        weights = np.zeros(len(row))
        first, last = max(t - half_width - 1, 0), min(t + half_width, len(row))
        if first < last:
            weights[first:last] = softmax(row[first:last])
        return weights

    return row_by_row(one_row, scores, steps)


@local_monotonic.variant
def windows_in_torch(scores, steps, half_width):
    import torch

    scores, steps = torch.as_tensor(scores), torch.as_tensor(steps)
    places = torch.arange(scores.shape[-1]) + 1
    outside = (places - steps.unsqueeze(-1)).abs() > half_width
    return scores.masked_fill(outside, -torch.inf).softmax(dim=-1).nan_to_num(0.0)
