"""Two facts: both values are found by their roles, in the order they were asked."""

import numpy as np
import pytest
import torch

from attn_course.tasks.training import train
from attn_course.tasks.two_facts import HeadsInOrder, TwoFacts

task = TwoFacts()
task.tested_on = 50  # no figure is reported here


def test_each_fact_asked_for_is_the_only_one_of_its_role_and_has_the_answer():
    examples = task.examples("test", 200, task.rng("test"))
    for i in range(200):
        facts = examples.inputs["facts"][i].tolist()
        question = examples.inputs["question"][i, 0].tolist()
        asked = [question[: task.roles].index(1), question[task.roles :].index(1)]
        assert asked[0] != asked[1]
        for order, name in enumerate(("first fact", "second fact")):
            found = [place for place, fact in enumerate(facts) if fact[asked[order]] == 1]
            assert len(found) == 1
            assert examples.right[name][i, 0].nonzero()[:, 0].tolist() == found
            assert facts[found[0]][task.roles :].index(1) == examples.targets[i, order]


def test_one_head_has_as_many_parameters_as_two():
    two, one = (task.arms[arm].build() for arm in ("2 heads", "1 head"))
    assert {n: p.shape for n, p in two.named_parameters()} == {
        n: p.shape for n, p in one.named_parameters()
    }
    inputs = task.examples("test", 3, task.rng("test")).inputs
    assert [model(**inputs)[1].shape for model in (two, one)] == [(3, 2, 1, 8), (3, 1, 1, 8)]


def test_attention_is_scored_by_the_head_that_knows_the_fact_whichever_it_is():
    examples = task.examples("test", 50, task.rng("test"))
    first, second = (right.float() for right in examples.right.values())
    for heads in ((first, second), (second, first)):
        scores = task.attention_scores(torch.stack(heads, dim=1), examples)
        assert scores == {"first fact": 1.0, "second fact": 1.0}
    mixed = torch.stack([(first + second) / 2], dim=1)
    assert task.attention_scores(mixed, examples) == {"first fact": 0.5, "second fact": 0.5}


def test_the_figure_shows_heads_in_the_order_of_the_facts_they_took_on():
    examples = task.examples("test", 50, task.rng("test"))
    facts = torch.stack([right.float() for right in examples.right.values()], dim=1)

    class Heads(torch.nn.Module):
        def __init__(self, weights):
            super().__init__()
            self.weights = weights

        def forward(self, facts, question):
            return question, self.weights

    for heads in (facts, facts.flip(dims=(1,))):
        _p, weights = HeadsInOrder(Heads(heads), examples)(**examples.inputs)
        torch.testing.assert_close(weights, facts)


def test_both_values_must_be_right():
    examples = task.examples("test", 4, task.rng("test"))
    predictions = torch.nn.functional.one_hot(examples.targets, task.values).float()
    assert task.score(predictions, examples) == 1
    predictions[0, 1] = predictions[0, 1].roll(1)
    assert task.score(predictions, examples) == 0.75


@pytest.mark.parametrize("arm", ["2 heads", "1 head"])
def test_training_lowers_the_loss(arm):
    losses = train(task, arm, learning_rate=1.5e-2, steps=100).losses
    assert np.mean(losses[-10:]) < 0.9 * np.mean(losses[:10])
