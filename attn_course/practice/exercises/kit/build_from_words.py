"""Four scores, three alignments: twelve attentions from the names of their parts."""

import numpy as np

from attn_course.definitions import scoring
from attn_course.definitions.alignment import softmax as softmax_of_a_row
from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import all_of, padded, readable, softmax, some_of
from attn_course.translate import _

SCORES = {
    "dot": lambda query, key, W, W_q, W_k, w: scoring.dot(query, key),
    "scaled_dot": lambda query, key, W, W_q, W_k, w: scoring.scaled_dot(query, key),
    "general": lambda query, key, W, W_q, W_k, w: scoring.general(query, key, W),
    "additive": lambda query, key, W, W_q, W_k, w: scoring.additive(query, key, w, W_q, W_k),
}
ALIGNS = {
    "softmax": lambda t, seen, scores: seen,
    "hard": lambda t, seen, scores: sorted(seen, key=lambda l: (-scores[l], l))[:1],
    "local": lambda t, seen, scores: [l for l in seen if t - 1 <= l <= t + 1],
}


@reference
def build_from_words(queries, keys, values, mask, score, align, W, W_q, W_k, w):
    if mask.ndim > 1:
        examples = zip(queries, keys, values, mask, strict=True)
        found = [build_from_words.reference(*one, score, align, W, W_q, W_k, w) for one in examples]
        return tuple(np.stack(part) for part in zip(*found, strict=True))
    contexts, weights = (
        np.zeros((len(queries), values.shape[-1])),
        np.zeros((len(queries), len(keys))),
    )
    for t, query in enumerate(queries):
        scores = [SCORES[score](query, key, W, W_q, W_k, w) for key in keys]
        seen = ALIGNS[align](t, [int(l) for l in np.flatnonzero(mask)], scores)
        weights[t] = softmax_of_a_row(scores, [l in seen for l in range(len(keys))])
        contexts[t] = sum((weights[t, l] * values[l] for l in seen), np.zeros(values.shape[-1]))
    return contexts, weights


def _drawn(rng, q, k, d_q, d_k, d_v, d_w, mask, padding):
    keys, values = readable(rng, *mask.shape, d_k), readable(rng, *mask.shape, d_v)
    return (
        readable(rng, *mask.shape[:-1], q, d_q),
        padded(keys, mask, padding),
        padded(values, mask, padding),
        readable(rng, d_k, d_q, low=-1.0, high=1.0),
        readable(rng, d_w, d_q, low=-1.0, high=1.0),
        readable(rng, d_w, d_k, low=-1.0, high=1.0),
        readable(rng, d_w),
    )


def _case(rng, score, align, q, k, d_q, d_k, d_v, d_w, mask=None, padding=0.0):
    """Return a case; with "hard", one in which no query hesitates between two keys.

    There the padding of some input also has the highest score, unless it is NaN.
    """
    mask = all_of(k) if mask is None else mask
    d_q = d_q if score in ("general", "additive") else d_k
    tempting = padding * ~mask.all()  # NaN if it is NaN
    while True:
        queries, keys, values, *parameters = _drawn(rng, q, k, d_q, d_k, d_v, d_w, mask, padding)
        case = Case(queries, keys, values, mask, score, align, *parameters)
        if align != "hard":
            return case
        decided = _is_decided(queries, keys, mask, score, parameters)
        if decided and (not tempting > 0 or _padding_tempts(case)):
            return case


def _padding_tempts(case):
    """Return whether some query that sees a key would choose another without the mask."""
    queries, keys, values, mask, *rest = case.args
    _contexts, right = build_from_words.reference(*case.args)
    _contexts, wrong = build_from_words.reference(queries, keys, values, all_of(*mask.shape), *rest)
    return bool((right.any(axis=-1) & (right != wrong).any(axis=-1)).any())


def _is_decided(queries, keys, mask, score, parameters):
    """Return whether the best score of each query is far above the next."""
    if mask.ndim > 1:
        examples = zip(queries, keys, mask, strict=True)
        return all(_is_decided(*one, score, parameters) for one in examples)
    for query in queries:
        scores = sorted(SCORES[score](query, key, *parameters) for key in keys[mask])
        if len(scores) > 1 and scores[-1] - scores[-2] < 0.1:
            return False
    return True


def _with_equal_keys(rng, score, q, k, d):
    """Return a case in which two keys have the best score: whole numbers, so exactly the same.

    The root of d must be whole too, or rounding would depend on where a right answer divides.
    """
    keys = rng.integers(-1, 2, (k, d)).astype(float)
    first, second = sorted(rng.choice(k, 2, replace=False))
    keys[first] = keys[second] = 2.0
    queries = rng.integers(1, 4, (q, d)).astype(float)
    W = np.eye(d)
    return Case(
        queries,
        keys,
        readable(rng, k, 2),
        all_of(k),
        score,
        "hard",
        W,
        W.copy(),
        W.copy(),
        np.ones(d),
    )


@build_from_words.cases(points=2, label=_("four scores with softmax, no padding"))
def the_scores(rng):
    for score in SCORES:
        yield _case(rng, score, "softmax", 1, 2, 2, 2, 1, 2)
    for score in SCORES:
        yield _case(rng, score, "softmax", 2, 3, 2, 5, 3, 7)


@build_from_words.cases(points=2, label=_("hard and local, no padding"))
def the_alignments(rng):
    yield _case(rng, "dot", "hard", 1, 3, 2, 2, 1, 2)
    yield _case(rng, "dot", "local", 2, 5, 2, 2, 1, 2)
    yield _with_equal_keys(rng, "scaled_dot", 2, 5, 4)
    yield _with_equal_keys(rng, "dot", 1, 3, 2)
    yield _case(rng, "additive", "hard", 2, 5, 2, 3, 2, 5)
    yield _case(rng, "general", "local", 3, 7, 2, 3, 2, 5)
    yield _case(rng, "scaled_dot", "local", 5, 2, 3, 3, 2, 2)  # the last queries are near no key


@build_from_words.cases(points=2, label=_("all twelve, and padding with anything in it, even NaN"))
def with_padding(rng):
    for score in SCORES:
        for align in ALIGNS:
            yield _case(rng, score, align, 2, 3, 2, 2, 2, 2, some_of(rng, 3), 3.0)
    for score in SCORES:
        for align in ALIGNS:
            yield _case(rng, score, align, 3, 5, 2, 3, 2, 7, some_of(rng, 5), np.nan)


@build_from_words.cases(points=1, label=_("a batch, and an input without a key"))
def batches(rng):
    empty = np.array([[True, False, True], [False] * 3])
    different = np.array([[True, True, False, True, True], [False, True, True, True, False]])
    for score in SCORES:
        for align in ALIGNS:
            mask, padding = (empty, 2.0) if score in ("dot", "additive") else (different, np.nan)
            yield _case(rng, score, align, 3, mask.shape[-1], 2, 3, 2, 7, mask, padding)
    yield _case(rng, "general", "hard", 2, 3, 2, 3, 2, 7, empty, np.nan)
    yield _case(rng, "general", "softmax", 3, 5, 2, 3, 2, 7, some_of(rng, 2, 3, 5), 2.0)
    yield _case(rng, "additive", "local", 3, 5, 2, 3, 2, 7, some_of(rng, 2, 3, 5), 2.0)


@build_from_words.variant
def tables_of_functions(queries, keys, values, mask, score, align, W, W_q, W_k, w):
    """Look the functions up; hard is the limit of a softmax over the best key alone."""
    scores = {
        "dot": lambda: queries @ keys.mT,
        "scaled_dot": lambda: (queries / np.sqrt(queries.shape[-1])) @ keys.mT,
        "general": lambda: (keys @ W @ queries.mT).mT,
        "additive": lambda: np.einsum(
            "...qkm,m->...qk",
            np.tanh((queries @ W_q.T)[..., None, :] + (keys @ W_k.T)[..., None, :, :]),
            w,
        ),
    }[score]()
    seen = np.repeat(mask[..., None, :], queries.shape[-2], axis=-2)
    q, k = seen.shape[-2:]
    near = np.tri(q, k, 1, dtype=bool) & ~np.tri(q, k, -2, dtype=bool)

    def hard():
        hidden = np.where(seen, scores, -np.inf)
        is_best = seen & (hidden == hidden.max(axis=-1, keepdims=True))
        return (is_best & (is_best.cumsum(axis=-1) == 1)).astype(float)

    weights = {
        "softmax": lambda: softmax(scores, seen),
        "local": lambda: softmax(scores, seen & near),
        "hard": hard,
    }[align]()
    return weights @ padded(values, mask, 0.0), weights


@build_from_words.variant
def words_in_torch(queries, keys, values, mask, score, align, W, W_q, W_k, w):
    import torch

    queries, keys, values, mask, W, W_q, W_k, w = (
        torch.as_tensor(part) for part in (queries, keys, values, mask, W, W_q, W_k, w)
    )
    values = values.masked_fill(~mask[..., None], 0.0)
    if score == "additive":
        hidden = (queries @ W_q.T).unsqueeze(-2) + (keys @ W_k.T).unsqueeze(-3)
        scores = torch.tanh(hidden) @ w
    else:
        scores = (queries @ W.T if score == "general" else queries) @ keys.mT
    if score == "scaled_dot":
        scores = scores / keys.shape[-1] ** 0.5
    hidden = scores.masked_fill(~mask[..., None, :], -torch.inf)
    if align == "local":
        t, l = torch.arange(scores.shape[-2]), torch.arange(scores.shape[-1])
        hidden = hidden.masked_fill((t[:, None] - l).abs() > 1, -torch.inf)
    weights = torch.softmax(hidden, dim=-1).nan_to_num(0.0)
    if align == "hard":
        is_best = (hidden == hidden.amax(dim=-1, keepdim=True)) & (weights > 0)
        weights = (is_best & (is_best.cumsum(dim=-1) == 1)).to(values.dtype)
    return weights @ values, weights
