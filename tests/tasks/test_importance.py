"""The two tasks of the explanation lab: what is right is right by the example itself."""

import numpy as np
import pytest
import torch

from attn_course.evaluation.correctness import attention_correctness
from attn_course.tasks.importance import MajorityAmongFillers, MajorityOfWords, TellingWord
from attn_course.tasks.training import train

TASKS = [TellingWord(), MajorityOfWords(), MajorityAmongFillers()]


def drawn(task, number=300, seed=0):
    return task.examples("train", number, task.rng("train", seed))


def words_of(task, examples):
    """Roles and classes, read off the inputs as a model sees them; -1 where there is none."""
    tokens = examples.inputs["inputs"]
    role, named = tokens[..., : task.roles], tokens[..., task.roles :]
    for part in (role, named):
        assert part.sum(-1).max() == 1
    return [torch.where(part.sum(-1) > 0, part.argmax(-1), -1).numpy() for part in (role, named)]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_lengths_vary_and_nothing_stands_behind_the_end(task):
    examples = drawn(task)
    mask = examples.inputs["mask"][:, 0]
    assert set(mask.sum(-1).tolist()) == set(range(task.shortest, task.longest + 1))
    assert (examples.inputs["inputs"][~mask] == 0).all()
    assert not (examples.right["weights"][:, 0] & ~mask).any()
    assert torch.equal(examples.allowed["weights"], examples.inputs["mask"])


def test_the_telling_word_alone_has_role_zero_and_names_the_answer():
    task = TellingWord()
    examples = drawn(task)
    role, named = words_of(task, examples)
    right = examples.right["weights"][:, 0].numpy()
    assert ((role == 0) == right).all()
    assert (right.sum(-1) == 1).all()
    assert (named[right] == examples.targets[:, 0].numpy()).all()


def test_the_other_words_say_nothing_about_the_answer():
    task = TellingWord()
    examples = drawn(task, number=6000)
    role, named = words_of(task, examples)
    answer = np.broadcast_to(examples.targets.numpy(), named.shape)
    others = role > 0
    same = (named == answer)[others].mean()
    assert same == pytest.approx(1 / task.classes, abs=0.01)


@pytest.mark.parametrize("task", TASKS[1:], ids=lambda task: task.name)
def test_the_answer_is_named_most_often_and_by_itself(task):
    examples = drawn(task)
    _, named = words_of(task, examples)
    for row, answer in zip(named, examples.targets[:, 0].tolist(), strict=True):
        votes = np.bincount(row[row >= 0], minlength=task.classes)
        assert votes[answer] == votes.max()
        assert (votes == votes.max()).sum() == 1
    assert (examples.right["weights"][:, 0].numpy() == (named >= 0)).all()


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_both_arms_have_the_same_parameters_and_right_weights_score_one(task):
    sizes = [sum(p.numel() for p in arm.build().parameters()) for arm in task.arms.values()]
    assert sizes[0] == sizes[1]
    examples = drawn(task, 50)
    right = examples.right["weights"]
    assert attention_correctness(right.double(), right) == 1


def test_the_needed_task_is_lost_without_attention_and_the_other_is_not():
    needed, not_needed = TASKS[0], TASKS[2]
    scores = {
        (task.name, arm): train(task, arm, seed=11, steps=200).test
        for task in (needed, not_needed)
        for arm in ("soft", "uniform")
    }
    assert scores["telling_word", "soft"].score > 0.98
    assert scores["telling_word", "uniform"].score < 0.6
    assert scores["majority_among_fillers", "soft"].score > 0.97
    assert scores["majority_among_fillers", "uniform"].score > 0.97
    # Right attention where the answer does not need it.
    found = scores["majority_among_fillers", "soft"]
    assert found.attention_score > found.uniform_score + 0.1
