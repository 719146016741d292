"""The scores explorer in Python (in a browser: tests/browser)."""

from math import sqrt

import numpy as np
import pytest
import traitlets
from hypothesis import given, settings
from hypothesis import strategies as st

from attn_course.definitions import scoring as definitions
from attn_course.figures.explorers import ScoresExplorer
from attn_course.figures.explorers.scores import PARAMETERS, REACH, WIDTHS
from attn_course.scoring import SIMILARITIES
from tests.stills import exactly, numbers_in, still_of

# No pixel is so near to 0 that its square is no number any more.
numbers = st.floats(-REACH, REACH).map(lambda number: 0.0 if abs(number) < 1e-100 else number)
vectors = st.tuples(numbers, numbers)


@settings(max_examples=25)
@given(vectors, vectors, st.sampled_from(SIMILARITIES))
def test_at_width_two_the_scores_are_the_definitions(query, key, similarity):
    p = PARAMETERS
    expected = {
        "additive": definitions.additive(query, key, p["w"], p["W_q"], p["W_k"], p["b_additive"]),
        "dot": definitions.dot(query, key),
        "scaled_dot": definitions.scaled_dot(query, key),
        "general": definitions.general(query, key, p["W"]),
        "biased_general": definitions.biased_general(query, key, p["W"], p["b"]),
        "activated_general": definitions.activated_general(query, key, p["W"], p["b_activated"]),
        "similarity": getattr(definitions, similarity)(query, key),
    }
    scores = ScoresExplorer(query, key, similarity=similarity).scores
    assert list(scores) == list(expected)
    assert scores == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("d_k", WIDTHS)
def test_wider_vectors_agree_as_much_as_by_chance(d_k):
    """Agreement of n independent signs is sqrt(n), root mean square: that is what grows."""
    narrow = ScoresExplorer().scores
    wide = ScoresExplorer(d_k=d_k).scores
    growth = sqrt(d_k / 2)
    for name in ("dot", "general", "biased_general"):
        assert wide[name] == pytest.approx(growth * narrow[name])
    for name in ("scaled_dot", "additive"):
        assert wide[name] == pytest.approx(narrow[name])
    assert wide["similarity"] == pytest.approx(narrow["similarity"] / growth)
    assert abs(wide["activated_general"]) <= 1


def test_wider_vectors_have_further_to_go():
    far = ScoresExplorer(d_k=128, similarity="squared_euclidean")
    (q, k), n = np.array([far.query, far.key]), 64
    expected = -0.5 * (n * (q @ q + k @ k) - 2 * sqrt(n) * q @ k)
    assert far.scores["similarity"] == pytest.approx(expected)


def test_every_widths_copies_have_a_whole_root():
    assert all(sqrt(d_k / 2) == int(sqrt(d_k / 2)) for d_k in WIDTHS)


def test_a_vector_of_length_zero_is_similar_to_nothing():
    assert ScoresExplorer(query=(0.0, 0.0)).scores["similarity"] == 0


@pytest.mark.parametrize(
    ("trait", "value"),
    [("query", [1.0]), ("key", [0.0, 3.5]), ("query", [np.nan, 0.0]), ("d_k", 4)],
)
def test_what_it_cannot_show_is_refused(trait, value):
    with pytest.raises(traitlets.TraitError):
        setattr(ScoresExplorer(), trait, value)


def test_the_sentence_says_what_was_wanted():
    with pytest.raises(traitlets.TraitError, match="two numbers from -3 to 3, but is"):
        ScoresExplorer(query=(1.0, 2.0, 3.0))


def test_the_still_figure_shows_the_packages_numbers():
    explorer = ScoresExplorer(d_k=32, similarity="euclidean")
    numbers = numbers_in(still_of(explorer))
    assert {name: numbers[name][0] for name in explorer.scores} == exactly(explorer.scores)
    assert numbers["d_k"] == [32]


def test_the_still_figure_can_show_scores_that_are_all_zero():
    nothing = ScoresExplorer(query=(0.0, 0.0), key=(0.0, 0.0))
    assert numbers_in(still_of(nothing))["dot"] == [0]


def test_the_answer_to_its_question_is_true():
    narrow, wide = ScoresExplorer(d_k=2).scores, ScoresExplorer(d_k=128).scores
    for name in ("dot", "general", "biased_general"):
        assert wide[name] == pytest.approx(8 * narrow[name])
    assert wide["scaled_dot"] == pytest.approx(narrow["scaled_dot"])
    assert abs(wide["activated_general"]) <= 1
