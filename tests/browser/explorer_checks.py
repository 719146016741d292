"""What every explorer must do in a browser; each has its own test module, which uses these.

An explorer is looked at alone on a bare page, opened from a folder, without a server and without
a kernel. `test_explorers_for_everyone` looks at each in its chapter of the built book too, and sees
that it moves there as it does alone.
"""

import json
import math
import re
from colorsys import rgb_to_hls
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest

from axe_playwright_python.sync_playwright import Axe

from attn_course.figures.explorers import page as explorer_page
from attn_course.figures.explorers import still
from tests.browser.page_checks import CONTRAST, DESKTOP, PHONE, Faults, overflow_faults, watch

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


def alone_as_in(explorer, place, folder):
    """Put the explorer on a page of its own, where it starts with the values of another page."""
    file = folder / alone(explorer, folder).address.rpartition("/")[2]
    text, script = file.read_text(encoding="utf-8"), VALUES.format(explorer.name)
    found = re.search(script, text, re.DOTALL)
    values = json.dumps(place.values).replace("<", "\\u003c")
    file.write_text(text[: found.start(1)] + values + text[found.end(1) :], encoding="utf-8")
    return in_file(explorer.name, file)


def alone(explorer, folder, *, change=("", "")):
    """Put the explorer on a page of its own, drawn as the book draws it.

    `change` replaces one text by another in the page.
    """
    figure = explorer_page.redrawn(explorer.to_html(), still.draw)
    sound = (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Explorer</title>'
        '<meta name="viewport" content="width=device-width"><main><h1>Explorer</h1>'
        f"{figure}</main></html>"
    )
    text = sound.replace(*change) if change[0] else sound
    assert (text != sound) == bool(change[0])
    file = folder / f"{explorer.name}.html"
    file.write_text(text, encoding="utf-8")
    return in_file(explorer.name, file)


def _without_formulas(route):
    """Answer with an empty script: explorers have no formulas, and a chapter has hundreds."""
    route.fulfill(body="", content_type="text/javascript")


@contextmanager
def visitor(browser):
    """Yield a function that opens a page; in the end nothing has gone wrong on any of them."""
    contexts = []

    def go(place, **options):
        context = browser.new_context(**{"viewport": DESKTOP, **options})
        context.route("**/mathjax.js*", _without_formulas)
        contexts.append((context, Faults()))
        page = context.new_page()
        watch(page, "file://", contexts[-1][1])
        page.goto(place.address)
        return page

    yield go
    for context, faults in contexts:
        context.close()
        assert faults == Faults(), faults


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


NUMBER = re.compile(r"(-?\d+(?:\.\d+)?(?:e-?\d+)?)")


def same_but_for_rounding(markups, others):
    """Return whether two lists of markups are equal: letter by letter, numbers to 1e-12.

    The engine of the build and that of the browser may differ in the last digit of tanh.
    """
    pairs = [
        pair
        for one, other in zip(markups, others, strict=True)
        for pair in zip_longest(NUMBER.split(one), NUMBER.split(other))
    ]
    return all(
        one == other
        or (
            None not in (one, other)
            and NUMBER.fullmatch(one)
            and NUMBER.fullmatch(other)
            and math.isclose(float(one), float(other), rel_tol=1e-12)
        )
        for one, other in pairs
    )


# --- hands --------------------------------------------------------------------------------------


def setting(explorer):
    """Return the state of every control, and every number."""
    controls = explorer.locator("input, select").evaluate_all(
        "all => all.map(one => [one.value, one.checked])"
    )
    return controls, shown(explorer)


def moves(explorer):
    """Move every control once, and yield the state after each move, the first one before any."""
    yield setting(explorer)
    for control in explorer.get_by_role("combobox").all():
        values = control.locator("option").evaluate_all("all => all.map(one => one.value)")
        control.select_option([value for value in values if value != control.input_value()][-1])
        yield setting(explorer)
    for control in explorer.get_by_role("checkbox").all():
        control.click()
        yield setting(explorer)
    for control in explorer.get_by_role("slider").all():
        control.press("End")
        control.press("ArrowLeft")
        yield setting(explorer)


def places_in(picture):
    """Return where a hand may come down on a picture by chance, on the screen."""
    box = picture.bounding_box()
    parts = [(0.2, 0.45), (0.9, 0.3), (0.85, 0.75)]
    return [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in parts]


def swipe(page, start, end, steps=8):
    """Move a finger over the screen, or let it tap where start and end are the same."""
    fingers = page.context.new_cdp_session(page)

    def touch(kind, *points):
        points = [dict(zip("xy", point, strict=True)) for point in points]
        fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", start)
    if start != end:
        for step in range(1, steps + 1):
            part = step / steps
            touch("touchMove", [s + (e - s) * part for s, e in zip(start, end, strict=True)])
    touch("touchEnd")
    fingers.detach()


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


# 320 pixels: a small phone, or a page read at 400 %.
PHONES = (PHONE, {"width": 320, "height": 640})

# What is left of a phone of 375 by 812 points below the browser's own bars.
SMALL_SCREEN = {"width": 375, "height": 664}

# The colour code of the course, by the marks of the pictures.
COLOURS = {
    ".bar.weight, .stem, .cell.weight, .weighed, path.exact": "blue",
    "path.query, .bell, .factor, .tip.query": "orange",
    ".bar.score, circle.seen, .tip.key, .cell.value": "blue-grey",
    "rect.correct": "gold",
}


def colours(explorer):
    """Return the marks of the picture that the code of colours names: markup, colour, wanted."""
    return [
        (mark, colour_of(paint), wanted)
        for selector, wanted in COLOURS.items()
        for mark, paint in explorer.locator(f".picture :is({selector})").evaluate_all(PAINTS)
    ]


PAINTS = """all => all.map(mark => {
  const { fill, stroke } = getComputedStyle(mark);
  const isOutline = fill === "none" || mark.matches(".correct, .seen");
  return [mark.outerHTML, isOutline ? stroke : fill];
})"""


def colour_of(paint):
    """Return the name of a CSS colour, `rgb(0, 114, 178)`."""
    red, green, blue = (int(part) / 255 for part in re.findall(r"\d+", paint)[:3])
    hue, _lightness, saturation = rgb_to_hls(red, green, blue)
    degrees = 360 * hue
    if 195 <= degrees <= 215:
        return "blue" if saturation > 0.5 else "blue-grey"
    if 35 < degrees <= 55:
        return "gold"
    return "orange" if 20 <= degrees <= 35 and saturation > 0.8 else paint


BAD_LETTERS = """all => all.flatMap(text => {
  const letters = text.getBoundingClientRect();
  const picture = text.ownerSVGElement.getBoundingClientRect();
  const isCut = letters.left < picture.left - 1 || letters.right > picture.right + 1
    || letters.top < picture.top - 1 || letters.bottom > picture.bottom + 1;
  return letters.height < 11 || isCut ? [`${text.textContent}: ${JSON.stringify(letters)}`] : [];
})"""

# A word may be longer than the box of its element: what counts is where its letters are.
ON_ONE_ANOTHER = """all => all.flatMap((one, i) => all.slice(i + 1).flatMap(other => {
  const lettersOf = element => {
    const letters = document.createRange();
    letters.selectNodeContents(element);
    return (element.ownerSVGElement ? element : letters).getBoundingClientRect();
  };
  const [a, b] = [lettersOf(one), lettersOf(other)];
  const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
  const along = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
  return across > 0 && along > 0.3 * a.height ? [`${one.textContent} on ${other.textContent}`] : [];
}))"""


def unfold(explorer):
    """Open the answer and the numbers."""
    for fold in explorer.locator("summary").all():
        fold.click()


def phone_faults(page, explorer):
    """Return what does not fit on the screen, is cut off, or too small to read there."""
    unfold(explorer)
    words = explorer.locator("svg.picture text")
    return [
        *overflow_faults(page),
        *words.evaluate_all(BAD_LETTERS),
        *words.evaluate_all(ON_ONE_ANOTHER),
        *explorer.locator(".controls :is(.name, .value)").evaluate_all(ON_ONE_ANOTHER),
    ]


HARD_TO_SEE = (
    "all => {"
    + CONTRAST
    + """
  const paper = document.createElement("div");
  paper.style.backgroundColor = "Canvas";
  document.body.append(paper);
  const behind = getComputedStyle(paper).backgroundColor;
  paper.remove();
  return all.flatMap(mark => {
    const { fill, stroke } = getComputedStyle(mark);
    const paints = [fill, stroke].filter(paint => paint.startsWith("rgb("));
    return paints.some(paint => contrast(paint, behind) >= 3) ? [] : [mark.outerHTML];
  });
}"""
)


def marks_hard_to_see(explorer):
    """Return the marks and words of the picture with too little contrast to the page."""
    marks = ".picture :is(text, circle, path, rect):not(.grip, .cell, .band, .void, .grid)"
    return explorer.locator(marks).evaluate_all(HARD_TO_SEE)


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
def without_javascript(browser, place, **options):
    """Yield the explorer as a reader without JavaScript has it."""
    context = browser.new_context(java_script_enabled=False, **options)
    page = context.new_page()
    page.goto(place.address)
    yield page.locator(place.host).first
    context.close()
