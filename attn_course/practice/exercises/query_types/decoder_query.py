"""A decoder asks the source once per step, each time with the state that it is in."""

from functools import partial

import numpy as np

from attn_course.definitions.attention import attend
from attn_course.definitions.scoring import general, times
from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import all_of, padded, readable, softmax, some_of
from attn_course.translate import _


@reference
def decoder_query(state, features, mask, W_a, W_s, W_c, steps):
    if state.ndim > 1:
        batch = zip(state, features, mask, strict=True)
        found = [decoder_query.reference(*one, W_a, W_s, W_c, steps) for one in batch]
        return tuple(np.stack(part) for part in zip(*found, strict=True))
    if steps < 1:
        raise ValueError("a decoder takes one step at least")  # also where a case is made smaller
    contexts, weights = [], []
    for _step in range(steps):
        context, a = attend(state, features, features, partial(general, W=W_a), mask)
        contexts.append(context)
        weights.append(a)
        state = [
            np.tanh(from_state + from_context)
            for from_state, from_context in zip(
                times(W_s, state), times(W_c, context), strict=True
            )
        ]
    return np.array(contexts), np.array(weights)


def _decoder(rng, n, d_s, d_f, steps, batch=(), mask=None, padding=0.0):
    mask = some_of(rng, *batch, n) if mask is None else mask
    features = padded(readable(rng, *batch, n, d_f), mask, padding)
    W_a, W_s, W_c = readable(rng, d_f, d_s), readable(rng, d_s, d_s), readable(rng, d_s, d_f)
    return Case(readable(rng, *batch, d_s), features, mask, W_a, W_s, W_c, steps)


@decoder_query.cases(points=2, label=_("one source without padding, two steps or more"))
def one_whole_source(rng):
    yield _decoder(rng, 3, 2, 2, 2, mask=all_of(3))
    yield _decoder(rng, 5, 2, 3, 3, mask=all_of(5))


@decoder_query.cases(points=1, label=_("padding, with anything in it, even NaN"))
def one_padded_source(rng):
    yield _decoder(rng, 3, 2, 2, 2, padding=3.0)
    yield _decoder(rng, 5, 2, 3, 2, padding=np.nan)


@decoder_query.cases(points=1, label=_("a batch of sources"))
def batches(rng):
    yield _decoder(rng, 5, 3, 2, 3, batch=(2,), padding=4.0)
    yield _decoder(rng, 3, 2, 5, 2, batch=(2, 7), padding=np.nan)


@decoder_query.cases(points=1, label=_("a source without a word: weights 0, contexts 0"))
def without_a_word(rng):
    mask = np.array([[True, True, False], [False] * 3])
    yield _decoder(rng, 3, 2, 5, 2, batch=(2,), mask=mask, padding=2.0)


@decoder_query.variant
def steps_by_einsum(state, features, mask, W_a, W_s, W_c, steps):
    kept = padded(features, mask, 0.0)
    contexts, weights = [], []
    for _step in range(steps):
        a = softmax(np.einsum("...nd,ds,...s->...n", kept, W_a, state), mask)
        c = np.einsum("...n,...nd->...d", a, kept)
        state = np.tanh(np.einsum("st,...t->...s", W_s, state) + np.einsum("sd,...d->...s", W_c, c))
        contexts.append(c)
        weights.append(a)
    return np.stack(contexts, axis=-2), np.stack(weights, axis=-2)


@decoder_query.variant
def steps_by_recursion(state, features, mask, W_a, W_s, W_c, steps):
    kept = padded(features, mask, 0.0)
    a = softmax((kept @ W_a @ state[..., None])[..., 0], mask)
    c = (a[..., None, :] @ kept)[..., 0, :]
    here = c[..., None, :], a[..., None, :]
    if steps == 1:
        return here
    later = steps_by_recursion(
        np.tanh(state @ W_s.T + c @ W_c.T), features, mask, W_a, W_s, W_c, steps - 1
    )
    return tuple(np.concatenate(both, axis=-2) for both in zip(here, later, strict=True))


@decoder_query.variant
def steps_in_torch(state, features, mask, W_a, W_s, W_c, steps):
    import torch

    state, features, mask, W_a, W_s, W_c = (
        torch.as_tensor(part) for part in (state, features, mask, W_a, W_s, W_c)
    )
    kept = features.masked_fill(~mask[..., None], 0.0)
    contexts, weights = [], []
    for _step in range(steps):
        scores = (kept @ (state @ W_a.T)[..., None])[..., 0]
        a = torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1).nan_to_num(0.0)
        c = (a[..., None, :] @ kept)[..., 0, :]
        state = torch.tanh(state @ W_s.T + c @ W_c.T)
        contexts.append(c)
        weights.append(a)
    return torch.stack(contexts, dim=-2), torch.stack(weights, dim=-2)
