"""The last assignment: only order tells it from earlier ones of the same variable."""

import pytest
import torch

from attn_course.tasks import find_task
from attn_course.tasks.last_assignment import VALUES, VARIABLES
from attn_course.tasks.training import seeded, train

NAMES = {16: "last_assignment_in_range", 32: "last_assignment", 64: "last_assignment_long"}
TASKS = {length: find_task(name) for length, name in NAMES.items()}
TASK = TASKS[16]
EXAMPLES = TASK.examples("test", 300, TASK.rng("test"))
TOLD = ("RoPE", "ALiBi", "sinusoids", "learned", "no positions")


def test_the_answer_is_what_the_text_says_when_it_is_run_as_a_program():
    for i in range(len(EXAMPLES)):
        ((question,), assignments) = TASK.words(EXAMPLES, i)["weights"]
        variables = dict(one.split("=") for one in assignments)  # a later one overwrites
        assert EXAMPLES.targets[i].item() == int(variables[question[0]])
        (place,) = EXAMPLES.right["weights"][i, 0].nonzero()
        assert assignments[int(place)] == f"{question[0]}={variables[question[0]]}"
        assert all(not one.startswith(question[0]) for one in assignments[int(place) + 1 :])


def test_most_variables_are_assigned_more_than_once_and_all_values_occur():
    asked = EXAMPLES.inputs["question"].argmax(dim=-1)
    variables = EXAMPLES.inputs["tokens"][..., VALUES:].argmax(dim=-1)
    often = (variables == asked).sum(dim=-1) > 1
    assert often.double().mean() > 0.9
    assert set(EXAMPLES.targets.flatten().tolist()) == set(range(VALUES))
    assert set(asked.flatten().tolist()) == set(range(len(VARIABLES)))


@pytest.mark.parametrize("length", NAMES)
def test_tests_have_the_length_of_the_task_and_choices_that_of_the_training(length):
    task = TASKS[length]
    assert task.held_out("test").inputs["tokens"].shape[1] == length
    assert task.held_out("validation").inputs["tokens"].shape[1] == 16
    rng = task.rng("train")
    lengths = {task.examples("train", 2, rng).inputs["tokens"].shape[1] for _ in range(200)}
    assert lengths == set(range(9, 17))


def test_the_three_lengths_test_the_same_trainings():
    weights = [
        train(task, "sinusoids", seed=3, steps=5).model.W_K.weight for task in TASKS.values()
    ]
    assert torch.equal(weights[0], weights[1])
    assert torch.equal(weights[0], weights[2])


@pytest.mark.parametrize("told", TOLD)
def test_only_positions_make_the_order_of_a_text_matter(told):
    with seeded(0), torch.no_grad():
        model = TASK.model(told)
        tokens, question = EXAMPLES.inputs["tokens"], EXAMPLES.inputs["question"]
        answer, _ = model(tokens, question)
        backwards, _ = model(tokens.flip(1), question)
    apart = (answer - backwards).abs().max()
    assert apart < 1e-5 if told == "no positions" else apart > 1e-3


def test_a_slope_is_enough_to_find_the_last_assignment():
    # The variable decides by far, and among its assignments the nearest has the largest score.
    with seeded(0), torch.no_grad():
        model = TASK.model("ALiBi")
        for layer in (model.token, model.question, model.W_Q, model.W_K):
            layer.weight.zero_()
        model.token.weight[: len(VARIABLES), VALUES:] = 30 * torch.eye(len(VARIABLES))
        model.question.weight[: len(VARIABLES)] = 30 * torch.eye(len(VARIABLES))
        model.token.bias.zero_()
        model.question.bias.zero_()
        model.W_Q.weight.copy_(torch.eye(TASK.d))
        model.W_K.weight.copy_(torch.eye(TASK.d))
        _answers, weights = model(**EXAMPLES.inputs)
    right = EXAMPLES.right["weights"].double().argmax(dim=-1)
    assert torch.equal(weights.argmax(dim=-1), right)
