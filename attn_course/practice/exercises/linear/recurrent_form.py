"""Read a text word by word, with a memory that does not grow."""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import readable
from attn_course.translate import _


@reference
def recurrent_form(phi_q, phi_k, values, S, z):
    *batch, n, d = phi_q.shape
    d_v = values.shape[-1]
    if phi_k.shape != phi_q.shape or values.shape[:-1] != phi_k.shape[:-1]:
        raise ValueError("each word has a query, a key and a value")  # also made smaller
    if S.shape != (*batch, d, d_v) or z.shape != (*batch, d):
        raise ValueError("the state has one row for each feature")
    contexts, S, z = np.zeros((*batch, n, d_v)), np.array(S), np.array(z)
    for *text, i in np.ndindex(*batch, n):
        here = tuple(text)
        for a in range(d):
            z[*here, a] += phi_k[*here, i, a]
            for b in range(d_v):
                S[*here, a, b] += phi_k[*here, i, a] * values[*here, i, b]
        below = sum(phi_q[*here, i, a] * z[*here, a] for a in range(d))
        for b in range(d_v):
            above = sum(phi_q[*here, i, a] * S[*here, a, b] for a in range(d))
            contexts[*here, i, b] = above / below
    return contexts, S, z


def _text(rng, *batch, n, d, d_v, read=0):
    """Return a case after `read` earlier words, which are in the state already."""

    def features(length):
        return readable(rng, *batch, length, d, low=0.1, high=3.0)

    earlier, before = features(read), readable(rng, *batch, read, d_v)
    S, z = np.swapaxes(earlier, -1, -2) @ before, earlier.sum(axis=-2)
    return Case(features(n), features(n), readable(rng, *batch, n, d_v), S, z)


@recurrent_form.cases(points=1, label=_("a text from its beginning"))
def from_the_beginning(rng):
    yield _text(rng, n=2, d=2, d_v=1)
    yield _text(rng, n=3, d=2, d_v=3)
    yield _text(rng, n=5, d=3, d_v=2)


@recurrent_form.cases(points=1, label=_("the next words of a text, after some are read"))
def after_some_words(rng):
    yield _text(rng, n=1, d=2, d_v=1, read=3)
    yield _text(rng, n=3, d=2, d_v=3, read=2)
    yield _text(rng, n=5, d=3, d_v=2, read=7)


@recurrent_form.cases(points=1, label=_("a batch, and several heads"))
def a_batch(rng):
    yield _text(rng, 2, n=3, d=2, d_v=1, read=2)
    yield _text(rng, 2, 3, n=5, d=2, d_v=4, read=3)


@recurrent_form.variant
def with_running_sums(phi_q, phi_k, values, S, z):
    sums = S[..., None, :, :] + np.cumsum(phi_k[..., None] * values[..., None, :], axis=-3)
    totals = z[..., None, :] + np.cumsum(phi_k, axis=-2)
    above = np.einsum("...nd,...ndv->...nv", phi_q, sums)
    below = (phi_q * totals).sum(axis=-1, keepdims=True)
    return above / below, sums[..., -1, :, :], totals[..., -1, :]


@recurrent_form.variant
def with_all_pairs_under_a_mask(phi_q, phi_k, values, S, z):
    pairs = np.tril(phi_q @ np.swapaxes(phi_k, -1, -2))
    above = pairs @ values + phi_q @ S
    below = pairs.sum(axis=-1, keepdims=True) + phi_q @ z[..., None]
    return above / below, S + np.swapaxes(phi_k, -1, -2) @ values, z + phi_k.sum(axis=-2)


@recurrent_form.variant
def word_by_word_with_einsum(phi_q, phi_k, values, S, z):
    contexts = []
    for i in range(phi_q.shape[-2]):
        S = S + np.einsum("...d,...v->...dv", phi_k[..., i, :], values[..., i, :])
        z = z + phi_k[..., i, :]
        above = np.einsum("...d,...dv->...v", phi_q[..., i, :], S)
        contexts.append(above / np.einsum("...d,...d->...", phi_q[..., i, :], z)[..., None])
    return np.stack(contexts, axis=-2), S, z
