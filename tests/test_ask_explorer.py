"""The explorer that asks six words, in Python (in a browser: tests/browser)."""

import numpy as np
import pytest
import traitlets
from hypothesis import given, settings
from hypothesis import strategies as st

from attn_course.definitions import attention as loops
from attn_course.definitions import scoring
from attn_course.figures.explorers import AskExplorer
from attn_course.running_example import WORDS, features
from tests.stills import exactly, numbers_in, still_of

queries = st.lists(st.floats(-3, 3), min_size=3, max_size=3)


@settings(max_examples=25)
@given(queries)
def test_its_answer_is_the_definitions(query):
    explorer = AskExplorer(query)
    words = features().tolist()
    context, weights = loops.attend(np.log(2) * np.array(query), words, words, scoring.dot)
    np.testing.assert_allclose(explorer.weights, weights, rtol=1e-12)
    np.testing.assert_allclose(explorer.context, context, rtol=1e-9, atol=1e-12)


def test_it_starts_with_the_votes_of_the_page():
    np.testing.assert_allclose(AskExplorer().weights * 13, [1, 2, 4, 1, 1, 4])
    np.testing.assert_allclose(AskExplorer().context * 13, [18, 7, 7])


@settings(max_examples=10)
@given(queries)
def test_the_still_figure_shows_the_packages_numbers(query):
    explorer = AskExplorer(query)
    numbers = numbers_in(still_of(explorer))
    assert numbers["query"] == exactly(list(query))
    assert numbers["weight"] == exactly(explorer.weights.tolist())
    assert numbers["context"] == exactly(explorer.context.tolist())


def test_who_asks_for_nothing_is_told_so():
    assert "every word has the same weight" in still_of(AskExplorer((0.0, 0.0, 0.0)))
    assert "Most weight: <b>cat, milk 0.31</b>" in still_of(AskExplorer())


def test_the_answer_to_its_question_is_true():
    for strength in (0.5, 1.0, 3.0):
        weights = AskExplorer((strength, 0.0, strength)).weights
        assert WORDS[weights.argmax()] == "small"
        assert sorted(weights)[-2] < weights.max()


@pytest.mark.parametrize("query", [[1.0, 2.0], [1.0, 2.0, 3.5], [0.0, np.nan, 0.0]])
def test_what_it_cannot_show_is_refused(query):
    with pytest.raises(traitlets.TraitError, match="query must have 3 numbers from -3 to 3"):
        AskExplorer(query)
