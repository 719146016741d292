"""The multi-dimensional explorer in a real browser: its numbers are those of `dimensionality`."""

from functools import partial

import numpy as np
import pytest

from attn_course import alignment, dimensionality
from attn_course.figures.explorers import MultiDimensionalExplorer
from attn_course.running_example import WORDS
from tests.browser import explorer_checks as checks
from tests.browser.explorer_checks import differences, shown


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    return checks.alone(MultiDimensionalExplorer(), tmp_path_factory.mktemp("bare page"))


def spread(explorer):
    return explorer.get_by_role("slider", name="differ")


# --- numbers: the page's against the package's --------------------------------------------------


def expected(state, **moved):
    """Return the numbers for a state."""
    state = {**state, **moved}
    p = {name: np.array(value) for name, value in state["parameters"].items()}
    mean = p["W_d"].mean(axis=1, keepdims=True)
    p["W_d"] = (1 - state["spread"]) * mean + state["spread"] * p["W_d"]
    score = partial(dimensionality.multi_scores, **p)
    words = np.array(state["values"])
    query = words[[state["names"].index(state["query"])]]
    context, weights = dimensionality.attend_multi(query, words, words, score)
    if state["normalise"] == "features":
        weights = alignment.softmax(score(query, words), axis=-1)
        context = dimensionality.multi(weights, words)
    return {
        "weight": weights[0].ravel().tolist(),
        "row_sum": weights[0].sum(axis=1).tolist(),
        "column_sum": weights[0].sum(axis=0).tolist(),
        "context": context[0].tolist(),
    }


def test_the_comparison_sees_a_small_error_in_every_number(bare):
    assert checks.unseen_errors(expected(bare.values)) == []


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (("Math.tanh(", "Math.tanh(1.00001 * "), {"weight", "row_sum", "context"}),
        (("means[i] + spread *", "means[i] + 1.00001 * spread *"), {"weight", "row_sum"}),
        (("row[i] * values", "1.00001 * row[i] * values"), {"context"}),
    ],
)
def test_the_comparison_sees_a_wrong_module(visit, bare, tmp_path, change, names):
    wrong = checks.alone(MultiDimensionalExplorer(), tmp_path, change=change)
    found = differences(shown(wrong.live(visit(wrong))), expected(bare.values))
    assert names <= set(found)


def test_it_starts_with_the_packages_numbers(live, bare):
    assert differences(shown(live), expected(bare.values)) == []


# --- moving it ----------------------------------------------------------------------------------


@pytest.mark.parametrize("normalise", ["positions", "features"])
@pytest.mark.parametrize("query", WORDS)
def test_every_query_agrees_with_the_package_at_every_spread(visit, bare, query, normalise):
    live = bare.live(visit(bare))
    live.get_by_label("Query").select_option(query)
    live.get_by_label("add up to 1").select_option(normalise)
    for key in ("Home", "ArrowRight", "PageUp", "PageUp", "End"):
        spread(live).press(key)
        moved = {"query": query, "normalise": normalise}
        state = {**bare.values, **moved, "spread": float(spread(live).input_value())}
        assert differences(shown(live), expected(state)) == []


def test_at_the_left_end_every_feature_has_the_same_weights(live, bare):
    spread(live).press("Home")
    weights = np.reshape(shown(live)["weight"], (len(WORDS), -1))
    np.testing.assert_allclose(np.ptp(weights, axis=1), 0, atol=1e-15)
    single = dimensionality.single(weights[:, 0][None, :], np.array(bare.values["values"]))
    np.testing.assert_allclose(shown(live)["context"], single[0])
    report = live.get_by_role("status")
    assert "single-dimensional" in report.inner_text()
    spread(live).press("ArrowRight")
    assert "single-dimensional" not in report.inner_text()


def test_columns_add_up_to_one_and_with_the_slip_rows_do(live):
    numbers = shown(live)
    assert numbers["column_sum"] == pytest.approx([1] * 3, rel=1e-12)
    assert numbers["row_sum"] != pytest.approx([1] * 6, abs=0.1)
    live.get_by_label("add up to 1").select_option("features")
    numbers = shown(live)
    assert numbers["column_sum"] != pytest.approx([1] * 3, abs=0.1)
    assert numbers["row_sum"] == pytest.approx([1] * 6, rel=1e-12)
    assert live.get_by_text("no longer compete").is_visible()


def test_arrow_keys_move_the_spread(live, bare):
    for _ in range(3):
        spread(live).press("ArrowLeft")
    state = {**bare.values, "spread": float(spread(live).input_value())}
    assert state["spread"] == pytest.approx(bare.values["spread"] - 0.03)
    assert differences(shown(live), expected(state)) == []


# --- the picture --------------------------------------------------------------------------------


def test_a_cell_is_as_strong_as_its_weight(live, bare):
    strengths = live.locator("rect.cell.weight").evaluate_all(
        "all => all.map(cell => Number(cell.getAttribute('fill-opacity')))"
    )
    weights = expected(bare.values)["weight"]
    np.testing.assert_allclose(2 * np.array(strengths), weights, atol=1.001e-4)  # four digits


# --- without JavaScript -------------------------------------------------------------------------


def test_without_javascript_the_figure_stands_with_its_numbers(browser, bare):
    with checks.without_javascript(browser, bare) as still:
        assert still.get_by_role("img").is_visible()
        assert differences(shown(still), expected(bare.values)) == []
