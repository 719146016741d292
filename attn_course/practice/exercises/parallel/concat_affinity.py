"""The affinity of concatenated features, split so that nothing has to be concatenated."""

import numpy as np

from attn_course.definitions import features as definition
from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import readable
from attn_course.translate import _


@reference
def concat_affinity(features_1, features_2, w_A):
    if features_1.ndim > 2:
        pairs = zip(features_1, features_2, strict=True)
        return np.stack([concat_affinity.reference(first, second, w_A) for first, second in pairs])
    return np.array(definition.affinity_concat(features_1, features_2, w_A))


def _inputs(rng, n_1, n_2, d, batch=()):
    return readable(rng, *batch, n_1, d), readable(rng, *batch, n_2, d), readable(rng, 3 * d)


@concat_affinity.cases(points=2, label=_("one pair of inputs"))
def one_pair(rng):
    yield Case(*_inputs(rng, 2, 3, 2))
    yield Case(*_inputs(rng, 5, 2, 3))
    yield Case(*_inputs(rng, 3, 7, 5))


@concat_affinity.cases(points=1, label=_("batches of any shape"))
def batches(rng):
    yield Case(*_inputs(rng, 3, 5, 7, batch=(2,)))
    yield Case(*_inputs(rng, 5, 3, 2, batch=(2, 3)))


@concat_affinity.cases(points=1, label=_("inputs as long as a paragraph"))
def long_inputs(rng):
    yield Case(*_inputs(rng, 53, 67, 11))


@concat_affinity.variant
def the_concatenation_built(features_1, features_2, w_A):
    """The formula to the letter: n_1 times n_2 vectors of width 3 d, all in memory at once."""
    first = features_1[..., :, None, :] + np.zeros_like(features_2[..., None, :, :])
    second = features_2[..., None, :, :] + np.zeros_like(first)
    return np.concatenate([first, second, first * second], axis=-1) @ w_A


@concat_affinity.variant
def one_product_less(features_1, features_2, w_A):
    """v · k_2 + (z ∘ k_1) · k_2 is (v + z ∘ k_1) · k_2."""
    u, v, z = w_A.reshape(3, -1)
    return (features_1 @ u)[..., None] + (v + z * features_1) @ np.swapaxes(features_2, -1, -2)


@concat_affinity.variant
def affinity_by_einsum(features_1, features_2, w_A):
    u, v, z = np.split(w_A, 3)
    products = np.einsum("...id,d,...jd->...ij", features_1, z, features_2)
    return (features_1 @ u)[..., :, None] + (features_2 @ v)[..., None, :] + products


@concat_affinity.variant
def pairs_in_torch(features_1, features_2, w_A):
    import torch

    first, second, w_A = (torch.as_tensor(part) for part in (features_1, features_2, w_A))
    u, v, z = w_A.chunk(3)
    return (first @ u).unsqueeze(-1) + (second @ v).unsqueeze(-2) + (first * z) @ second.mT
