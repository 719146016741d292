"""Find two bugs in rotated scores: pairs of two conventions, and positions that are not used."""

import numpy as np

from attn_course.definitions import positions as definition
from attn_course.definitions.scoring import dot
from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.positions._places import in_a_row, places, refuse_what_has_no_pairs
from attn_course.practice.inputs import readable, table_by_table
from attn_course.translate import _

HALF = "half"
BASE = 10000.0


@reference
def mixed_conventions(queries, keys, query_positions, key_positions):
    refuse_what_has_no_pairs(queries.shape[-1], BASE)
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError("queries and keys have the same width")  # also made smaller
    for rows, positions in ((queries, query_positions), (keys, key_positions)):
        if np.shape(positions) != (rows.shape[-2],):
            raise ValueError("there is one position for each row")

    def turned(features, positions):
        if features.ndim > 2:
            return np.stack([turned(part, positions) for part in features])
        return np.array(
            [definition.rotate(x, p, HALF) for x, p in zip(features, positions, strict=True)]
        )

    return table_by_table(dot, turned(queries, query_positions), turned(keys, key_positions))


@mixed_conventions.cases(points=1, label=_("one text, positions from 0"))
def from_the_start(rng):
    yield Case(readable(rng, 2, 4), readable(rng, 2, 4), np.arange(2.0), np.arange(2.0))
    yield Case(readable(rng, 3, 6), readable(rng, 5, 6), np.arange(3.0), np.arange(5.0))


@mixed_conventions.cases(points=1, label=_("queries after a cache, keys in any order, a batch"))
def after_a_cache(rng):
    yield Case(readable(rng, 1, 4), readable(rng, 3, 4), in_a_row(rng, 1), np.arange(3.0))
    yield Case(readable(rng, 2, 4), readable(rng, 3, 4), in_a_row(rng, 2), places(rng, 3))
    yield Case(
        readable(rng, 2, 3, 10), readable(rng, 2, 5, 10), in_a_row(rng, 3), places(rng, 5)
    )


def _angles(positions, d):
    return positions[:, None] * BASE ** (-np.arange(0, d, 2) / d)


@mixed_conventions.variant
def as_complex_numbers(queries, keys, query_positions, key_positions):
    def turned(features, positions):
        first, second = np.split(features, 2, axis=-1)
        return (first + 1j * second) * np.exp(1j * _angles(positions, features.shape[-1]))

    product = turned(queries, query_positions) @ turned(keys, key_positions).conj().swapaxes(-1, -2)
    return product.real


@mixed_conventions.variant
def by_the_distance(queries, keys, query_positions, key_positions):
    d = queries.shape[-1]
    apart = (query_positions[:, None] - key_positions).ravel()
    angles = _angles(apart, d).reshape(len(query_positions), len(key_positions), d // 2)
    q_a, q_b = np.split(queries[..., :, None, :], 2, axis=-1)
    k_a, k_b = np.split(keys[..., None, :, :], 2, axis=-1)
    cos = (q_a * k_a + q_b * k_b) * np.cos(angles)
    return (cos + (q_a * k_b - q_b * k_a) * np.sin(angles)).sum(axis=-1)
