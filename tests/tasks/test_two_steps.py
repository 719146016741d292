"""Two steps: following the facts from the question leads over both right ones to the answer."""

import numpy as np
import pytest
import torch

from attn_course.tasks.training import train
from attn_course.tasks.two_steps import TwoSteps

task = TwoSteps()
task.tested_on = 50  # no figure is reported here


def test_the_facts_on_the_way_are_the_right_ones_and_the_way_ends_at_the_answer():
    examples = task.examples("test", 200, task.rng("test"))
    for i in range(200):
        facts = examples.inputs["facts"][i].tolist()
        pairs = [(f[: task.symbols].index(1), f[task.symbols :].index(1)) for f in facts]
        assert len({key for key, _value in pairs}) == len(pairs)
        now = examples.inputs["question"][i, 0].tolist().index(1)
        for hop in ("hop 1", "hop 2"):
            found = [place for place, (key, _value) in enumerate(pairs) if key == now]
            assert examples.right[hop][i, 0].nonzero()[:, 0].tolist() == found
            assert len(found) == 1
            now = pairs[found[0]][1]
        assert now - task.symbols == examples.targets[i, 0]


def test_one_hop_has_as_many_parameters_as_two_and_is_scored_for_what_it_does():
    two, one = (task.arms[arm].build() for arm in ("2 hops", "1 hop"))
    assert {n: p.shape for n, p in two.named_parameters()} == {
        n: p.shape for n, p in one.named_parameters()
    }
    examples = task.examples("test", 3, task.rng("test"))
    with torch.no_grad():
        scores = [task.attention_scores(m(**examples.inputs)[1], examples) for m in (two, one)]
    assert [list(one) for one in scores] == [["hop 1", "hop 2"], ["hop 1"]]


def test_answers_repeat_so_that_elimination_tells_nothing():
    examples = task.examples("test", 300, task.rng("test"))
    values = examples.inputs["facts"][..., task.symbols :].argmax(dim=-1).tolist()
    ends = [[value for value in row if value >= task.symbols] for row in values]
    assert all(len(row) == task.chains for row in ends)
    assert any(len(set(row)) < task.chains for row in ends)


@pytest.mark.parametrize("arm", ["2 hops", "1 hop"])
def test_training_lowers_the_loss(arm):
    losses = train(task, arm, learning_rate=3e-2, steps=100).losses
    assert np.mean(losses[-10:]) < 0.9 * np.mean(losses[:10])
