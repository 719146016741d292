"""The book as one PDF: every page in its order, with bookmarks and links that work in the file."""

import io
import subprocess
import sys
from pathlib import Path

import pytest
from pypdf import PdfReader

from tests.requirements import need

ROOT = Path(__file__).parents[2]
TEXT = '<p style="height: 1400px">{}</p>'  # longer than a sheet of paper
# The theme has a heading of its own before the page's, without the number of the chapter.
PAGE = """<!doctype html><html lang="en"><title>{name}</title><h1>theme</h1>
<article class="bd-article">
<h1><span class="section-number">7. </span>{name}<a class="headerlink">#</a></h1>
{body}<h2 id="end">The end of {name}</h2></article></html>"""
PAGES = {
    "index": '<a href="#end">my own end</a>' + TEXT.format("words"),
    "one": '<a href="two.html#end">their end</a> <a href="https://example.org/">outside</a>',
    "two": '<a href="one.html">the page before</a><a href="#end">my own end</a>'
    + TEXT.format("more words"),
}
CHAPTERS = [(0, "index"), (0, "one"), (1, "two")]


@pytest.fixture(scope="module")
def printed(browser, tmp_path_factory):
    """Return the file made of three pages, each of which has a place called `end`."""
    from tools import make_pdf

    folder = tmp_path_factory.mktemp("html")
    for name, body in PAGES.items():
        page = PAGE.format(name=name, body=body)
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    pages = make_pdf.print_pages(browser, folder, list(PAGES))
    book = make_pdf.joined(CHAPTERS, pages, folder)
    make_pdf.number_sheets(browser, book)
    file = io.BytesIO()
    book.write(file)
    return PdfReader(file)


def links(reader, number):
    """Return where the links on a sheet lead: a sheet of the file, or an address."""
    found = []
    for annotation in reader.pages[number].get("/Annots", ()):
        link = annotation.get_object()
        sheet = reader.get_page_number(link["/Dest"][0].get_object()) if "/Dest" in link else None
        found.append(link["/A"]["/URI"] if sheet is None else sheet)
    return found


def test_the_bookmarks_are_the_table_of_contents(printed):
    index, one, below = printed.outline
    titles = (index.title, one.title, *(item.title for item in below))
    assert titles == ("7. index", "7. one", "7. two")
    sheets = [printed.get_destination_page_number(item) for item in (index, one, *below)]
    assert sheets == [0, 2, 3]


def test_the_sheets_are_numbered_through_the_whole_file(printed):
    last_words = [sheet.extract_text().split()[-1] for sheet in printed.pages]
    assert last_words == ["1", "2", "3", "4", "5"]


def test_a_link_to_another_page_leads_to_its_place_in_the_file(printed):
    # the place `end` of two is on its second sheet, the fifth of the file
    assert sorted(map(str, set(links(printed, 2)))) == ["4", "https://example.org/"]


def test_a_place_that_several_pages_have_is_found_on_the_page_of_the_link(printed):
    assert set(links(printed, 0)) == {1}
    assert set(links(printed, 3)) == {2, 4}


def test_the_pages_are_those_of_the_table_of_contents_in_its_order():
    from tools.make_pdf import table_of_contents

    toc = {
        "root": "index",
        "parts": [
            {"chapters": [{"file": "a", "sections": [{"file": "b"}]}]},
            {"chapters": [{"file": "c"}]},
        ],
    }
    assert table_of_contents(toc) == [(0, "index"), (0, "a"), (1, "b"), (0, "c")]


def test_without_a_built_book_it_says_what_to_do(tmp_path):
    need("chromium")
    arguments = [str(tmp_path), str(tmp_path / "book.pdf")]
    command = [sys.executable, "-m", "tools.make_pdf", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == f"pdf: there is no built book in {tmp_path}: run `make book` first\n"
