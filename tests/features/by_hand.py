"""A layer's parameters as plain numbers, for the definitions in loops of chapter 5."""

from functools import partial

import torch

from attn_course import learned_scores
from attn_course.definitions import scoring as definition

# Loops and matrix products add up in another order.
assert_close = partial(torch.testing.assert_close, rtol=1e-9, atol=1e-11)

FORMULAS = {
    learned_scores.AdditiveScore: definition.additive,
    learned_scores.GeneralScore: definition.general,
    learned_scores.BiasedGeneralScore: definition.biased_general,
    learned_scores.ActivatedGeneralScore: definition.activated_general,
    learned_scores.NoQueryScore: definition.no_query,
}


def by_hand(score):
    """Return the definition of a score, with the parameters of the layer bound to it."""
    parameters = {name: p.tolist() for name, p in score.named_parameters()}
    return partial(FORMULAS[type(score)], **parameters)


def keys_and_values(layer_input, features):
    """Return the keys and the values of one example, each product written out."""
    return _mapped(layer_input.key_map, features), _mapped(layer_input.value_map, features)


def _mapped(layer, features):
    if not list(layer.parameters()):
        return features.tolist()
    return [definition.times(layer.weight.tolist(), f) for f in features.tolist()]


def shaken(layer, generator):
    """Give every parameter a random value: zeros, as biases start, would hide a bias left out."""
    for parameter in layer.parameters():
        parameter.data = 0.7 * parameter.new_empty(parameter.shape).normal_(generator=generator)
    return layer
