"""taxonomy.yml, the pages, the bibliography and the package agree with one another."""

import re
from collections import Counter
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
from attn_book import taxonomy

BOOK = Path(__file__).parents[2] / "book"
ASPECTS = taxonomy.load(BOOK / "taxonomy.yml")
LEAVES = [leaf for aspect in ASPECTS for leaf in aspect.leaves()]
STUBS = [leaf for leaf in LEAVES if not leaf.written]
PAGES = {page.stem: page.read_text(encoding="utf-8") for page in sorted(BOOK.glob("*.md"))}

every_leaf = pytest.mark.parametrize("leaf", LEAVES, ids=lambda leaf: leaf.label)

# How many members each axis of the survey has here (local alignment counts as two).
SURVEY = {
    "Multiplicity of features": 6,
    "Levels of features": 3,
    "Representations of features": 2,
    "Scoring": 7,
    "Alignment": 5,
    "Dimensionality": 2,
    "Type of queries": 3,
    "Multiplicity of queries": 4,
}


# ---- The file ------------------------------------------------------------------------------


def test_the_taxonomy_has_every_member_of_the_survey():
    found = {
        sub_aspect.title: len(sub_aspect.leaves)
        for aspect in ASPECTS
        if aspect.in_survey
        for sub_aspect in aspect.sub_aspects
    }
    assert found == SURVEY


def test_the_equations_of_the_survey_are_covered_without_a_gap():
    numbers = set()
    for leaf in LEAVES:
        for first, last in re.findall(r"\((\d+)\)(?:–\((\d+)\))?", leaf.equations):
            numbers.update(range(int(first), int(last or first) + 1))
    # (23) and (24) are assigned to no leaf.
    assert numbers == set(range(1, 47)) - {23, 24}


def test_labels_and_titles_are_unique():
    for field in ("label", "title"):
        count = Counter(getattr(leaf, field) for leaf in LEAVES)
        assert [value for value, times in count.items() if times > 1] == []


@every_leaf
def test_a_question_is_one_sentence_that_asks(leaf):
    assert leaf.question.endswith("?")
    assert leaf.question.count("?") == 1


def test_an_unknown_field_is_an_error_that_names_the_leaf(tmp_path):
    text = (BOOK / "taxonomy.yml").read_text(encoding="utf-8")
    broken = tmp_path / "taxonomy.yml"
    broken.write_text(text.replace("status: written", "state: written", 1), encoding="utf-8")
    with pytest.raises(Exception, match=r"features-singular.*state"):
        taxonomy.load(broken)


# ---- Pages and package ---------------------------------------------------------------------


@every_leaf
def test_a_leaf_has_one_section_in_its_chapter(leaf):
    homes = [stem for stem, text in PAGES.items() for _ in _labels(text, leaf.label)]
    assert homes == [leaf.chapter]


def test_every_chapter_has_a_page_and_a_leaf():
    pages = {stem for stem in PAGES if re.match(r"\d\d", stem)}
    chapters = [f"{number:02}" for number in range(11)]
    with_a_leaf = {leaf.chapter for leaf in LEAVES}
    assert with_a_leaf <= pages
    assert sorted({stem[:2] for stem in with_a_leaf}) == chapters
    assert sorted({stem[:2] for stem in pages}) == chapters


def test_a_stub_section_carries_its_title_and_its_directive():
    for leaf in STUBS:
        section = f"({leaf.label})=\n## {leaf.title}\n\n```{{mechanism-stub}} {leaf.label}\n```\n"
        assert section in PAGES[leaf.chapter]


def test_no_written_section_still_shows_a_stub():
    shown = {
        label for text in PAGES.values() for label in re.findall(r"{mechanism-stub} (\S+)", text)
    }
    assert shown == {leaf.label for leaf in STUBS}


@every_leaf
def test_every_name_can_be_imported(leaf):
    missing = [name for name in leaf.names if not taxonomy.is_in_package(name)]
    assert missing == []


@every_leaf
def test_a_name_lies_in_the_package(leaf):
    assert leaf.names
    assert all(name.startswith("attn_course.") for name in leaf.names)


def test_the_index_of_mechanisms_shows_every_aspect():
    shown = re.findall(r"{mechanism-index} (.+)", PAGES["mechanisms"])
    assert shown == [aspect.title for aspect in ASPECTS]


def test_every_work_cited_is_in_the_bibliography_and_every_work_in_it_is_cited():
    bibliography = (BOOK / "references.bib").read_text(encoding="utf-8")
    known = set(re.findall(r"^@\w+{([^,]+),", bibliography, flags=re.MULTILINE))
    cited = {key for leaf in LEAVES for key in leaf.sources}
    for text in PAGES.values():
        for keys in re.findall(r"{cite(?::\w+)?}`([^`]+)`", text):
            cited.update(key.strip() for key in keys.split(","))
    assert cited == known


def test_a_work_is_in_the_bibliography_once():
    bibliography = (BOOK / "references.bib").read_text(encoding="utf-8")
    keys = re.findall(r"^@\w+{([^,]+),", bibliography, flags=re.MULTILINE)
    titles = re.findall(r"^\s*title\s*=\s*{(.+)},$", bibliography, flags=re.MULTILINE)
    assert len(titles) == len(keys)
    for values in (keys, titles):
        assert [value for value, times in Counter(values).items() if times > 1] == []


# ---- The built book ------------------------------------------------------------------------


class _Page(HTMLParser):
    """Collects the links inside the taxonomy map, and all ids."""

    def __init__(self, path):
        super().__init__()
        self.ids = set()
        self.map_links = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if "id" in found:
            self.ids.add(found["id"])
        if tag == "a" and "taxonomy-leaf" in (found.get("class") or "").split():
            self.map_links.append(found["href"])


@cache
def _read(path):
    return _Page(path)


def test_the_map_has_one_link_for_each_leaf_and_none_is_dead(book_html):
    links = _read(book_html / "map.html").map_links
    assert len(links) == len(set(links)) == len(LEAVES)
    for leaf, link in zip(LEAVES, links, strict=True):
        page, anchor = urldefrag(unquote(link))
        target = book_html / (page or "map.html")
        assert target.stem == leaf.chapter
        assert anchor in _read(target).ids, f"{link} leads nowhere"


def test_the_index_links_to_each_leaf(book_html):
    index = (book_html / "mechanisms.html").read_text(encoding="utf-8")
    assert [leaf.label for leaf in LEAVES if f".html#{leaf.label}" not in index] == []


def test_the_five_equations_carry_the_numbers_of_the_survey(book_html):
    page = (book_html / "00b_four_models.html").read_text(encoding="utf-8")
    names = ["eq-keys-values", "eq-score", "eq-align", "eq-context", "eq-output"]
    numbers = [
        re.search(rf'id="equation-{name}">.*?class="eqno">\((\d+)\)', page, flags=re.DOTALL)[1]
        for name in names
    ]
    assert numbers == ["1", "2", "3", "4", "5"]


def test_a_stub_says_that_it_is_one(book_html):
    for chapter in {leaf.chapter for leaf in STUBS}:
        page = (book_html / f"{chapter}.html").read_text(encoding="utf-8")
        expected = sum(leaf.chapter == chapter for leaf in STUBS)
        assert page.count("this section is not written yet.") == expected


def test_a_stub_names_its_sources(book_html):
    for leaf in STUBS:
        page = (book_html / f"{leaf.chapter}.html").read_text(encoding="utf-8")
        section = page.split(f'id="{leaf.label}"')[1].split("</section>")[0]
        cited = re.findall(r'href="references\.html#[^"]+"', section)
        assert len(set(cited)) == len(leaf.sources), leaf.label


def _labels(text, label):
    return re.findall(rf"^\({re.escape(label)}\)=$", text, flags=re.MULTILINE)
