"""Every page of the built book, in a real browser.

Each page is opened once, from a folder, as a reader does who has built the book.
`page_checks.examine` lists its faults, and the tests below ask for one kind of fault each. The
second half plants faults and sees that they are found.
"""

import base64
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import nbformat
import pytest

from tests.browser.page_checks import PHONE, Faults, examine, math_faults, small_letters, watch

BOOK = Path(__file__).parents[2] / "book"
# Pages are known from their sources, since tests are collected before the book is asked for.
WRITTEN = sorted(path.stem for path in BOOK.glob("*.md"))
MADE_BY_SPHINX = ["genindex", "search"]
PAGES = [f"{name}.html" for name in WRITTEN + MADE_BY_SPHINX]


# From a server, most could go wrong on these: the first page, an explorer, the search.
SERVED = ["index.html", "03_alignment.html", "search.html"]


@pytest.fixture(scope="module", params=PAGES)
def faults(request, browser, book_html):
    home = book_html.as_uri() + "/"
    return examine(browser, home + request.param, home)


def test_a_page_asks_no_other_server_for_anything(faults):
    assert faults.external_requests == []


def test_a_page_finds_all_its_files(faults):
    assert faults.failed_requests == []


def test_a_page_has_no_script_error(faults):
    assert faults.script_errors == []


def test_a_page_has_all_its_formulas_drawn(faults):
    assert faults.math == []


def test_a_page_fits_on_a_phone(faults):
    assert faults.overflow == []


def test_the_letters_of_a_pages_figures_can_be_read_on_a_phone(faults):
    assert faults.small_letters == []


def test_a_page_has_no_serious_fault_of_access(faults):
    assert faults.access == []


def test_a_page_printed_in_dark_mode_has_dark_letters(faults):
    assert faults.pale_on_paper == []


def test_the_book_has_the_pages_that_are_tested(book_html):
    assert sorted(path.name for path in book_html.glob("*.html")) == sorted(PAGES)


@pytest.mark.parametrize("name", SERVED)
def test_a_page_has_no_fault_from_a_server_either(name, browser, book_address):
    assert examine(browser, book_address + name, book_address) == Faults()


@pytest.mark.parametrize("from_folder", [True, False], ids=["folder", "server"])
def test_search_finds_a_word_of_the_book(from_folder, browser, book_html, book_address):
    home = book_html.as_uri() + "/" if from_folder else book_address
    faults = Faults()
    page = browser.new_page()
    watch(page, home, faults)
    page.goto(f"{home}index.html")
    page.keyboard.press("Control+K")
    page.locator("#pst-search-dialog input[type=search]").fill("Nadaraya")
    page.keyboard.press("Enter")
    page.wait_for_selector("#search-results li a")
    page.wait_for_function(
        "document.querySelector('#search-results p').textContent.includes('found')"
    )
    links = page.locator("#search-results li a").evaluate_all("all => all.map(a => a.href)")
    page.close()
    assert any("01_nadaraya_watson.html" in link for link in links)
    assert faults == Faults()


def test_the_switch_turns_the_page_dark_and_the_next_page_remembers(browser, book_address):
    page = browser.new_page(color_scheme="light")
    page.goto(f"{book_address}index.html")
    theme = "document.documentElement.dataset.theme"
    before = page.evaluate(theme)
    button = page.locator("button.theme-switch-button").first
    for _ in range(3):  # the switch goes round three modes: system, light, dark
        if page.evaluate(theme) != "dark":
            button.click()
    page.goto(f"{book_address}search.html")
    after = page.evaluate(theme)
    page.close()
    assert (before, after) == ("light", "dark")


OUT_OF_ITS_BOX = """leaves => leaves.flatMap(leaf => {
  const [box, name] = ["rect", "text"].map(part => leaf.querySelector(part).getBBox());
  const fits = name.x >= box.x + 3 && name.x + name.width <= box.x + box.width - 3;
  return fits ? [] : [leaf.textContent];
})"""


def test_every_name_on_the_map_stays_in_its_box(browser, book_html):
    page = browser.new_page()
    page.goto((book_html / "map.html").as_uri())
    leaves = page.locator(".taxonomy-leaf")
    outside = leaves.evaluate_all(OUT_OF_ITS_BOX)
    assert leaves.count() > 40
    page.locator(".taxonomy-leaf text").first.evaluate("text => text.append(' and more'.repeat(5))")
    assert leaves.evaluate_all(OUT_OF_ITS_BOX)  # it looks at all
    page.close()
    assert outside == []


# One has folded code, the other folded answers and the folds of an explorer.
@pytest.mark.parametrize("name", ["08_evaluation", "00_attention"])
def test_a_printed_page_has_its_title_and_no_line_that_unfolds_something(name, browser, book_html):
    page = browser.new_page()
    page.goto((book_html / f"{name}.html").as_uri())
    folds = page.locator(".bd-article details:not([open]) > summary")
    seen = "all => all.filter(one => one.checkVisibility()).length"
    on_screen = folds.evaluate_all(seen)
    page.emulate_media(media="print")
    on_paper = folds.evaluate_all(seen)
    has_title = page.locator(".bd-article h1").first.is_visible()
    page.close()
    assert on_screen > 0
    assert (on_paper, has_title) == (0, True)


def test_the_way_into_the_book_is_seen_without_scrolling(browser, book_html):
    for size in ({"width": 1280, "height": 900}, {"width": 375, "height": 812}):
        page = browser.new_page(viewport=size)
        page.goto((book_html / "index.html").as_uri())
        button = page.get_by_role("link", name="Start reading").bounding_box()
        page.close()
        assert button["y"] + button["height"] < size["height"]


LAST_OUT_OF_SIGHT = """tables => tables.flatMap(table => {
  const last = table.rows[0].cells[table.rows[0].cells.length - 1];
  const box = table.closest(".pst-scrollable-table-container") ?? table.parentElement;
  const over = last.getBoundingClientRect().right - box.getBoundingClientRect().right;
  return over > 1 ? [`${table.rows[0].textContent.trim()}: ${over} px`] : [];
})"""
PENCIL = ["02_scoring", "02b_learned_scores", "03_alignment", "04_dimensionality"]


@pytest.mark.parametrize("name", PENCIL)
def test_a_phone_shows_the_sums_of_the_tables_for_a_pencil(name, browser, book_html):
    page = browser.new_page(viewport=PHONE)
    page.goto((book_html / f"{name}.html").as_uri())
    tables = page.locator(".tiny-example table")
    assert tables.count() > 0
    assert tables.evaluate_all(LAST_OUT_OF_SIGHT) == []
    tables.first.evaluate("table => table.style.width = '500px'")
    assert tables.evaluate_all(LAST_OUT_OF_SIGHT)  # it looks at all
    page.close()


@pytest.mark.parametrize("name", WRITTEN)
def test_a_page_can_be_downloaded_as_a_notebook(name, book_html):
    links = _read(book_html / f"{name}.html").links
    assert f"_sources/{name}.ipynb" in links
    notebook = nbformat.read(book_html / "_sources" / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    source = (BOOK / f"{name}.md").read_text(encoding="utf-8")
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(code) == source.count("```{code-cell}")
    assert all(not cell.outputs for cell in code)
    text = "\n".join(cell.source for cell in notebook.cells)
    assert "{literalinclude}" not in text  # the code itself is there


# Links


class _Links(HTMLParser):
    """Collect the targets a page has and those it points to."""

    def __init__(self):
        super().__init__()
        self.anchors = {""}
        self.links = []

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value)
            elif name in ("href", "src", "xlink:href") and value:
                self.links.append(value)


def _read(path):
    page = _Links()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def broken_links(folder):
    """Return 'page: link' for every link inside `folder` that leads nowhere."""
    pages = {path.resolve(): _read(path) for path in folder.glob("*.html")}
    broken = []
    for path, page in pages.items():
        for link in page.links:
            if urlsplit(link).scheme or "?" in urldefrag(link)[1]:
                continue  # elsewhere, or it sets an explorer, which the strict build looks for
            target, anchor = urldefrag(urljoin(path.as_uri(), link))
            file = Path(unquote(urlsplit(target).path))
            known = pages.get(file)
            if not file.is_file() or (known and unquote(anchor) not in known.anchors):
                broken.append(f"{path.name}: {link}")
    return broken


def test_every_link_inside_the_book_leads_somewhere(book_html):
    assert broken_links(book_html) == []


# The checks themselves: a planted fault is found, and a clean page has none.

DOT = (  # a PNG picture of one pixel
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

CLEAN = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Planted</title>
<link rel="icon" href="data:,"><meta name="viewport" content="width=device-width"></head>
<body><main><h1>A page</h1><p>Text.</p>{planted}</main></body></html>"""

PLANTED = {
    "external_requests": '<img alt="a picture" src="http://elsewhere.invalid/picture.png">',
    "failed_requests": '<img alt="a picture" src="missing.png">',
    "script_errors": "<script>throw new Error('planted')</script>",
    "math": r'<p class="math">\(x\)</p>',
    "overflow": '<div style="width: 500px">wide</div>',
    "small_letters": '<div class="bd-article"><svg class="drawing" width="200" '
    'viewBox="0 0 400 40"><text y="20" font-size="10">five pixels</text></svg></div>',
    "pale_on_paper": '<p style="background: #000; color: #ddd">white on black</p>',
    "access": '<img src="data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=">',
}


@pytest.fixture
def planted(tmp_path, browser, serve):
    """Return a function that examines a clean page with something planted in it."""

    def examine_with(snippet):
        (tmp_path / "page.html").write_text(CLEAN.replace("{planted}", snippet), encoding="utf-8")
        home = serve(tmp_path)
        return examine(browser, home + "page.html", home)

    return examine_with


def test_a_clean_page_has_no_fault(planted):
    assert planted("") == Faults()


@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_fault_is_found(kind, planted):
    assert getattr(planted(PLANTED[kind]), kind) != []


@pytest.mark.parametrize(
    "snippet",
    [
        '<div class="math">\\[x\\]</div>',
        "<p>A stray $$ in the text.</p>",
        '<mjx-container><mjx-assistive-mml><math><mtext mathcolor="red">\\unknown</mtext></math>'
        "</mjx-assistive-mml></mjx-container>",
    ],
    ids=["not drawn", "raw TeX", "unknown command"],
)
def test_bad_math_is_found(snippet, browser):
    page = browser.new_page()
    page.set_content(CLEAN.replace("{planted}", snippet))
    found = math_faults(page)
    page.close()
    assert found


def test_an_unknown_command_in_a_formula_is_found(browser, book_html):
    page = browser.new_page()
    page.goto((book_html / "01_nadaraya_watson.html").as_uri())
    page.evaluate("MathJax.startup.promise")
    page.evaluate(
        r"""async () => {
          const planted = document.createElement("span");
          planted.className = "math";
          planted.textContent = "\\(\\nosuchcommand{x}\\)";
          document.querySelector("article").append(planted);
          await MathJax.typesetPromise([planted]);
        }"""
    )
    found = math_faults(page)
    page.close()
    assert len(found) == 1


def test_an_article_that_scrolls_sideways_is_an_overflow(planted):
    article = '<article style="overflow-x: auto"><div style="width: 500px">wide</div></article>'
    assert planted(article).overflow != []


def test_a_box_that_scrolls_sideways_is_no_overflow(planted):
    box = '<div style="overflow-x: auto" tabindex="0"><div style="width: 500px">wide</div></div>'
    assert planted(box) == Faults()


PLOT = (
    '<div class="bd-article"><div class="cell_output"><picture{wide}>{source}<img alt="a plot" '
    'src="wide.png" style="width: 343px"></picture></div></div>'
)
NARROW = '<source media="(max-width: 500px)" srcset="narrow.png" data-letters="{}">'


@pytest.mark.parametrize(
    ("wide", "narrow", "found"),
    [("", None, 1), ("0.01", None, 1), ("0.03", None, 0), ("0.01", "0.03", 0), ("0.03", "0.01", 1)],
)
def test_letters_are_those_of_the_picture_that_a_phone_shows(
    wide, narrow, found, browser, tmp_path
):
    for name in ("wide.png", "narrow.png"):
        (tmp_path / name).write_bytes(base64.b64decode(DOT))
    plot = PLOT.format(
        wide=f' data-letters="{wide}"' if wide else "",
        source=NARROW.format(narrow) if narrow else "",
    )
    (tmp_path / "page.html").write_text(CLEAN.replace("{planted}", plot), encoding="utf-8")
    page = browser.new_page(viewport=PHONE)
    page.goto((tmp_path / "page.html").as_uri())
    faults = small_letters(page)
    page.close()
    assert len(faults) == found, faults


@pytest.mark.parametrize("link", ["nowhere.html", "page.html#nowhere", "#nowhere"])
def test_a_broken_link_is_found(link, tmp_path):
    page = f'<p id="here"><a href="{link}">broken</a> <a href="#here">whole</a></p>'
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    assert broken_links(tmp_path) == [f"page.html: {link}"]
