"""Next-token prediction: the mask hides the answer, and generation finds out who needed it."""

import numpy as np
import pytest
import torch

from attn_course.tasks.causal import NextToken
from attn_course.tasks.training import train

task = NextToken()
task.tested_on = 50  # no figure is reported here


def test_counters_take_turns_and_the_right_position_is_what_this_one_said_last():
    examples = task.examples("test", 200, task.rng("test"))
    for i in range(200):
        tokens = examples.inputs["tokens"][i].tolist()
        follow = examples.targets[i].tolist()
        assert tokens[1:] == follow[:-1]
        p = int(examples.inputs["query_inputs"][i, 0].argmax()) // task.n + min(task.counters)
        for t in range(task.n):
            found = examples.right["weights"][i, t].nonzero()[:, 0].tolist()
            assert found == ([t + 1 - p] if t >= task.prompt - 1 else [])
            assert all((tokens[last] + 1) % task.symbols == follow[t] for last in found)


def test_every_generated_symbol_has_a_right_position_and_none_lies_ahead():
    examples = task.examples("test", 100, task.rng("test"))
    right, seen = examples.right["weights"], examples.allowed["weights"]
    assert right[:, task.prompt - 1 :].any(dim=-1).all()
    assert not (right & ~seen).any()
    assert not seen[0].triu(1).any()


def test_slips_stand_in_training_only():
    def broken(split):
        examples = task.examples(split, 300, task.rng(split))
        tokens, right = examples.inputs["tokens"], examples.right["weights"]
        counted_on = (tokens[:, None, :] + 1) % task.symbols == examples.targets[:, :, None]
        return (right & ~counted_on).sum() / right.sum()

    assert broken("test") == broken("validation") == 0
    assert 0.2 < broken("train") < 0.4  # either of two symbols may have slipped


def models():
    masked, unmasked = (arm.build() for arm in task.arms.values())
    unmasked.load_state_dict(masked.state_dict())  # so they have the same parameters
    return masked, unmasked


def test_with_the_mask_no_position_sees_what_follows():
    masked, unmasked = models()
    examples = task.examples("test", 5, task.rng("test"))
    changed = dict(examples.inputs, tokens=examples.inputs["tokens"].clone())
    changed["tokens"][:, 9:] = (changed["tokens"][:, 9:] + 1) % task.symbols
    with torch.no_grad():
        before, after = masked.train()(**examples.inputs)[0], masked(**changed)[0]
        torch.testing.assert_close(before[:, :9], after[:, :9], rtol=0, atol=0)
        before, after = unmasked.train()(**examples.inputs)[0], unmasked(**changed)[0]
        assert ((before - after)[:, :9].abs().amax(dim=-1) > 0).all()


@pytest.mark.parametrize("which", [0, 1])
def test_generation_looks_at_the_prompt_alone(which):
    model = models()[which].eval()
    examples = task.examples("test", 5, task.rng("test"))
    changed = dict(examples.inputs, tokens=examples.inputs["tokens"].clone())
    changed["tokens"][:, task.prompt :] = 0
    with torch.no_grad():
        for one, other in zip(model(**examples.inputs), model(**changed), strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=0)


@pytest.mark.parametrize("which", [0, 1])
def test_a_symbol_is_generated_as_if_the_text_ended_there(which):
    model = models()[which]
    examples = task.examples("test", 5, task.rng("test"))
    with torch.no_grad():
        predictions, weights = model.eval()(**examples.inputs)
        written = examples.inputs["tokens"].clone()
        written[:, task.prompt :] = predictions[:, task.prompt - 1 : -1].argmax(dim=-1)
        for end in range(task.prompt, task.n + 1):
            cut = {"tokens": written, "query_inputs": examples.inputs["query_inputs"]}
            alone, looked_at = model.train()(**{name: part[:, :end] for name, part in cut.items()})
            torch.testing.assert_close(predictions[:, end - 1], alone[:, -1])
            torch.testing.assert_close(weights[:, end - 1, :end], looked_at[:, -1])
    assert not weights.triu(1).any()  # mask or no mask


def test_generation_reads_its_own_symbols_as_if_they_had_been_given():
    masked = models()[0]
    examples = task.examples("test", 5, task.rng("test"))
    with torch.no_grad():
        predictions, weights = masked.eval()(**examples.inputs)
        written = examples.inputs["tokens"].clone()
        written[:, task.prompt :] = predictions[:, task.prompt - 1 : -1].argmax(dim=-1)
        again, weights_again = masked.train()(written, examples.inputs["query_inputs"])
    torch.testing.assert_close(predictions, again)
    torch.testing.assert_close(weights, weights_again)


def test_without_the_mask_the_loss_is_lower_the_weight_lies_ahead_and_nothing_is_counted():
    steps = 100
    masked, unmasked = (train(task, arm, learning_rate=3e-2, steps=steps) for arm in task.arms)
    assert np.mean(masked.losses[-20:]) < np.mean(masked.losses[:20])
    assert np.mean(unmasked.losses[-20:]) < 0.5 * np.mean(masked.losses[-20:])
    examples = task.examples("test", 20, task.rng("test"))
    with torch.no_grad():
        _p, weights = unmasked.model.train()(**examples.inputs)
    ahead = weights.diagonal(offset=1, dim1=-2, dim2=-1)
    assert ahead.mean() > 0.5
    assert unmasked.test.score < 0.2 < 0.9 < masked.test.score
