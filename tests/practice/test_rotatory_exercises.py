"""What is special to the exercises of chapter 5b; what holds for all is in `tests/course`."""

from functools import cache, partial

import numpy as np
import pytest
import torch
from torch.nn import functional

from attn_course.practice.exercises import chapters, compiled
from attn_course.practice.results import Verdict
from tests.practice import drawn_cases

chapter = chapters()["05b"]
SEEDS = range(20)


reference = partial(drawn_cases.reference, chapter)
drawn = partial(drawn_cases.drawn, chapter)


# The examples that the tasks work out by hand, with the numbers printed there.


def test_the_answers_to_the_prediction_are_a_width_a_count_and_a_weight():
    assert reference("predicted_sizes") == [3 + 7 + 4 + 4, 4 * 36 + 4, 1]


def test_the_example_of_the_mean_is_right():
    target = np.array([[2.0, 0.0], [0.0, 4.0], [9.0, 9.0]])
    mean = reference("target_mean")(target, np.array([True, True, False]))
    assert mean.tolist() == [1.0, 2.0]


def test_the_example_of_one_question_is_right():
    words, mask = np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([True, True])
    answer, weights = reference("ask")(np.ones(2), words, mask, np.eye(2), 0.0)
    assert np.round(weights, 3).tolist() == [0.318, 0.682]
    assert np.round(answer, 3).tolist() == [0.682, 0.0]


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_the_example_of_the_hops_is_right(hops):
    rng = np.random.default_rng(0)
    word, left, right = (rng.normal(size=(n, 2)) for n in (1, 2, 3))
    matrices = rng.normal(size=(4, 2, 2))
    output = reference("rotate")(word, left, right, *matrices, hops)
    np.testing.assert_allclose(output[4:], [*word[0], *word[0]])


def test_the_example_of_the_layer_is_right():
    layer = reference("Rotatory")(3)
    with torch.no_grad():
        for name, parameter in layer.named_parameters():
            parameter.copy_(torch.eye(3) if name.startswith("W") else torch.zeros(()))
    target = torch.tensor([[[2.0, 0.0, 0.0], [0.0, 2.0, 0.0]]])
    left = torch.tensor([[[0.0, 0.0, 1.0], [1.0, 0.0, 2.0]]])
    masks = [torch.ones(1, 2, dtype=torch.bool)] * 3
    output = layer(target, left, left, *masks)
    assert [round(number, 3) for number in output[0, :3].tolist()] == [0.682, 0.0, 1.682]


def test_the_example_of_the_training_step_is_right():
    parameters, W_o, inputs, labels, learning_rate = drawn("training_step", seed=0)[0].args
    assert W_o.shape[0] == 3
    loss, _W_o, _after = reference("training_step")(
        parameters, torch.zeros_like(W_o), inputs, labels, learning_rate
    )
    assert round(loss, 4) == 1.0986
    assert loss == pytest.approx(functional.cross_entropy(torch.zeros(1, 3), labels[:1]).item())


# The stub that learners get to correct.


@cache
def released():
    return compiled(chapter.stem)["notebook"]


def stub_of(name):
    cell = next(cell for cell in released()["cells"] if cell["id"] == f"{name}-answer")
    names = {"np": np, "torch": torch, "nn": torch.nn, "functional": functional}
    exec("".join(cell["source"]), names)
    return names[name]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_hops_as_handed_out_are_recognised(seed):
    exercise = chapter.exercises["rotate"]
    result = exercise.check(exercise.local(stub_of("rotate")), seed=seed)
    assert result.verdict is Verdict.FAILED
    assert result.mistake.name == "crossed_and_not_chained"


# The cases leave nothing to chance.


def test_no_other_way_to_count_gives_the_right_width():
    left, right, target = 3, 7, 4
    both = left + right
    wrong = [both, both + target, 2 * both, 2 * (both + target), 4 * (both + target), 4 * target]
    assert reference("predicted_sizes")[0] not in wrong


@pytest.mark.parametrize("seed", SEEDS)
def test_a_batch_may_be_of_one_sentence(seed):
    assert any(len(case.args[0]) == 1 for case in drawn("Rotatory", seed))


@pytest.mark.parametrize("seed", SEEDS)
def test_words_need_not_be_in_front(seed):
    masks = [np.atleast_2d(case.args[1]) for case in drawn("target_mean", seed)]
    in_front = [(np.diff(mask.astype(int), axis=-1) <= 0).all() for mask in masks]
    assert not all(in_front)
