"""The heads explorer in Python (in a browser: tests/browser)."""

import numpy as np
import pytest
import torch
import traitlets

from attn_course.figures.explorers import HeadsExplorer
from attn_course.queries import MultiHeadAttention
from attn_course.running_example import WORDS
from tests.stills import exactly, numbers_in, still_of

STATES = [
    {},
    {"split": "reshaped"},
    {"heads": 4, "word": "warm"},
    {"heads": 4, "word": "milk", "split": "reshaped"},
    {"heads": 1, "word": "cat"},
]


@pytest.mark.parametrize("state", STATES, ids=str)
def test_the_still_figure_shows_the_packages_numbers(state):
    explorer = HeadsExplorer(**state)
    numbers = numbers_in(still_of(explorer))
    assert numbers["cell"] == explorer.cells.ravel().tolist()
    assert numbers["weight"] == exactly(explorer.weights.ravel().tolist())


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("heads", [1, 2, 4])
def test_the_right_weights_are_those_of_the_layer(heads, word):
    """Projections that change nothing leave the split and the heads' own attention."""
    explorer = HeadsExplorer(heads=heads, word=word)
    layer = MultiHeadAttention(4, heads, bias=False).double()
    with torch.no_grad():
        for projection in (layer.W_q, layer.W_K, layer.W_V):
            projection.weight.copy_(torch.eye(4))
    words = torch.tensor(explorer.values, dtype=torch.float64)
    _contexts, weights = layer(words, words, words)
    expected = weights[:, WORDS.index(word)].detach().numpy()
    np.testing.assert_allclose(explorer.weights, expected, rtol=1e-12)


def test_the_answer_to_the_question_is_true():
    explorer = HeadsExplorer(split="reshaped")
    assert explorer.cells[0].ravel().tolist() == list(range(1, 13))
    seen = {WORDS[(cell - 1) // 4] for cell in explorer.cells[0].ravel()}
    assert seen == {"the", "small", "cat"}


@pytest.mark.parametrize("heads", [2, 4])
def test_the_sentence_names_the_words_of_the_first_head(heads):
    explorer = HeadsExplorer(split="reshaped", heads=heads)
    seen = dict.fromkeys(WORDS[(cell - 1) // 4] for cell in explorer.cells[0].ravel().tolist())
    assert f"The first head sees only: {', '.join(seen)}." in still_of(explorer)
    assert "sees all six words" not in still_of(explorer)


def test_with_the_transpose_every_head_sees_every_word():
    explorer = HeadsExplorer()
    for cells in explorer.cells:
        assert [(cell - 1) // 4 for cell in cells[:, 0].tolist()] == list(range(6))
    assert "Every head sees all six words" in still_of(explorer)


def most_weight(weights):
    rows = [
        word for word, weight in zip(WORDS, weights, strict=True) if weight > max(weights) - 1e-9
    ]
    return "all equal" if len(rows) == len(WORDS) else ", ".join(rows)


@pytest.mark.parametrize("word", WORDS)
def test_the_report_names_the_rows_with_the_most_weight(word):
    explorer = HeadsExplorer(word=word)
    first, second = map(most_weight, explorer.weights)
    assert f"Most weight: Head 1: {first}; Head 2: {second}." in still_of(explorer)


def test_the_report_names_ties_and_equal_weights():
    assert "Head 1: cat, milk; Head 2: small." in still_of(HeadsExplorer(word="small"))
    assert "Head 1: drinks; Head 2: all equal." in still_of(HeadsExplorer(word="drinks"))


def test_one_head_cannot_see_the_bug():
    right, wrong = (HeadsExplorer(heads=1, split=split) for split in ("transposed", "reshaped"))
    assert right.cells.tolist() == wrong.cells.tolist()
    assert "With one head both ways agree" in still_of(wrong)


@pytest.mark.parametrize(("trait", "value"), [("heads", 3), ("split", "cut"), ("word", "dog")])
def test_what_it_cannot_show_is_refused(trait, value):
    with pytest.raises(traitlets.TraitError):
        setattr(HeadsExplorer(), trait, value)
