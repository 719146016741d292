"""The affinity explorer in a real browser: its numbers are those of `ParallelCoAttention`."""

import pytest

from attn_course.figures.explorers import AffinityExplorer
from tests.browser import explorer_checks as checks
from tests.browser.explorer_checks import differences, shown


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    return checks.alone(AffinityExplorer(), tmp_path_factory.mktemp("bare page"))


def expected(**moved):
    """Return the numbers for a state, computed by the package."""
    explorer = AffinityExplorer(**moved)
    first, second = explorer.weights
    return {
        "affinity": explorer.affinities.ravel().tolist(),
        "weight_1": first.tolist(),
        "weight_2": second.tolist(),
    }


def strength(explorer):
    return explorer.get_by_role("slider", name="Strength")


def test_the_comparison_sees_a_small_error_in_every_number():
    # At a strength of 0.3 no affinity but those of *the*, *milk* and *cat*, *warm* is zero.
    assert checks.unseen_errors(expected(strength=0.3, right_1="small", right_2="the")) == []


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (("squash(strength * product)", "squash(1.00001 * strength * product)"), {"affinity"}),
        (("w * act(entry +", "1.001 * w * act(entry +"), {"weight_1"}),
    ],
)
def test_the_comparison_sees_a_wrong_module(visit, tmp_path, change, names):
    wrong = checks.alone(AffinityExplorer(), tmp_path, change=change)
    found = differences(shown(wrong.live(visit(wrong))), expected())
    assert names <= set(found)


def test_it_starts_with_the_packages_numbers(live):
    assert differences(shown(live), expected()) == []


@pytest.mark.parametrize("reading", ["projected", "max"])
@pytest.mark.parametrize("act", ["identity", "tanh"])
def test_every_choice_agrees_with_the_package(visit, bare, reading, act):
    live = bare.live(visit(bare))
    live.get_by_label("Activation").select_option(act)
    live.get_by_label("Scores").select_option(reading)
    live.get_by_label("First word").select_option("drinks")
    for key in ("Home", "ArrowRight", "PageUp", "End"):
        strength(live).press(key)
        moved = {"act": act, "reading": reading, "right_1": "drinks"}
        moved["strength"] = float(strength(live).input_value())
        assert differences(shown(live), expected(**moved)) == []


def test_without_affinities_the_best_match_has_equal_weights_and_the_projection_has_not(live):
    strength(live).press("Home")
    assert shown(live)["weight_1"] != pytest.approx([1 / 3] * 3, abs=0.01)
    live.get_by_label("Scores").select_option("max")
    assert shown(live)["weight_1"] == pytest.approx([1 / 3] * 3)


def test_without_javascript_the_figure_stands_with_its_numbers(browser, bare):
    with checks.without_javascript(browser, bare) as still:
        assert still.get_by_role("img").is_visible()
        assert differences(shown(still), expected()) == []
