"""The reference of the package: every public name has an entry, linked with what teaches it."""

import zlib
from html.parser import HTMLParser
from importlib import import_module
from inspect import getdoc, isclass, isfunction
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urldefrag

import pytest
import yaml
from attn_book import api, taxonomy

BOOK = Path(__file__).parents[2] / "book"
LEAVES = [leaf for aspect in taxonomy.load(BOOK / "taxonomy.yml") for leaf in aspect.leaves()]
ROOMS = sorted(path.stem.removeprefix("api_") for path in BOOK.glob("api_*.md"))
every_room = pytest.mark.parametrize("room", ROOMS)


def public_names(room):
    """Return the full names of the functions and classes that a module offers."""
    module = import_module(f"attn_course.{room}")
    offered = getattr(module, "__all__", None) or [
        name for name, thing in vars(module).items() if _is_own(thing, module) and name[0] != "_"
    ]
    things = {name: getattr(module, name) for name in offered}
    return [
        f"{module.__name__}.{name}"
        for name, thing in things.items()
        if (isfunction(thing) or isclass(thing)) and getdoc(thing)
    ]


def _is_own(thing, module):
    return getattr(thing, "__module__", None) == module.__name__


# ---- The sources -----------------------------------------------------------------------------


@every_room
def test_a_page_of_the_reference_is_one_module_from_its_docstrings(room):
    directive = f"```{{eval-rst}}\n.. automodule:: attn_course.{room}\n```\n"
    page = (BOOK / f"api_{room}.md").read_text(encoding="utf-8")
    assert page == f"# Module {room}\n\n{directive}"


def test_every_module_of_the_taxonomy_has_its_page():
    modules = {name.split(".")[1] for leaf in LEAVES for name in leaf.names}
    assert modules <= set(ROOMS)


def test_the_pages_are_listed_below_the_page_of_the_package():
    contents = yaml.safe_load((BOOK / "_toc.yml").read_text(encoding="utf-8"))
    (reference,) = (part for part in contents["parts"] if part["caption"] == "Reference")
    (package,) = (chapter for chapter in reference["chapters"] if chapter["file"] == "api")
    assert sorted(page["file"] for page in package["sections"]) == [f"api_{r}" for r in ROOMS]


# ---- Docstrings, from Markdown ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("markdown", "wanted"),
    [
        ("`keys` are $K$", "``keys`` are :math:`K`"),
        ("all `key`s, one $n$th", "all ``key``\\ s, one :math:`n`\\ th"),
        ("a dollar in code, `US$ 1`, and $x$", "a dollar in code, ``US$ 1``, and :math:`x`"),
        ("over\n$a\n+ b$ lines", "over\n:math:`a + b` lines"),
        ("so,\n\n$$a\n= b$$\n\nwhere", "so,\n\n.. math:: a = b\n\nwhere"),
        (">>> f('`$x$`')\n'`$`'\n\n`x`", ">>> f('`$x$`')\n'`$`'\n\n``x``"),
        ("`x`\n\n>>> 1\n1", "``x``\n\n>>> 1\n1"),
    ],
)
def test_code_and_formulas_keep_their_meaning(markdown, wanted):
    assert api.as_restructured_text(markdown) == wanted


# ---- Sentences and links ---------------------------------------------------------------------


def leaf(label, *names, chapter="03_alignment"):
    return SimpleNamespace(label=label, title=label.title(), names=names, chapter=chapter)


def test_an_entry_names_every_section_that_teaches_it():
    leaves = [leaf("soft", "attn_course.a.f"), leaf("masked", "attn_course.a.g", "attn_course.a.f")]
    wanted = "Taught in :ref:`Soft <soft>`, :ref:`Masked <masked>`."
    assert api.taught_in("attn_course.a.f", leaves) == wanted


def test_a_mechanism_that_is_a_whole_module_teaches_its_names():
    leaves = [leaf("lab", "attn_course.a")]
    assert api.taught_in("attn_course.a.f", leaves) == "Taught in :ref:`Lab <lab>`."
    assert api.taught_in("attn_course.a", leaves) == "Taught in :ref:`Lab <lab>`."


def test_what_no_section_teaches_names_the_first_page_of_its_module():
    leaves = [leaf("two", "attn_course.a.f", chapter="02b"), leaf("one", "attn_course.a.g")]
    assert api.taught_in("attn_course.a.h", leaves) == "See :doc:`02b`."
    assert api.taught_in("attn_course.a", leaves) == "See :doc:`02b`."
    assert api.taught_in("attn_course.b.f", leaves) == ""
    assert api.taught_in("attn_course.b", [leaf("lab", "attn_course.a")]) == ""


def test_a_literal_may_mean_a_full_name_a_short_one_or_one_of_the_modules_around():
    assert api.full_names("attn_course.a.f", []) == [
        "attn_course.a.f",
        "attn_course.attn_course.a.f",
    ]
    assert api.full_names("a.f", []) == ["a.f", "attn_course.a.f"]
    assert api.full_names("f(x, y)", ["attn_course.a"]) == ["f", "attn_course.a.f"]
    taught = [leaf("one", "attn_course.a.f"), leaf("two", "attn_course.b.f", chapter="02b")]
    assert api.names_taught_on("02b", taught) == {"f": ["attn_course.b.f"]}
    assert api.names_at_the_top("attend") == ["attn_course.attention.attend"]
    assert api.names_at_the_top("queries") == []


# ---- The built book --------------------------------------------------------------------------


class Links(HTMLParser):
    """The links of a page: pairs of address and text."""

    def __init__(self, html):
        super().__init__()
        self.found, self._inside = [], False
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        if tag == "a":
            self.found.append((dict(attributes).get("href", ""), ""))
            self._inside = True

    def handle_endtag(self, tag):
        self._inside = self._inside and tag != "a"

    def handle_data(self, data):
        if self._inside:
            address, text = self.found.pop()
            self.found.append((address, text + data))


def links(book_html, page):
    return Links((book_html / f"{page}.html").read_text(encoding="utf-8")).found


def inventory(book_html):
    """Return the address of every Python name in `objects.inv`, as other projects read it."""
    _header, _project, _version, _how, packed = (
        (book_html / "objects.inv").read_bytes().split(b"\n", 4)
    )
    lines = zlib.decompress(packed).decode().splitlines()
    fields = [line.split(" ", 4) for line in lines]
    return {
        name: address.removesuffix("$") + (name if address.endswith("$") else "")
        for name, kind, _priority, address, _text in fields
        if kind.startswith("py:")
    }


@every_room
def test_other_projects_find_every_public_name(room, book_html):
    names = public_names(room)
    assert names
    assert [name for name in names if name not in inventory(book_html)] == []


def test_the_index_of_mechanisms_links_every_name_to_its_entry(book_html):
    shown, known = dict(links(book_html, "mechanisms")), inventory(book_html)
    names = {name for leaf in LEAVES for name in leaf.names}
    assert [name for name in sorted(names) if known[name] not in shown] == []


def test_the_summary_card_of_a_page_links_to_the_entries(book_html):
    shown, known = links(book_html, "03b_masks"), inventory(book_html)
    module = "attn_course.alignment"
    assert (known[module], module) in shown
    for text in ("softmax(scores, mask)", "padding_mask", "causal_mask", "window_mask"):
        name = text.partition("(")[0]
        assert (known[f"{module}.{name}"], text) in shown


def test_a_page_links_the_names_that_it_teaches_in_its_text_too(book_html):
    attend = inventory(book_html)["attn_course.attention.attend"]
    assert (attend, "attend") in links(book_html, "00_attention")


def test_a_name_of_a_module_without_a_page_is_no_link(book_html):
    """`features` of the running example is not the module of that name."""
    known = inventory(book_html)
    assert (known["attn_course.features"], "attn_course.features") in links(book_html, "notation")
    assert (known["attn_course.features"], "features") not in links(book_html, "notation")


@pytest.mark.parametrize("leaf", LEAVES, ids=lambda leaf: leaf.label)
def test_an_entry_links_back_to_the_section_that_teaches_it(leaf, book_html):
    for name in leaf.names:
        page, _anchor = urldefrag(inventory(book_html)[name])
        shown = links(book_html, page.removesuffix(".html"))
        assert (f"{leaf.chapter}.html#{leaf.label}", leaf.title) in shown


def test_no_entry_shows_an_address_in_memory(book_html):
    pages = [(book_html / f"api_{room}.html").read_text(encoding="utf-8") for room in ROOMS]
    assert not any(" at 0x" in page for page in pages)
