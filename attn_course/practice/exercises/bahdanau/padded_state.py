"""Find two bugs in the summary of padded sentences: states of the wrong positions."""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import padded, readable
from attn_course.translate import _


@reference
def padded_state(forward, backward, lengths):
    if lengths.ndim != 1 or lengths.min() < 1 or lengths.max() > forward.shape[1]:
        raise ValueError("a sentence has at least one word and at most T")
    summaries = []
    for ahead, back, length in zip(forward, backward, lengths, strict=True):
        words = list(zip(ahead, back, strict=True))[:length]
        (_ahead, first), (last, _back) = words[0], words[-1]
        summaries.append([*last, *first])
    return np.array(summaries)


def _case(rng, lengths, T, n, padding=None):
    """Return a batch with `padding` after each sentence; without it, the reader went on reading."""
    lengths = np.array(lengths)
    mask = np.arange(T) < lengths[:, None]
    states = readable(rng, 2, len(lengths), T, n)
    if padding is not None:
        states = padded(states, mask, padding)
    return Case(*states, lengths)


@padded_state.cases(points=2, label=_("sentences of different lengths"))
def different_lengths(rng):
    yield _case(rng, [2, 3], 3, 1)
    yield _case(rng, rng.permutation([2, 5, 3]), 5, 2)
    yield _case(rng, rng.permutation([7, 4, 2, 5, 3]), 7, 3)


@padded_state.cases(points=1, label=_("padding with anything in it, even NaN, in every sentence"))
def padding_everywhere(rng):
    yield _case(rng, [2, 3], 5, 1)
    yield _case(rng, rng.permutation([2, 4, 3]), 5, 2, padding=np.nan)
    yield _case(rng, [3, 2], 5, 2, padding=0.0)  # here the last state that is not 0 is right


@padded_state.cases(points=1, label=_("sentences of one word, and a batch of one"))
def short_sentences(rng):
    yield _case(rng, [1, 3], 3, 2)
    yield _case(rng, [2], 3, 1)
    yield _case(rng, [3, 1, 2, 1, 5], 7, 3, padding=np.nan)


@padded_state.variant
def state_by_take_along_axis(forward, backward, lengths):
    last = np.take_along_axis(forward, (lengths - 1)[:, None, None], axis=1)[:, 0]
    return np.hstack([last, backward[:, 0]])


@padded_state.variant
def state_by_a_mask(forward, backward, lengths):
    is_last = np.arange(forward.shape[1]) == lengths[:, None] - 1
    return np.concatenate([forward[is_last], backward[:, 0]], axis=1)


@padded_state.variant
def state_in_torch(forward, backward, lengths):
    import torch

    forward, backward, lengths = map(torch.as_tensor, (forward, backward, lengths))
    index = (lengths - 1)[:, None, None].expand(-1, 1, forward.shape[-1])
    return torch.cat([forward.gather(1, index).squeeze(1), backward[:, 0]], dim=-1)
