"""Tasks that ask for means: what is right, and that models without the mechanism are far off."""

import numpy as np
import pytest
import torch

from attn_course.tasks import find_task, train

NUMBER = 200


def drawn(name):
    task = find_task(name)
    return task, task.examples("test", NUMBER, task.rng("test"))


def test_a_feature_of_the_answer_is_the_mean_over_the_tokens_of_its_kind():
    task, examples = drawn("means_by_feature")
    tokens, mask = examples.inputs["inputs"], examples.inputs["mask"][:, 0]
    for row in range(5):
        kinds = tokens[row, :, : task.kinds].argmax(dim=-1)
        for group in range(task.groups):
            chosen = (kinds == group) & mask[row]
            assert chosen.sum() >= task.of_each
            wanted = tokens[row, chosen, task.kinds + group].mean()
            assert examples.targets[row, 0, group] == pytest.approx(wanted.item(), abs=1e-5)
            assert (examples.right["weights"][row, group] == chosen).all()
    assert mask.sum(-1).min() == task.fewest
    assert mask.sum(-1).max() == task.most


def test_a_class_is_as_probable_as_the_mean_rating_of_its_tokens():
    task, examples = drawn("ratings")
    tokens, mask = examples.inputs["tokens"], examples.inputs["mask"]
    for row in range(5):
        kinds = tokens[row, :, : task.kinds].argmax(dim=-1)
        for one in range(task.classes):
            chosen = (kinds == one) & mask[row]
            assert chosen.any()
            wanted = torch.sigmoid(2 * tokens[row, chosen, -1].mean())
            assert examples.targets[row, one] == pytest.approx(wanted.item(), abs=1e-5)


def test_the_answers_are_the_means_of_the_two_kinds_in_the_order_asked():
    task, examples = drawn("two_means")
    tokens, mask = examples.inputs["tokens"], examples.inputs["mask"][:, 0]
    asked = examples.inputs["question"].reshape(NUMBER, 2, task.asked).argmax(dim=-1)
    assert (asked[:, 0] != asked[:, 1]).all()
    assert asked.max() < task.kinds - 1  # the last kind is never asked for
    for row in range(5):
        kinds = tokens[row, :, : task.kinds].argmax(dim=-1)
        for place, name in enumerate(("first kind", "second kind")):
            chosen = (kinds == asked[row, place]) & mask[row]
            wanted = tokens[row, chosen, -1].mean()
            assert examples.targets[row, 0, place] == pytest.approx(wanted.item(), abs=1e-5)
            assert (examples.right[name][row, 0] == chosen).all()


@pytest.mark.parametrize("name", ["means_by_feature", "ratings", "two_means"])
def test_an_answer_counts_only_if_all_its_parts_are_near(name):
    task, examples = drawn(name)
    targets = examples.targets.clone()
    assert task.score(targets, examples) == 1.0
    off = targets.clone()
    off.view(NUMBER, -1)[: NUMBER // 2, 0] += 0.11
    assert task.score(off, examples) == pytest.approx(0.5)
    assert task.score(targets + 0.09, examples) == 1.0


@pytest.mark.parametrize(
    ("name", "mechanism", "rivals"),
    [
        ("means_by_feature", "multi", ("single", "max pooling, 4 × parameters")),
        ("ratings", "capsules", ("one query", "max pooling, 4 × parameters")),
        ("two_means", "2 heads", ("1 head, hidden layer", "max pooling, 4 × parameters")),
    ],
)
def test_a_short_training_already_tells_them_apart(name, mechanism, rivals):
    task = find_task(name)
    steps = task.steps // 2
    reached = train(task, mechanism, seed=100, steps=steps).test.score
    for rival in rivals:
        assert train(task, rival, seed=100, steps=steps).test.score < reached - 0.3, rival


def test_equal_weights_over_the_right_tokens_are_the_mechanisms_own_answer():
    task, examples = drawn("means_by_feature")
    values = examples.inputs["inputs"][..., task.kinds :]
    right = examples.right["weights"].float()
    means = torch.einsum("bgn,bng->bg", right / right.sum(-1, keepdim=True), values)
    np.testing.assert_allclose(means[:, None], examples.targets, atol=1e-5)
