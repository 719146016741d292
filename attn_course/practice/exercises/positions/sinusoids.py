"""A vector of sines and cosines for every position."""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.positions._places import base_of, places, refuse_what_has_no_pairs
from attn_course.translate import _


@reference
def sinusoids(positions, d, base):
    refuse_what_has_no_pairs(d, base)
    waves = np.zeros((*np.shape(positions), d))
    for place in np.ndindex(*np.shape(positions)):
        for i in range(d // 2):
            angle = positions[place] / base ** (2 * i / d)
            waves[*place, 2 * i], waves[*place, 2 * i + 1] = np.sin(angle), np.cos(angle)
    return waves


@sinusoids.cases(points=1, label=_("a few positions, whole or not, one pair"))
def one_pair(rng):
    yield Case(places(rng, 2), 2, base_of(rng))
    yield Case(places(rng, 5) + rng.choice([0.25, 0.75], 5), 2, base_of(rng))
    yield Case(places(rng, 3).astype(int), 2, base_of(rng))  # an array like it has no fractions


@sinusoids.cases(points=1, label=_("several pairs, each slower than the one before"))
def several_pairs(rng):
    yield Case(places(rng, 2), 4, base_of(rng))
    yield Case(places(rng, 3), 10, base_of(rng))
    yield Case(places(rng, 7), 6, 10000.0)


@sinusoids.cases(points=1, label=_("a batch, in which every text has its own positions"))
def a_batch(rng):
    yield Case(places(rng, 2, 3), 4, base_of(rng))
    yield Case(places(rng, 2, 3, 5), 14, base_of(rng))


@sinusoids.variant
def stacked_and_flattened(positions, d, base):
    angles = positions[..., None] * base ** (-np.arange(0, d, 2) / d)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(*positions.shape, d)


@sinusoids.variant
def as_complex_numbers(positions, d, base):
    angles = np.multiply.outer(positions, np.exp(-np.log(base) * np.arange(d // 2) * 2 / d))
    turned = np.exp(1j * angles)
    waves = np.repeat(turned, 2, axis=-1)
    return np.where(np.arange(d) % 2 == 0, waves.imag, waves.real)
