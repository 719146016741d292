"""The softmax explorer in a real browser: its numbers are those of `alignment`."""

from itertools import pairwise

import numpy as np
import pytest

from attn_course.alignment import softmax
from attn_course.figures.explorers import SoftmaxExplorer
from attn_course.running_example import WORDS
from tests.browser import explorer_checks as checks
from tests.browser.explorer_checks import differences, shown
from tests.browser.page_checks import PHONE


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    return checks.alone(SoftmaxExplorer(), tmp_path_factory.mktemp("bare page"))


def slider(explorer, name):
    return explorer.get_by_role("slider", name=name)


def box(explorer, word):
    return explorer.get_by_role("checkbox", name=word)


# --- numbers: the page's against the package's --------------------------------------------------


def expected(state, **moved):
    """Return the numbers for a state."""
    state = {**state, **moved}
    scores, mask = np.array([state["scores"]]), np.array([state["mask"]])
    if state["masking"] == "before":
        weights = softmax(scores, mask, state["temperature"])[0]
    else:
        weights = softmax(scores, temperature=state["temperature"])[0] * mask[0]
    numbers = {
        "score": state["scores"],
        "weight": weights.tolist(),
        "temperature": [state["temperature"]],
        "total": [weights.sum()],
    }
    if mask.all() or (mask.any() and state["masking"] == "before"):
        seen = weights[weights > 0]
        numbers["entropy"] = [-np.sum(seen * np.log(seen))]
    return numbers


def test_the_comparison_sees_a_small_error_in_every_number(bare):
    assert checks.unseen_errors(expected(bare.values, temperature=0.7)) == []


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (("score / temperature", "1.00001 * score / temperature"), {"weight", "entropy"}),
        (("weight * Math.log(weight)", "1.00001 * weight * Math.log(weight)"), {"entropy"}),
        (("total: addUp(weights)", "total: 1.00001 * addUp(weights)"), {"total"}),
    ],
)
def test_the_comparison_sees_a_wrong_module(visit, bare, tmp_path, change, names):
    wrong = checks.alone(SoftmaxExplorer(), tmp_path, change=change)
    found = differences(shown(wrong.live(visit(wrong))), expected(bare.values))
    assert set(found) == names


def test_it_starts_with_the_packages_numbers(live, bare):
    assert differences(shown(live), expected(bare.values)) == []


# --- moving it ----------------------------------------------------------------------------------


@pytest.mark.parametrize("l", range(len(WORDS)))
def test_arrow_keys_move_each_score(visit, bare, l):
    live = bare.live(visit(bare))
    control = slider(live, WORDS[l])
    control.focus()
    for _ in range(3):
        control.press("ArrowRight")
    scores = shown(live)["score"]
    wanted = list(bare.values["scores"])
    wanted[l] += 0.3
    np.testing.assert_allclose(scores, wanted, atol=1e-12)
    assert differences(shown(live), expected(bare.values, scores=scores)) == []


def test_every_temperature_agrees_with_the_package(live, bare):
    for key in ("Home", "PageUp", "PageUp", "PageUp", "ArrowRight", "End"):
        slider(live, "Temperature").press(key)
        temperature = shown(live)["temperature"][0]
        assert differences(shown(live), expected(bare.values, temperature=temperature)) == []


def test_a_low_temperature_picks_one_key_and_a_high_one_evens_out(live, bare):
    slider(live, "Temperature").press("Home")
    low = shown(live)
    slider(live, "Temperature").press("End")
    high = shown(live)
    assert (low["temperature"], high["temperature"]) == ([0.1], [10])
    assert max(low["weight"]) > 0.99
    assert max(high["weight"]) - min(high["weight"]) < 0.1


def test_hiding_keys_before_the_softmax_gives_their_weight_to_the_others(live, bare):
    mask = [True] * len(WORDS)
    for word in ("cat", "the", "milk"):
        box(live, word).focus()
        box(live, word).press("Space")
        mask[WORDS.index(word)] = False
        numbers = shown(live)
        assert differences(numbers, expected(bare.values, mask=mask)) == []
        assert numbers["weight"][WORDS.index(word)] == 0
        assert numbers["total"][0] == pytest.approx(1, rel=1e-12)


def test_hiding_keys_after_the_softmax_loses_their_weight_and_the_page_says_so(live, bare):
    box(live, "cat").uncheck()
    live.get_by_label("Hide a key").select_option("after")
    mask = [word != "cat" for word in WORDS]
    numbers = shown(live)
    assert differences(numbers, expected(bare.values, mask=mask, masking="after")) == []
    assert numbers["total"][0] < 0.6
    assert "entropy" not in numbers
    assert live.get_by_text("no longer add up to 1").is_visible()


@pytest.mark.parametrize("masking", ["before", "after"])
def test_with_every_key_hidden_all_is_zero_and_the_page_says_so(live, bare, masking):
    live.get_by_label("Hide a key").select_option(masking)
    for word in WORDS:
        box(live, word).uncheck()
    numbers = shown(live)
    hidden = expected(bare.values, mask=[False] * len(WORDS), masking=masking)
    assert differences(numbers, hidden) == []
    assert numbers["weight"] == [0] * len(WORDS)
    assert numbers["total"] == [0]
    assert live.get_by_text("Every key is hidden").is_visible()
    box(live, "milk").check()
    assert not live.get_by_text("Every key is hidden").is_visible()


def test_a_pointer_takes_a_score_along(live, bare):
    picture = live.get_by_role("img")
    picture.scroll_into_view_if_needed()
    place = picture.bounding_box()
    x = place["x"] + 40 + (place["width"] - 52) * 3.5 / 6  # the fourth key, drinks
    mouse = live.page.mouse
    mouse.move(x, place["y"] + 60)
    assert shown(live)["score"] == bare.values["scores"]  # hovering is not dragging
    mouse.down()
    mouse.move(x + 80, place["y"] + 40, steps=3)  # outside its column: the bar is still dragged
    mouse.up()
    scores = shown(live)["score"]
    wanted = list(bare.values["scores"])
    wanted[3] = 4.0
    assert scores == wanted
    assert differences(shown(live), expected(bare.values, scores=scores)) == []


def test_a_pointer_on_the_weights_moves_nothing(live, bare):
    picture = live.get_by_role("img")
    picture.scroll_into_view_if_needed()
    place = picture.bounding_box()
    mouse = live.page.mouse
    mouse.move(place["x"] + 200, place["y"] + 260)
    mouse.down()
    mouse.move(place["x"] + 200, place["y"] + 60, steps=3)
    mouse.up()
    assert shown(live)["score"] == bare.values["scores"]


def test_a_finger_on_the_scores_moves_nothing(visit, bare):
    page = visit(bare, viewport=PHONE, has_touch=True, is_mobile=True)
    live = bare.live(page)
    x, y = checks.places_in(live.get_by_role("img"))[0]
    checks.swipe(page, (x, y), (x + 60, y))
    checks.swipe(page, (x, y), (x, y))
    assert shown(live)["score"] == bare.values["scores"]


def test_the_key_with_the_most_weight_is_said_first(live, bare):
    report = live.get_by_role("status")
    assert report.inner_text().startswith("Most weight: cat 0.48")
    box(live, "cat").uncheck()
    weights = shown(live)["weight"]
    assert report.inner_text().startswith(f"Most weight: milk {max(weights):.2f}")
    for word in WORDS:
        box(live, word).uncheck()
    assert "Most weight" not in report.inner_text()


def test_on_a_phone_the_weights_are_in_view_while_the_temperature_moves(visit, bare):
    live = bare.live(visit(bare, viewport=PHONE))
    slider(live, "Temperature").scroll_into_view_if_needed()
    weights = live.locator("rect.bar.weight").last.bounding_box()
    temperature = slider(live, "Temperature").bounding_box()
    assert temperature["y"] - weights["y"] < PHONE["height"] / 2


# --- the picture --------------------------------------------------------------------------------


def test_the_bars_are_as_high_as_scores_and_weights(live, bare):
    def heights(kind):
        return live.locator(f"rect.bar.{kind}").evaluate_all(
            "all => all.map(bar => bar.height.baseVal.value)"
        )

    numbers = expected(bare.values)
    np.testing.assert_allclose(heights("weight"), 100 * np.array(numbers["weight"]), atol=1e-4)
    np.testing.assert_allclose(heights("score"), 14 * np.abs(numbers["score"]), atol=1e-4)
    box(live, "cat").uncheck()
    assert heights("hidden") == pytest.approx([14 * 2.5])  # its score, which is as good as gone
    live.get_by_label("Hide a key").select_option("after")
    assert heights("hidden") == pytest.approx([100 * numbers["weight"][2]])  # its lost weight


def test_hidden_too_late_the_correct_weights_are_outlined(live, bare):
    outlines = live.locator("rect.correct")
    box(live, "cat").uncheck()
    assert outlines.count() == 0  # hidden before the softmax they are correct already
    live.get_by_label("Hide a key").select_option("after")
    heights = outlines.evaluate_all("all => all.map(bar => bar.height.baseVal.value)")
    mask = [word != "cat" for word in WORDS]
    weights = np.array(expected(bare.values, mask=mask)["weight"])
    np.testing.assert_allclose(heights, 100 * weights[mask], atol=1e-4)
    assert live.get_by_text("Correct weights").is_visible()


# --- without JavaScript -------------------------------------------------------------------------


def test_without_javascript_the_figure_stands_with_its_numbers(browser, bare):
    with checks.without_javascript(browser, bare) as still:
        assert still.get_by_role("img").is_visible()
        assert differences(shown(still), expected(bare.values)) == []


def test_labels_keep_their_distance_and_no_slider_is_alone_in_its_row(visit, bare):
    live = bare.live(visit(bare))
    texts = live.locator(".controls.small .slider").evaluate_all(
        """all => all.map(one => [".name", ".value"].map(part => {
          const range = document.createRange();
          range.selectNodeContents(one.querySelector(part));
          const { left, right, top } = range.getBoundingClientRect();
          return { left, right, top };
        }))"""
    )
    rows = {}
    for name, value in texts:
        rows.setdefault(round(name["top"] / 10), []).append((name, value))
    assert len({len(row) for row in rows.values()}) == 1
    near = [value["left"] - name["right"] for name, value in texts]
    apart = [
        after["left"] - value["right"]
        for row in rows.values()
        for (_name, value), (after, _value) in pairwise(row)
    ]
    # The name of the next slider follows its tick box, which is 27 pixels wide with its gap.
    assert min(near) >= 16
    assert min(apart) >= 27 + 20
