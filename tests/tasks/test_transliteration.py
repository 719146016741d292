"""Transliteration: a step's letter is the nearest one with the tag it asks for."""

import numpy as np
import pytest
import torch

from attn_course.tasks.right_to_left import RightToLeft, RightToLeftInRange
from attn_course.tasks.task import IGNORED
from attn_course.tasks.training import train
from attn_course.tasks.transliteration import (
    HARMONICS,
    TAGS,
    Transliteration,
    TransliterationInRange,
    described,
)

NUMBER = 30
TASKS = [Transliteration(), TransliterationInRange(), RightToLeft(), RightToLeftInRange()]
every_task = pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)


def drawn(task, split="train", number=NUMBER):
    return task.examples(split, number, task.rng(split))


def tags_of(vectors):
    return vectors[..., :TAGS].argmax(-1).tolist()


@every_task
def test_the_letter_asked_for_is_the_only_one_with_its_tag_nearby_and_holds_the_answer(task):
    for split in ("train", "test"):
        examples = drawn(task, split)
        inputs = examples.inputs
        for i in range(NUMBER):
            S = int(inputs["mask"][i].sum())
            asked, tags = tags_of(inputs["queries"][i]), tags_of(inputs["keys"][i])
            shapes = inputs["shapes"][i].argmax(-1).tolist()
            for t in range(S):
                centre = S - 1 - t if task.backwards else t
                near = [l for l in range(S) if abs(l - centre) <= 3 and tags[l] == asked[t]]
                assert len(near) == 1
                assert examples.right["weights"][i, t].nonzero()[:, 0].tolist() == near
                assert shapes[near[0]] == examples.targets[i, t]


@every_task
def test_every_letter_is_written_once(task):
    examples = drawn(task, "test")
    right, mask = examples.right["weights"], examples.inputs["mask"]
    assert (right.sum(1) == mask).all()
    assert (right.sum(2) == mask).all()


@every_task
def test_padding_is_neither_asked_nor_answered(task):
    examples = drawn(task)
    padded = ~examples.inputs["mask"]
    assert padded.any()
    assert (examples.targets[padded] == IGNORED).all()
    assert (examples.targets[~padded] >= 0).all()
    assert not examples.right["weights"][padded].any()
    for name in ("queries", "keys", "shapes"):
        assert (examples.inputs[name][padded] == 0).all()


@every_task
def test_tags_come_again_and_tell_nothing_of_places(task):
    examples = drawn(task, "train", 4000)
    tags = examples.inputs["keys"][:, :8, :TAGS].mean(0)
    torch.testing.assert_close(tags, torch.full((8, TAGS), 1 / TAGS), atol=0.03, rtol=0)
    longest = examples[examples.inputs["mask"].sum(-1) == 20]
    assert all(len(set(row)) <= TAGS for row in tags_of(longest.inputs["keys"]))


def test_words_of_a_test_are_longer_than_any_of_the_training_or_as_long():
    for task, longer in zip(TASKS, (True, False, True, False), strict=True):
        train_longest = drawn(task, "train").inputs["mask"].shape[1]
        assert (task.tested_lengths[0] > train_longest) == longer


def test_a_place_is_told_as_a_share_of_the_length():
    half, whole = described(np.array([3, 3]), np.array([0.5, 1.0]))
    assert half[:TAGS].tolist() == whole[:TAGS].tolist() == [0, 0, 0, 1, 0, 0, 0, 0]
    assert np.allclose(half[TAGS:], [1, 0, -1, 0, 0, -1, 0, 1])
    assert np.allclose(whole[TAGS:], [0, 0, 0, 0, -1, 1, -1, 1])


@every_task
def test_what_a_step_is_told_of_its_place_favours_neither_direction(task):
    inputs = drawn(task).inputs
    for queries, mask in zip(inputs["queries"], inputs["mask"], strict=True):
        sine, cosine = queries[mask, TAGS], queries[mask, TAGS + HARMONICS]
        share = torch.atan2(sine, cosine) / torch.pi  # of the word, before step 1, 2, …
        S = len(share)
        torch.testing.assert_close(share.diff(), torch.full((S - 1,), 1 / S))
        torch.testing.assert_close(share, 1 - share.flip(0))  # counted from the other end


@every_task
def test_arms_differ_in_the_alignment_alone(task):
    shapes = {
        name: {n: tuple(p.shape) for n, p in arm.build().named_parameters()}
        for name, arm in task.arms.items()
    }
    assert shapes["local-m"] == shapes["global"]
    assert set(shapes["local-p"]) - set(shapes["global"]) == {"align.w_p", "align.W_p"}


@every_task
def test_padding_does_not_count_in_the_score(task):
    examples = drawn(task)
    answers = torch.nn.functional.one_hot(examples.targets.clamp(min=0), 10).double()
    assert task.score(answers, examples) == 1
    padded = ~examples.inputs["mask"]
    answers[padded] = answers[padded].roll(1, -1)
    assert task.score(answers, examples) == 1


def test_a_window_at_the_step_learns_soon_and_can_not_reach_the_other_end():
    forward = train(TransliterationInRange(), "local-m", steps=120)
    backward = train(RightToLeftInRange(), "local-m", steps=120)
    assert forward.losses[-1] < 0.8 * forward.losses[0]
    assert forward.test.score > backward.test.score + 0.2
    outside = drawn(RightToLeftInRange(), "test")[:5]
    with torch.no_grad():
        _predictions, weights = backward.model(**outside.inputs)
    assert (weights[:, 0, 6:] == 0).all()  # step 1 sees places 1 to 6


def test_words_show_the_tags_that_steps_ask_for():
    task = Transliteration()
    examples = drawn(task)
    asked, tags = task.words(examples, 0)["weights"]
    for t, l in examples.right["weights"][0].nonzero().tolist():
        assert asked[t] == f"{tags[l]}?"
