"""A bias that grows with the distance of query and key, with a slope for every head."""

import numpy as np

from attn_course.definitions import positions as definition
from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.positions._places import in_a_row, places
from attn_course.translate import _


@reference
def distance_bias(heads, query_positions, key_positions):
    if heads < 1 or heads & (heads - 1):
        raise ValueError("the number of heads is a power of two")  # also made smaller
    slopes = definition.alibi_slopes(heads)
    if np.ndim(query_positions) > 1:
        texts = zip(query_positions, key_positions, strict=True)
        return np.stack([distance_bias.reference(heads, i, j) for i, j in texts])
    return np.array(
        [
            [[definition.distance_bias(s, i, j) for j in key_positions] for i in query_positions]
            for s in slopes
        ]
    )


@distance_bias.cases(points=1, label=_("one text, as many queries as keys"))
def one_text(rng):
    yield Case(2, np.arange(3.0), np.arange(3.0))
    yield Case(8, np.arange(5.0), np.arange(5.0))
    yield Case(1, np.arange(3.0), np.arange(3.0))


@distance_bias.cases(points=1, label=_("queries after a cache, and keys in any order"))
def other_positions(rng):
    yield Case(2, in_a_row(rng, 2), places(rng, 3))
    yield Case(4, places(rng, 3), places(rng, 7))
    yield Case(16, in_a_row(rng, 2), places(rng, 5))


@distance_bias.cases(points=1, label=_("a batch, in which every text has its own positions"))
def a_batch(rng):
    yield Case(2, places(rng, 3, 5), places(rng, 3, 7))
    yield Case(8, places(rng, 2, 3, 5), places(rng, 2, 3, 7))


@distance_bias.variant
def by_repeated_products(heads, query_positions, key_positions):
    first = 2.0 ** (-8 / heads)
    slopes = np.cumprod(np.full(heads, first))
    apart = np.abs(np.subtract.outer(query_positions, key_positions)) if (
        query_positions.ndim == 1
    ) else np.abs(query_positions[..., :, None] - key_positions[..., None, :])
    return np.stack([-s * apart for s in slopes], axis=-3)


@distance_bias.variant
def as_larger_minus_smaller(heads, query_positions, key_positions):
    i, j = query_positions[..., None, :, None], key_positions[..., None, None, :]
    slopes = np.exp2(-8 * np.arange(1, heads + 1) / heads)
    return slopes[:, None, None] * (np.minimum(i, j) - np.maximum(i, j))
