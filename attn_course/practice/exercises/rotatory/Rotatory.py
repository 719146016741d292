"""One rotation as a PyTorch module: batched and masked."""

import numpy as np
import torch

from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.rotatory import _layer
from attn_course.practice.exercises.rotatory._layer import padded_batch
from attn_course.translate import _

Rotatory = reference(_layer.Rotatory)


@Rotatory.cases(points=3, label=_("a padded batch: output and gradients"))
def a_padded_batch(rng):
    inputs, masks = padded_batch(rng, 2, 1, 3, 2, 5)
    yield Case(*inputs, *masks, d=2)
    inputs, masks = padded_batch(rng, 2, 2, 3, 2, 5)
    yield Case(*inputs, *masks, d=2)
    inputs, masks = padded_batch(rng, 5, 3, 2, 7, 3)
    yield Case(*inputs, *masks, d=5)


@Rotatory.cases(points=1, label=_("anything may stand in the padding"))
def other_padding(rng):
    inputs, masks = padded_batch(rng, 3, 5, 7, 2, 3, padding=5.0)
    yield Case(*inputs, *masks, d=3)
    inputs, masks = padded_batch(rng, 2, 3, 5, 3, 2, padding=np.nan)
    yield Case(*inputs, *masks, d=2)


@Rotatory.cases(points=1, label=_("a target at the edge: an empty context"))
def an_empty_context(rng):
    inputs, masks = padded_batch(rng, 3, 2, 5, 3, 7)
    masks[1][0] = False  # no left context in the first sentence
    yield Case(*inputs, *masks, d=3)


class _InSteps(_layer.Parameters):
    """The layer in small methods, for variants to replace one of them."""

    def forward(self, target, left, right, target_mask, left_mask, right_mask):
        words = target.where(target_mask[..., None], 0.0)
        r_t = words.sum(dim=-2) / target_mask.sum(dim=-1, keepdim=True)
        r_l = self.ask("l", r_t, left, left_mask)
        r_r = self.ask("r", r_t, right, right_mask)
        r_lt = self.ask("lt", r_l, target, target_mask)
        r_rt = self.ask("rt", r_r, target, target_mask)
        return torch.cat([r_l, r_r, r_lt, r_rt], dim=-1)

    def ask(self, name, query, features, mask):
        words = features.where(mask[..., None], 0.0)
        W, b = getattr(self, f"W_{name}"), getattr(self, f"b_{name}")
        weights = self.align(self.score(query, words, W, b), mask)
        return (weights[..., None, :] @ words)[..., 0, :]

    def score(self, query, words, W, b):
        return torch.tanh((words @ (query @ W.T)[..., None])[..., 0] + b)

    def align(self, scores, mask):
        return torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1).nan_to_num(0.0)


@Rotatory.variant
class LayerWithEinsum(_InSteps):
    def score(self, query, words, W, b):
        return torch.tanh(torch.einsum("bnd,de,be->bn", words, W, query) + b)


@Rotatory.variant
class LayerWithExponentials(_InSteps):
    def align(self, scores, mask):
        exponentials = scores.exp() * mask  # tanh is at most 1: nothing can overflow
        return exponentials / exponentials.sum(dim=-1, keepdim=True).clamp(min=1e-30)
