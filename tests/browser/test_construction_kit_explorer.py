"""The construction kit in a real browser: its numbers are those of `Attention.report`."""

import pytest

from attn_course.figures.explorers import ConstructionKitExplorer
from attn_course.figures.explorers.construction_kit import STEPS
from tests.browser import explorer_checks as checks
from tests.browser.explorer_checks import differences, shown

TOTALS = ("parameters", "flops", "memory")


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    return checks.alone(ConstructionKitExplorer(), tmp_path_factory.mktemp("bare page"))


def expected(**moved):
    """Return the numbers for a state, computed in Python."""
    cost = ConstructionKitExplorer(**moved).cost
    return {what: [getattr(cost, what)] for what in TOTALS} if cost else {}


def totals(live):
    return {what: numbers for what, numbers in shown(live).items() if what in TOTALS}


def choose(live, **moved):
    """Set the controls as a reader does."""
    words = {"score": "Score", "align": "Alignment", "dimension": "Dimension", "query": "Query"}
    for trait, value in moved.items():
        if trait in words:
            live.get_by_role("combobox", name=words[trait]).select_option(value)
            continue
        names = {"n": "n features", "q": "q queries", "d": "d width"}
        slider = live.get_by_role("slider", name=names.get(trait, trait))
        slider.press("Home")
        for _ in range(STEPS[trait].index(value)):
            slider.press("ArrowRight")


# --- numbers: the page's against the package's --------------------------------------------------


def test_the_comparison_sees_a_small_error_in_every_number():
    assert checks.unseen_errors(expected()) == []


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (("hops * 2 * d * d * (q + 2 * n)", "hops * 2 * d * d * (q + 3 * n)"), {"flops"}),
        (("hops * heads * q * n", "hops * q * n"), {"memory"}),
        (('[hops, name, d, d]', '[hops, name, d, size]'), {"parameters"}),
    ],
)  # fmt: skip
def test_the_comparison_sees_a_wrong_module(visit, tmp_path, change, names):
    wrong = checks.alone(ConstructionKitExplorer(), tmp_path, change=change)
    found = differences(totals(wrong.live(visit(wrong))), expected())
    assert set(found) == names


def test_it_starts_with_the_packages_numbers(live):
    assert differences(totals(live), expected()) == []


# --- moving it ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "moved",
    [
        {"heads": 8},
        {"heads": 1, "score": "additive", "query": "basic", "q": 3, "n": 7},
        {"heads": 1, "score": "general", "query": "basic", "hops": 3, "q": 5, "d": 24},
        {"heads": 1, "score": "additive", "query": "removed", "dimension": "multi"},
        {"heads": 1, "score": "dot", "query": "learned", "capsules": 4, "align": "reinforced"},
        {"heads": 4, "hops": 6, "n": 100, "d": 512},
    ],
    ids=str,
)
def test_what_a_reader_chooses_costs_what_the_package_says(visit, bare, moved):
    live = bare.live(visit(bare))
    choose(live, **moved)
    assert expected(**moved)
    assert differences(totals(live), expected(**moved)) == []
    name = ConstructionKitExplorer(**moved).model or "No model of the survey's table: yours."
    assert name in live.get_by_role("status").inner_text()


def test_nonsense_is_explained_and_can_be_undone(live):
    report = live.get_by_role("status")
    choose(live, query="removed")
    reason = ConstructionKitExplorer(query="removed").refusal
    assert reason
    assert reason in report.inner_text()
    assert totals(live) == {}
    choose(live, query="self")
    assert "Vaswani 2017" in report.inner_text()
    assert differences(totals(live), expected()) == []


def test_heads_that_cannot_share_the_width_say_so(live):
    choose(live, heads=3)
    assert "3 heads can't share a width of 16 equally." in live.get_by_role("status").inner_text()


def test_queries_that_a_layer_makes_itself_are_called_its_own(live):
    queries = live.get_by_role("slider", name="q queries")
    assert queries.get_attribute("aria-valuetext") == "own"
    choose(live, query="basic", q=10)
    assert queries.get_attribute("aria-valuetext") == "10"


# --- links --------------------------------------------------------------------------------------


def follow(page, link):
    page.evaluate("link => { location.hash = link }", link)


def test_a_link_sets_it(visit, bare):
    page = visit(bare)
    live = bare.live(page)
    follow(page, "#construction_kit?score=additive&query=basic&heads=1")
    assert "Bahdanau 2015" in live.get_by_role("status").inner_text()
    follow(page, "#construction_kit?query=removed")  # nonsense can be linked to as well
    assert "makes no sense" in live.get_by_role("status").inner_text()


@pytest.mark.parametrize("link", ["score=sum", "heads=2.5", "heads=9", "n=4", "d=0", "query="])
def test_a_link_that_no_hand_could_follow_sets_nothing(visit, bare, link):
    page = visit(bare)
    live = bare.live(page)
    before = checks.setting(live)
    follow(page, f"#construction_kit?{link}")
    assert checks.setting(live) == before


# --- the picture --------------------------------------------------------------------------------

# The widest shapes and formulas, the longest sentence, and every other kind of picture.
WIDEST = [
    {"score": "additive", "heads": 8, "hops": 6, "n": 1000, "d": 512},
    {"score": "additive", "query": "basic", "heads": 1, "hops": 6, "n": 1000, "q": 100, "d": 512},
    {"score": "additive", "heads": 1, "dimension": "multi", "n": 1000, "d": 512},
    {"score": "dot", "query": "learned", "heads": 1, "capsules": 6, "align": "local_predictive"},
    {"score": "additive", "query": "removed", "heads": 3, "hops": 2},
]


@pytest.mark.parametrize("state", WIDEST, ids=str)
@pytest.mark.parametrize("screen", checks.PHONES, ids=lambda screen: f"{screen['width']} px")
def test_whatever_is_chosen_fits_on_a_phone(visit, tmp_path, state, screen):
    place = checks.alone(ConstructionKitExplorer(**state), tmp_path)
    page = visit(place, viewport=screen)
    live = place.live(page)
    figure, foot = live.locator(".scene").bounding_box(), live.locator(".foot").bounding_box()
    if screen["width"] == checks.SMALL_SCREEN["width"]:
        assert foot["y"] + foot["height"] - figure["y"] <= checks.SMALL_SCREEN["height"]
    assert checks.phone_faults(page, live) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_where_choices_clash(visit, tmp_path, theme):
    place = checks.alone(ConstructionKitExplorer(**WIDEST[-1]), tmp_path)
    page = visit(place, color_scheme=theme)
    checks.unfold(place.live(page))
    assert checks.access_faults(page, place) == []


@pytest.mark.parametrize("state", [{}, *WIDEST], ids=str)
def test_no_formula_leaves_its_box(visit, tmp_path, state):
    place = checks.alone(ConstructionKitExplorer(**state), tmp_path)
    live = place.live(visit(place, viewport=checks.SMALL_SCREEN))
    outside = live.locator("rect.stage").evaluate_all(
        """all => all.flatMap(box => {
          const text = box.nextElementSibling;
          const [a, b] = [box.getBoundingClientRect(), text.getBoundingClientRect()];
          const isInside = b.left >= a.left && b.right <= a.right
            && b.top >= a.top - 2 && b.bottom <= a.bottom + 2;
          return isInside ? [] : [text.textContent];
        })"""
    )
    assert outside == []


def test_each_head_is_a_sheet(live):
    assert live.locator(".sheet").count() == 2
    choose(live, heads=4)
    assert live.locator(".sheet").count() == 4
    choose(live, heads=1)
    assert live.locator(".sheet").count() == 0


def test_letters_have_the_colours_of_the_course(live):
    for letter, colour in (("q", "orange"), ("k", "blue-grey"), ("v", "blue-grey"), ("a", "blue")):
        written = live.locator(".maths .letter").filter(has_text=letter).all()
        paints = [one.evaluate("one => getComputedStyle(one).fill") for one in written]
        assert paints
        assert {checks.colour_of(paint) for paint in paints} == {colour}


# --- without JavaScript -------------------------------------------------------------------------


def test_without_javascript_the_figure_stands_with_its_numbers(browser, bare):
    with checks.without_javascript(browser, bare) as still:
        assert still.get_by_role("img").is_visible()
        assert differences(totals(still), expected()) == []
