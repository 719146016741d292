"""The explorer of online softmax in Python (in a browser: tests/browser)."""

import numpy as np
import pytest
import torch
import traitlets

from attn_course.definitions import scale as definition
from attn_course.figures.explorers import OnlineSoftmaxExplorer
from attn_course.running_example import WORDS
from attn_course.scale import online_softmax
from tests.stills import exactly, numbers_in, still_of

UP_AND_DOWN = (-1.5, 3.0, 0.5, 2.0, -4.0, 3.5)
STATES = [
    {},
    {"step": 1, "block": 1},
    {"step": 3, "rescale": False},
    {"step": 4, "block": 1, "order": "rising", "rescale": False},
    {"step": 2, "block": 3, "order": "falling", "rescale": False},
    {"step": 3, "scores": UP_AND_DOWN},
    {"step": 6, "block": 1, "scores": UP_AND_DOWN, "rescale": False},
]


@pytest.mark.parametrize("state", STATES, ids=str)
def test_the_still_figure_shows_the_packages_numbers(state):
    explorer = OnlineSoftmaxExplorer(**state)
    numbers = numbers_in(still_of(explorer))
    for name in ("m", "factor", "total", "o"):
        assert numbers[name] == exactly([getattr(kept, name) for kept in explorer.kept])
    assert numbers["context"] == exactly(explorer.contexts.tolist())
    assert numbers["score"] == [explorer.scores[l] for l in explorer.places]
    assert numbers["weight"] == exactly(explorer.weights.tolist())
    assert numbers["correct"] == exactly(explorer.correct.tolist())


@pytest.mark.parametrize("order", ["sentence", "rising", "falling"])
@pytest.mark.parametrize("block", [1, 2, 3])
def test_rescaled_contexts_are_those_of_the_package_and_of_the_loops(order, block):
    explorer = OnlineSoftmaxExplorer(6, order, block, scores=UP_AND_DOWN)
    scores = torch.tensor(UP_AND_DOWN, dtype=torch.float64)[explorer.places]
    values = torch.tensor(explorer.values, dtype=torch.float64)[explorer.places, None]
    assert len(explorer.contexts) == explorer.blocks
    for b, context in enumerate(explorer.contexts, start=1):
        seen = slice(0, b * block)
        parts = zip(scores[seen].split(block), values[seen].split(block), strict=True)
        assert online_softmax((e[None], v) for e, v in parts).item() == pytest.approx(context)
        [looped] = definition.online_softmax(scores[seen].tolist(), values[seen].tolist())
        assert looped == pytest.approx(context)


@pytest.mark.parametrize("state", STATES, ids=str)
def test_the_weights_explain_the_context(state):
    explorer = OnlineSoftmaxExplorer(**state)
    values = np.array(explorer.values)[explorer.places]
    assert explorer.weights @ values == pytest.approx(explorer.contexts[-1])


@pytest.mark.parametrize("block", [1, 2, 3])
def test_the_answer_to_the_question_is_true(block):
    rising = OnlineSoftmaxExplorer(6, "rising", block, rescale=False)
    excess = rising.weights - rising.correct
    first_block, last_block = excess[:block], excess[-block:]
    assert (first_block > 0.01).all()
    assert last_block[-1] < -0.01
    falling = OnlineSoftmaxExplorer(6, "falling", block, rescale=False)
    assert falling.is_right
    assert "Not rescaled, and still right" in still_of(falling)


def test_the_pencil_example_has_these_scores_and_values():
    explorer = OnlineSoftmaxExplorer()
    assert explorer.scores == [0, 0, 0, 2, 1, 1]
    assert explorer.values == [len(word) for word in WORDS]


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ({"step": 1}, "there is nothing to rescale"),
        ({"step": 2}, "rises from 0 to 2, so both sums were multiplied by 0.1353."),
        (
            {"step": 3, "scores": UP_AND_DOWN},
            "rises from 3 to 3.5000, so both sums were multiplied by 0.6065.",
        ),
        ({"step": 3}, "The largest score stays"),
        ({"step": 3, "rescale": False}, "count too much"),
    ],
)
def test_the_report_says_what_the_last_block_did(state, sentence):
    assert sentence in still_of(OnlineSoftmaxExplorer(**state))


def test_a_step_beyond_the_last_block_shows_all_words():
    explorer = OnlineSoftmaxExplorer(6, block=3)
    assert (len(explorer.kept), explorer.blocks) == (2, 2)
    assert len(numbers_in(still_of(explorer))["weight"]) == len(WORDS)


@pytest.mark.parametrize(
    ("trait", "value"), [("step", 0), ("step", 7), ("block", 4), ("order", "random")]
)
def test_what_it_cannot_show_is_refused(trait, value):
    with pytest.raises(traitlets.TraitError):
        setattr(OnlineSoftmaxExplorer(), trait, value)


@pytest.mark.parametrize("scores", [[1.0, 2.0], [np.nan] * 6])
def test_scores_that_are_not_six_numbers_are_refused(scores):
    with pytest.raises(ValueError, match="6 finite numbers"):
        OnlineSoftmaxExplorer(scores=scores)
