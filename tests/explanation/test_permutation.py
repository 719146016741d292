"""Permuted and equal weights: what is shuffled, and what a prediction notices."""

from itertools import permutations
from statistics import median

import torch

from attn_course.evaluation.divergences import tvd
from attn_course.explanation.explainable_model import uniform_over
from attn_course.explanation.permutation import permutation_tvd, permuted, uniform_tvd
from tests.explanation.explained_models import BATCH, explained, random_weights, token_inputs


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_a_permutation_keeps_the_weights_and_stays_among_the_tokens():
    mask = explained().mask(token_inputs())
    weights = random_weights(mask)
    shuffled = permuted(weights, mask, generator())
    assert (shuffled[~mask] == 0).all()
    assert torch.equal(shuffled.sort(-1).values, weights.sort(-1).values)
    assert not torch.equal(shuffled, weights)
    assert torch.equal(shuffled[1], weights[1])  # one token stays where it is


def test_a_mask_may_have_holes():
    mask = torch.tensor([[True, False, True, False, True]])
    weights = torch.tensor([[0.5, 0.0, 0.3, 0.0, 0.2]])
    seen = {tuple(permuted(weights, mask, generator(s))[0].tolist()) for s in range(60)}
    wanted = {
        (a, 0.0, b, 0.0, c)
        for a, b, c in permutations(
            [weights[0, 0].item(), weights[0, 2].item(), weights[0, 4].item()]
        )
    }
    assert seen == wanted


def test_the_median_over_many_is_the_median_over_all_permutations():
    model = explained()
    inputs = {name: tensor[:1, ..., :] for name, tensor in token_inputs().items()}
    inputs = {"inputs": inputs["inputs"][:, :3], "mask": inputs["mask"][..., :3]}
    probabilities, weights = model.predict(inputs)
    every = [
        tvd(model.predict(inputs, weights[:, list(order)])[0], probabilities).item()
        for order in permutations(range(3))
    ]
    found = permutation_tvd(model, inputs, generator(), number=999).item()
    assert sorted(every)[2] - 1e-9 <= found <= sorted(every)[3] + 1e-9
    assert median(every) > 0


def test_equal_tokens_do_not_notice_a_permutation_or_equal_weights():
    model, inputs = explained(), token_inputs()
    inputs["inputs"] = inputs["inputs"][:, :1].expand_as(inputs["inputs"])
    for change in (permutation_tvd(model, inputs, generator(), 5), uniform_tvd(model, inputs)):
        torch.testing.assert_close(change.detach(), torch.zeros(BATCH).double())


def test_the_same_seed_gives_the_same_numbers():
    model, inputs = explained(), token_inputs()
    one, same, other = (permutation_tvd(model, inputs, generator(s), 9) for s in (3, 3, 5))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_uniform_tvd_is_the_distance_to_the_prediction_under_equal_weights():
    model, inputs = explained(), token_inputs()
    forced = uniform_over(model.mask(inputs)).double()
    wanted = tvd(model.predict(inputs, forced)[0], model.predict(inputs)[0])
    torch.testing.assert_close(uniform_tvd(model, inputs), wanted.detach())
