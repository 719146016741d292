"""Draw a subset of the keys, and say how the selector should change for what it earned."""

import numpy as np

from attn_course import alignment
from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.subsets._masks import two_at_least
from attn_course.practice.inputs import all_of, some_of
from attn_course.translate import _


@reference
def select_subset(logits, u, mask, rewards, price, baseline):
    if logits.ndim > 1:
        batch = zip(logits, u, mask, np.asarray(rewards), strict=True)
        found = [select_subset.reference(*one, price, baseline) for one in batch]
        return tuple(np.stack(part) for part in zip(*found, strict=True))
    pi = np.zeros(len(logits))
    pi[mask] = 1 / (1 + np.exp(-logits[mask]))
    kept = u < pi
    log_probability = alignment.selection_log_probability(pi, kept)
    share = kept.sum() / mask.sum() if mask.any() else 0.0
    gradient = (rewards - price * share - baseline) * (kept - pi)
    return kept, log_probability, gradient


def draws(rng, logits):
    """Return numbers u with two decimals, well above or below the probabilities.

    One of a row is below and one above, so that the subset is neither empty nor whole.
    """
    pi = 1 / (1 + np.exp(-logits))
    below = some_of(rng, *logits.shape)
    return np.round(np.where(below, pi * rng.uniform(0.2, 0.8, pi.shape), (1 + pi) / 2), 2)


def _selection(rng, *size, padding=None):
    batch = size[:-1]
    # Never near 0: a probability of one half is its own opposite.
    signs = np.where(some_of(rng, *size), 1, -1)
    logits = signs * np.round(rng.uniform(0.3, 2.0, size), 1)
    u = draws(rng, logits)
    mask = all_of(*size)
    if padding is not None:
        mask = two_at_least(rng, *size)
        # Padding would be kept: its draw is far below the probability that its logit has.
        logits, u = np.where(mask, logits, padding), np.where(mask, u, 0.1)
    rewards = np.round(rng.uniform(-3.0, -1.0, batch), 1)
    return logits, u, mask, rewards if batch else float(rewards)


@select_subset.cases(points=2, label=_("one example without padding"))
def one_example(rng):
    yield Case(*_selection(rng, 3), 0.6, -4.0)
    yield Case(*_selection(rng, 5), 0.5, 0.8)


@select_subset.cases(points=1, label=_("a batch of examples, each with its own reward"))
def batches(rng):
    yield Case(*_selection(rng, 2, 3), 0.6, -4.0)
    yield Case(*_selection(rng, 2, 5, 7), 0.5, 0.8)


@select_subset.cases(points=1, label=_("padding, with anything in it, even NaN"))
def with_padding(rng):
    yield Case(*_selection(rng, 5, padding=3.0), 0.6, -4.0)
    yield Case(*_selection(rng, 3, 5, padding=np.nan), 0.5, 0.8)


@select_subset.cases(points=1, label=_("an example without a key, and one that keeps none"))
def nothing_is_kept(rng):
    logits, u, mask, rewards = _selection(rng, 4, 5, padding=2.0)
    mask[1] = False
    u[2] = 0.99
    mask[3], logits[3, 2], u[3, 2] = np.arange(5) == 2, 0.4, 0.3  # one key, and it is kept
    yield Case(logits, u, mask, rewards, 0.6, -4.0)


@select_subset.cases(points=1, label=_("a selector that is sure, and u equal to a probability"))
def sure_or_undecided(rng):
    logits, u, mask, rewards = _selection(rng, 2, 5)
    logits[:, 0], logits[:, 3] = 60.0, -60.0
    u[:, [0, 3]] = 0.5
    yield Case(logits, u, mask, rewards, 0.6, -4.0)
    # The logit 0 has the probability 1/2 in every precision: not kept, as 1/2 is not below 1/2.
    logits, u, mask, rewards = _selection(rng, 2, 3)
    logits[:, 1], u[:, 1] = 0.0, 0.5
    yield Case(logits, u, mask, rewards, 0.6, -4.0)


@select_subset.variant
def selection_by_autograd(logits, u, mask, rewards, price, baseline):
    import torch

    real = torch.as_tensor(mask)
    h = torch.as_tensor(np.where(mask, logits, 0.0)).requires_grad_()
    kept = (torch.as_tensor(u) < torch.sigmoid(h.detach())) & real
    # log sigmoid(h) of what was kept, log sigmoid(-h) of what was not.
    each = torch.nn.functional.logsigmoid(torch.where(kept, h, -h))
    log_p = torch.where(real, each, 0.0).sum(dim=-1)
    share = kept.sum(dim=-1) / real.sum(dim=-1).clamp(min=1)
    advantage = torch.as_tensor(rewards) - price * share - baseline
    (advantage * log_p).sum().backward()
    return kept, log_p.detach(), h.grad


@select_subset.variant
def selection_in_loops(logits, u, mask, rewards, price, baseline):
    if logits.ndim > 1:
        batch = zip(logits, u, mask, rewards, strict=True)
        parts = [selection_in_loops(*one, price, baseline) for one in batch]
        return tuple(np.array(part) for part in zip(*parts, strict=True))
    places = [l for l, real in enumerate(mask) if real]
    pi = {l: 1 / (1 + np.exp(-logits[l])) for l in places}
    kept = [l in pi and u[l] < pi[l] for l in range(len(mask))]
    log_p = sum(np.log(pi[l] if kept[l] else 1 - pi[l]) for l in places)
    share = sum(kept) / len(places) if places else 0
    advantage = rewards - price * share - baseline
    gradient = [advantage * (kept[l] - pi[l]) if l in pi else 0.0 for l in range(len(mask))]
    return kept, float(log_p), gradient


@select_subset.variant
def minus_infinity_for_padding(logits, u, mask, rewards, price, baseline):
    h = np.where(mask, logits, -np.inf)
    pi = np.exp(-np.logaddexp(0, -h))
    kept = u < pi
    log_p = -np.logaddexp(0, np.where(kept, -h, h)).sum(axis=-1)
    real = mask.sum(axis=-1)
    share = np.divide(kept.sum(axis=-1), real, where=real > 0, out=np.zeros(np.shape(real)))
    advantage = np.asarray(rewards - price * share - baseline)
    return kept, log_p, np.where(kept, 1 - pi, -pi) * advantage[..., None]
