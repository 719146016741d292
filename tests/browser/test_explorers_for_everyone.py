"""What every explorer does for everyone: hands, axe, phones, still eyes, paper."""

from itertools import pairwise

import numpy as np
import pytest

from attn_course.figures.explorers import (
    AskExplorer,
    ConstructionKitExplorer,
    LinksAndWeightsExplorer,
    LocalAlignmentExplorer,
    NadarayaWatsonExplorer,
    OnlineSoftmaxExplorer,
    ScoresExplorer,
    SoftmaxExplorer,
)
from attn_course.nadaraya_watson import noisy_curve, true_curve
from tests.browser import explorer_checks as checks
from tests.browser.chapters import CHAPTERS

INPUTS, TARGETS = noisy_curve(np.random.default_rng(1), n=31)
# On the bare page with everything shown that it can show, and with the longest numbers.
FULLEST = {
    NadarayaWatsonExplorer: {
        "inputs": INPUTS,
        "targets": TARGETS - 3,
        "truth": lambda x: true_curve(x) - 3,
        "w": 2.0,
        "leave_one_out": True,
        "query": INPUTS[3],
    },
    ScoresExplorer: {"query": (-3.0, 3.0), "key": (3.0, -3.0), "d_k": 128},
    SoftmaxExplorer: {"mask": [True, True, False, True, True, True]},
    LocalAlignmentExplorer: {"slip": True},
    AskExplorer: {"query": (-3.0, 2.0, -2.5)},
    OnlineSoftmaxExplorer: {"step": 6, "block": 1, "rescale": False, "order": "rising"},
    LinksAndWeightsExplorer: {"right": [0.25] * 5, "gathered": [False] * 5},
    ConstructionKitExplorer: {"score": "additive", "heads": 8, "hops": 6, "n": 1000, "d": 512},
}


@pytest.fixture(scope="module", params=CHAPTERS, ids=lambda kind: kind.name)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def bare(kind, tmp_path_factory):
    return checks.alone(kind(**FULLEST.get(kind, {})), tmp_path_factory.mktemp("bare page"))


@pytest.fixture(scope="module")
def chapter(kind, book_html):
    return checks.in_file(kind.name, book_html / f"{CHAPTERS[kind]}.html")


@pytest.fixture(scope="module", params=["alone", "in its chapter"])
def where(request, bare, chapter):
    return bare if request.param == "alone" else chapter


# --- drawn once ---------------------------------------------------------------------------------


def test_the_still_figure_is_what_the_browser_draws(browser, visit, where):
    parts = (".predict", ".scene", ".report", ".tables")

    def drawn(explorer):
        return [explorer.locator(part).inner_html() for part in parts]

    with checks.without_javascript(browser, where) as still:
        width = still.get_by_role("img").get_attribute("width")
        expected = drawn(still)
    page = visit(where)
    live = where.live(page)
    room = f"width: {width}px !important; min-width: {width}px !important; flex: none !important"
    page.add_style_tag(content=f".attn-explorer .picture {{ {room} }}")
    page.wait_for_function(
        f"document.querySelector('.picture').getAttribute('width') === '{width}'"
    )
    assert checks.same_but_for_rounding(drawn(live), expected)


def test_another_number_in_the_picture_is_seen():
    picture = '<rect x="12.3456" y="0"></rect>'
    assert checks.same_but_for_rounding(
        [picture], [picture.replace("12.3456", "12.34560000000001")]
    )
    assert not checks.same_but_for_rounding([picture], [picture.replace("12.3456", "12.3457")])
    assert not checks.same_but_for_rounding([picture], [picture.replace("rect", "path")])
    assert not checks.same_but_for_rounding([picture], [picture + picture])


# --- hands --------------------------------------------------------------------------------------


def test_in_its_chapter_it_moves_as_it_does_alone(visit, kind, chapter, tmp_path):
    alone = checks.alone_as_in(kind(**FULLEST.get(kind, {})), chapter, tmp_path)
    there, here = (list(checks.moves(place.live(visit(place)))) for place in (chapter, alone))
    assert there == here
    assert len(there) > 1
    assert all(after != before for before, after in pairwise(there))


@pytest.mark.parametrize("place", range(3))
def test_a_finger_that_scrolls_the_page_moves_nothing(visit, bare, place):
    page = visit(bare, viewport={"width": 375, "height": 600}, has_touch=True, is_mobile=True)
    live = bare.live(page)
    page.add_style_tag(content="body { padding-bottom: 600px }")  # all of them have room to scroll
    before = checks.setting(live)
    x, y = checks.places_in(live.get_by_role("img"))[place]
    checks.swipe(page, (x, y), (x + 15, y - 150))  # no finger goes straight up
    page.wait_for_function("scrollY > 50")
    assert checks.setting(live) == before


def test_another_button_of_the_mouse_moves_nothing(live):
    picture = live.get_by_role("img")
    picture.scroll_into_view_if_needed()
    before = checks.setting(live)
    tips = [tip.bounding_box() for tip in picture.locator(".grip").all()]
    middles = [(tip["x"] + tip["width"] / 2 + 5, tip["y"] + tip["height"] / 2) for tip in tips]
    for x, y in checks.places_in(picture) + middles:
        for button in ("right", "middle"):
            live.page.mouse.click(x, y, button=button)
    assert checks.setting(live) == before


def test_what_was_moved_can_start_again(live):
    start, *_, moved = checks.moves(live)
    assert all(now != then for now, then in zip(moved[0], start[0], strict=True))
    again = live.get_by_role("button", name="Start again")
    again.press("Enter")
    assert checks.setting(live) == start
    assert again.evaluate("button => button === document.activeElement")


# --- eyes and ears ------------------------------------------------------------------------------


@pytest.mark.parametrize(("theme", "screen"), checks.THEMES_AND_SCREENS)
def test_axe_finds_nothing(visit, bare, theme, screen):
    page = visit(bare, viewport=screen, color_scheme=theme)
    checks.unfold(bare.live(page))
    assert checks.access_faults(page, bare) == []


def test_axe_looks_at_all(visit, bare):
    page = visit(bare)
    slider = bare.live(page).get_by_role("slider").first
    slider.evaluate("input => input.parentElement.replaceWith(input)")
    assert any("label" in fault for fault in checks.access_faults(page, bare))


def test_what_has_changed_is_said(live):
    report = live.get_by_role("status")
    before = report.inner_text()
    for control in live.get_by_role("slider").all():
        control.press("Home")
    assert report.inner_text() != before


@pytest.mark.parametrize("screen", checks.PHONES, ids=lambda screen: f"{screen['width']} px")
def test_it_fits_on_a_phone(visit, bare, screen):
    page = visit(bare, viewport=screen)
    assert checks.phone_faults(page, bare.live(page)) == []


def test_figure_and_controls_share_the_screen_of_a_phone(visit, where):
    live = where.live(visit(where, viewport=checks.SMALL_SCREEN))
    figure, foot = live.locator(".scene").bounding_box(), live.locator(".foot").bounding_box()
    height = foot["y"] + foot["height"] - figure["y"]
    assert height <= checks.SMALL_SCREEN["height"]
    assert live.locator(".controls").last.bounding_box()["y"] < foot["y"]  # they are in between
    assert figure["width"] <= live.bounding_box()["width"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_colours_are_those_of_the_course(visit, where, theme):
    live = where.live(visit(where, color_scheme=theme))
    if theme == "dark":
        live.page.evaluate("document.documentElement.dataset.theme = 'dark'")
    found = checks.colours(live)
    assert found  # every explorer has something that the code of colours names
    assert [mark for mark, hue, wanted in found if hue != wanted] == []


@pytest.mark.parametrize("screen", checks.PHONES, ids=lambda screen: f"{screen['width']} px")
def test_without_javascript_it_can_be_read_on_a_phone(browser, bare, screen):
    with checks.without_javascript(browser, bare, viewport=screen) as still:
        assert checks.phone_faults(still.page, still) == []


def test_nothing_moves_by_itself_for_who_asked_for_that(visit, where):
    assert checks.moving_by_itself(visit, where) == []


def test_with_the_readers_own_colours_every_mark_is_seen(visit, bare):
    page = visit(bare, forced_colors="active", color_scheme="dark")
    assert checks.marks_hard_to_see(bare.live(page)) == []


# --- paper --------------------------------------------------------------------------------------


def test_paper_has_the_picture_and_how_it_was_set_and_nothing_to_press(visit, where):
    page = visit(where)
    live = where.live(page)
    sliders, buttons = live.get_by_role("slider").all(), live.get_by_role("button").all()
    assert all(one.is_visible() for one in sliders + buttons)
    hidden, kept = live.locator("input[type=range], button"), live.locator(".value, select")
    page.emulate_media(media="print")
    assert not any(one.is_visible() for one in hidden.all())
    assert all(one.is_visible() for one in kept.all())
    assert live.get_by_role("img").is_visible()
