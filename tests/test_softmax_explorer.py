"""The softmax explorer in Python (in a browser: tests/browser)."""

import numpy as np
import pytest
import traitlets
from hypothesis import given, settings
from hypothesis import strategies as st

from attn_course.definitions import alignment as definitions
from attn_course.figures.explorers import SoftmaxExplorer
from tests.stills import exactly, numbers_in, still_of

scores = st.lists(st.floats(-30, 30), min_size=5, max_size=5)
masks = st.lists(st.booleans(), min_size=5, max_size=5)
temperatures = st.floats(0.1, 10)


@settings(max_examples=25)
@given(scores, masks, temperatures)
def test_its_weights_are_the_definitions(scores, mask, temperature):
    explorer = SoftmaxExplorer(scores, mask=mask, temperature=temperature)
    expected = definitions.softmax([score / temperature for score in scores], mask)
    np.testing.assert_allclose(explorer.weights, expected, rtol=1e-9, atol=1e-300)
    assert explorer.total == pytest.approx(1 if any(mask) else 0)


@settings(max_examples=25)
@given(scores, masks, temperatures)
def test_hidden_too_late_the_weights_of_the_others_stay_as_they_were(scores, mask, temperature):
    everyone = SoftmaxExplorer(scores, temperature=temperature)
    late = SoftmaxExplorer(scores, mask=mask, temperature=temperature, masking="after")
    np.testing.assert_array_equal(late.weights, np.where(mask, everyone.weights, 0))


def test_entropy_is_that_of_as_many_equal_weights():
    assert SoftmaxExplorer([2.0] * 7).entropy == pytest.approx(np.log(7))
    hidden = SoftmaxExplorer([2.0] * 7, mask=[True] * 3 + [False] * 4)
    assert hidden.entropy == pytest.approx(np.log(3))
    alone = SoftmaxExplorer([2.0] * 2, mask=[True, False])
    assert alone.entropy == 0


def test_weights_that_do_not_add_up_to_one_have_no_entropy():
    mask = [True, True, False]
    assert SoftmaxExplorer([0.0] * 3, mask=[False] * 3).entropy is None
    assert SoftmaxExplorer([0.0] * 3, mask=mask, masking="after").entropy is None
    assert SoftmaxExplorer([0.0] * 3, mask=[True] * 3, masking="after").entropy is not None


def test_with_every_key_hidden_it_can_still_be_shown():
    html = still_of(SoftmaxExplorer([1.0, 2.0], mask=[False, False]))
    assert numbers_in(html)["weight"] == [0, 0]
    assert "NaN" not in html


def test_keys_have_the_names_of_the_example_or_their_numbers():
    assert SoftmaxExplorer().names[2] == "cat"
    assert SoftmaxExplorer([0.0, 1.0]).names == ["1", "2"]
    assert SoftmaxExplorer([0.0, 1.0], names=["a", "<u>"]).names == ["a", "<u>"]
    assert "<u>" not in still_of(SoftmaxExplorer([0.0, 1.0], names=["a", "<u>"]))


@pytest.mark.parametrize(
    ("trait", "value"),
    [
        ("temperature", 0.0),
        ("temperature", -1.0),
        ("temperature", np.inf),
        ("scores", [1.0, 2.0]),
        ("scores", [1.0, np.nan, 2.0]),
        ("mask", [True]),
        ("masking", "never"),
    ],
)
def test_what_it_cannot_show_is_refused(trait, value):
    with pytest.raises(traitlets.TraitError):
        setattr(SoftmaxExplorer([0.0, 1.0, 2.0]), trait, value)


def test_the_sentence_says_what_was_wanted():
    with pytest.raises(traitlets.TraitError, match="each of the 2 keys, but is"):
        SoftmaxExplorer([0.0, 1.0], mask=[True])


def test_the_still_figure_shows_the_packages_numbers():
    explorer = SoftmaxExplorer(temperature=0.3, mask=[True] * 5 + [False])
    numbers = numbers_in(still_of(explorer))
    assert numbers["weight"] == exactly(explorer.weights.tolist())
    assert numbers["entropy"] == exactly([explorer.entropy])
    assert numbers["total"] == exactly([explorer.total])


def test_the_answer_to_its_question_is_true():
    warm, cold = SoftmaxExplorer(), SoftmaxExplorer(temperature=0.1)
    best, second = np.argsort(warm.scores)[:-3:-1]
    gap = warm.scores[best] - warm.scores[second]
    assert cold.weights[best] > 0.99
    assert np.log(cold.weights[best] / cold.weights[second]) == pytest.approx(10 * gap)
