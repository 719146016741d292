"""A digit among clutter: the right patch is the one real digit, and REINFORCE is what it claims."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch.nn import functional

from attn_course.alignment import expected_reward_gradient
from attn_course.tasks.digit_patch import (
    DigitPatch,
    DigitPatchEarly,
    DrawnPatch,
    PatchReader,
    digits,
    reinforce,
)
from attn_course.tasks.task import SPLITS
from attn_course.tasks.training import seeded, train

TASK = DigitPatch()


def drawn(number=40, split="test"):
    return TASK.examples(split, number, TASK.rng(split))


def test_only_the_right_patch_is_a_real_digit_and_it_is_the_answer():
    bundled = load_digits()
    names = {
        tuple(np.float32(image / 16)): int(name)
        for image, name in zip(bundled.data, bundled.target, strict=True)
    }
    examples = drawn()
    for patches, target, right in zip(
        examples.inputs["patches"], examples.targets, examples.right["weights"], strict=True
    ):
        found = [names.get(tuple(patch.numpy())) for patch in patches]
        assert [name is not None for name in found] == right[0].tolist()
        assert found[right[0].tolist().index(True)] == target


def test_clutter_has_the_ink_of_digits():
    examples = drawn(500)
    ink = examples.inputs["patches"].sum(-1)
    right = examples.right["weights"][:, 0]
    assert abs(ink[right].mean() - ink[~right].mean()) < 0.6  # of about 20


def test_no_digit_is_in_two_splits_and_all_are_in_one():
    assert sum(len(digits(split)[0]) for split in SPLITS) == 1797
    rows = [np.unique(digits(split)[0], axis=0) for split in SPLITS]
    assert len(np.unique(np.concatenate(rows), axis=0)) == sum(map(len, rows))


def test_a_drawn_patch_is_random_in_training_and_the_best_in_a_test():
    scores = torch.tensor([[[0.0, 1.0, 0.5]]]).expand(2000, 1, 3)
    align = DrawnPatch()
    with seeded(0):
        shares = align(scores).mean(0)[0]
    torch.testing.assert_close(shares, torch.softmax(scores[0, 0], -1), atol=0.05, rtol=0)
    assert align.eval()(scores)[0, 0].tolist() == [0, 1, 0]


@pytest.mark.parametrize("with_baseline", [True, False])
def test_reinforce_follows_the_gradient_of_the_expected_reward(with_baseline):
    examples = drawn(1)
    with seeded(0):
        model = TASK.arms["hard"].build()
    patches, target = examples.inputs["patches"], examples.targets[0, 0]
    with torch.no_grad():
        rewards = -functional.cross_entropy(
            model.read(patches[0]), target.expand(16), reduction="none"
        )
        wanted = expected_reward_gradient(model.scores(patches)[0, 0], rewards)
    # Many draws for one canvas, by repeating it; all share the scores, so their gradients add up.
    many = examples[torch.zeros(20_000, dtype=torch.int64)]
    model.baseline.fill_(rewards.mean())
    bias = torch.zeros(16, requires_grad=True)
    score = model.score
    model.scores = lambda patches: score(patches) + bias
    with seeded(1):
        loss = reinforce(with_baseline)(model, many)
    (found,) = torch.autograd.grad(-loss, bias)
    spread = rewards.std() if with_baseline else rewards.abs().mean()
    torch.testing.assert_close(found, wanted, rtol=0, atol=5 * float(spread) / 20_000**0.5 * 0.3)


def test_the_baseline_follows_the_rewards():
    with seeded(0):
        model = TASK.arms["hard"].build()
        loss = reinforce(True)
        for _step in range(40):
            loss(model, drawn(64))
    assert -3.5 < model.baseline < -2.0  # log p(y) of a reader that knows nothing


def test_arms_differ_in_alignment_and_scores_alone():
    shapes = {
        name: {n: tuple(p.shape) for n, p in arm.build().named_parameters()}
        for name, arm in TASK.arms.items()
    }
    assert shapes["soft"] == shapes["hard"] == shapes["hard, no baseline"]
    assert {n for n in shapes["soft"] if n not in shapes["uniform"]} == {
        f"score.{n}" for n in ("w", "W", "b")
    }


def test_a_few_steps_of_each_loss_make_the_reader_better():
    for arm in ("soft", "hard"):
        losses = train(TASK, arm, steps=60, learning_rate=6e-3, split="validation").losses
        if arm == "soft":  # REINFORCE's loss is a device for its gradient, and need not fall
            assert np.mean(losses[-10:]) < np.mean(losses[:10]) - 0.2
        assert np.isfinite(losses).all()


def test_the_early_task_is_the_same_with_fewer_steps():
    early = DigitPatchEarly()
    assert early.steps < TASK.steps
    assert set(early.arms) == {name for name in TASK.arms if "pooling" not in name}


def test_the_canvas_shows_each_patch_in_its_place():
    patches = torch.arange(16.0)[:, None].expand(16, 64)
    canvas = TASK.canvas(patches)
    assert canvas.shape == (32, 32)
    assert canvas[::8, ::8].flatten().tolist() == list(range(16))
    image = torch.arange(64.0).expand(16, 64)
    assert TASK.canvas(image)[8:16, 24:].flatten().tolist() == list(range(64))


def test_the_figure_says_what_each_arm_read():
    trained = train(TASK, "hard", steps=1)
    assert isinstance(trained.model, PatchReader)
    figure = TASK.figure(trained, place=2)
    titles = [ax.get_title() for ax in figure.axes]
    assert titles[0] == f"right: {TASK.held_out().targets[2].item()}"
    assert titles[1].startswith("hard: ")
    plt.close(figure)
