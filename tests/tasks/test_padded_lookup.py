"""Padded lookup: only the entries before the end of an example are the example."""

import numpy as np
import pytest
import torch

from attn_course.tasks.padded_lookup import PaddedLookup, ZeroPaddedLookup
from attn_course.tasks.training import train

tasks = pytest.mark.parametrize("task", [PaddedLookup(), ZeroPaddedLookup()])


@tasks
def test_one_real_entry_has_the_key_that_is_asked_and_the_answer(task):
    examples = task.examples("test", 200, task.rng("test"))
    for i in range(200):
        entries = examples.inputs["inputs"][i].tolist()
        asked = examples.inputs["query_inputs"][i, 0].tolist().index(1)
        real = examples.inputs["mask"][i, 0].tolist()
        length = real.index(False) if False in real else task.n
        assert real == [place < length for place in range(task.n)]
        found = [place for place in range(length) if entries[place][asked] == 1]
        assert len(found) == 1
        assert examples.right["weights"][i, 0].nonzero()[:, 0].tolist() == found
        assert entries[found[0]][task.symbols :].index(1) == examples.targets[i, 0]


@tasks
def test_padding_is_never_right(task):
    examples = task.examples("test", 200, task.rng("test"))
    assert not (examples.right["weights"] & ~examples.inputs["mask"]).any()
    torch.testing.assert_close(examples.allowed["weights"], examples.inputs["mask"])


def test_padding_repeats_keys_of_the_example_under_values_of_any_kind():
    task = PaddedLookup()
    examples = task.examples("test", 200, task.rng("test"))
    keys = examples.inputs["inputs"][..., : task.symbols].argmax(dim=-1)
    misleading = 0
    for i in range(200):
        length = int(examples.inputs["mask"][i].sum())
        assert set(keys[i, length:].tolist()) <= set(keys[i, :length].tolist())
        asked = examples.inputs["query_inputs"][i, 0].argmax()
        misleading += bool((keys[i, length:] == asked).any())
    assert misleading > 60  # otherwise the mask would not matter


def test_zero_padding_is_zero():
    task = ZeroPaddedLookup()
    examples = task.examples("test", 50, task.rng("test"))
    padding = ~examples.inputs["mask"][:, 0]
    assert padding.any()
    assert (examples.inputs["inputs"][padding] == 0).all()


@tasks
def test_arms_differ_in_whether_the_mask_is_looked_at(task):
    models = [arm.build() for arm in task.arms.values()]
    shapes = [{name: p.shape for name, p in model.named_parameters()} for model in models]
    assert shapes[0] == shapes[1]
    models[1].load_state_dict(models[0].state_dict())
    inputs = task.examples("test", 20, task.rng("test")).inputs
    with torch.no_grad():
        (_p, masked), (_q, unmasked) = (model(**inputs) for model in models)
    assert (masked[~inputs["mask"]] == 0).all()
    assert (unmasked > 0).all()
    seen = unmasked.where(inputs["mask"], 0)
    torch.testing.assert_close(masked, seen / seen.sum(dim=-1, keepdim=True))


@pytest.mark.parametrize("arm", ["mask", "no mask"])
def test_training_lowers_the_loss(arm):
    losses = train(PaddedLookup(), arm, learning_rate=3e-2, steps=60).losses
    assert np.mean(losses[-10:]) < 0.8 * np.mean(losses[:10])
