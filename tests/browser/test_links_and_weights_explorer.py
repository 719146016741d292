"""The explorer of links and weights in a real browser: its numbers are those of `evaluation`."""

import pytest

from attn_course.figures.explorers import LinksAndWeightsExplorer
from attn_course.figures.explorers.links_and_weights import DEFAULT_GATHERED, DEFAULT_RIGHT, TARGET
from tests.browser import explorer_checks as checks
from tests.browser.explorer_checks import Place, differences, setting, shown

# What each button sets.
EXAMPLES = {
    "barely right": ([0.26] * 5, [False] * 5),
    "barely wrong": ([0.49] * 5, [True] * 5),
    "uniform": ([0.25] * 5, [False] * 5),
    "one row wrong": ([1.0, 0.0, 1.0, 1.0, 1.0], [True] * 5),
}


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    return checks.alone(LinksAndWeightsExplorer(), tmp_path_factory.mktemp("bare page"))


def expected(*moved):
    """Return the numbers for a state, computed by the package."""
    explorer = LinksAndWeightsExplorer(*moved)
    counts = explorer.counts
    return {
        "weight": explorer.weights.ravel().tolist(),
        "source": [source + 1 for _target, source in sorted(explorer.links)],
        "share": explorer.correctness_by_row.tolist(),
        "drawn": [counts.drawn],
        "sure": [counts.sure],
        "drawn_and_sure": [counts.drawn_and_sure],
        "drawn_and_possible": [counts.drawn_and_possible],
        "aer": [explorer.error_rate],
        "correctness": [explorer.correctness],
        "uniform": [explorer.uniform_correctness],
    }


def row(explorer):
    return explorer.get_by_role("combobox", name="Row")


def weight(explorer):
    return explorer.get_by_role("slider", name="Weight on the gold word")


def rest(explorer):
    return explorer.get_by_role("checkbox", name="One wrong word")


# --- numbers: the page's against the package's --------------------------------------------------


def test_the_comparison_sees_a_small_error_in_every_number():
    assert checks.unseen_errors(expected()) == []


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (("? right[i] : wrong(j)", "? 1.00001 * right[i] : wrong(j)"), {"weight", "correctness"}),
        (("correctness: mean(", "correctness: 1.00001 * mean("), {"correctness"}),
        (("errorRate: 1 - (", "errorRate: 1 - 1.00001 * ("), {"aer"}),
        (("uniform: 1 /", "uniform: 1.00001 /"), {"uniform"}),
        (("hit && sure[i]", "hit"), {"drawn_and_sure", "aer"}),
    ],
)
def test_the_comparison_sees_a_wrong_module(visit, tmp_path, change, names):
    wrong = checks.alone(LinksAndWeightsExplorer(), tmp_path, change=change)
    found = differences(shown(wrong.live(visit(wrong))), expected())
    assert names <= set(found)


def test_it_starts_with_the_packages_numbers(live):
    assert differences(shown(live), expected()) == []


# --- moving it ----------------------------------------------------------------------------------


@pytest.mark.parametrize("place", range(1, 6))
def test_one_row_moves_alone_and_agrees_with_the_package(visit, bare, place):
    live = bare.live(visit(bare))
    row(live).select_option(str(place))
    right, gathered = list(DEFAULT_RIGHT), list(DEFAULT_GATHERED)
    assert rest(live).is_checked() == gathered[place - 1]
    for is_gathered in (True, False):
        rest(live).set_checked(is_gathered)
        gathered[place - 1] = is_gathered
        for key in ("Home", "ArrowRight", "PageUp", "PageUp", "End"):
            weight(live).press(key)
            right[place - 1] = float(weight(live).input_value())
            assert differences(shown(live), expected(right, gathered)) == []


@pytest.mark.parametrize("is_gathered", [False, True])
def test_all_rows_move_together(visit, bare, is_gathered):
    live = bare.live(visit(bare))
    row(live).select_option("0")
    assert weight(live).get_attribute("aria-valuetext") == f"{sum(DEFAULT_RIGHT) / 5:.2f}"
    rest(live).set_checked(not is_gathered)
    rest(live).set_checked(is_gathered)
    for key in ("Home", "PageUp", "ArrowRight", "End"):
        weight(live).press(key)
        share = float(weight(live).input_value())
        assert differences(shown(live), expected([share] * 5, [is_gathered] * 5)) == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_agrees_with_the_package(live, name):
    live.get_by_role("button", name=name, exact=True).click()
    assert differences(shown(live), expected(*EXAMPLES[name])) == []


def test_the_measures_disagree_about_two_examples(live):
    live.get_by_role("button", name="barely right").click()
    right = shown(live)
    live.get_by_role("button", name="barely wrong").click()
    wrong = shown(live)
    assert right["aer"] == [0]
    assert wrong["aer"] == [1]
    assert right["correctness"] < wrong["correctness"]


def test_a_click_on_a_cell_chooses_its_row(visit, bare):
    live = bare.live(visit(bare))
    cells = live.locator("rect.cell.weight")
    for place in (5, 1, 3):
        cells.nth(4 * (place - 1) + 2).click(force=True)
        assert row(live).input_value() == str(place)
        assert live.locator("text.query").all_text_contents() == [TARGET[place - 1]]
    live.locator("rect.hollow").first.click(force=True)  # a measure is no row
    assert row(live).input_value() == "3"


def test_the_report_says_when_word_order_decides(live):
    report = live.get_by_role("status")
    assert "A tie" not in report.inner_text()
    live.get_by_role("button", name="uniform").click()
    assert "A tie" in report.inner_text()
    assert live.locator("circle.unjudged").count() == 5


# --- links --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "state"),
    [
        ("right=0.26,0.26,0.26,0.26,0.26&gathered=0,0,0,0,0", EXAMPLES["barely right"]),
        ("right=0.49,0.49,0.49,0.49,0.49&gathered=1,1,1,1,1&row=0", EXAMPLES["barely wrong"]),
        ("row=5", (DEFAULT_RIGHT, DEFAULT_GATHERED)),
    ],
)
def test_a_link_sets_it(visit, bare, query, state):
    there = Place(bare.name, f"{bare.address}#links_and_weights?{query}", bare.values)
    assert differences(shown(there.live(visit(there))), expected(*state)) == []


@pytest.mark.parametrize(
    "query",
    [
        "row=6",
        "row=-1",
        "row=1.5",
        "right=1,1,1,1",
        "right=1,1,1,1,1.2",
        "right=1,1,-0.1,1,1",
        "gathered=1,1,1,1,2",
        "gold=0,0,0,0,0",
    ],
)
def test_a_link_that_no_hand_could_follow_sets_nothing(visit, bare, query):
    started = setting(bare.live(visit(bare)))
    there = Place(bare.name, f"{bare.address}#links_and_weights?{query}", bare.values)
    assert setting(there.live(visit(there))) == started


# --- the picture --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_dot_is_in_the_cell_of_its_link(visit, bare, name):
    live = bare.live(visit(bare))
    live.get_by_role("button", name=name, exact=True).click()
    cells = [cell.bounding_box() for cell in live.locator("rect.cell.weight").all()]
    dots = [dot.bounding_box() for dot in live.locator("circle").all()]
    links = [int(source) for source in shown(live)["source"]]
    assert len(dots) == len(links) == 5
    for i, (dot, source) in enumerate(zip(dots, links, strict=True)):
        cell = cells[4 * i + source - 1]
        assert cell["x"] < dot["x"] < dot["x"] + dot["width"] < cell["x"] + cell["width"]
        assert cell["y"] < dot["y"] < dot["y"] + dot["height"] < cell["y"] + cell["height"]


DOTS_ON_NUMBERS = """figure => {
  const numbers = [...figure.querySelectorAll("text")].map(text => text.getBoundingClientRect());
  return [...figure.querySelectorAll("circle")].map(dot => dot.getBoundingClientRect())
    .filter(dot => numbers.some(text => text.left < dot.right && dot.left < text.right
      && text.top < dot.bottom && dot.top < text.bottom)).length;
}"""


@pytest.mark.parametrize("screen", checks.PHONES, ids=lambda screen: f"{screen['width']} px")
@pytest.mark.parametrize("name", EXAMPLES)
def test_no_dot_hides_a_number_on_a_phone(visit, bare, name, screen):
    page = visit(bare, viewport=screen)
    live = bare.live(page)
    live.get_by_role("button", name=name, exact=True).click()
    assert live.locator("svg.picture").evaluate(DOTS_ON_NUMBERS) == 0
    assert checks.phone_faults(page, live) == []


@pytest.mark.parametrize("width", [480, 540, 640, 800])
def test_no_word_collides_on_a_wider_screen(visit, bare, width):
    page = visit(bare, viewport={"width": width, "height": 800})
    assert checks.phone_faults(page, bare.live(page)) == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_and_its_controls_share_the_screen_of_a_phone(visit, bare, name):
    live = bare.live(visit(bare, viewport=checks.SMALL_SCREEN))
    row(live).select_option("4")
    live.get_by_role("button", name=name, exact=True).click()
    figure, foot = live.locator(".scene").bounding_box(), live.locator(".foot").bounding_box()
    assert foot["y"] + foot["height"] - figure["y"] <= checks.SMALL_SCREEN["height"]


# --- without JavaScript -------------------------------------------------------------------------


def test_without_javascript_the_figure_stands_with_its_numbers(browser, bare):
    with checks.without_javascript(browser, bare) as still:
        assert still.get_by_role("img").is_visible()
        assert differences(shown(still), expected()) == []
