"""The multi-dimensional explorer in Python (in a browser: tests/browser)."""

from functools import partial

import numpy as np
import pytest
import traitlets

from attn_course import attention, dimensionality, scoring
from attn_course.definitions import dimensionality as definitions
from attn_course.figures.explorers import MultiDimensionalExplorer
from attn_course.figures.explorers.multi_dimensional import PARAMETERS
from attn_course.running_example import WORDS, features
from tests.stills import exactly, numbers_in, still_of


@pytest.mark.parametrize("word", WORDS)
def test_at_the_right_end_it_is_the_definition(word):
    explorer = MultiDimensionalExplorer(query=word)
    query = features()[WORDS.index(word)]
    scores = definitions.multi_scores(query, features(), **PARAMETERS)
    context, weights = definitions.attend_multi(scores, features())
    np.testing.assert_allclose(explorer.weights, weights, rtol=1e-12)
    np.testing.assert_allclose(explorer.context, context, rtol=1e-12)


@pytest.mark.parametrize("word", WORDS)
def test_at_the_left_end_it_is_single_dimensional_attention_with_the_mean_column(word):
    explorer = MultiDimensionalExplorer(spread=0.0, query=word)
    p = {name: np.array(value) for name, value in PARAMETERS.items()}
    score = partial(scoring.additive, w=p["W_d"].mean(axis=1), W_q=p["W_q"], W_k=p["W_k"], b=p["b"])
    words = features()
    query = words[[WORDS.index(word)]]
    context, weights = attention.attend(query, words, words, score=score)
    np.testing.assert_allclose(explorer.weights, np.repeat(weights.T, 3, axis=1), rtol=1e-12)
    np.testing.assert_allclose(explorer.context, context[0], rtol=1e-12)
    np.testing.assert_allclose(explorer.context, dimensionality.single(weights, words)[0])


@pytest.mark.parametrize("spread", [0.0, 0.4, 1.0])
def test_the_weights_add_up_along_the_axis_that_is_named(spread):
    right = MultiDimensionalExplorer(spread)
    np.testing.assert_allclose(right.weights.sum(axis=0), 1)
    assert not np.allclose(right.weights.sum(axis=1), 1)
    slip = MultiDimensionalExplorer(spread, normalise="features")
    np.testing.assert_allclose(slip.weights.sum(axis=1), 1)
    assert not np.allclose(slip.weights.sum(axis=0), 1)
    np.testing.assert_allclose(slip.context, (slip.weights * features()).sum(axis=0))


def test_with_the_slip_equal_columns_forget_the_positions():
    slip = MultiDimensionalExplorer(0.0, normalise="features")
    np.testing.assert_allclose(slip.weights, 1 / 3)


@pytest.mark.parametrize(
    ("trait", "value"),
    [("spread", -0.1), ("spread", 1.1), ("spread", np.nan), ("query", "dog"), ("normalise", "all")],
)
def test_what_it_cannot_show_is_refused(trait, value):
    with pytest.raises(traitlets.TraitError):
        setattr(MultiDimensionalExplorer(), trait, value)


def test_the_still_figure_shows_the_packages_numbers():
    explorer = MultiDimensionalExplorer(spread=0.3, query="cat")
    numbers = numbers_in(still_of(explorer))
    assert numbers["weight"] == exactly(explorer.weights.ravel().tolist())
    assert numbers["context"] == exactly(explorer.context.tolist())


def test_the_answer_to_its_question_is_true():
    weights = MultiDimensionalExplorer(spread=0.0).weights
    np.testing.assert_allclose(weights, np.tile(weights[:, :1], (1, weights.shape[1])))
