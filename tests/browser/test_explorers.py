"""Explorers in a real browser: moved by hand, their numbers compared with the package's.

They are alone on a bare page, opened from a folder, without a server and without a kernel;
`test_explorers_for_everyone` compares the chapter of the built book with that.
"""

import copy
import json
import math
import re
from dataclasses import dataclass

import numpy as np
import pytest

from attn_course import nadaraya_watson
from attn_course.figures.explorers import NadarayaWatsonExplorer, still
from attn_course.figures.explorers import page as explorer_page
from tests.browser import jupyter_server
from tests.browser.explorer_checks import shown
from tests.browser.page_checks import DESKTOP

HOST = '[data-explorer="nadaraya_watson"]'
LIVE = f'{HOST}[data-explorer-state="live"]'
VALUES = re.compile(r"<script[^>]*data-explorer-values[^>]*>(.*?)</script>", re.DOTALL)


# --- pages with explorers -----------------------------------------------------------------------


@dataclass
class Place:
    """A page, and the state its explorers start with, read from the file and not the browser."""

    address: str
    values: list[dict]


def place(file):
    values = [json.loads(text) for text in VALUES.findall(file.read_text(encoding="utf-8"))]
    return Place(file.as_uri(), values)


def bare_page(*explorers):
    figures = "\n<hr>\n".join(
        explorer_page.redrawn(explorer.to_html(), still.draw) for explorer in explorers
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Explorers</title>'
        '<meta name="viewport" content="width=device-width"><main><h1>Explorers</h1>'
        f"{figures}</main></html>"
    )


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    points = nadaraya_watson.noisy_curve(np.random.default_rng(1), n=31)
    few = NadarayaWatsonExplorer([1.0, 2.0, 5.0], [0.0, 3.0, 1.0], w=0.5)
    file = tmp_path_factory.mktemp("bare page") / "bare.html"
    text = bare_page(NadarayaWatsonExplorer(*points, truth=nadaraya_watson.true_curve, w=2.0), few)
    file.write_text(text, encoding="utf-8")
    return place(file)


@pytest.fixture
def explorer(visit, bare):
    """Return the first explorer of the page, alive, and the state it started with."""
    live = visit(bare).locator(LIVE).first
    live.wait_for()
    return live, bare.values[0]


def slider(explorer, name):
    return explorer.get_by_role("slider", name=name)


# --- numbers: the page's against the package's --------------------------------------------------


def expected(values, w, query, kernel="gaussian", leave_one_out=False):
    """Return the same numbers, computed by the package."""
    x, y = np.array(values["inputs"]), np.array(values["targets"])
    at = np.array([query])
    mask = everyone = None
    if leave_one_out:
        mask, everyone = (x != query)[None, :], nadaraya_watson.leave_one_out_mask(len(x))
    weights = nadaraya_watson.weights(at, x, w, mask, kernel)[0]
    largest = np.argsort(-weights, kind="stable")[:5]
    error = nadaraya_watson.regress(x, x, y, w, everyone, kernel) - y
    return {
        "query": [query],
        "w": [w],
        "prediction": nadaraya_watson.regress(at, x, y, w, mask, kernel).tolist(),
        "total": [weights.sum()],
        "loss": [0.5 * np.sum(error**2)],
        "key": x[largest].tolist(),
        "value": y[largest].tolist(),
        "weight": weights[largest].tolist(),
    }


def differences(shown, expected):
    """Return the names of numbers that differ by more than 1e-12 of themselves."""
    return [
        name
        for name in sorted(shown.keys() | expected.keys())
        if len(shown.get(name, [])) != len(expected.get(name, []))
        or not all(
            math.isclose(s, e, rel_tol=1e-12, abs_tol=1e-300)
            for s, e in zip(shown[name], expected[name], strict=True)
        )
    ]


def test_the_comparison_sees_a_small_error_in_every_number():
    values = {"inputs": [1.0, 2.0, 3.5, 5.0, 7.0, 9.0], "targets": [1.0, 4.0, 2.0, 8.0, 5.0, 7.0]}
    right = expected(values, w=0.7, query=2.5)
    assert differences(copy.deepcopy(right), right) == []
    for name, numbers in right.items():
        for i in range(len(numbers)):
            wrong = copy.deepcopy(right)
            wrong[name][i] *= 1 + 1e-5
            assert differences(wrong, right) == [name]


def test_the_comparison_sees_a_wrong_module(visit, bare, tmp_path):
    """Plant an error of 1e-5 in the module's arithmetic and look with the browser."""
    points = bare.values[0]["inputs"], bare.values[0]["targets"]
    sound = bare_page(NadarayaWatsonExplorer(*points, w=2.0))
    broken = sound.replace("Math.exp(-0.5 *", "Math.exp(-0.500005 *")
    assert broken != sound
    file = tmp_path / "broken.html"
    file.write_text(broken, encoding="utf-8")
    live = visit(place(file)).locator(LIVE)
    live.wait_for()
    found = differences(shown(live), expected(bare.values[0], w=2.0, query=2.5))
    assert {"prediction", "loss", "weight"} <= set(found)


# --- moving it ----------------------------------------------------------------------------------


def test_it_starts_with_the_packages_numbers(explorer):
    live, values = explorer
    started = expected(values, values["w"], values["query"], values["kernel"])
    assert differences(shown(live), started) == []


def test_arrow_keys_move_w(explorer):
    live, values = explorer
    w = slider(live, "bandwidth")
    before = shown(live)
    w.focus()
    for _ in range(3):
        w.press("ArrowRight")
    now = shown(live)
    assert now["w"][0] == pytest.approx(values["w"] + 0.3)
    assert now["prediction"] != before["prediction"]
    assert differences(now, expected(values, now["w"][0], values["query"])) == []


def test_arrow_keys_move_the_query(explorer):
    live, values = explorer
    query = slider(live, "Query")
    query.focus()
    for _ in range(5):
        query.press("ArrowLeft")
    now = shown(live)
    assert now["query"][0] < values["query"]
    assert differences(now, expected(values, values["w"], now["query"][0])) == []


def test_the_ends_of_the_slider_are_the_mean_and_nearly_the_nearest(explorer):
    live, values = explorer
    w = slider(live, "bandwidth")
    w.press("Home")
    now = shown(live)
    assert now["w"] == [0]
    assert now["prediction"][0] == pytest.approx(np.mean(values["targets"]), rel=1e-12)
    w.press("End")
    now = shown(live)
    assert now["w"] == [20]
    assert differences(now, expected(values, 20.0, values["query"])) == []


@pytest.mark.parametrize("name", ["bandwidth", "Query"])
def test_a_pointer_moves_a_slider(explorer, name):
    live, values = explorer
    control = slider(live, name)
    control.scroll_into_view_if_needed()
    box = control.bounding_box()
    middle = box["y"] + box["height"] / 2
    mouse = live.page.mouse
    mouse.move(box["x"] + 0.3 * box["width"], middle)
    mouse.down()
    first = shown(live)
    mouse.move(box["x"] + 0.8 * box["width"], middle, steps=4)
    mouse.up()
    second = shown(live)
    trait = {"bandwidth": "w", "Query": "query"}[name]
    assert first[trait][0] < second[trait][0]
    for numbers in (first, second):
        right = expected(values, numbers["w"][0], numbers["query"][0])
        assert differences(numbers, right) == []


def test_a_pointer_in_the_picture_takes_the_query_along(explorer):
    live, values = explorer
    picture = live.get_by_role("img")
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    mouse = live.page.mouse
    mouse.move(box["x"] + 0.75 * box["width"], box["y"] + 60)
    assert shown(live)["query"] == [values["query"]]  # hovering is not dragging
    mouse.down()
    mouse.move(box["x"] + 0.25 * box["width"], box["y"] + 90, steps=3)
    mouse.up()
    now = shown(live)
    low, high = values["span"]
    assert low < now["query"][0] < low + 0.3 * (high - low)
    assert float(slider(live, "Query").input_value()) == now["query"][0]
    assert differences(now, expected(values, values["w"], now["query"][0])) == []


@pytest.mark.parametrize("kernel", nadaraya_watson.KERNELS)
def test_every_kernel_agrees_with_the_package(explorer, kernel):
    live, values = explorer
    live.get_by_label("Kernel").select_option(kernel)
    for key in ("PageUp", "PageUp", "Home", "End"):
        slider(live, "bandwidth").press(key)
        now = shown(live)
        assert differences(now, expected(values, now["w"][0], values["query"], kernel)) == []


def test_a_key_exactly_one_bandwidth_away_is_in_the_boxcar(visit, bare):
    few = visit(bare).locator(LIVE).nth(1)  # keys 1, 2, 5 and the query at 3
    few.get_by_label("Kernel").select_option("boxcar")
    for _ in range(5):
        slider(few, "bandwidth").press("ArrowRight")
    now = shown(few)
    assert now["w"] == [1]
    assert now["weight"] == [1, 0, 0]
    assert differences(now, expected(bare.values[1], 1.0, 3.0, "boxcar")) == []


def test_without_a_key_in_reach_all_is_zero_and_the_page_says_so(visit, bare):
    few = visit(bare).locator(LIVE).nth(1)
    few.get_by_label("Kernel").select_option("triangular")
    slider(few, "bandwidth").press("End")
    now = shown(few)
    assert now["prediction"] == now["total"] == [0]
    assert differences(now, expected(bare.values[1], 20.0, 3.0, "triangular")) == []
    assert few.get_by_text("No key is in reach").is_visible()


def test_leaving_one_out_goes_from_point_to_point(explorer):
    live, values = explorer
    live.get_by_label("Leave one out").check()
    points = sorted(values["inputs"])
    for key in (None, "ArrowRight", "ArrowRight", "Home", "End"):
        if key:
            slider(live, "Query").press(key)
        now = shown(live)
        assert now["query"][0] in points
        right = expected(values, values["w"], now["query"][0], leave_one_out=True)
        assert differences(now, right) == []
    assert now["query"][0] == points[-1]
    live.get_by_label("Leave one out").uncheck()
    now = shown(live)
    assert differences(now, expected(values, values["w"], points[-1])) == []


def test_two_explorers_on_a_page_share_code_and_nothing_else(visit, bare):
    page = visit(bare)
    first, second = page.locator(LIVE).nth(0), page.locator(LIVE).nth(1)
    second.wait_for()
    before = shown(second)
    slider(first, "bandwidth").press("End")
    assert shown(first)["w"] == [20]
    assert shown(second) == before
    assert page.evaluate("window.attnExplorerModules.size") == 1


# --- the picture --------------------------------------------------------------------------------


def attributes(explorer, selector, *names):
    return explorer.locator(selector).evaluate_all(
        "(all, names) => all.map(one => names.map(name => one.getAttribute(name)))", list(names)
    )


def test_the_curve_is_drawn_where_the_package_puts_it(explorer):
    """The points say how numbers become pixels; the curve must follow the same rule."""
    live, values = explorer
    slider(live, "bandwidth").press("PageUp")
    w = shown(live)["w"][0]
    x, y = np.array(values["inputs"]), np.array(values["targets"])
    circles = np.array(attributes(live, "circle.seen", "cx", "cy"), dtype=float)
    across = np.polynomial.Polynomial.fit(x, circles[:, 0], 1)
    up = np.polynomial.Polynomial.fit(y, circles[:, 1], 1)
    grid = np.array(values["grid"])

    path = attributes(live, "path.fitted", "d")[0][0]
    drawn = np.array([step.split() for step in re.split("[ML]", path) if step], dtype=float)
    curve = nadaraya_watson.regress(grid, x, y, w)
    np.testing.assert_allclose(drawn, np.stack([across(grid), up(curve)], axis=-1), atol=0.011)


def test_the_stems_are_as_high_as_the_weights(explorer):
    live, values = explorer
    paths = [d for (d,) in attributes(live, "path.stem", "d")]
    ends = np.array([re.fullmatch(r"M\S+ (\S+)V(\S+)", path).groups() for path in paths], float)
    heights = ends[:, 0] - ends[:, 1]
    at = np.array([values["query"]])
    weights = nadaraya_watson.weights(at, np.array(values["inputs"]), values["w"])[0]
    np.testing.assert_allclose(heights / heights.max(), weights / weights.max(), atol=1e-10)


# --- for everyone -------------------------------------------------------------------------------


def test_in_dark_mode_the_book_puts_no_light_plate_behind_it(visit, book_html):
    page = visit(place(book_html / "01_nadaraya_watson.html"), color_scheme="dark")
    page.locator(LIVE).first.wait_for()
    plates = page.locator(f".cell_output .text_html:has({HOST})").evaluate_all(
        "all => all.map(one => getComputedStyle(one).backgroundColor)"
    )
    assert plates
    assert set(plates) == {"rgba(0, 0, 0, 0)"}


def test_without_javascript_the_figure_stands_with_its_numbers(browser, bare):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(bare.address)
    still = page.locator(HOST).first
    assert still.get_by_role("img").is_visible()
    values = bare.values[0]
    assert differences(shown(still), expected(values, values["w"], values["query"])) == []
    context.close()


def test_a_module_that_fails_leaves_the_still_figure(browser, bare, tmp_path):
    points = bare.values[0]["inputs"], bare.values[0]["targets"]
    broken = bare_page(NadarayaWatsonExplorer(*points)).replace(
        "function render(", "function render() { throw new Error('planted') } function unused("
    )
    file = tmp_path / "failing.html"
    file.write_text(broken, encoding="utf-8")
    context = browser.new_context()
    page = context.new_page()
    page.goto(file.as_uri())
    page.locator(f'{HOST}[data-explorer-state="still"]').wait_for()
    assert page.locator(HOST).get_by_role("img").is_visible()
    context.close()


# --- in JupyterLab, with Python behind it -------------------------------------------------------

CELLS = """
import numpy as np
from attn_course import nadaraya_watson
from attn_course.figures.explorers import NadarayaWatsonExplorer
x, y = nadaraya_watson.noisy_curve(np.random.default_rng(1), n=13)
explorer = NadarayaWatsonExplorer(x, y, truth=nadaraya_watson.true_curve, w=2.0, query=2.5)
explorer
---
explorer.w = 7.5
explorer.kernel = "epanechnikov"
---
import json
print(json.dumps({"query": explorer.query, "prediction": explorer.prediction}))
"""


def test_in_jupyterlab_the_figure_and_python_move_each_other(browser, lab):
    context = browser.new_context(viewport=DESKTOP)
    page = context.new_page()
    lab.open(page, "explorer.ipynb")

    figure = jupyter_server.run(page, 0).locator(".attn-explorer")
    figure.wait_for()
    assert figure.count() == 1
    x, y = nadaraya_watson.noisy_curve(np.random.default_rng(1), n=13)
    values = {"inputs": x, "targets": y}
    assert differences(shown(figure), expected(values, 2.0, 2.5)) == []

    jupyter_server.run(page, 1)  # Python moves the figure
    moved = expected(values, 7.5, 2.5, "epanechnikov")
    jupyter_server.wait_for(page, lambda: differences(shown(figure), moved) == [])

    query = slider(figure, "Query")  # the figure moves Python; arrow keys are the slider's
    query.press("ArrowRight")
    query.press("ArrowRight")
    now = shown(figure)
    assert now["query"][0] == pytest.approx(2.52)

    def python_knows():  # not at once: the widget sends what is newest when the kernel has time
        output = jupyter_server.run(page, 2).locator(".jp-OutputArea-output").inner_text()
        there = json.loads(output)
        return there["query"] == now["query"][0] and math.isclose(
            there["prediction"], now["prediction"][0], rel_tol=1e-12
        )

    jupyter_server.wait_for(page, python_knows)
    context.close()
