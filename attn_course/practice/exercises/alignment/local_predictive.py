"""Find two mistakes in the Gaussian that fades a window out."""

import numpy as np

from attn_course import alignment
from attn_course.definitions import alignment as definition
from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.alignment._windows import best_outside
from attn_course.practice.inputs import huge, readable, row_by_row
from attn_course.translate import _


@reference
def local_predictive(scores, positions, half_width):
    return alignment.local_predictive(scores, positions, half_width)


def _between(rng, k, *size):
    """Return real positions in (0, k) with one decimal: no key is nearly at a window's edge."""
    return np.round(rng.uniform(0.1, k - 0.1, size), 1)


@local_predictive.cases(points=1, label=_("positions between the keys"))
def positions_between(rng):
    yield Case(readable(rng, 1, 3), np.array([1.4]), 2)
    yield Case(readable(rng, 2, 5), _between(rng, 5, 2), 2)
    yield best_outside(readable(rng, 2, 5), np.array([1.4, 4.3]), 2)
    yield Case(readable(rng, 5, 7), _between(rng, 7, 5), 3)


@local_predictive.cases(points=1, label=_("positions on a key, and next to both ends"))
def positions_on_a_key(rng):
    yield Case(readable(rng, 3, 5), np.array([2.0, 3.0, 4.0]), 1)
    yield Case(readable(rng, 3, 7), np.array([0.3, 4.0, 6.8]), 3)


@local_predictive.cases(points=1, label=_("batches of positions (..., q), large scores"))
def batches_of_positions(rng):
    yield Case(readable(rng, 2, 3, 5), _between(rng, 5, 2, 3), 2)
    yield Case(huge(rng, 3, 2, 7), _between(rng, 7, 3, 2), 3)
    yield Case(readable(rng, 2, 3, 5, 7), _between(rng, 7, 2, 3, 5), 2)


@local_predictive.variant
def predicted_windows_in_loops(scores, positions, half_width):
    return row_by_row(
        lambda row, p: np.array(definition.local_predictive(row, p, half_width)), scores, positions
    )


@local_predictive.variant
def predicted_windows_in_torch(scores, positions, half_width):
    import torch

    scores, positions = torch.as_tensor(scores), torch.as_tensor(positions)
    offsets = torch.arange(1, scores.shape[-1] + 1) - positions.unsqueeze(-1)
    hidden = scores.masked_fill(offsets.abs() > half_width, -torch.inf)
    return hidden.softmax(dim=-1) * torch.exp(-2 * (offsets / half_width) ** 2)
