"""The self-attention explorer in Python (in a browser: tests/browser)."""

import numpy as np
import pytest
import traitlets

from attn_course.figures.explorers import SelfAttentionExplorer
from attn_course.figures.explorers.self_attention import IN_ORDER
from attn_course.running_example import WORDS
from tests.stills import exactly, numbers_in, still_of

SHUFFLED = [3, 5, 0, 4, 1, 2]  # drinks milk the warm small cat
STATES = [
    {},
    {"asks": "milk", "order": SHUFFLED},
    {"positions": True, "sharpness": 2.3},
    {"asks": "the", "order": SHUFFLED, "positions": True},
]


@pytest.mark.parametrize("state", STATES, ids=str)
def test_the_still_figure_shows_the_packages_numbers(state):
    explorer = SelfAttentionExplorer(**state)
    numbers = numbers_in(still_of(explorer))
    assert numbers["weight"] == exactly(explorer.weights.ravel().tolist())
    assert numbers["context"] == exactly(explorer.contexts.ravel().tolist())


def test_shuffled_words_take_their_weights_and_contexts_along():
    written, shuffled = (SelfAttentionExplorer(order=order) for order in (IN_ORDER, SHUFFLED))
    moved = np.ix_(SHUFFLED, SHUFFLED)
    np.testing.assert_allclose(shuffled.weights, written.weights[moved])
    np.testing.assert_allclose(shuffled.contexts, written.contexts[SHUFFLED])


def test_with_positions_the_order_matters():
    written, shuffled = (
        SelfAttentionExplorer(order=order, positions=True) for order in (IN_ORDER, SHUFFLED)
    )
    moved = np.ix_(SHUFFLED, SHUFFLED)
    assert not np.allclose(shuffled.weights, written.weights[moved], atol=0.01)


def test_without_sharpness_all_weights_are_equal():
    np.testing.assert_allclose(SelfAttentionExplorer(sharpness=0.0).weights, np.full((6, 6), 1 / 6))


def test_the_answer_to_the_question_is_true():
    for order in (list(IN_ORDER), SHUFFLED):
        explorer = SelfAttentionExplorer(order=order)
        cat, milk = (order.index(WORDS.index(word)) for word in ("cat", "milk"))
        assert round(float(explorer.weights[cat, milk]), 2) == 0.38


@pytest.mark.parametrize(
    ("trait", "value"),
    [
        ("asks", "dog"),
        ("sharpness", np.nan),
        ("sharpness", 5.0),
        ("order", [0, 1, 2, 3, 4]),
        ("order", [0, 0, 1, 2, 3, 4]),
    ],
)
def test_what_it_cannot_show_is_refused(trait, value):
    with pytest.raises(traitlets.TraitError):
        setattr(SelfAttentionExplorer(), trait, value)
