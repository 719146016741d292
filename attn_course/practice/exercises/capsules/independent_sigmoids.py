"""Find two bugs that make the classes depend on one another."""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import readable
from attn_course.translate import _


@reference
def independent_sigmoids(contexts, w, b):
    probabilities = np.zeros(contexts.shape[:-1])
    for place in np.ndindex(probabilities.shape):
        of_class = place[-1]
        logit = sum(contexts[place] * w[of_class]) + b[of_class]
        # Below 0 the exponential of the logit itself cannot overflow.
        small = np.exp(-abs(logit))
        probabilities[place] = (1 if logit >= 0 else small) / (1 + small)
    return probabilities, probabilities[..., None] * contexts


def _capsules(rng, classes, d, batch=()):
    return Case(
        readable(rng, *batch, classes, d),
        readable(rng, classes, d, low=-1.5, high=1.5),
        readable(rng, classes),
    )


@independent_sigmoids.cases(points=1, label=_("one input, a few classes"))
def one_input(rng):
    yield _capsules(rng, 2, 1)
    yield _capsules(rng, 3, 2)
    yield _capsules(rng, 2, 3)


@independent_sigmoids.cases(points=1, label=_("a batch, and logits far from 0"))
def batches(rng):
    yield _capsules(rng, 3, 5, batch=(2,))
    yield _capsules(rng, 5, 2, batch=(2, 3))
    # Whole numbers, which are exact in single precision.
    contexts = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    w = np.array([[900.0, 0.0], [-900.0, 0.0], [0.0, 1.0]])
    yield Case(contexts, w, np.array([2.0, -1.0, rng.integers(1, 4)]))


@independent_sigmoids.variant
def class_by_class(contexts, w, b):
    each = [contexts[..., c, :] @ w[c] + b[c] for c in range(len(b))]
    p = np.stack([1 / (1 + np.exp(-logit)) for logit in each], axis=-1)
    return p, p[..., None] * contexts


@independent_sigmoids.variant
def sigmoid_as_a_tanh(contexts, w, b):
    p = (1 + np.tanh(((contexts * w).sum(axis=-1) + b) / 2)) / 2
    return p, p[..., None] * contexts


@independent_sigmoids.variant
def sigmoid_in_torch(contexts, w, b):
    import torch

    contexts, w, b = (torch.as_tensor(part) for part in (contexts, w, b))
    p = torch.sigmoid((contexts * w).sum(dim=-1) + b)
    return p, p[..., None] * contexts
