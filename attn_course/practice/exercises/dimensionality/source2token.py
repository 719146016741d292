"""Find two mistakes in a function that sums up a sentence feature by feature."""

import numpy as np

from attn_course.definitions import dimensionality as definition
from attn_course.dimensionality import attend_multi_by_scores, multi_no_query
from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import all_of, padded, readable, softmax, some_of
from attn_course.translate import _


@reference
def source2token(features, W_d, W_k, b, mask):
    if not mask.any(axis=-1).all():
        raise ValueError("a sentence has one word at least")  # also one that is made smaller
    scores = multi_no_query(features, W_d, W_k, b)  # (..., 1, n, d_f)
    context, _weights = attend_multi_by_scores(scores, features, mask=mask[..., None, :])
    return context[..., 0, :]


def _sentence(rng, n, d_f, d_w, batch=(), mask=None, scale=1.0):
    mask = some_of(rng, *batch, n) if mask is None else mask
    parameters = scale * readable(rng, d_w, d_f), readable(rng, d_w, d_f), readable(rng, d_w)
    return (readable(rng, *batch, n, d_f), *parameters, mask)


def _far_below_the_padding(features, W_d, W_k, b, mask):
    """Return a sentence whose words score below -390, and its padding above 390.

    np.exp makes 0 of the difference, whatever the draw: tanh is nearly -1 for words, 1 for padding.
    """
    sizes = 1 + np.abs(features)
    features = np.where(mask[..., None], -sizes, sizes)
    return features, np.abs(W_d), 20 * np.abs(W_k), b, mask


@source2token.cases(points=1, label=_("one sentence, nothing masked"))
def one_whole_sentence(rng):
    yield Case(*_sentence(rng, 3, 2, 2, mask=all_of(3)))
    yield Case(*_sentence(rng, 5, 3, 2, mask=all_of(5)))


@source2token.cases(points=1, label=_("a batch of sentences with padding"))
def sentences_with_padding(rng):
    yield Case(*_sentence(rng, 3, 2, 5, batch=(2,)))
    yield Case(*_sentence(rng, 5, 7, 3, batch=(2,)))
    yield Case(*_sentence(rng, 3, 5, 2, batch=(2, 3)))


@source2token.cases(points=1, label=_("large parameters"))
def sentences_with_large_parameters(rng):
    yield Case(*_far_below_the_padding(*_sentence(rng, 5, 3, 2, scale=2000.0)))
    yield Case(*_sentence(rng, 5, 3, 2, batch=(2,), scale=2000.0))


def _scores(features, W_d, W_k, b):
    return np.tanh(features @ W_k.T + b) @ W_d  # (..., n, d_f)


@source2token.variant
def summary_in_loops(features, W_d, W_k, b, mask):
    if features.ndim > 2:
        sentences = zip(features, mask, strict=True)
        return np.stack([summary_in_loops(f, W_d, W_k, b, m) for f, m in sentences])
    no_query, no_matrix = np.zeros(0), np.zeros((len(b), 0))
    scores = definition.multi_scores(no_query, features, W_d, no_matrix, W_k, b)
    return definition.attend_multi(scores, features, mask)[0]


@source2token.variant
def summary_in_torch(features, W_d, W_k, b, mask):
    import torch

    given = (features, W_d, W_k, b)
    features, W_d, W_k, b = (torch.tensor(part, dtype=torch.float64) for part in given)
    scores = torch.tanh(torch.nn.functional.linear(features, W_k, b)) @ W_d
    hidden = scores.masked_fill(~torch.tensor(mask)[..., None], -torch.inf)
    return (torch.softmax(hidden, dim=-2) * features).sum(dim=-2)


@source2token.variant
def summary_by_einsum(features, W_d, W_k, b, mask):
    weights = softmax(_scores(features, W_d, W_k, b), mask[..., None], axis=-2)
    return np.einsum("...nd,...nd->...d", weights, features)


@source2token.variant
def summary_with_exponentials_masked(features, W_d, W_k, b, mask):
    scores = _scores(features, W_d, W_k, b)
    best = padded(scores, mask, -np.inf).max(axis=-2, keepdims=True)
    exponentials = np.exp(np.minimum(scores - best, 0)) * mask[..., None]
    return (exponentials * features).sum(axis=-2) / exponentials.sum(axis=-2)
