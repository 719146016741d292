"""The scores explorer in a real browser: its numbers are those of `scoring`."""

import numpy as np
import pytest

from attn_course import scoring
from attn_course.figures.explorers import ScoresExplorer
from attn_course.figures.explorers.scores import WIDTHS
from tests.browser import explorer_checks as checks
from tests.browser.explorer_checks import differences, shown
from tests.browser.page_checks import PHONE


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    return checks.alone(ScoresExplorer(), tmp_path_factory.mktemp("bare page"))


def slider(explorer, name):
    return explorer.get_by_role("slider", name=name)


# --- numbers: the page's against the package's --------------------------------------------------


def expected(state):
    """Return the numbers for a state: query, key and parameters written out in full width."""
    p = {name: np.array(value) for name, value in state["parameters"].items()}
    n = state["d_k"] // 2
    root = round(np.sqrt(n))
    signs = [1] * ((n + root) // 2) + [-1] * ((n - root) // 2)
    assert len(signs) == n
    assert sum(signs) == root
    q = np.concatenate([state["query"]] * n)[None, :]
    k = np.concatenate([sign * np.array(state["key"]) for sign in signs])[None, :]
    W = np.zeros((2 * n, 2 * n))
    for i in range(0, 2 * n, 2):
        W[i : i + 2, i : i + 2] = p["W"]
    W_q = np.concatenate([sign * p["W_q"] / root for sign in signs], axis=1)
    W_k = np.concatenate([p["W_k"] / root] * n, axis=1)
    b = np.concatenate([p["b"]] * n)
    scores = {
        "additive": scoring.additive(q, k, p["w"], W_q, W_k, p["b_additive"]),
        "dot": scoring.dot(q, k),
        "scaled_dot": scoring.scaled_dot(q, k),
        "general": scoring.general(q, k, W),
        "biased_general": scoring.biased_general(q, k, W, b),
        "activated_general": scoring.activated_general(q, k, W, p["b_activated"]),
        "similarity": scoring.similarity(q, k, state["similarity"]),
    }
    numbers = {name: [float(score[0, 0])] for name, score in scores.items()}
    return numbers | {"query": state["query"], "key": state["key"], "d_k": [state["d_k"]]}


def now(explorer, state, **moved):
    """Return the state with what the page says about the two vectors."""
    numbers = shown(explorer)
    return {**state, "query": numbers["query"], "key": numbers["key"], **moved}


def test_the_comparison_sees_a_small_error_in_every_number(bare):
    for d_k in (2, 50):
        assert checks.unseen_errors(expected({**bare.values, "d_k": d_k})) == []


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (("Math.tanh(entry +", "Math.tanh(1.00001 * entry +"), {"additive"}),
        ((" dot: inner(q, k)", " dot: 1.00001 * inner(q, k)"), {"dot"}),
        (("Math.sqrt(state.d_k)", "Math.sqrt(1.00002 * state.d_k)"), {"scaled_dot"}),
        (
            ("times(W, query)", "times(W, query).map(x => 1.00001 * x)"),
            {"general", "biased_general", "activated_general"},
        ),
        (("entry + b[i]", "entry + 1.00001 * b[i]"), {"biased_general"}),
        (("+ b_activated", "+ 1.00001 * b_activated"), {"activated_general"}),
        (("cosine: (q, k) =>", "cosine: (q, k) => 1.00001 *"), {"similarity"}),
    ],
)
def test_the_comparison_sees_a_wrong_module(visit, tmp_path, change, names):
    wrong = checks.alone(ScoresExplorer(key=(0.5, 0.2)), tmp_path, change=change)
    found = differences(shown(wrong.live(visit(wrong))), expected(wrong.values))
    assert set(found) == names


def test_it_starts_with_the_packages_numbers(live, bare):
    assert differences(shown(live), expected(bare.values)) == []


# --- moving it ----------------------------------------------------------------------------------


@pytest.mark.parametrize("vector", ["query", "key"])
@pytest.mark.parametrize("i", [0, 1])
def test_arrow_keys_move_each_entry(live, bare, vector, i):
    control = slider(live, f"{vector[0]}{i + 1}")
    control.focus()
    for _ in range(3):
        control.press("ArrowLeft")
    state = now(live, bare.values)
    moved = [list(state[name]) for name in ("query", "key")]
    wanted = [list(bare.values[name]) for name in ("query", "key")]
    wanted[vector == "key"][i] -= 0.3
    np.testing.assert_allclose(moved, wanted)
    assert differences(shown(live), expected(state)) == []


@pytest.mark.parametrize("similarity", scoring.SIMILARITIES)
def test_every_width_agrees_with_the_package(live, bare, similarity):
    live.get_by_label("Similarity").select_option(similarity)
    slider(live, "q1").press("ArrowLeft")
    slider(live, "k2").press("Home")
    for d_k in WIDTHS:
        state = now(live, bare.values, d_k=d_k, similarity=similarity)
        assert differences(shown(live), expected(state)) == []
        slider(live, "Width").press("ArrowRight")


def test_the_dot_product_grows_with_the_width_and_the_scaled_one_does_not(live):
    before = shown(live)
    slider(live, "Width").press("End")
    after = shown(live)
    assert after["d_k"] == [128]
    assert after["dot"][0] == pytest.approx(8 * before["dot"][0])
    assert after["scaled_dot"][0] == pytest.approx(before["scaled_dot"][0])


def drag(explorer, start, end):
    """Take hold of one place of the plane, and let go at another."""
    picture = explorer.get_by_role("img")
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    mouse = explorer.page.mouse
    mouse.move(*pixels(box, start))
    mouse.down()
    mouse.move(*pixels(box, end), steps=4)
    mouse.up()


def pixels(box, place):
    """Return where a place of the plane is on the screen; 26 pixels around it are left free."""
    unit = (min(box["width"], 240) - 2 * 26) / 6
    x, y = place
    return box["x"] + box["width"] / 2 + unit * x, box["y"] + box["height"] / 2 - unit * y


@pytest.mark.parametrize("vector", ["query", "key"])
def test_a_pointer_takes_a_tip_along(live, bare, vector):
    drag(live, bare.values[vector], (-1.5, -0.7))
    state = now(live, bare.values)
    assert state[vector] == [-1.5, -0.7]
    assert {**state, vector: bare.values[vector]} == bare.values  # and the other one stays
    assert differences(shown(live), expected(state)) == []


def test_a_finger_takes_a_tip_along_and_elsewhere_scrolls_the_page(visit, bare):
    page = visit(bare, viewport=PHONE, has_touch=True, is_mobile=True)
    live = bare.live(page)
    box = live.get_by_role("img").bounding_box()

    def swipe(start, end):
        checks.swipe(page, pixels(box, start), pixels(box, end))

    swipe(bare.values["query"], (-1.5, -0.7))
    assert shown(live)["query"] == [-1.5, -0.7]
    assert page.evaluate("scrollY") == 0
    swipe((-2.5, -2.5), (-2.5, 2.5))
    page.wait_for_function("scrollY > 0")
    assert shown(live)["query"] == [-1.5, -0.7]


def test_a_tip_stays_in_the_picture(live, bare):
    drag(live, bare.values["query"], (5, 5))
    assert shown(live)["query"] == [3, 3]


def test_a_pointer_elsewhere_moves_nothing(live, bare):
    drag(live, (-2.5, -2.5), (-1, 1))
    assert differences(shown(live), expected(bare.values)) == []


@pytest.mark.parametrize("similarity", scoring.SIMILARITIES)
def test_a_query_of_length_zero_has_scores(visit, tmp_path, similarity):
    explorer = ScoresExplorer(query=(0.0, 0.0), key=(0.0, 0.0), similarity=similarity)
    place = checks.alone(explorer, tmp_path)
    assert differences(shown(place.live(visit(place))), expected(place.values)) == []


def test_two_arrows_that_coincide_have_the_cosines_of_the_note(visit, tmp_path):
    place = checks.alone(ScoresExplorer(query=(1.0, 2.0), key=(1.0, 2.0)), tmp_path)
    live = place.live(visit(place))
    checks.unfold(live)
    assert live.get_by_text("cosine of 1 at width 2, and of 1/8 at width 128").is_visible()
    assert shown(live)["similarity"] == pytest.approx([1])
    slider(live, "Width").press("End")
    assert shown(live)["similarity"] == pytest.approx([1 / 8])


def test_what_is_said_are_the_two_dot_products(live):
    slider(live, "Width").press("ArrowRight")
    numbers = shown(live)
    said = [f"{numbers[name][0]:.4f}" for name in ("dot", "scaled_dot")]
    report = live.get_by_role("status").inner_text()
    assert report.split("\n") == [f"Dot product {said[0]}", f"Scaled dot product {said[1]}"]


# --- the picture --------------------------------------------------------------------------------


@pytest.mark.parametrize("d_k", [2, 128])
def test_the_bars_are_as_long_as_the_scores_up_to_ten(live, bare, d_k):
    live.get_by_label("Similarity").select_option("euclidean")
    slider(live, "Width").press("Home" if d_k == 2 else "End")
    bars = live.locator("[data-bar]").evaluate_all(
        "all => all.map(cell => [cell.dataset.bar, cell.querySelector('rect').x.baseVal.value,"
        " cell.querySelector('rect').width.baseVal.value, cell.getBoundingClientRect().width])"
    )
    numbers = expected({**bare.values, "similarity": "euclidean", "d_k": d_k})
    for name, start, width, whole in bars:
        score = np.clip(numbers[name][0] / 10, -1, 1)
        assert width / whole == pytest.approx(abs(score) / 2, abs=1e-3)
        assert start / whole == pytest.approx(min(0.5, 0.5 + score / 2), abs=1e-3)


# --- without JavaScript -------------------------------------------------------------------------


def test_without_javascript_the_figure_stands_with_its_numbers(browser, bare):
    with checks.without_javascript(browser, bare) as still:
        assert still.get_by_role("img").is_visible()
        assert differences(shown(still), expected(bare.values)) == []
