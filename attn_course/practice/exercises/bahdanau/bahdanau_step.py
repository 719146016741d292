"""One step of Bahdanau's decoder: the previous state aligns with the source and reads a context."""

import numpy as np

from attn_course.definitions.scoring import additive
from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import all_of, padded, readable, softmax, some_of
from attn_course.translate import _


@reference
def bahdanau_step(state, h, mask, W_a, U_a, v_a):
    if h.shape[-1] != 2 * state.shape[-1]:
        raise ValueError("h joins two directions, so it is twice as wide as the state")
    if mask.ndim > 1:
        sentences = zip(state, h, mask, strict=True)
        found = [bahdanau_step.reference(*one, W_a, U_a, v_a) for one in sentences]
        return tuple(np.stack(part) for part in zip(*found, strict=True))
    context, weights = np.zeros(h.shape[-1]), np.zeros(len(mask))
    words = [j for j in range(len(mask)) if mask[j]]
    if words:
        weights[words] = softmax(np.array([additive(state, h[j], v_a, W_a, U_a) for j in words]))
    for j in words:
        context += weights[j] * h[j]
    return context, weights


def _case(rng, T_x, n, d_w, batch=(), mask=None, padding=0.0):
    mask = some_of(rng, *batch, T_x) if mask is None else mask
    batch = mask.shape[:-1]
    h = padded(readable(rng, *batch, T_x, 2 * n), mask, padding)
    parameters = readable(rng, d_w, n), readable(rng, d_w, 2 * n), readable(rng, d_w)
    return Case(readable(rng, *batch, n), h, mask, *parameters)


@bahdanau_step.cases(points=2, label=_("one sentence, no padding"))
def one_sentence(rng):
    yield _case(rng, 3, 1, 2, mask=all_of(3))  # U_a is square
    yield _case(rng, 5, 2, 2, mask=all_of(5))  # W_a is square
    yield _case(rng, 5, 3, 7, mask=all_of(5))


@bahdanau_step.cases(points=1, label=_("padding, with anything in it, even NaN"))
def with_padding(rng):
    yield _case(rng, 3, 1, 2, padding=3.0)
    yield _case(rng, 5, 1, 3, padding=-2.0)
    yield _case(rng, 5, 2, 3, padding=np.nan)


@bahdanau_step.cases(points=2, label=_("a batch, and a source without a word"))
def batches(rng):
    yield _case(rng, 5, 1, 3, batch=(2,), padding=2.0)
    yield _case(rng, 3, 2, 5, batch=(3,), padding=2.0)  # as many sentences as words
    yield _case(rng, 5, 2, 7, batch=(2, 3), padding=np.nan)
    empty = np.array([[True, False, True], [False] * 3])
    yield _case(rng, 3, 1, 5, mask=empty, padding=2.0)


@bahdanau_step.variant
def step_by_einsum(state, h, mask, W_a, U_a, v_a):
    words = np.where(mask[..., None], h, 1.0)
    query = np.einsum("ij,...j->...i", W_a, state)
    hidden = np.tanh(query[..., None, :] + np.einsum("ij,...tj->...ti", U_a, words))
    weights = softmax(np.einsum("i,...ti->...t", v_a, hidden), mask)
    return np.einsum("...t,...tj->...j", weights, words), weights


@bahdanau_step.variant
def step_with_joined_matrices(state, h, mask, W_a, U_a, v_a):
    """W_a s + U_a h is one matrix times the joined vector [s; h]."""
    words = padded(h, mask, 0.0)
    states = np.broadcast_to(state[..., None, :], (*h.shape[:-1], state.shape[-1]))
    joined = np.concatenate([states, words], axis=-1)
    scores = np.tanh(joined @ np.concatenate([W_a, U_a], axis=1).T) @ v_a
    weights = softmax(scores, mask)
    return (weights[..., None, :] @ words)[..., 0, :], weights


@bahdanau_step.variant
def step_in_torch(state, h, mask, W_a, U_a, v_a):
    import torch

    state, h, mask, W_a, U_a, v_a = map(torch.as_tensor, (state, h, mask, W_a, U_a, v_a))
    h = h.masked_fill(~mask[..., None], 0.0)
    scores = torch.tanh((state @ W_a.T).unsqueeze(-2) + h @ U_a.T) @ v_a
    weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1).nan_to_num(0.0)
    return torch.sum(weights.unsqueeze(-1) * h, dim=-2), weights
