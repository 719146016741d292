"""Three ways to compare: dot product, cosine and distance of every query and key."""

import numpy as np

from attn_course import scoring
from attn_course.definitions import scoring as definition
from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.scoring._pairs import pair
from attn_course.practice.inputs import table_by_table
from attn_course.translate import _


@reference
def compare(queries, keys, kind):
    if kind == "dot":
        return scoring.dot(queries, keys)
    return scoring.similarity(queries, keys, kind=kind)


@compare.cases(points=1, label=_("dot"))
def tables_of_dots(rng):
    yield Case(*pair(rng, 1, 2, 3), "dot")
    yield Case(*pair(rng, 3, 5, 2), "dot")


@compare.cases(points=1, label=_("cosine"))
def tables_of_cosines(rng):
    yield Case(*pair(rng, 1, 2, 3), "cosine")
    queries, keys = pair(rng, 5, 3, 2)
    yield Case(queries * 0.1, keys * 3, "cosine")  # shorter than 1, longer than 1


@compare.cases(points=1, label=_("euclidean"))
def tables_of_distances(rng):
    yield Case(*pair(rng, 1, 2, 3), "euclidean")
    yield Case(*pair(rng, 3, 5, 2), "euclidean")
    yield Case(*_every_query_among_the_keys(rng, 17, 19, 11), "euclidean")


def _every_query_among_the_keys(rng, q, k, d):
    """Return so many queries that q² - 2 q·k + k² comes out below 0 for one of them.

    The numbers are halves and a hair: single precision rounds the hair away and makes no mistake
    in the rest, so that there the distance of a query from itself is 0 in every way to write it.
    """
    keys = rng.integers(1, 5, (k, d)) / 2 + 1e-10 * rng.normal(size=(k, d))
    keys *= rng.choice([-1, 1], (k, d))
    return rng.permutation(keys)[:q], keys


@compare.cases(points=1, label=_("a vector of zeros has the cosine 0 with everything"))
def tables_with_zeros(rng):
    queries, keys = pair(rng, 3, 2, 5)
    queries[1] = 0
    keys[0] = 0
    yield Case(queries, keys, "cosine")
    yield Case(queries, keys, "euclidean")


@compare.cases(points=1, label=_("a batch: queries (..., q, d), keys (..., k, d)"))
def batches_to_compare(rng):
    for kind in ("dot", "cosine", "euclidean"):
        yield Case(*pair(rng, 3, 5, 7, batch=(2,)), kind)
        yield Case(*pair(rng, 7, 2, 11, batch=(5, 3)), kind)


@compare.variant
def compared_in_loops(queries, keys, kind):
    return table_by_table(getattr(definition, kind), queries, keys)


@compare.variant
def compared_by_matrix_products(queries, keys, kind):
    dots = queries @ np.swapaxes(keys, -2, -1)
    q_squares = (queries**2).sum(axis=-1)[..., :, None]
    k_squares = (keys**2).sum(axis=-1)[..., None, :]
    if kind == "cosine":
        return dots / np.maximum(np.sqrt(q_squares * k_squares), 1e-12)
    if kind == "euclidean":
        return -np.sqrt(np.maximum(q_squares - 2 * dots + k_squares, 0))
    return dots


@compare.variant
def compared_in_torch(queries, keys, kind):
    import torch
    from torch.nn import functional

    queries, keys = torch.as_tensor(queries), torch.as_tensor(keys)
    if kind == "cosine":
        return functional.cosine_similarity(queries.unsqueeze(-2), keys.unsqueeze(-3), dim=-1)
    if kind == "euclidean":
        return -torch.cdist(queries, keys)
    return queries @ keys.mT
