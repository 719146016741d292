"""The class report in a browser: for everyone, in light and dark, and on a phone."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from attn_course.grading.class_report import page
from attn_course.grading.class_statistics import statistics_of
from tests.grading.test_class_report import a_class, entry, evil_class, evil_pair, exercise

PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1100, "height": 900}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Return the file of a report that has something in every section."""
    mistaken = [entry(f"m{n}", exercise("a", 0, mistake="over_the_queries")) for n in range(7)]
    entries = [*a_class([(2, 0), (1, 2), (0, 1)] * 5), *mistaken, *evil_class()]
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(page(statistics_of(entries), evil_pair(), "2026-01-01"), encoding="utf-8")
    return path


@pytest.fixture(
    params=[(scheme, size) for scheme in ("light", "dark") for size in (PHONE, DESKTOP)]
)
def opened(request, browser, report):
    scheme, size = request.param
    # The page forbids scripts, and axe is one.
    context = browser.new_context(color_scheme=scheme, viewport=size, bypass_csp=True)
    tab = context.new_page()
    asked = []
    tab.on("request", lambda one: asked.append(one.url))
    tab.goto(report.as_uri())
    tab.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    yield tab
    assert asked == [report.as_uri()]
    context.close()


def test_axe_finds_nothing(opened):
    found = Axe().run(opened).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []


def test_nothing_is_wider_than_the_screen(opened):
    widths = opened.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert widths[0] <= widths[1]


def test_bars_are_thin_and_charts_fill_their_column(opened):
    heights = opened.evaluate(
        "[...document.querySelectorAll('ol.ranked svg')].map(one => one.clientHeight)"
    )
    assert heights
    assert set(heights) == {6}
