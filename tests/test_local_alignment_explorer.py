"""The local alignment explorer in Python (in a browser: tests/browser)."""

import re

import numpy as np
import pytest
import torch
import traitlets
from hypothesis import given
from hypothesis import strategies as st

from attn_course.alignment import local_monotonic, local_predictive
from attn_course.definitions import alignment as definitions
from attn_course.figures.explorers import LocalAlignmentExplorer, page
from attn_course.figures.explorers.local_alignment import ROWS
from tests.stills import exactly, numbers_in, still_of

# Eight keys whose sums are known, from the definition worked by hand.
EIGHT = [0.1, 0.4, -0.2, 0.3, 0.0, 0.5, -0.1, 0.2]

positions = st.floats(-1, 14)
half_widths = st.floats(0.5, 12)


# --- its numbers --------------------------------------------------------------------------------


@given(positions, half_widths, st.booleans(), st.sampled_from(list(ROWS)))
def test_its_weights_are_the_packages(position, half_width, renormalise, row):
    explorer = LocalAlignmentExplorer(
        position=position, half_width=half_width, renormalise=renormalise, row=row
    )
    scores, places = np.array([ROWS[row]]), np.array([position])
    expected = local_predictive(scores, places, half_width, renormalise=renormalise)
    np.testing.assert_array_equal(explorer.weights, expected[0])
    np.testing.assert_array_equal(explorer.window, local_monotonic(scores, places, half_width)[0])


@pytest.mark.parametrize(
    ("position", "count", "total"),
    [(4.0, 5, 0.456164), (3.4, 4, 0.583900), (0.6, 2, 0.608434), (8.0, 3, 0.528044)],
)
def test_the_window_is_clipped_and_the_sum_stays_below_one(position, count, total):
    explorer = LocalAlignmentExplorer(EIGHT, position=position)
    assert explorer.inside.sum() == count
    assert explorer.total == pytest.approx(total, abs=5e-7)


@given(positions, half_widths)
def test_its_weights_are_the_definitions(position, half_width):
    explorer = LocalAlignmentExplorer(EIGHT, position=position, half_width=half_width)
    expected = definitions.local_predictive(EIGHT, position, half_width)
    np.testing.assert_allclose(explorer.weights, expected, rtol=1e-12, atol=1e-300)


@given(positions, half_widths, st.floats(0.1, 1.5), st.booleans())
def test_another_sigma_is_the_window_times_another_gaussian(position, half_width, spread, whole):
    explorer = LocalAlignmentExplorer(
        position=position, half_width=half_width, spread=spread, renormalise=whole
    )
    expected = explorer.window * explorer.factors
    if whole:
        expected = expected / (expected.sum() or 1)
    np.testing.assert_allclose(explorer.weights, expected, rtol=1e-9)


@given(positions, half_widths)
def test_the_slip_leaves_more_than_the_definition(position, half_width):
    explorer = LocalAlignmentExplorer(position=position, half_width=half_width)
    assert (explorer.slip_weights >= explorer.weights).all()
    explorer.spread = 1.0
    np.testing.assert_array_equal(explorer.slip_weights, explorer.weights)


def test_the_gaussian_at_the_edge_depends_on_the_ratio_alone():
    for half_width in (1.0, 3.0, 10.0):
        explorer = LocalAlignmentExplorer(half_width=half_width)
        assert explorer.edge == pytest.approx(np.exp(-2))
        explorer.spread = 1.0
        assert explorer.edge == pytest.approx(np.exp(-0.5))


@pytest.mark.parametrize("renormalise", [False, True])
def test_a_window_without_keys_has_no_weight(renormalise):
    explorer = LocalAlignmentExplorer(position=-1.0, half_width=1.0, renormalise=renormalise)
    assert explorer.total == 0
    assert "NaN" not in still_of(explorer)


# --- what it refuses ----------------------------------------------------------------------------


@pytest.mark.parametrize("scores", [np.ones((2, 3)), [], [1.0, np.nan]])
def test_scores_that_are_no_row_get_a_sentence(scores):
    with pytest.raises(ValueError, match="scores must be"):
        LocalAlignmentExplorer(scores)


@pytest.mark.parametrize(
    ("trait", "value"),
    [("position", np.nan), ("half_width", 0.0), ("spread", -1.0), ("row", "yours")],
)
def test_a_value_it_cannot_show_is_refused(trait, value):
    explorer = LocalAlignmentExplorer()
    with pytest.raises(traitlets.TraitError):
        setattr(explorer, trait, value)


def test_one_key_and_a_tensor_can_be_shown():
    for scores in ([2.0], torch.zeros(5, dtype=torch.float16)):
        assert "NaN" not in still_of(LocalAlignmentExplorer(scores, slip=True))


# --- its page -----------------------------------------------------------------------------------


@pytest.mark.parametrize("slip", [False, True])
def test_the_still_figure_shows_its_numbers(slip):
    explorer = LocalAlignmentExplorer(position=0.1 + 0.2, slip=slip)
    numbers = numbers_in(still_of(explorer))
    assert numbers["weight"] == exactly(explorer.weights.tolist())
    assert numbers["position"] == [explorer.position]
    assert numbers["total"] == exactly([explorer.total])
    assert ("slip_total" in numbers) == slip


def test_the_page_is_the_same_at_every_run():
    first, second = (LocalAlignmentExplorer()._repr_mimebundle_()[0] for _ in range(2))
    assert first["text/html"] == second["text/html"]
    assert "half_width=2.0" in first["text/plain"]


def test_the_module_is_one_text_and_finds_its_words():
    text = page.module_text("local_alignment")
    assert "import " not in text
    assert text.count("export ") == 1
    asked = re.findall(r"words\.(\w+)", page.module_file("local_alignment").read_text())
    assert set(asked) | set(ROWS) <= set(LocalAlignmentExplorer().words)


def test_words_are_escaped():
    explorer = LocalAlignmentExplorer(slip=True)
    explorer.words = {key: '<u>"&' for key in explorer.words}
    assert "<u>" not in explorer.to_html() + still_of(explorer)


def test_the_answer_to_its_question_is_true():
    right, slip = LocalAlignmentExplorer(), LocalAlignmentExplorer(spread=1.0)
    assert slip.total > right.total
    for explorer in (right, slip):
        assert f"≈ {explorer.edge:.2f}" in explorer.words["answer"]
    both = (LocalAlignmentExplorer(spread=s, renormalise=True).total for s in (0.5, 1.0))
    assert list(both) == pytest.approx([1, 1])
