"""Find two mistakes in a function that turns kernels into weights."""

import numpy as np

from attn_course import nadaraya_watson
from attn_course.definitions import nadaraya_watson as definition
from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import apart
from attn_course.translate import _


@reference
def kernel_weights(queries, keys, w, kernel):
    return nadaraya_watson.weights(queries, keys, w, kernel=kernel)


# No distance is exactly one bandwidth, or rounding would decide who is in reach. Only
# `at_the_edge` has such distances, between numbers that are exact.


@kernel_weights.cases(points=1, label=_("boxcar and triangular"))
def named_boxcar_and_triangular(rng):
    for kernel in ("boxcar", "triangular"):
        yield Case(apart(rng, 2), apart(rng, 3), 0.4, kernel)
        yield Case(rng.uniform(0, 5, 5), rng.uniform(0, 5, 7), 0.8, kernel)


@kernel_weights.cases(points=1, label=_("Epanechnikov"))
def named_epanechnikov(rng):
    yield Case(apart(rng, 2), apart(rng, 3), 0.4, "epanechnikov")
    yield Case(rng.uniform(0, 5, 5), rng.uniform(0, 5, 7), 0.8, "epanechnikov")


@kernel_weights.cases(points=1, label=_("keys at the edge, and no key in reach"))
def at_the_edge(rng):
    place = float(rng.integers(1, 6))
    keys = np.array([place, place + 1, place + 2])
    yield Case(np.array([place, place + 20]), keys, 1.0, "boxcar")
    yield Case(np.array([place + 0.5, place - 20]), keys, 1.0, "triangular")
    yield Case(np.array([place + 0.5, place - 20]), keys, 1.0, "epanechnikov")


@kernel_weights.variant
def kernels_in_loops(queries, keys, w, kernel):
    shape = getattr(definition, kernel)
    return [definition.weights(x, keys, w, kernel=shape) for x in queries]


@kernel_weights.variant
@np.errstate(invalid="ignore")
def kernels_with_nan_to_num(queries, keys, w, kernel):
    u = np.abs(w * (queries[:, None] - keys))
    shapes = {"boxcar": np.ones_like(u), "triangular": 1 - u, "epanechnikov": 1 - u**2}
    closeness = np.where(u <= 1, shapes[kernel], 0)
    return np.nan_to_num(closeness / closeness.sum(axis=1, keepdims=True))


@kernel_weights.variant
def kernels_in_torch(queries, keys, w, kernel):
    import torch

    u = w * (torch.as_tensor(queries)[:, None] - torch.as_tensor(keys))
    inside = u.abs() <= 1
    shapes = {"boxcar": torch.ones_like(u), "triangular": 1 - u.abs(), "epanechnikov": 1 - u**2}
    closeness = torch.where(inside, shapes[kernel], 0.0)
    return closeness / closeness.sum(-1, keepdim=True).clamp_min(1e-30)
