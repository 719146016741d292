"""The margin loss: every wrong class should be 1 below the right one."""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import readable
from attn_course.translate import _


@reference
def margin_loss(x, targets):
    if x.shape[-1] < 2:
        raise ValueError(f"a margin needs two classes at least, but the shape of x is {x.shape}")
    losses = np.zeros(x.shape[:-1])
    for place in np.ndindex(losses.shape):
        right = targets[place]
        for c, x_c in enumerate(x[place]):
            if c != right:
                losses[place] += max(0.0, 1 - x[place][right] + x_c) / x.shape[-1]
    return losses


def _probabilities(rng, *size):
    return readable(rng, *size, low=0.1, high=0.9)


def _targets(rng, *size, classes):
    return np.array(rng.integers(classes, size=size))


@margin_loss.cases(points=1, label=_("probabilities of one input"))
def one_input(rng):
    yield Case(_probabilities(rng, 3), _targets(rng, classes=3))
    yield Case(_probabilities(rng, 5), np.array(0))


@margin_loss.cases(points=1, label=_("similarities, which may be any number"))
def any_numbers(rng):
    # One wrong class is far below the right one, one near it, one above it: a hinge of each. One
    # is equal to it, so the right class cannot be recognised by its number.
    target = _targets(rng, classes=5)
    x = np.round(rng.uniform(-4, 4), 1) + np.array([0.0, -3.0, -0.4, 0.8, 0.0])
    yield Case(np.roll(x, target), target)
    yield Case(readable(rng, 7, low=-4.0, high=4.0), _targets(rng, classes=7))


@margin_loss.cases(points=1, label=_("a batch"))
def batches(rng):
    targets = rng.permutation(3)[:2]
    yield Case(_probabilities(rng, 2, 3), targets)
    yield Case(readable(rng, 7, 5, low=-3.0, high=3.0), _targets(rng, 7, classes=5))
    yield Case(readable(rng, 2, 3, 5, low=-3.0, high=3.0), _targets(rng, 2, 3, classes=5))


@margin_loss.variant
def right_class_set_to_zero(x, targets):
    right = (np.arange(x.shape[-1]) == np.asarray(targets)[..., None]).astype(x.dtype)
    of_right = (x * right).sum(axis=-1, keepdims=True)
    return np.where(right == 1, 0.0, np.clip(1 - of_right + x, 0, None)).mean(axis=-1)


@margin_loss.variant
def term_of_the_right_class_subtracted(x, targets):
    right = np.take_along_axis(x, np.asarray(targets)[..., None], axis=-1)
    return (np.maximum(0.0, 1 - right + x).sum(axis=-1) - 1) / x.shape[-1]


@margin_loss.variant
def loss_of_pytorch(x, targets):
    import torch

    classes = x.shape[-1]
    losses = torch.nn.functional.multi_margin_loss(
        torch.as_tensor(x).reshape(-1, classes),
        torch.as_tensor(targets).reshape(-1).long(),
        reduction="none",
    )
    return losses.reshape(x.shape[:-1])
