"""Copying a digit among clutter."""

import pytest
import torch

from attn_course.tasks import find_task


@pytest.fixture(scope="module")
def examples():
    task = find_task("copy_patch")
    return task.examples("test", 50, task.rng("test"))


def test_the_answer_is_the_patch_where_attention_belongs(examples):
    patches, right = examples.inputs["patches"], examples.right["weights"][:, 0]
    for row in range(len(examples)):
        torch.testing.assert_close(
            examples.targets[row, 0], patches[row, right[row].nonzero()[0, 0]]
        )


def test_a_copy_explains_everything_the_mean_digit_nothing_and_clutter_less(examples):
    task = find_task("copy_patch")
    targets = examples.targets
    assert task.score(targets, examples) == 1.0
    assert task.score(targets.mean(dim=0, keepdim=True).expand_as(targets), examples) == (
        pytest.approx(0.0, abs=1e-6)
    )
    assert task.score(targets.flip(dims=(-1,)), examples) < 0


def test_the_reward_is_the_squared_error_of_each_canvas_and_negative(examples):
    task = find_task("copy_patch")
    off = examples.targets.clone()
    off[3] += 0.5
    rewards = task.reward(off, examples)
    assert rewards.shape == (50,)
    assert rewards[3] == pytest.approx(-20 * 0.25)
    assert rewards[4] == 0


def test_attention_on_the_digit_copies_it_and_equal_weights_do_not(examples):
    task = find_task("copy_patch")
    patches = examples.inputs["patches"]
    right = examples.right["weights"].float()
    assert task.score(right @ patches, examples) == pytest.approx(1.0)
    assert task.score(patches.mean(dim=1, keepdim=True), examples) < 0.3
