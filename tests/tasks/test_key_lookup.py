"""Key lookup: the right key is the one that the query repeats."""

import numpy as np
import pytest
import torch

from attn_course.tasks.key_lookup import KeyLookup, KeyLookupElsewhere
from attn_course.tasks.training import train


@pytest.mark.parametrize(("task", "shift"), [(KeyLookup(), 0), (KeyLookupElsewhere(), 1)])
def test_the_right_key_is_the_nearest_to_the_query_and_holds_the_answer(task, shift):
    examples = task.examples("test", 200, task.rng("test"))
    nearest_is_right = 0
    for i in range(200):
        features = examples.inputs["inputs"][i].double().numpy()
        query = examples.inputs["query_inputs"][i, 0].double().numpy()
        asked = [query[(entry + shift) % task.d] for entry in range(task.d)]
        distances = [sum((k - a) ** 2 for k, a in zip(f, asked, strict=False)) for f in features]
        nearest = int(np.argmin(distances))
        right = examples.right["weights"][i, 0].tolist()
        nearest_is_right += right == [place == nearest for place in range(task.n)]
        value = features[right.index(True), task.d :].argmax()
        assert value == examples.targets[i, 0]
    assert nearest_is_right == 200


def test_values_repeat_so_that_absence_tells_nothing():
    task = KeyLookup()
    examples = task.examples("test", 500, task.rng("test"))
    values = examples.inputs["inputs"][..., task.d :].argmax(dim=-1)
    distinct = [len(set(row.tolist())) for row in values]
    assert max(distinct) <= 8
    assert np.mean(distinct) < 6  # of 8 values, so many are there on average


def test_dot_is_at_home_in_one_space_and_lost_in_the_other():
    here = train(KeyLookup(), "dot", steps=50).test
    elsewhere = train(KeyLookupElsewhere(), "dot", steps=50).test
    assert here.attention_score > 0.9
    assert abs(elsewhere.attention_score - 0.125) < 0.05


def test_arms_differ_in_the_score_alone():
    task = KeyLookupElsewhere()
    names = {
        arm: {name for name, _p in task.arms[arm].build().named_parameters()} for arm in task.arms
    }
    shared = {"output_model.weight", "output_model.bias"}
    assert names["dot"] == shared
    assert names["general"] - shared == {"attention.score.W"}
    with_bias = {"attention.score.W", "attention.score.b"}
    assert names["biased general"] - shared == names["activated general"] - shared == with_bias
    assert all(name.startswith("attention.score.") for name in names["additive"] - shared)


def test_a_uniform_score_gives_equal_weights():
    with torch.no_grad():
        task = KeyLookup()
        examples = task.examples("test", 3, task.rng("test"))
        _p, weights = task.arms["uniform"].build()(**examples.inputs)
    torch.testing.assert_close(weights, torch.full((3, 1, 8), 1 / 8))


def test_a_bias_is_a_vector_or_a_number_and_nothing_else_is_added_to_general():
    task = KeyLookupElsewhere()
    sizes = {
        arm: sum(p.numel() for p in task.arms[arm].build().parameters())
        for arm in ("general", "biased general", "activated general")
    }
    assert sizes["biased general"] - sizes["general"] == task.d
    assert sizes["activated general"] - sizes["general"] == 1


def test_a_tanh_caps_the_weight_that_a_key_can_get():
    task = KeyLookupElsewhere()
    most = np.e**2 / (np.e**2 + task.n - 1)
    trained = train(task, "activated general", steps=200)
    with torch.no_grad():
        _p, weights = trained.model(**task.held_out().inputs)
    assert weights.max() < most
    assert trained.test.attention_score > 0.3
