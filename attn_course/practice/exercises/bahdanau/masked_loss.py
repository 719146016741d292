"""The cross-entropy per real target word: a ratio of sums that does not depend on the padding."""

from math import exp, log

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import huge, readable
from attn_course.translate import _


@reference
def masked_loss(logits, targets, mask):
    if logits.ndim != 3 or not mask.any():
        raise ValueError("a batch has three axes and at least one real word")
    total, words = 0.0, 0
    for place in zip(*np.nonzero(mask), strict=True):
        row, target = logits[place], targets[place]
        if not 0 <= target < len(row):
            raise ValueError("a real target is the number of a word")
        best = max(row)
        total += best + log(sum(exp(logit - best) for logit in row)) - row[target]
        words += 1
    return total / words


def _lengths(rng, batch, T):
    """Return lengths from 1 to T that differ, as far as they can: one sentence is full."""
    order = T - np.arange(batch) % T
    return rng.permutation(order)


def _case(rng, lengths, T, words, logits=None, padding=0.0, behind=0):
    """Return a batch with `padding` as logits and `behind` as targets after the last word."""
    mask = np.arange(T) < np.asarray(lengths)[:, None]
    drawn = readable(rng, len(lengths), T, words) if logits is None else logits
    targets = rng.integers(0, words, mask.shape)
    targets[0, 0] = 0  # a real word, though some vocabularies keep the number 0 for padding
    if logits is not None:  # the least probable word: its probability may vanish
        targets[0, 1] = logits[0, 1].argmin()
    logits = np.where(mask[..., None], drawn, padding)
    return Case(logits, np.where(mask, targets, behind), mask)


@masked_loss.cases(points=1, label=_("sentences of different lengths"))
def a_few_words(rng):
    yield _case(rng, [2, 1], 2, 3)
    yield _case(rng, _lengths(rng, 3, 5), 5, 2, padding=1.5)
    yield _case(rng, _lengths(rng, 5, 3), 3, 7, padding=-1.5, behind=1)


@masked_loss.cases(points=1, label=_("large logits"))
def large_logits(rng):
    near_1000 = 1000 + rng.integers(-8, 9, (2, 3, 5)) / 4  # exact in single precision
    yield _case(rng, [3, 1], 3, 5, logits=near_1000)
    yield _case(rng, [2, 1], 2, 3, logits=huge(rng, 2, 2, 3))
    yield _case(rng, _lengths(rng, 3, 5), 5, 7, logits=huge(rng, 3, 5, 7))


@masked_loss.cases(points=2, label=_("anything behind the mask: NaN, -100, an empty sentence"))
def anything_behind_the_mask(rng):
    yield _case(rng, [1, 2], 3, 2, padding=np.nan)
    yield _case(rng, _lengths(rng, 3, 5), 5, 7, padding=0.5, behind=-100)
    yield _case(rng, [2, 0, 3, 1, 2], 3, 7, padding=np.nan, behind=-100)


@masked_loss.cases(points=1, label=_("more padding, the same loss"))
def more_padding(rng):
    yield _case(rng, [2, 1], 5, 3, padding=2.0)
    yield _case(rng, [2, 3, 1], 11, 5, padding=1.0, behind=2)


@masked_loss.variant
def loss_of_the_real_words(logits, targets, mask):
    rows, words = logits[mask], targets[mask]  # the padding is gone from here on
    rows = rows - rows.max(axis=-1, keepdims=True)
    losses = np.log(np.exp(rows).sum(axis=-1)) - rows[np.arange(len(words)), words]
    return losses.mean()


@masked_loss.variant
def loss_sentence_by_sentence(logits, targets, mask):
    total, words = 0.0, 0
    for sentence, target, length in zip(logits, targets, mask.sum(axis=-1), strict=True):
        for t in range(length):
            shifted = sentence[t] - sentence[t].max()
            total -= shifted[target[t]] - np.log(np.exp(shifted).sum())
        words += length
    return total / words


@masked_loss.variant
def loss_in_torch(logits, targets, mask):
    import torch
    from torch.nn import functional

    logits, targets, mask = torch.as_tensor(logits), torch.as_tensor(targets), torch.as_tensor(mask)
    labels = targets.masked_fill(~mask, -100)
    known = logits.masked_fill(~mask[..., None], 0.0)
    return functional.cross_entropy(known.flatten(0, 1), labels.flatten(), ignore_index=-100)
