"""The sources of the book agree with one another and with the package."""

import ast
import importlib
import re
from pathlib import Path

import pytest
import yaml

BOOK = Path(__file__).parents[2] / "book"
PAGES = sorted(BOOK.glob("*.md"))
names = [page.name for page in PAGES]

FENCE = re.compile(r"^ {0,3}(?P<mark>`{3,}|:{3,}|~{3,})(?P<rest>.*)$")


def fences(text):
    """Yield (line number, depth, rest of the opening line, body) for every fence of a page."""
    stack = []
    for number, line in enumerate(text.splitlines(), start=1):
        match = FENCE.match(line)
        if match and not match["rest"].strip() and stack and _closes(match["mark"], stack[-1][1]):
            opened, _, rest, body = stack.pop()
            yield opened, len(stack), rest, "\n".join(body)
        elif match and match["rest"].strip() and not (stack and _is_literal(stack[-1])):
            stack.append((number, match["mark"], match["rest"].strip(), []))
        elif stack:
            stack[-1][3].append(line)
    for opened, _, rest, body in stack:
        yield opened, 0, f"never closed: {rest}", "\n".join(body)


def _closes(mark, opening):
    return mark[0] == opening[0] and len(mark) >= len(opening)


def _is_literal(fence):
    """In code, three backticks are text."""
    return not fence[2].startswith("{") or fence[2].startswith(
        ("{code-cell}", "{code-block}", "{math}")
    )


def nested_cells(text):
    """Return the lines of code cells inside another fence: they would never run."""
    return [
        line for line, depth, rest, _ in fences(text) if rest.startswith("{code-cell}") and depth
    ]


def code_of(text):
    """Return the code of a page's cells, without their options and magics."""
    cells = [body for _, _, rest, body in fences(text) if rest.startswith("{code-cell}")]
    return [_without_options(cell) for cell in cells]


def _without_options(cell):
    cell = re.sub(r"\A---\n.*?\n---\n?", "", cell, flags=re.DOTALL)
    lines = cell.splitlines()
    while lines and lines[0].startswith(":"):
        lines.pop(0)
    return "\n".join("" if line.lstrip().startswith(("%", "!")) else line for line in lines)


def course_imports(code):
    """Yield (module, name or None) for each import from attn_course."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and node.module and _ours(node.module):
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names if _ours(alias.name))


def _ours(module):
    return module.split(".")[0] == "attn_course"


def missing(module, name):
    """Return a sentence when the import would fail, else None."""
    try:
        imported = importlib.import_module(module)
        if name and name != "*" and not hasattr(imported, name):
            importlib.import_module(f"{module}.{name}")
    except ImportError as error:
        return f"{module}, {name}: {error}"
    return None


def pictures_without_alt(text):
    """Return the lines of images and figures that have no alt text."""
    lines = []
    for line, _, rest, body in fences(text):
        is_picture = rest.startswith(("{figure}", "{image}"))
        if is_picture and not re.search(r"^:?alt: *\S", body, re.MULTILINE):
            lines.append(line)
    for number, line in enumerate(text.splitlines(), start=1):
        if re.search(r"!\[\s*\]\(", line) or re.search(r"<img(?![^>]*\balt=\"[^\"]+\")", line):
            lines.append(number)
    return lines


WIDEST = 78  # characters of code that fit the text of a page
IN_PROSE = re.compile(r"(?<![\w.])(\d+\.\d+)( %)?")


def lines_in_sight(text):
    """Return the lines of code that a reader sees without unfolding anything."""
    return [
        line
        for _, _, rest, body in fences(text)
        if rest.startswith("{code-cell}") and not re.search(r"remove-|hide-input", body)
        for line in body.splitlines()
    ]


def wide_lines(text):
    """Return the lines of code that a reader would have to scroll."""
    return [line for line in lines_in_sight(text) if len(line) > WIDEST]


def numbers_without_guard(text):
    """Return the decimals in the prose of a page that none of its cells has, as such or as a share.

    A number that was measured is asserted in the guard cell; one that a cell prints is in its code.
    """
    prose = re.sub(r"\A---\n.*?^---\n", "", text, count=1, flags=re.DOTALL | re.MULTILINE)
    for block in (r"^```\{code-cell\}.*?^```$", r"^\$\$.*?^\$\$[^\n]*$"):
        prose = re.sub(block, "", prose, flags=re.DOTALL | re.MULTILINE)
    prose = re.sub(r"\$[^$]+\$|`[^`]*`|\]\([^)]*\)", "", prose)
    guarded = {float(n) for cell in code_of(text) for n in re.findall(r"\d+(?:\.\d+)?", cell)}
    return [
        number + percent
        for number, percent in IN_PROSE.findall(prose)
        if float(number) not in guarded
        and not (percent and round(float(number) / 100, 6) in guarded)
    ]


def asserts_in_sight(text):
    """Return the assertions that a reader would see."""
    return [line for line in lines_in_sight(text) if line.startswith("assert ")]


TAUGHT = [page for page in PAGES if re.match(r"\d\d|notation", page.name)]


@pytest.mark.parametrize("problems", [wide_lines, numbers_without_guard, asserts_in_sight])
def test_pages_have_no_code_to_scroll_no_number_without_a_guard_and_no_assert(problems):
    assert len(TAUGHT) > 30
    found = {page.name: problems(page.read_text(encoding="utf-8")) for page in TAUGHT}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_a_wide_line_an_assert_and_a_number_without_a_guard_are_found():
    cell = "```{code-cell} python3\n" + "x = 1" + " " * 80 + "# far\nassert y == 0.974\n```\n"
    assert wide_lines(cell) == ["x = 1" + " " * 80 + "# far"]
    assert asserts_in_sight(cell) == ["assert y == 0.974"]
    assert numbers_without_guard(cell + "It is right in 97.4 %, and in 43.6 % without.") == [
        "43.6 %"
    ]
    assert numbers_without_guard(cell + "The formula $0.5 x$ and `0.25` are no results.") == []
    hidden = cell.replace("python3\n", "python3\n:tags: [remove-cell]\n")
    assert wide_lines(hidden) == []


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_no_code_cell_is_nested_where_it_would_not_run(page):
    assert nested_cells(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_every_fence_of_a_page_is_closed(page):
    found = [rest for _, _, rest, _ in fences(page.read_text(encoding="utf-8"))]
    assert [rest for rest in found if rest.startswith("never closed")] == []


def test_the_table_of_contents_lists_every_page_once():
    contents = yaml.safe_load((BOOK / "_toc.yml").read_text(encoding="utf-8"))
    chapters = [chapter for part in contents["parts"] for chapter in part["chapters"]]
    pages = [page for chapter in chapters for page in chapter.get("sections", [])]
    listed = [page["file"] for page in chapters + pages]
    assert sorted([contents["root"], *listed]) == [page.stem for page in PAGES]


def test_the_first_page_leads_to_the_first_chapter_and_links_to_what_was_left_out():
    contents = yaml.safe_load((BOOK / "_toc.yml").read_text(encoding="utf-8"))
    start, course, *later = contents["parts"]
    assert [page["file"] for page in start["chapters"]] == ["00_attention"]
    assert course["numbered"]
    assert course["chapters"][0]["file"] == "01_nadaraya_watson"
    together = {part["caption"]: [page["file"] for page in part["chapters"]] for part in later}
    assert together["Install and teach"] == ["install", "teaching", "desk"]
    first = (BOOK / "00_attention.md").read_text(encoding="utf-8")
    links = ["<00b_four_models>`", "<00c_properties>`", "<taxonomy-map>`"]
    assert [link for link in links if link not in first] == []


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_a_page_imports_only_what_the_package_has(page):
    text = page.read_text(encoding="utf-8")
    imports = {found for cell in code_of(text) for found in course_imports(cell)}
    assert [sentence for found in sorted(imports, key=str) if (sentence := missing(*found))] == []


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_every_picture_of_a_page_has_alt_text(page):
    """Pictures that cells draw are asked for by the strict build (attn_book.alt_text)."""
    assert pictures_without_alt(page.read_text(encoding="utf-8")) == []


# The checks themselves: they find what is planted.


def test_a_nested_cell_is_found():
    page = "````{exercise} One\n```{code-cell} python3\n1 + 1\n```\n````\n"
    assert nested_cells(page) == [2]


def test_a_cell_between_gates_is_not_nested():
    page = "```{exercise-start}\n```\n```{code-cell} python3\n1\n```\n```{exercise-end}\n```\n"
    assert nested_cells(page) == []


def test_an_import_of_what_is_not_there_is_found():
    page = "```{code-cell}\n---\ntags: [x]\n---\nfrom attn_course.translate import _, no\n```\n"
    (cell,) = code_of(page)
    assert [bool(missing(*found)) for found in course_imports(cell)] == [False, True]


@pytest.mark.parametrize(
    ("picture", "lines"),
    [
        ("![](a.svg)", [1]),
        ("![A cat.](a.svg)", []),
        ("```{figure} a.svg\n:name: a\n```", [1]),
        ("```{figure} a.svg\n:alt: A cat.\n```", []),
        ("```{image} a.svg\n---\nalt: A cat.\n---\n```", []),
        ('<img src="a.svg">', [1]),
        ('<img src="a.svg" alt="A cat.">', []),
    ],
)
def test_a_picture_without_alt_text_is_found(picture, lines):
    assert pictures_without_alt(picture) == lines
