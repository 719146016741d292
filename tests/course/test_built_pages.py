"""What every built page says of itself, and what the built folder leaves out."""

import re
import sys
from importlib.metadata import version
from pathlib import Path

from docutils import nodes
from docutils.utils import new_document

sys.path.insert(0, str(Path(__file__).parents[2] / "book" / "_ext"))
from attn_book.about import LONGEST, description

PAGES = [path.stem for path in (Path(__file__).parents[2] / "book").glob("*.md")]
PAGES += ["genindex", "search"]


def test_every_page_has_a_description_and_the_version(book_html):
    without = []
    for name in PAGES:
        html = (book_html / f"{name}.html").read_text(encoding="utf-8")
        found = re.findall(r'<meta name="description" content="([^"]+)">', html)
        is_good = len(found) == 1 and len(found[0]) >= 20
        if not is_good or f'<meta name="version" content="{version("attn-course")}">' not in html:
            without.append((name, found))
    assert without == []


def test_no_source_map_is_shipped(book_html):
    assert list(book_html.rglob("*.map")) == []


def page_of(*paragraphs):
    document = new_document("page")
    document.extend(nodes.paragraph(text, text) for text in paragraphs)
    return document


def test_a_description_is_the_first_words_and_ends_with_a_whole_one():
    assert description(page_of("One idea.", "Another.")) == "One idea. Another."
    long = description(page_of("word " * 50))
    assert len(long) <= LONGEST
    assert long.endswith("word…")
    assert description(page_of()) == ""


def test_the_cells_of_a_table_are_no_description():
    page = page_of("One idea.")
    cell = nodes.entry("", nodes.paragraph("", "the small cat"))
    page += nodes.table("", nodes.tgroup("", nodes.tbody("", nodes.row("", cell))))
    page += nodes.paragraph("", "Another.")
    assert description(page) == "One idea. Another."
