"""What must be true of a page in a browser. `examine` opens it once and lists every fault.

The same functions look at the book and at pages with planted faults (test_book.py), so a
check that has gone blind is seen.
"""

from dataclasses import dataclass, field

from axe_playwright_python.sync_playwright import Axe

DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 375, "height": 800}

# Serious or critical violations that come from the theme and that we could not fix:
# axe's name of the rule, and the reason. Nothing at present.
SEVERE = ("serious", "critical")

KNOWN_IN_THEME: dict[str, str] = {}


@dataclass
class Faults:
    """Lists of sentences; an empty list is what the book wants."""

    external_requests: list[str] = field(default_factory=list)
    failed_requests: list[str] = field(default_factory=list)
    script_errors: list[str] = field(default_factory=list)
    math: list[str] = field(default_factory=list)
    overflow: list[str] = field(default_factory=list)
    small_letters: list[str] = field(default_factory=list)
    access: list[str] = field(default_factory=list)
    pale_on_paper: list[str] = field(default_factory=list)


def examine(browser, address, home):
    """Open `address`; whatever is not below `home` is external."""
    faults = Faults()
    context = browser.new_context(viewport=DESKTOP, reduced_motion="reduce")
    try:
        page = context.new_page()
        watch(page, home, faults)
        page.goto(address, wait_until="load")
        faults.math = math_faults(page)
        page.set_viewport_size(PHONE)
        faults.overflow = overflow_faults(page)
        faults.small_letters = small_letters(page)
        faults.access = all_access_faults(page)
        # Last: on paper nothing scrolls, and the theme's script would take note of that.
        faults.pale_on_paper = pale_on_paper(page)
    finally:
        context.close()
    return faults


def watch(page, home, faults):
    """Note requests and errors of a page in `faults`, and let nothing leave the machine."""

    def is_external(url):
        return not url.startswith((home, "data:", "blob:", "about:"))

    def on_request(request):
        if is_external(request.url):
            faults.external_requests.append(request.url)

    def on_failure(request):
        if not is_external(request.url):
            faults.failed_requests.append(f"{request.url}: {request.failure}")

    def on_response(response):
        if response.status >= 400:
            faults.failed_requests.append(f"{response.url}: {response.status}")

    def on_console(message):
        if message.type == "error":
            faults.script_errors.append(message.text)

    page.route(is_external, lambda route: route.abort())
    page.on("request", on_request)
    page.on("requestfailed", on_failure)
    page.on("response", on_response)
    page.on("console", on_console)
    page.on("pageerror", lambda error: faults.script_errors.append(str(error)))


MATH = r"""async () => {
  const faults = [];
  if (window.MathJax?.startup) await MathJax.startup.promise;
  for (const math of document.querySelectorAll(".math")) {
    if (!math.querySelector("mjx-container")) faults.push("not drawn: " + math.textContent.trim());
  }
  // An unknown command is drawn in red, an error as merror.
  for (const error of document.querySelectorAll("mjx-container :is(merror, [mathcolor=red])")) {
    faults.push("TeX error: " + error.closest("mjx-container").textContent.trim());
  }
  const inCode = "code, pre, script, style, textarea, mjx-container";
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode;
    if (/\$\$|\\\(|\\\[|\\begin\{/.test(text.data) && !text.parentElement.closest(inCode)) {
      faults.push("raw TeX: " + text.data.trim().slice(0, 80));
    }
  }
  return faults;
}"""


def math_faults(page):
    """Every formula is drawn, and none as an error."""
    return page.evaluate(MATH)


OVERFLOW = """() => {
  // The theme lets the whole article scroll in its container, which is no better than the page.
  const frames = "html, body, main, article, .bd-content, .bd-article-container";
  const room = document.documentElement.clientWidth;
  const tooWide = [...document.querySelectorAll(frames)].some(
    frame => frame.scrollWidth > Math.min(room, frame.clientWidth) + 1
  );
  if (!tooWide) return [];
  const scrolls = element =>
    getComputedStyle(element).overflowX !== "visible" && !element.matches(frames);
  const boxed = element => {
    for (let box = element.parentElement; box && box !== document.body; box = box.parentElement) {
      if (scrolls(box)) return true;
    }
    return false;
  };
  const wide = [...document.body.querySelectorAll("*")].filter(
    element => element.getBoundingClientRect().right > room + 1 && !boxed(element)
  );
  return [`the page does not fit on ${room} px: ` +
    wide.slice(0, 5).map(box => `<${box.localName} class="${box.className}">`).join(" ")];
}"""


def overflow_faults(page):
    """The page does not scroll sideways; wide things scroll in a box of their own."""
    return page.evaluate(OVERFLOW)


# The extension writes how high the smallest letters of a plot are, as a part of its width. A plot
# of which nothing is known is a fault, or the check would go blind.
SMALL_LETTERS = """async smallest => {
  document.querySelectorAll("img[loading=lazy]").forEach(image => image.loading = "eager");
  await Promise.all([...document.images].map(image => image.decode().catch(() => {})));
  const faults = [];
  for (const image of document.querySelectorAll(".bd-article .cell_output img[src$='.png']")) {
    const picture = image.closest("picture");
    const source = picture?.querySelector("source");
    const isNarrow = source && image.currentSrc.endsWith(source.getAttribute("srcset"));
    const letters = (isNarrow ? source : picture)?.dataset.letters;
    const height = letters * image.getBoundingClientRect().width;
    if (!(height >= smallest)) faults.push(`${height} px in the plot ${image.alt.slice(0, 60)}`);
  }
  for (const text of document.querySelectorAll(".bd-article svg.drawing text")) {
    const { a, b } = text.getScreenCTM();
    const height = parseFloat(getComputedStyle(text).fontSize) * Math.hypot(a, b);
    if (height < smallest) faults.push(`${height} px in a drawing: ${text.textContent}`);
  }
  return faults;
}"""
READABLE = 8  # pixels


def small_letters(page):
    """Return the figures that have letters too small to be read on this screen."""
    return page.evaluate(SMALL_LETTERS, READABLE)


# The contrast of two colours, as the guidelines for access have it.
CONTRAST = r"""
  const light = colour => {
    const parts = colour.match(/[\d.]+/g).slice(0, 3).map(part => part / 255);
    const [red, green, blue] = parts.map(
      part => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    );
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrast = (one, other) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
"""

# Paper is white: browsers print no backgrounds unless they are asked to.
PALE = (
    "() => {"
    + CONTRAST
    + """
  const hasText = element => [...element.childNodes].some(
    node => node.nodeType === Node.TEXT_NODE && node.data.trim()
  );
  const pale = new Map();
  for (const element of document.querySelectorAll("main :not(svg *, script, style)")) {
    if (!hasText(element) || !element.checkVisibility()) continue;
    const { color } = getComputedStyle(element);
    if (contrast(color, "rgb(255, 255, 255)") >= 4.5) continue;
    pale.set(`${element.localName} ${color}`, element);
  }
  return [...pale].map(([name, { outerHTML }]) => `${name}: ${outerHTML.slice(0, 120)}`);
}"""
)


def pale_on_paper(page):
    """Return what can't be read on white paper when the page is printed in dark mode."""
    page.evaluate(SET_THEME, "dark")
    page.emulate_media(media="print")
    pale = page.evaluate(PALE)
    page.emulate_media(media="screen")
    return pale


# axe looks at every element, and most elements of a page are strokes of a formula or words of
# a program. The strokes go (the space they take remains), and of the words with the same
# colour one for each block stays, so that every colour is looked at on its background.
THIN_OUT = """() => {
  for (const part of document.querySelectorAll("mjx-container svg, mjx-assistive-mml")) {
    part.replaceChildren();
  }
  const seen = new Set();
  for (const word of document.querySelectorAll("pre span[class]")) {
    const colour = word.className + " in " + word.closest("pre").parentElement.className;
    if (seen.has(colour)) word.replaceWith(word.textContent);
    seen.add(colour);
  }
  document.body.normalize();
}"""

SET_THEME = """theme => {
  document.documentElement.dataset.theme = theme;
  document.documentElement.dataset.mode = theme;
  return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
}"""

COLOUR_RULES = ["color-contrast", "link-in-text-block"]


def all_access_faults(page):
    """Return what axe finds in light, in dark (where only colours differ) and on a phone."""
    page.evaluate(THIN_OUT)
    colours_off = {"rules": {rule: {"enabled": False} for rule in COLOUR_RULES}}
    faults = access_faults(page, "light", "phone", colours_off)
    page.set_viewport_size(DESKTOP)
    faults += access_faults(page, "light", "desktop", {})
    faults += access_faults(page, "dark", "desktop", {"runOnly": COLOUR_RULES})
    return faults


def access_faults(page, theme, screen, options):
    """Return what axe-core calls serious or critical, in the given theme."""
    page.evaluate(SET_THEME, theme)
    # No preload: axe would ask for the theme's style sheets under wrong addresses.
    options = {"resultTypes": ["violations"], "preload": False, **options}
    return [
        f"{screen}, {theme}: {violation['id']} ({violation['impact']}): "
        f"{violation['nodes'][0]['html'][:200]} {violation['nodes'][0]['failureSummary'][:300]}"
        for violation in Axe().run(page, options=options).response["violations"]
        if violation["impact"] in SEVERE and violation["id"] not in KNOWN_IN_THEME
    ]
