"""Say what very small and very large w do to a prediction."""

import numpy as np

from attn_course import nadaraya_watson
from attn_course.practice.definition import Case, reference
from attn_course.running_example import features, positions
from attn_course.translate import _


def _predict(query, w):
    """Return the prediction at one place: how much is a word there a thing?"""
    thing = features()[:, 0]
    predictions = nadaraya_watson.regress(np.array([query]), positions(), thing, w)
    return float(predictions[0])


@reference
def predicted_limits():
    return [_predict(2.5, 0.0), _predict(2.5, 1000.0), _predict(3.2, 1000.0)]


@predicted_limits.cases(points=2, label=_("three predictions"))
def three_predictions(rng):
    yield Case()


@predicted_limits.variant
def limits_as_a_tuple():
    return (0.8333, 1.5, 2.0)


@predicted_limits.variant
def limits_as_a_tensor():
    import torch

    return torch.tensor([5 / 6, 1.5, 2.0])
