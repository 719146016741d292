"""What every explorer must do in a browser; each has its own test module, which uses these.

An explorer is looked at alone on a bare page and in its chapter of the built book, both opened
from a folder, without a server and without a kernel.
"""

import json
import math
import re
from contextlib import contextmanager
from dataclasses import dataclass

from axe_playwright_python.sync_playwright import Axe

from tests.browser.page_checks import DESKTOP, PHONE, Faults, overflow_faults, watch

THEMES_AND_SCREENS = [(theme, screen) for theme in ("light", "dark") for screen in (DESKTOP, PHONE)]
VALUES = r'data-explorer="{}".*?<script[^>]*data-explorer-values[^>]*>(.*?)</script>'


@dataclass
class Place:
    """A page with an explorer, and the state that starts with, read from the file."""

    name: str
    address: str
    values: dict

    @property
    def host(self):
        return f'[data-explorer="{self.name}"]'

    def live(self, page):
        """Return the explorer on the page, moving."""
        live = page.locator(f'{self.host}[data-explorer-state="live"]').first
        live.wait_for()
        return live


def in_file(name, file):
    """Return the first explorer `name` of a page."""
    found = re.search(VALUES.format(name), file.read_text(encoding="utf-8"), re.DOTALL)
    assert found, f"{file} has no explorer {name}"
    return Place(name, file.as_uri(), json.loads(found[1]))


PLACES = ("bare page", "book")


def in_place(request, bare, chapter):
    """Return the explorer on its bare page or in its chapter, as the fixture's parameter says."""
    if request.param == "bare page":
        return bare
    return in_file(bare.name, request.getfixturevalue("book_html") / f"{chapter}.html")


def alone(explorer, folder, *, change=("", "")):
    """Put the explorer on a page of its own; `change` replaces one text by another in it."""
    sound = (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Explorer</title>'
        '<meta name="viewport" content="width=device-width"><main><h1>Explorer</h1>'
        f"{explorer._repr_mimebundle_()[0]['text/html']}</main></html>"
    )
    text = sound.replace(*change) if change[0] else sound
    assert (text != sound) == bool(change[0])
    file = folder / f"{explorer.name}.html"
    file.write_text(text, encoding="utf-8")
    return in_file(explorer.name, file)


@contextmanager
def visitor(browser):
    """Yield a function that opens a page; in the end nothing has gone wrong on any of them."""
    contexts = []

    def go(place, **options):
        context = browser.new_context(**{"viewport": DESKTOP, **options})
        contexts.append((context, Faults()))
        page = context.new_page()
        watch(page, "file://", contexts[-1][1])
        page.goto(place.address)
        return page

    yield go
    for context, faults in contexts:
        context.close()
        assert faults == Faults()


# --- numbers ------------------------------------------------------------------------------------


def shown(explorer):
    """Return the numbers on the page in full precision, each name with all its numbers."""
    pairs = explorer.locator("data").evaluate_all(
        "all => all.map(one => [one.dataset.name, one.value])"
    )
    numbers = {}
    for name, value in pairs:
        numbers.setdefault(name, []).append(float(value))
    return numbers


def differences(shown, expected):
    """Return the names of numbers that differ by more than 1e-12 of themselves.

    What is left of a difference of larger numbers may be off by more of itself: 1e-13 is allowed.
    """
    return [
        name
        for name in sorted(shown.keys() | expected.keys())
        if len(shown.get(name, [])) != len(expected.get(name, []))
        or not all(
            math.isclose(s, e, rel_tol=1e-12, abs_tol=1e-13)
            for s, e in zip(shown[name], expected[name], strict=True)
        )
    ]


def unseen_errors(expected):
    """Return the names of numbers in which `differences` would overlook an error of 1e-5."""
    overlooked = []
    for name, numbers in expected.items():
        for i, number in enumerate(numbers):
            wrong = [*numbers[:i], number * (1 + 1e-5), *numbers[i + 1 :]]
            if number and differences({**expected, name: wrong}, expected) != [name]:
                overlooked.append(name)
    return overlooked


# --- for everyone -------------------------------------------------------------------------------


def access_faults(page, place):
    """Return what axe finds in the explorer."""
    options = {"resultTypes": ["violations"], "preload": False}
    results = Axe().run(page, context={"include": [[place.host]]}, options=options)
    return [
        f"{violation['id']}: {node['html'][:120]} {node['failureSummary'][:200]}"
        for violation in results.response["violations"]
        for node in violation["nodes"]
    ]


def phone_faults(visit, place):
    """Return what does not fit on a phone, or is too small to read there."""
    page = visit(place, viewport=PHONE)
    live = place.live(page)
    live.locator("summary").click()
    heights = live.locator("svg text").evaluate_all(
        "all => all.map(text => text.getBoundingClientRect().height)"
    )
    return overflow_faults(page) + [height for height in heights if height < 11]


def moving_by_itself(visit, place):
    """Return what moves by itself for a reader who asked that nothing does."""
    live = place.live(visit(place, reduced_motion="reduce"))
    return live.locator("*").evaluate_all(
        """all => all.filter(one => {
          const { transitionDuration, animationName } = getComputedStyle(one);
          return animationName !== "none" || transitionDuration.split(", ").some(t => t !== "0s");
        }).map(one => one.outerHTML)"""
    )


@contextmanager
def without_javascript(browser, place):
    """Yield the explorer as a reader without JavaScript has it."""
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(place.address)
    yield page.locator(place.host).first
    context.close()
