"""Uneven embeddings: the good set is the one whose vector is near the right class."""

import numpy as np
import pytest
import torch

from attn_course.tasks.task import SPLITS
from attn_course.tasks.training import seeded, train
from attn_course.tasks.uneven_embeddings import CLASSES, SIGNATURE, UnevenEmbeddings

TASK = UnevenEmbeddings()
EXAMPLES = TASK.held_out()


def nearest_class(number, vector):
    """Return the class whose centre in that set is nearest, by plain arithmetic."""
    distances = [
        sum((x - c) ** 2 for x, c in zip(vector[:-SIGNATURE], centre, strict=True))
        for centre in TASK.centres[number].tolist()
    ]
    return distances.index(min(distances))


def test_of_the_sets_that_know_a_word_only_the_right_one_has_its_class():
    agree = {True: [], False: []}
    for i in range(len(EXAMPLES)):
        for number in range(3):
            if EXAMPLES.inputs["known"][i, number]:
                vector = EXAMPLES.inputs[f"set_{number + 1}"][i].tolist()
                hit = nearest_class(number, vector) == EXAMPLES.targets[i]
                agree[EXAMPLES.right["weights"][i, 0, number].item()].append(bool(hit))
    # Noise takes a vector over to another class now and then.
    assert np.mean(agree[True]) > 0.97
    assert np.mean(agree[False]) < 0.02


def test_one_set_is_right_and_it_knows_the_word():
    right, known = EXAMPLES.right["weights"][:, 0], EXAMPLES.inputs["known"]
    assert (right.sum(dim=1) == 1).all()
    assert (right & known).sum() == len(EXAMPLES)
    assert set(known.sum(dim=1).tolist()) == {1, 2, 3}
    assert set(right.double().argmax(dim=1).tolist()) == {0, 1, 2}


def test_the_planted_signature_tells_good_from_bad():
    right, known = EXAMPLES.right["weights"][:, 0], EXAMPLES.inputs["known"]
    for number in range(3):
        mean = EXAMPLES.inputs[f"set_{number + 1}"][:, -SIGNATURE:].mean(dim=1)
        trusted = (mean > 0)[known[:, number]]
        agreement = (trusted == right[known[:, number], number]).double().mean()
        assert agreement > 0.99


def test_splits_share_no_word_and_test_takes_each_of_its_words_once():
    words = {
        split: {row.tobytes() for row in TASK.dictionary[split]["set_3"] if row.any()}
        for split in SPLITS
    }
    for split in SPLITS:
        assert all(not words[split] & words[other] for other in SPLITS if other != split)
    rows = {row.numpy().tobytes() for row in EXAMPLES.inputs["set_3"] if row.any()}
    assert len(rows) == EXAMPLES.inputs["known"][:, 2].sum()


def test_the_average_lacks_what_weighs_and_nothing_else():
    with seeded(0):
        names = {
            arm: {name for name, _p in TASK.arms[arm].build().named_parameters()}
            for arm in ("softmax", "gate", "average")
        }
    assert names["softmax"] == names["gate"]
    assert names["softmax"] - names["average"] == {"attention.u", "attention.beta"}


@pytest.mark.parametrize("arm", TASK.arms)
def test_a_set_that_lacks_the_word_says_nothing(arm):
    with seeded(0), torch.no_grad():
        model = TASK.arms[arm].build()
        classes, weights = model(**EXAMPLES[:50].inputs)
        other = dict(EXAMPLES[:50].inputs)
        for number in (1, 2, 3):
            known = other["known"][:, number - 1, None]
            other[f"set_{number}"] = other[f"set_{number}"].where(known, 7.0)
        again, _weights = model(**other)
    torch.testing.assert_close(again, classes)
    if TASK.arms[arm].attends or weights is not None:  # a reader has no weights
        assert weights[~EXAMPLES[:50].allowed["weights"]].eq(0).all()


@pytest.mark.parametrize("arm", ["softmax", "gate"])
def test_a_few_steps_lower_the_loss(arm):
    losses = train(TASK, arm, steps=40, learning_rate=3e-2).losses
    assert losses[-1] < 0.7 * losses[0]
    assert losses[0] == pytest.approx(np.log(CLASSES), rel=0.3)
