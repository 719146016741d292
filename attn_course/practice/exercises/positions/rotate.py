"""Rotate pairs of features by an angle that grows with the position."""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.positions._places import (
    base_of,
    in_a_row,
    places,
    refuse_what_has_no_pairs,
)
from attn_course.practice.inputs import readable
from attn_course.translate import _


@reference
def rotate(features, positions, base):
    *batch, n, d = np.shape(features)
    refuse_what_has_no_pairs(d, base)
    if np.shape(positions) != (n,):
        raise ValueError("there is one position for each row")  # also made smaller
    rotated = np.zeros((*batch, n, d))
    for place in np.ndindex(*batch, n):
        for m in range(d // 2):
            angle = positions[place[-1]] * base ** (-2 * m / d)
            z = complex(features[*place, 2 * m], features[*place, 2 * m + 1])
            turned = z * complex(np.cos(angle), np.sin(angle))
            rotated[*place, 2 * m], rotated[*place, 2 * m + 1] = turned.real, turned.imag
    return rotated


@rotate.cases(points=1, label=_("one pair of features"))
def one_pair(rng):
    yield Case(readable(rng, 1, 2), places(rng, 1), base_of(rng))
    yield Case(readable(rng, 3, 2), places(rng, 3), base_of(rng))


@rotate.cases(points=1, label=_("several pairs, each with its own speed"))
def several_pairs(rng):
    yield Case(readable(rng, 1, 4), places(rng, 1), base_of(rng))
    yield Case(readable(rng, 2, 6), places(rng, 2), base_of(rng))
    yield Case(readable(rng, 3, 10), np.arange(3.0), 10000.0)


@rotate.cases(points=1, label=_("a batch, and words that come after a cache"))
def a_batch(rng):
    yield Case(readable(rng, 2, 3, 4), in_a_row(rng, 3), base_of(rng))
    yield Case(readable(rng, 2, 3, 5, 14), in_a_row(rng, 5), base_of(rng))


@rotate.variant
def as_complex_numbers(features, positions, base):
    d = features.shape[-1]
    angles = positions[:, None] * base ** (-np.arange(0, d, 2) / d)
    turned = (features[..., 0::2] + 1j * features[..., 1::2]) * np.exp(1j * angles)
    return np.stack([turned.real, turned.imag], axis=-1).reshape(features.shape)


@rotate.variant
def by_matrices(features, positions, base):
    d = features.shape[-1]
    angles = positions[:, None] * base ** (-np.arange(0, d, 2) / d)
    cos, sin = np.cos(angles), np.sin(angles)
    matrices = np.array([[cos, -sin], [sin, cos]])  # (2, 2, n, d/2)
    pairs = features.reshape(*features.shape[:-1], d // 2, 2)
    return np.einsum("abnm,...nmb->...nma", matrices, pairs).reshape(features.shape)


@rotate.variant
def with_a_quarter_turn(features, positions, base):
    d = features.shape[-1]
    angles = np.repeat(positions[:, None] * base ** (-np.arange(0, d, 2) / d), 2, axis=-1)
    quarter = np.stack([-features[..., 1::2], features[..., 0::2]], axis=-1)
    return features * np.cos(angles) + quarter.reshape(features.shape) * np.sin(angles)
