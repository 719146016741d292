"""The affinity explorer in Python (in a browser: tests/browser)."""

import numpy as np
import pytest
import traitlets

from attn_course.figures.explorers import AffinityExplorer
from attn_course.running_example import features
from tests.stills import exactly, numbers_in, still_of

STATES = [
    {},
    {"reading": "max"},
    {"act": "tanh", "strength": 1.3, "right_1": "drinks"},
    {"act": "tanh", "strength": 0.7, "right_2": "cat", "reading": "max"},
]


@pytest.mark.parametrize("state", STATES, ids=str)
def test_the_still_figure_shows_the_packages_numbers(state):
    explorer = AffinityExplorer(**state)
    numbers = numbers_in(still_of(explorer))
    assert numbers["affinity"] == exactly(explorer.affinities.ravel().tolist())
    for name, weights in zip(("weight_1", "weight_2"), explorer.weights, strict=True):
        assert numbers[name] == exactly(weights.tolist())


def test_the_pencil_example_of_the_page():
    words = features()
    explorer = AffinityExplorer(strength=1.0)
    assert explorer.affinities.tolist() == (words[:3] @ words[4:].T).tolist()
    best = AffinityExplorer(strength=1.0, reading="max").weights[0]
    np.testing.assert_allclose(best[1], best[2])
    np.testing.assert_allclose(best[0] / best[1], np.exp(-2))


def test_the_answer_to_the_question_is_true():
    for reading, is_equal in (("max", True), ("projected", False)):
        first, _second = AffinityExplorer(strength=0.0, reading=reading).weights
        assert np.allclose(first, 1 / 3) == is_equal


@pytest.mark.parametrize(
    ("trait", "value"),
    [("strength", -0.1), ("strength", np.inf), ("act", "relu"), ("right_1", "dog")],
)
def test_what_it_cannot_show_is_refused(trait, value):
    with pytest.raises(traitlets.TraitError):
        setattr(AffinityExplorer(), trait, value)
