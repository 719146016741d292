"""Feature places: each feature of the answer is that of the token with its role."""

import numpy as np
import pytest
import torch

from attn_course.tasks.feature_places import FeaturePlaces
from attn_course.tasks.training import train

task = FeaturePlaces()
task.tested_on = 50  # no figure is reported here


def test_each_feature_of_the_answer_stands_at_the_one_token_of_its_role():
    examples = task.examples("test", 200, task.rng("test"))
    for i in range(200):
        tokens = examples.inputs["inputs"][i].tolist()
        roles = [token[: task.roles].index(1) for token in tokens]
        assert len(set(roles)) == task.n
        for group in range(task.groups):
            place = roles.index(group)
            assert examples.right["weights"][i, group].nonzero()[:, 0].tolist() == [place]
            start = task.roles + group * task.options
            told = tokens[place][start : start + task.options].index(1)
            assert told == examples.targets[i, group]


def test_weights_by_feature_are_shown_as_a_row_for_each_feature_of_the_answer():
    weights = torch.zeros(2, 1, task.n, task.groups * task.options)
    weights[:, 0, 5, 4:8] = 1  # the options of the second feature, all at token 5
    shown = task.named_weights(weights)["weights"]
    assert shown.shape == (2, task.groups, task.n)
    assert shown.nonzero().tolist() == [[0, 1, 5], [1, 1, 5]]
    shared = task.named_weights(torch.rand(2, 1, task.n))["weights"]
    assert (shared == shared[:, :1]).all()


def test_arms_differ_in_the_attention_and_one_single_has_as_many_parameters():
    built = {name: arm.build() for name, arm in task.arms.items() if "pooling" not in name}
    counts = {name: sum(p.numel() for p in model.parameters()) for name, model in built.items()}
    assert counts["single, as many parameters"] >= counts["multi"]
    for model in built.values():
        others = {n: p.shape for n, p in model.named_parameters() if "attention" not in n}
        assert set(others) == {"output_model.0.weight", "output_model.0.bias"}


@pytest.mark.parametrize("arm", ["multi", "single"])
def test_training_lowers_the_loss(arm):
    losses = train(task, arm, learning_rate=3e-2, steps=60).losses
    assert np.mean(losses[-10:]) < 0.95 * np.mean(losses[:10])
