"""Share out the weight among the keys that a query may attend to."""

import numpy as np

from attn_course import alignment
from attn_course.definitions import alignment as definition
from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import huge, readable, row_by_row, softmax
from attn_course.translate import _


@reference
def masked_softmax(scores, mask):
    return alignment.softmax(scores, mask)


def _some_keys(rng, *size):
    """Return a mask (..., q, k) with one True and one False at least in each row."""
    mask = rng.random(size) < 0.6
    two_keys = np.argsort(rng.random(size), axis=-1)[..., :2]
    np.put_along_axis(mask, two_keys, np.array([True, False]), axis=-1)
    return mask


@masked_softmax.cases(points=1, label=_("a mask for each query and key, (q, k)"))
def keys_left_out(rng):
    yield Case(readable(rng, 2, 3), _some_keys(rng, 2, 3))
    yield Case(readable(rng, 3, 5), _some_keys(rng, 3, 5))


@masked_softmax.cases(points=1, label=_("padding that scores best, batches, large scores"))
def padding_scores_best(rng):
    mask = np.array([True, True, False])  # (3,): for all queries the same
    yield Case(np.where(mask, readable(rng, 2, 3), 900.0), mask)
    mask = np.array([[[True, True, False]], [[True, False, False]]])  # (2, 1, 3)
    yield Case(np.where(mask, readable(rng, 2, 5, 3), 900.0), mask)
    yield Case(huge(rng, 2, 3, 5), _some_keys(rng, 2, 3, 5))
    yield Case(readable(rng, 2, 3, 5, 7), _some_keys(rng, 2, 3, 5, 7))
    # As low as the task allows, in steps that single precision holds.
    yield Case(rng.integers(0, 17, (2, 3)) / 4 - 1e6, _some_keys(rng, 2, 3))


@masked_softmax.cases(points=1, label=_("a query that may attend nowhere: weights 0"))
def nothing_to_attend_to(rng):
    mask = np.concatenate([_some_keys(rng, 1, 3), np.zeros((1, 3), dtype=bool)])
    yield Case(readable(rng, 2, 3), mask)
    mask = _some_keys(rng, 2, 3, 5)
    mask[1, rng.integers(3)] = False
    yield Case(readable(rng, 2, 3, 5), mask)


@masked_softmax.cases(points=1, label=_("NaN in the padding stays there"))
def nan_in_the_padding(rng):
    for size in ((2, 3), (3, 5, 7)):
        mask = _some_keys(rng, *size)
        yield Case(np.where(mask, readable(rng, *size), np.nan), mask)


@masked_softmax.variant
def masked_in_loops(scores, mask):
    return row_by_row(
        lambda row, may: np.array(definition.softmax(row, may)),
        scores,
        np.broadcast_to(mask, scores.shape),
    )


@masked_softmax.variant
def masked_in_torch(scores, mask):
    import torch

    hidden = torch.as_tensor(scores).masked_fill(~torch.as_tensor(mask), -torch.inf)
    return torch.softmax(hidden, dim=-1).nan_to_num(0.0)


@masked_softmax.variant
def softmax_of_the_keys_that_count(scores, mask):
    def one_row(row, may):
        weights = np.zeros(len(row))
        if may.any():
            weights[may] = softmax(row[may])
        return weights

    return row_by_row(one_row, scores, np.broadcast_to(mask, scores.shape))


@masked_softmax.variant
def masked_with_a_large_number_and_a_last_look(scores, mask):
    # No score that the task allows is anywhere near -1e9.
    weights = softmax(np.where(mask, scores, -1e9))
    return np.where(mask, weights, 0.0)
