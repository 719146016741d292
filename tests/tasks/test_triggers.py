"""Triggers: a class holds or not by the hand of its own token alone."""

import numpy as np
import pytest
import torch

from attn_course.tasks.training import train
from attn_course.tasks.triggers import Triggers

task = Triggers()
task.tested_on = 50  # no figure is reported here


def test_each_class_is_decided_by_the_hand_of_the_one_token_of_its_role():
    examples = task.examples("test", 200, task.rng("test"))
    for i in range(200):
        tokens = examples.inputs["tokens"][i].tolist()
        roles = [token[: task.n].index(1) for token in tokens]
        hands = [token[task.n :].index(1) for token in tokens]
        for c in range(task.classes):
            place = roles.index(c)
            assert examples.right["weights"][i, c].nonzero()[:, 0].tolist() == [place]
            half = {(c + hour) % 8 for hour in range(4)}
            assert (hands[place] in half) == examples.targets[i, c]


def test_no_two_classes_hold_for_the_same_hours():
    examples = task.examples("test", 2000, task.rng("test"))
    agree = (examples.targets[:, :, None] == examples.targets[:, None, :]).float().mean(dim=0)
    off_diagonal = agree[~torch.eye(task.classes, dtype=torch.bool)]
    assert ((off_diagonal > 0.45) & (off_diagonal < 0.55)).all()  # and they are independent


def test_arms_differ_in_the_number_of_queries_alone():
    built = {name: arm.build() for name, arm in task.arms.items()}
    shapes = {
        name: {n: tuple(p.shape) for n, p in model.named_parameters()}
        for name, model in built.items()
    }
    assert shapes["capsules"]["capsules.q"] == (8, 24)
    assert shapes["one query"] == shapes["capsules"] | {"capsules.q": (1, 24)}
    assert shapes["uniform"] == shapes["capsules"]
    counts = {name: sum(p.numel() for p in model.parameters()) for name, model in built.items()}
    assert counts["one query, as many parameters"] >= counts["capsules"]


def test_one_query_gives_every_class_the_same_row_and_uniform_gives_all_tokens_the_same():
    examples = task.examples("test", 3, task.rng("test"))
    with torch.no_grad():
        _p, shared = task.arms["one query"].build()(**examples.inputs)
        _p, equal = task.arms["uniform"].build()(**examples.inputs)
    rows = task.named_weights(shared)["weights"]
    assert rows.shape == (3, task.classes, task.n)
    assert (rows == rows[:, :1]).all()
    torch.testing.assert_close(equal, torch.full((3, task.classes, task.n), 1 / task.n))


@pytest.mark.parametrize("arm", ["capsules", "one query"])
def test_training_lowers_the_loss(arm):
    losses = train(task, arm, learning_rate=3e-2, steps=150).losses
    assert np.mean(losses[-10:]) < 0.97 * np.mean(losses[:10])
