"""The local alignment explorer in a real browser: its numbers are those of `alignment`."""

import numpy as np
import pytest

from attn_course.alignment import local_monotonic, local_predictive
from attn_course.figures.explorers import LocalAlignmentExplorer
from tests.browser import explorer_checks as checks
from tests.browser.explorer_checks import differences, shown
from tests.browser.page_checks import PHONE


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    return checks.alone(LocalAlignmentExplorer(), tmp_path_factory.mktemp("bare page"))


def slider(explorer, name):
    return explorer.get_by_role("slider", name=name)


# --- numbers: the page's against the package's --------------------------------------------------


def expected(state):
    """Return the numbers for a state. Only the definition's sigma, D/2, is the package's."""
    scores = np.array([state["rows"][state["row"]]])
    p, d, sigma = state["position"], state["half_width"], state["spread"] * state["half_width"]
    offsets = np.arange(1, scores.shape[-1] + 1) - p
    inside = abs(offsets) <= d
    window = local_monotonic(scores, np.array([p]), d)[0]

    def weigh(width):
        weights = window * np.exp(-(offsets**2) / (2 * width**2))
        return weights / (weights.sum() or 1) if state["renormalise"] else weights

    weights = weigh(sigma)
    if state["spread"] == 0.5:
        weights = local_predictive(scores, np.array([p]), d, renormalise=state["renormalise"])[0]
    numbers = {
        "position": [p],
        "half_width": [d],
        "sigma": [sigma],
        "count": [inside.sum()],
        "edge": [np.exp(-(d**2) / (2 * sigma**2))],
        "total": [weights.sum()],
        "score": scores[0].tolist(),
        "softmax": window.tolist(),
        "factor": (inside * np.exp(-(offsets**2) / (2 * sigma**2))).tolist(),
        "weight": weights.tolist(),
    }
    if state["slip"]:
        numbers |= {"slip_weight": weigh(d).tolist(), "slip_total": [weigh(d).sum()]}
    return numbers


def test_the_comparison_sees_a_small_error_in_every_number(bare):
    assert checks.unseen_errors(expected({**bare.values, "slip": True})) == []


@pytest.mark.parametrize(
    ("change", "names"),
    [
        # the Gaussian, and the softmax, each off by 1e-5
        (("/ (2 * (ratio", "/ (2.00002 * (ratio"), {"weight", "total", "factor", "edge"}),
        (("Math.exp(height - top)", "Math.exp(1.00001 * (height - top))"), {"weight", "softmax"}),
    ],
)
def test_the_comparison_sees_a_wrong_module(visit, bare, tmp_path, change, names):
    wrong = checks.alone(LocalAlignmentExplorer(), tmp_path, change=change)
    found = differences(shown(wrong.live(visit(wrong))), expected(bare.values))
    assert names <= set(found)


def test_it_starts_with_the_packages_numbers(live, bare):
    assert differences(shown(live), expected(bare.values)) == []


# --- moving it ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "trait", "steps"),
    [
        ("Position", "position", 0.3),
        ("Half width", "half_width", 1.5),
        ("Gaussian", "spread", 0.15),
    ],
)
def test_arrow_keys_move_a_slider(live, bare, name, trait, steps):
    control = slider(live, name)
    control.focus()
    for _ in range(3):
        control.press("ArrowRight")
    state = {**bare.values, trait: float(control.input_value())}
    assert state[trait] == pytest.approx(bare.values[trait] + steps)
    assert differences(shown(live), expected(state)) == []


@pytest.mark.parametrize("renormalise", [False, True])
@pytest.mark.parametrize("row", ["mixed", "equal", "peak", "rising"])
def test_every_row_agrees_with_the_package_at_every_place(live, bare, row, renormalise):
    live.get_by_role("combobox", name="Scores").select_option(row)
    live.get_by_label("Renormalise").set_checked(renormalise)
    live.get_by_label("slip").check()
    for key in ("Home", "PageUp", "PageUp", "PageUp", "End"):
        position = slider(live, "Position")
        position.press(key)
        moved = {"row": row, "renormalise": renormalise, "slip": True}
        state = {**bare.values, **moved, "position": float(position.input_value())}
        assert differences(shown(live), expected(state)) == []


def test_a_key_exactly_at_the_edge_is_in_the_window(visit, tmp_path):
    place = checks.alone(LocalAlignmentExplorer(position=4.0, half_width=2.0), tmp_path)
    numbers = shown(place.live(visit(place)))
    assert numbers["count"] == [5]
    assert numbers["factor"][1] == pytest.approx(np.exp(-2))


def test_renormalised_weights_add_up_to_one_and_the_others_do_not(live):
    assert shown(live)["total"][0] < 0.9
    live.get_by_label("Renormalise").check()
    assert shown(live)["total"][0] == pytest.approx(1, rel=1e-12)


def test_the_slip_takes_less_than_the_definition(live):
    live.get_by_label("slip").check()
    numbers = shown(live)
    assert numbers["slip_total"][0] > numbers["total"][0]
    assert live.get_by_text("Weights with σ = D", exact=True).is_visible()
    live.get_by_label("slip").uncheck()
    assert "slip_total" not in shown(live)


def test_without_a_key_in_the_window_all_is_zero_and_the_page_says_so(live):
    slider(live, "Half width").press("Home")
    slider(live, "Position").press("Home")
    numbers = shown(live)
    assert numbers["count"] == numbers["total"] == [0]
    assert not any(numbers["weight"])
    assert live.get_by_text("No key is in the window").is_visible()


def test_a_pointer_in_the_picture_takes_the_window_along(live, bare):
    picture = live.get_by_role("img")
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    mouse = live.page.mouse
    mouse.move(box["x"] + 0.9 * box["width"], box["y"] + 60)
    assert shown(live)["position"] == [bare.values["position"]]  # hovering is not dragging
    mouse.down()
    mouse.move(box["x"] + 0.25 * box["width"], box["y"] + 90, steps=3)
    mouse.up()
    position = shown(live)["position"][0]
    assert 0 < position < 4
    assert differences(shown(live), expected({**bare.values, "position": position})) == []


def test_a_finger_that_moves_sideways_or_taps_takes_the_window_along(visit, bare):
    page = visit(bare, viewport=PHONE, has_touch=True, is_mobile=True)
    live = bare.live(page)
    box = live.get_by_role("img").bounding_box()
    across, y = box["x"] + np.array([0.9, 0.3, 0.6]) * box["width"], box["y"] + 60
    checks.swipe(page, (across[0], y), (across[1], y + 20))
    swiped = shown(live)["position"][0]
    assert 1 < swiped < 5
    checks.swipe(page, (across[2], y), (across[2], y))
    tapped = shown(live)["position"][0]
    assert tapped > swiped + 3
    assert differences(shown(live), expected({**bare.values, "position": tapped})) == []


# --- the picture --------------------------------------------------------------------------------


def test_the_bars_are_as_high_as_the_weights(live, bare):
    bars = live.locator("rect.bar.weight").evaluate_all(
        "all => all.map(bar => [bar.height.baseVal.value, bar.width.baseVal.value])"
    )
    *bars, (_, part) = bars  # the last one is the sum, lying
    heights = np.array(bars)[:, 0]
    weights = np.array(expected(bare.values)["weight"])
    np.testing.assert_allclose(heights / heights.max(), weights / weights.max(), atol=1e-6)
    whole = live.locator("rect.hollow").last.evaluate("one => one.width.baseVal.value")
    assert part / whole == pytest.approx(weights.sum(), rel=1e-5)


# --- without JavaScript -------------------------------------------------------------------------


def test_without_javascript_the_figure_stands_with_its_numbers(browser, bare):
    with checks.without_javascript(browser, bare) as still:
        assert still.get_by_role("img").is_visible()
        assert differences(shown(still), expected(bare.values)) == []
