"""Find the two bugs in a loop over hops."""

from functools import partial

import numpy as np

from attn_course.definitions.features import rotatory
from attn_course.definitions.scoring import activated_general
from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import readable, softmax
from attn_course.translate import _


@reference
def rotate(target, left, right, W_l, W_r, W_lt, W_rt, hops):
    def score(W):
        return partial(activated_general, W=W)

    contexts, _weights = rotatory(
        (target, target, target),
        (left, left),
        (right, right),
        score(W_l),
        score(W_r),
        score(W_lt),
        score(W_rt),
        hops,
    )
    return np.concatenate([contexts[name] for name in ("r_l", "r_r", "r_lt", "r_rt")])


def _sentence(rng, d, n_t, n_l, n_r, hops):
    parts = [readable(rng, n, d) for n in (n_t, n_l, n_r)]
    return Case(*parts, *(readable(rng, d, d) for _W in range(4)), hops)


@rotate.cases(points=1, label=_("one rotation"))
def one_rotation(rng):
    yield _sentence(rng, 2, 2, 2, 3, 1)
    yield _sentence(rng, 3, 5, 3, 2, 1)


@rotate.cases(points=2, label=_("two hops and more"))
def several_hops(rng):
    yield _sentence(rng, 2, 3, 2, 3, 2)
    yield _sentence(rng, 3, 5, 7, 2, 3)


def _attended(query, features, W):
    return softmax(np.tanh(features @ W @ query)) @ features


@rotate.variant
def hops_by_recursion(target, left, right, W_l, W_r, W_lt, W_rt, hops):
    def turn(left_query, right_query, remaining):
        r_l, r_r = _attended(left_query, left, W_l), _attended(right_query, right, W_r)
        r_lt, r_rt = _attended(r_l, target, W_lt), _attended(r_r, target, W_rt)
        if remaining == 1:
            return np.concatenate([r_l, r_r, r_lt, r_rt])
        return turn(r_lt, r_rt, remaining - 1)

    mean = target.mean(axis=0)
    return turn(mean, mean, hops)


@rotate.variant
def sides_one_after_the_other(target, left, right, W_l, W_r, W_lt, W_rt, hops):
    answers = []
    for context, W_there, W_back in ((left, W_l, W_lt), (right, W_r, W_rt)):
        query = target.mean(axis=0)
        for _hop in range(hops):
            there = _attended(query, context, W_there)
            query = _attended(there, target, W_back)
        answers.append((there, query))
    (r_l, r_lt), (r_r, r_rt) = answers
    return np.concatenate([r_l, r_r, r_lt, r_rt])
