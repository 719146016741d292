"""Other weights, the same context: as far as one direction of the null space leads."""

from functools import partial

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.explanation._sentences import (
    jsd,
    require_distributions,
    shares,
)
from attn_course.practice.inputs import readable
from attn_course.translate import _


@reference
def null_space_adversary(values, weights):
    require_distributions(weights)
    u = _direction(values)
    if u is None:
        raise ValueError("there is not exactly one direction")  # where a case is made smaller
    ends = _both_ends(u, weights)
    far = [sum(abs(e - a) for e, a in zip(end, weights, strict=True)) for end in ends]
    if min(far) > 0 and max(far) < 1.02 * min(far):
        raise ValueError("the two ends are equally far")
    return np.array(ends[int(far[1] > far[0])])


def _both_ends(u, weights):
    """Return the weights where the line in the direction u ends, and in the opposite direction."""
    ends = []
    for sign in (1, -1):
        steps = [a / (-sign * x) for a, x in zip(weights, u, strict=True) if sign * x < 0]
        ends.append([a + min(steps) * sign * x for a, x in zip(weights, u, strict=True)])
    return ends


def _direction(values):
    """Return the direction that changes neither context nor sum, by cofactors; None if unclear.

    The cofactors of a row that is added to the others are a vector orthogonal to all of them.
    """
    n, d = values.shape
    if n != d + 2:
        return None
    rows = np.vstack([values.T, np.ones(n)])  # (d + 1, n)
    others = np.array([[i for i in range(n) if i != column] for column in range(n)])
    minors = np.linalg.det(np.moveaxis(rows[:, others], 1, 0))  # of rows without a column
    u = minors * (-1.0) ** np.arange(n)
    u = u / max(np.abs(u).max(), 1e-12)
    smallest = np.linalg.svd(rows, compute_uv=False).min()
    return u if np.abs(u).min() > 0.1 and smallest > 0.3 else None


def _sentence(rng, d, zeros=0, tells=lambda _values, _weights: True):
    """Return values and weights whose answer is unique and differs; `tells`: what else is true."""
    while True:
        case = Case(readable(rng, d + 2, d), shares(rng, d + 2, zeros=zeros))
        try:
            changed = _change(case.args[1], null_space_adversary.reference(*case.args))
        except ValueError:
            continue
        if changed > 0.1 and tells(*case.args):
            return case


def _jsd_disagrees(values, weights):
    """Return whether the JSD clearly prefers the end with the smaller TVD."""
    near, far = sorted(_both_ends(_direction(values), weights), key=partial(_change, weights))
    if _change(weights, far) < 1.1 * _change(weights, near):
        return False
    return jsd(weights, np.maximum(near, 0.0)) > jsd(weights, np.maximum(far, 0.0)) + 0.01


def _change(weights, end):
    return np.abs(end - weights).sum()


def _largest_weight_grows(values, weights):
    """Return whether the largest weight grows on the way to the further end."""
    largest = weights.argmax()
    return null_space_adversary.reference(values, weights)[largest] > weights[largest] + 0.05


def _every_direction_falls(values, _weights):
    """Return whether a step can be computed in wrong directions too: each has both signs."""
    directions = np.linalg.svd(np.vstack([values.T, np.ones(len(values))]))[2]
    without_the_sum = np.linalg.svd(values.T)[2]
    wrong = (directions[-2], directions[:, -1], *without_the_sum[-2:])
    return all(u.min() < 0 < u.max() for u in wrong)


def _short_cuts_fail(values, weights):
    """Return whether short cuts fail here.

    On the way to the further end neither the smallest weight nor the one that falls fastest becomes
    0 first, and the nearer end has the larger single weight.
    """
    u = _direction(values)
    end = null_space_adversary.reference(values, weights)
    nearer = min(_both_ends(u, weights), key=partial(_change, weights))
    change, empty = end - weights, end.argmin()
    falling = np.where(change < 0, weights, np.inf)
    shortcuts = (falling.argmin(), change.argmin())
    return empty not in shortcuts and max(nearer) > end.max() + 0.05


@null_space_adversary.cases(points=1, label=_("three tokens, values of width 1"))
def three_tokens(rng):
    yield _sentence(rng, 1, tells=_every_direction_falls)
    yield _sentence(rng, 1, tells=_every_direction_falls)


@null_space_adversary.cases(points=2, label=_("wider values, with n = d + 2 tokens"))
def wider_values(rng):
    yield _sentence(rng, 2)
    yield _sentence(rng, 3, tells=_short_cuts_fail)
    yield _sentence(rng, 2, tells=_jsd_disagrees)
    yield _sentence(rng, 3, tells=_largest_weight_grows)
    yield _sentence(rng, 4)
    yield _sentence(rng, 4)


@null_space_adversary.cases(
    points=1, label=_("a token without weight, so that one direction is closed")
)
def without_weight(rng):
    yield _sentence(rng, 2, zeros=1)
    yield _sentence(rng, 3, zeros=1)


@null_space_adversary.cases(points=1, label=_("all the weight on one token"))
def one_token(rng):
    yield _all_on_one(rng, 2, moves=True)
    yield _all_on_one(rng, 3, moves=True)
    yield _all_on_one(rng, 2, moves=False)


def _all_on_one(rng, d, moves):
    """Return a sentence with all the weight on one token, whose sign no other has if it `moves`."""
    while True:
        values = readable(rng, d + 2, d)
        u = _direction(values)
        if u is None:
            continue
        is_alone = np.array([(u * sign > 0).sum() == 1 for sign in u])
        tokens = np.flatnonzero(is_alone == moves)
        if len(tokens):
            return Case(values, np.eye(d + 2)[rng.choice(tokens)])


@null_space_adversary.variant
def by_solving_for_the_first_token(values, weights):
    # Fix the first entry of the direction at 1 and solve for the others.
    rows = np.concatenate([values.T, np.ones((1, len(values)))])
    rest = np.linalg.solve(rows[:, 1:], -rows[:, 0])
    u = np.concatenate([[1.0], rest])
    bounds = -weights / u  # the step at which each weight becomes 0
    up, down = bounds[u < 0].min(), bounds[u > 0].max()
    return weights + (up if up > -down else down) * u


@null_space_adversary.variant
def by_linear_programming(values, weights):
    from scipy.optimize import linprog

    rows = np.vstack([values.T, np.ones(len(values))])
    found = []
    for sign in (1, -1):  # the ends are where the first weight is largest and smallest
        cost = np.eye(len(values))[0] * sign
        end = linprog(cost, A_eq=rows, b_eq=rows @ weights, bounds=(0, None))
        found.append(end.x if end.x is not None else weights)
    return max(found, key=lambda end: np.abs(end - weights).sum())


@null_space_adversary.variant
def in_torch(values, weights):
    import torch

    values, weights = torch.as_tensor(values), torch.as_tensor(weights)
    rows = torch.cat([values.T, torch.ones(1, len(values), dtype=values.dtype)])
    u = torch.linalg.svd(rows).Vh[-1]
    u = torch.stack([u, -u])  # both ways
    steps = torch.where(u < 0, weights / -u, torch.inf).min(dim=-1).values
    return weights + steps.max() * u[steps.argmax()]
