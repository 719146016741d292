"""Links that set a figure: from an address, from a link in the text, and to what is shown."""

import pytest

from attn_course.figures.explorers import (
    HardSoftExplorer,
    LocalAlignmentExplorer,
    MultiDimensionalExplorer,
    NadarayaWatsonExplorer,
    ScoresExplorer,
    SoftmaxExplorer,
)
from tests.browser import explorer_checks as checks
from tests.browser.explorer_checks import Place, setting, shown

POINTS = ([1.0, 2.0, 3.0], [0.0, 2.0, 1.0])

# A link for each explorer, and the explorer that it should lead to.
LINKS = {
    "temperature=0.1&mask=1,1,0,1,1,1&masking=after": (
        SoftmaxExplorer,
        {"temperature": 0.1, "mask": [True, True, False, True, True, True], "masking": "after"},
    ),
    "scores=0,-1.5,0,0,4,0": (SoftmaxExplorer, {"scores": [0.0, -1.5, 0.0, 0.0, 4.0, 0.0]}),
    "n=200&baseline=3.5": (HardSoftExplorer, {"n": 200, "baseline": 3.5}),
    "row=peak&position=-0.5&slip=1": (
        LocalAlignmentExplorer,
        {"row": "peak", "position": -0.5, "slip": True},
    ),
    "spread=0.25&query=cat": (MultiDimensionalExplorer, {"spread": 0.25, "query": "cat"}),
    "query=-1,2.5&d_k=128&similarity=euclidean": (
        ScoresExplorer,
        {"query": (-1.0, 2.5), "d_k": 128, "similarity": "euclidean"},
    ),
}


def at(place, query, name=None):
    """Return the page of a place at the address of a link."""
    return Place(place.name, f"{place.address}#{name or place.name}?{query}", place.values)


@pytest.fixture(scope="module")
def softmax(tmp_path_factory):
    return checks.alone(SoftmaxExplorer(), tmp_path_factory.mktemp("bare page"))


def add_link(page, query):
    """Put a link into the text, far above the figure."""
    page.evaluate(
        """query => {
          const text = document.createElement("p");
          text.style.paddingBottom = "3000px";
          text.innerHTML = `<a href="#softmax?${query}">set <b>it</b></a>`;
          document.querySelector("main").prepend(text);
          scrollTo(0, 0);
        }""",
        query,
    )
    return page.get_by_role("link", name="set it")


# --- addresses ----------------------------------------------------------------------------------


@pytest.mark.parametrize("query", LINKS)
def test_an_address_sets_the_figure(visit, tmp_path, query):
    kind, state = LINKS[query]
    place = checks.alone(kind(), tmp_path)
    live = place.live(visit(at(place, query)))
    (tmp_path / "wanted").mkdir()
    wanted = checks.alone(kind(**state), tmp_path / "wanted")
    assert setting(live) == setting(wanted.live(visit(wanted)))


def test_an_address_sets_the_points_explorer_too(visit, tmp_path):
    place = checks.alone(NadarayaWatsonExplorer(*POINTS), tmp_path)
    live = place.live(visit(at(place, "w=8&query=2&kernel=boxcar&leave_one_out=1")))
    numbers = shown(live)
    assert (numbers["w"], numbers["query"], numbers["total"]) == ([8], [2], [0])


def test_what_a_link_does_not_name_is_as_at_the_start(visit, softmax):
    page = visit(at(softmax, "temperature=0.1"))
    live = softmax.live(page)
    live.get_by_role("checkbox", name="cat").uncheck()
    page.evaluate("location.hash = 'softmax?masking=after'")
    page.wait_for_function("document.querySelector('select').value === 'after'")
    numbers = shown(live)
    assert numbers["temperature"] == [1]
    assert live.get_by_role("checkbox", name="cat").is_checked()


def test_the_way_back_leads_to_the_start_of_the_page_not_of_the_link(visit, softmax):
    live = softmax.live(visit(at(softmax, "temperature=0.1")))
    assert shown(live)["temperature"] == [0.1]
    live.get_by_role("button", name="Start again").press("Enter")
    assert shown(live)["temperature"] == [1]


@pytest.mark.parametrize(
    "query",
    [
        "temperature=0",
        "temperature=-1",
        "temperature=hot",
        "temperature=",
        "temperature=Infinity",
        "mask=1,1,0",
        "mask=1,1,0,1,1,2",
        "scores=0,0,0,0,0,9",
        "masking=never",
        "words=1",
        "nothing=1",
        "__proto__=1",
        "temperature=2&masking=never",
    ],
)
def test_a_link_that_no_hand_could_follow_sets_nothing(visit, softmax, query):
    started = setting(softmax.live(visit(softmax)))
    assert setting(softmax.live(visit(at(softmax, query)))) == started


@pytest.mark.parametrize(
    ("kind", "query"),
    [
        (HardSoftExplorer, "n=2.5"),
        (HardSoftExplorer, "n=301"),
        (LocalAlignmentExplorer, "row=yours"),
        (MultiDimensionalExplorer, "query=dog"),
        (ScoresExplorer, "d_k=3"),
        (ScoresExplorer, "query=1,2,3"),
    ],
)
def test_what_cannot_be_computed_is_not_tried(visit, tmp_path, kind, query):
    place = checks.alone(kind(), tmp_path)
    started = setting(place.live(visit(place)))
    assert setting(place.live(visit(at(place, query)))) == started


def test_the_name_of_another_figure_sets_nothing(visit, softmax):
    for name in ("softmax-2", "softma", "scores", "SOFTMAX"):
        live = softmax.live(visit(at(softmax, "temperature=2", name)))
        assert shown(live)["temperature"] == [1]


def test_the_second_of_a_kind_has_a_name_of_its_own(visit, tmp_path):
    place = checks.alone(SoftmaxExplorer(), tmp_path)
    file = tmp_path / "softmax.html"
    text = file.read_text(encoding="utf-8")
    again = text.split("<h1>Explorer</h1>")[1]
    file.write_text(text.replace("</main></html>", again), encoding="utf-8")
    page = visit(at(place, "temperature=2", "softmax-2"))
    both = page.locator(f'{place.host}[data-explorer-state="live"]')
    both.nth(1).wait_for()
    assert [shown(one)["temperature"] for one in both.all()] == [[1], [2]]


# --- links in the text --------------------------------------------------------------------------


def test_a_link_in_the_text_sets_the_figure_and_brings_it_into_view(visit, softmax):
    page = visit(softmax)
    live = softmax.live(page)
    link = add_link(page, "temperature=2")
    link.click()
    page.wait_for_function("scrollY > 1000")
    assert shown(live)["temperature"] == [2]
    assert live.get_by_role("img").bounding_box()["y"] < page.viewport_size["height"]


def test_the_same_link_sets_it_again(visit, softmax):
    page = visit(softmax)
    live = softmax.live(page)
    link = add_link(page, "temperature=2")
    link.click()
    page.wait_for_function("scrollY > 1000")
    live.get_by_role("slider", name="Temperature").press("End")
    assert shown(live)["temperature"] == [10]
    page.evaluate("scrollTo(0, 0)")
    link.click()
    page.wait_for_function("scrollY > 1000")
    assert shown(live)["temperature"] == [2]


# --- the link to what is shown ------------------------------------------------------------------


@pytest.mark.parametrize("kind", [kind for kind, _ in LINKS.values()], ids=list(LINKS))
def test_a_copied_link_leads_back(visit, tmp_path, kind):
    place = checks.alone(kind(), tmp_path)
    page = visit(place)
    live = place.live(page)
    for control in live.get_by_role("combobox").all():
        control.select_option(control.locator("option").last.get_attribute("value"))
    live.get_by_role("slider").first.press("End")
    live.get_by_role("slider").last.press("PageUp")
    for box in live.get_by_role("checkbox").all()[:1]:
        box.click()
    moved = setting(live)
    copy = live.get_by_role("button", name="Copy link")
    copy.press("Enter")
    live.get_by_role("button", name="Link").and_(page.get_by_text("Link")).wait_for()
    assert page.url.startswith(f"{place.address}#{place.name}?")
    again = Place(place.name, page.url, place.values)
    assert setting(again.live(visit(again))) == moved


def test_the_link_is_on_the_clipboard_where_the_browser_allows_it(visit, softmax):
    page = visit(softmax, permissions=["clipboard-read", "clipboard-write"])
    live = softmax.live(page)
    live.get_by_role("slider", name="Temperature").press("End")
    live.get_by_role("button", name="Copy link").click()
    copied = live.get_by_role("button", name="Link copied")
    copied.wait_for()
    assert (
        page.evaluate("navigator.clipboard.readText()")
        == f"{softmax.address}#softmax?temperature=10"
    )
    live.get_by_role("slider", name="Temperature").press("Home")
    assert not copied.is_visible()  # it was the link to something else


def test_where_it_does_not_the_address_bar_has_the_link(visit, softmax):
    page = visit(softmax)
    live = softmax.live(page)
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject('no'); }")
    live.get_by_role("checkbox", name="cat").uncheck()
    live.get_by_role("button", name="Copy link").click()
    live.get_by_role("button", name="Link is in the address bar").wait_for()
    assert page.url == f"{softmax.address}#softmax?mask=1,1,0,1,1,1"
