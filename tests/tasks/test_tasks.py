"""What holds for every task: its examples, its arms, its figure."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.text import Text

from attn_course.tasks import all_tasks, find_task, train
from attn_course.tasks.table import compared
from attn_course.tasks.task import SPLITS
from attn_course.tasks.training import TUNING_SEED, best_rate, evaluate, seeded

NUMBER = 23
every_task = pytest.mark.parametrize("task", all_tasks().values(), ids=all_tasks())


def drawn(task, split="train", seed=0, number=NUMBER):
    return task.examples(split, number, task.rng(split, seed))


def parts(examples):
    """Return every tensor of the examples by a name of its own."""
    groups = {"inputs": examples.inputs, "right": examples.right, "allowed": examples.allowed}
    named = {f"{group} {name}": t for group, of in groups.items() for name, t in of.items()}
    return named | {"targets": examples.targets}


def prints(examples):
    """Return each example as bytes, to see whether two are the same."""
    inputs = [tensor.reshape(len(examples), -1).numpy() for tensor in examples.inputs.values()]
    return {b"".join(row.tobytes() for row in rows) for rows in zip(*inputs, strict=True)}


@every_task
def test_the_same_seed_gives_the_same_examples_and_another_seed_others(task):
    first, again, other = drawn(task), drawn(task), drawn(task, seed=1)
    for name, tensor in parts(first).items():
        torch.testing.assert_close(parts(again)[name], tensor, rtol=0, atol=0)
    assert prints(first) != prints(other)


@every_task
def test_no_example_of_one_split_is_in_another(task):
    train, validation, test = (prints(drawn(task, split, number=300)) for split in SPLITS)
    # A small world may repeat itself by chance; a split that leaks repeats everything.
    assert len(train & test) <= 0.02 * len(test)
    assert len(train & validation) <= 0.02 * len(validation)
    assert len(validation & test) <= 0.2 * len(test)


@every_task
def test_every_example_has_its_number_of_everything(task):
    examples = drawn(task)
    assert len(examples) == NUMBER
    assert all(len(tensor) == NUMBER for tensor in parts(examples).values())
    assert len(examples[:5]) == 5
    assert [len(batch) for batch in examples.batches(10)] == [10, 10, 3]


@every_task
def test_the_right_attention_is_where_a_model_may_look_and_not_everywhere(task):
    examples = drawn(task)
    assert examples.right
    for name, right in examples.right.items():
        assert right.dtype == torch.bool
        assert right.any(), name
        allowed = examples.allowed.get(name, torch.ones_like(right)).expand(right.shape)
        assert not (right & ~allowed).any(), name
        scored = right.any(dim=-1)
        everywhere = task.name in ("majority_of_words",)  # made so: equal weights are right
        assert (right.sum(dim=-1) < allowed.sum(dim=-1))[scored].any() != everywhere, name


@every_task
def test_the_mechanisms_give_the_maps_that_are_scored_in_their_shape(task):
    examples = drawn(task, "test")
    wanted = {name: right.shape for name, right in examples.right.items()}
    for mechanism in {comparison.mechanism: None for comparison in task.comparisons}:
        with seeded(0):
            model = task.arms[mechanism].build().eval()
        with torch.no_grad():
            _predictions, weights = model(**examples.inputs)
        found = task.named_weights(weights)
        assert {name: found[name].shape for name in wanted} == wanted, mechanism
        scores = evaluate(task, model, examples)
        assert set(scores.attention) == set(scores.uniform), mechanism
        numbers = [scores.score, scores.attention_score, scores.uniform_score]
        assert all(np.isfinite(numbers)), mechanism


def repeats_itself(task, arm):
    """Return whether two trainings from one seed are the same, and training moves the loss."""
    once, twice = (train(task, arm, seed=3, steps=3) for _ in range(2))
    moves = len(set(once.losses)) > 1 or not once.parameters
    return moves and (once.losses, once.test.score) == (twice.losses, twice.test.score)


@every_task
def test_two_trainings_from_one_seed_are_the_same_and_the_loss_moves(task):
    assert [arm for arm in compared(task) if not repeats_itself(task, arm)] == []


@every_task
def test_an_arm_has_one_of_the_rates_tried_and_every_comparison_two_arms(task):
    assert len(set(task.learning_rates)) == 3
    assert set(compared(task)) <= set(task.arms)
    for name, arm in task.arms.items():
        assert arm.learning_rate in task.rates_tried(name), name
    for comparison in task.comparisons:
        assert comparison.mechanism != comparison.ablation


@every_task
def test_the_figure_shows_what_is_right_and_what_each_arm_found(task):
    first = task.comparisons[0]
    trained = [train(task, arm, steps=1) for arm in (first.mechanism, first.ablation)]
    figure = task.figure(*trained)
    assert any(ax.has_data() for ax in figure.axes)
    said = " ".join(text.get_text() for text in figure.findobj(Text))
    assert all(one.arm in said for one in trained)
    plt.close(figure)


def test_training_leaves_the_random_numbers_of_the_caller_alone():
    torch.manual_seed(7)
    wanted = torch.rand(3)
    torch.manual_seed(7)
    train(find_task("key_lookup"), "dot", steps=2)
    torch.testing.assert_close(torch.rand(3), wanted, rtol=0, atol=0)


def test_an_unknown_task_or_arm_is_told_what_there_is():
    with pytest.raises(KeyError, match=r"there is no task 'key_lokup'; there are: .*key_lookup"):
        find_task("key_lokup")
    with pytest.raises(ValueError, match=r"arm must be one of dot, uniform.*, but is .dots"):
        train(find_task("key_lookup"), "dots")


def test_the_best_rate_is_the_largest_score_or_the_smallest_error():
    scores = {0.1: 0.5, 0.2: 0.9, 0.4: 0.9}
    assert best_rate(find_task("key_lookup"), scores) == 0.2

    class Error:
        higher_is_better = False

    assert best_rate(Error(), scores) == 0.1
    assert TUNING_SEED > 100


def test_batches_weigh_alike_however_the_test_examples_are_cut(monkeypatch):
    task = find_task("key_lookup")
    with seeded(0):
        model = task.arms["dot"].build()
    examples = drawn(task, "test", number=101)
    whole = evaluate(task, model, examples)
    monkeypatch.setattr("attn_course.tasks.training._TESTED_AT_ONCE", 7)
    cut = evaluate(task, model, examples)
    assert whole.score == cut.score
    assert whole.attention_score == pytest.approx(cut.attention_score, abs=1e-6)
