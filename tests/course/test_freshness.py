"""Pages show what the package does today: a page runs again when something it uses has changed."""

import re
from pathlib import Path

import nbformat
import pytest
from attn_book.freshness import code_of, forget_changed, imported_by
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn

BOOK = Path(__file__).parents[2] / "book"

# A small course: two pages, and what they use or do not use.
FILES = {
    "attn_course/__init__.py": "",
    "attn_course/scoring.py": "from attn_course._arrays import shape\n",
    "attn_course/_arrays.py": "shape = 1\n",
    "attn_course/alignment.py": "softmax = 1\n",
    "attn_course/grading/run.py": "",
    "attn_course/practice/__init__.py": "def table():\n    import attn_course.practice.exercises\n",
    "attn_course/practice/exercises/__init__.py": "from importlib import import_module\n"
    "import_module(name)\n",
    "attn_course/practice/exercises/01_topic.json": "{}",
    "attn_course/practice/exercises/topic/answer.py": "",
    "attn_course/tasks/stated.py": 'KEPT = "tasks.json"\n',
    "book/_data/tasks.json": "{}",
    "book/_data/other.json": "{}",
    "book/scores.md": """# Scores
```{code-cell} python3
---
tags: [hide-input]
---
from attn_course.scoring import dot
```
""",
    "book/table.md": """# A table
```{code-cell} python3
:tags: [hide-input]
from attn_course import practice
from attn_course.tasks.stated import KEPT
```
""",
    "book/source.md": """# Code
```{code-cell} python3
import inspect
from attn_course import alignment
print(inspect.getsource(alignment))
```
""",
}
PAGES = {"scores.md", "table.md", "source.md"}


@pytest.fixture
def root(tmp_path):
    for name, text in FILES.items():
        write(tmp_path / name, text)
    return tmp_path


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.fixture
def cache(root):
    """Return a cache with the outputs of every page, executed with the code in `root`."""
    folder = root / ".jupyter_cache"
    forget_changed(folder, root)
    for page in PAGES:
        cell = nbformat.v4.new_code_cell(f"print('{page}')", execution_count=1)
        notebook = nbformat.v4.new_notebook(cells=[cell])
        bundle = CacheBundleIn(notebook, str(root / "book" / page))
        get_cache(str(folder)).cache_notebook_bundle(bundle, check_validity=False)
    return folder


def remembered(cache):
    return {Path(record.uri).name for record in get_cache(str(cache)).list_cache_records()}


def test_outputs_are_kept_as_long_as_nothing_changes(root, cache):
    assert forget_changed(cache, root) == set()
    assert remembered(cache) == PAGES


@pytest.mark.parametrize(
    ("changed", "forgotten"),
    [
        ("attn_course/scoring.py", {"scores.md"}),
        ("attn_course/_arrays.py", {"scores.md"}),  # by way of scoring
        ("attn_course/alignment.py", {"source.md"}),
        ("attn_course/practice/exercises/01_topic.json", {"table.md"}),
        ("attn_course/practice/exercises/topic/answer.py", {"table.md"}),  # imported by its name
        ("book/_data/tasks.json", {"table.md"}),
        ("book/_data/other.json", set()),
        ("attn_course/grading/run.py", set()),
    ],
)
def test_a_change_forgets_the_pages_that_use_it_and_no_other(root, cache, changed, forgotten):
    write(root / changed, "changed = 2\n")
    found = forget_changed(cache, root)
    assert found, "all pages must be read again, since some may include what has changed"
    assert remembered(cache) == PAGES - forgotten
    assert forget_changed(cache, root) == set()


def test_a_comment_forgets_only_the_pages_that_show_code(root, cache):
    for name in ("scoring", "alignment"):
        write(root / f"attn_course/{name}.py", "# why\n" + FILES[f"attn_course/{name}.py"])
    forget_changed(cache, root)
    assert remembered(cache) == PAGES - {"source.md"}


def test_a_module_that_is_gone_forgets_its_pages(root, cache):
    (root / "attn_course" / "_arrays.py").rename(root / "attn_course" / "arrays.py")
    forget_changed(cache, root)
    assert remembered(cache) == PAGES - {"scores.md"}


def test_a_page_whose_cells_cannot_be_read_depends_on_everything(root, cache):
    write(root / "book/scores.md", "```{code-cell} python3\n%magic\n```\n")
    write(root / "attn_course/__init__.py", "import_module(name)\n")
    forget_changed(cache, root)
    before = (cache / "made_with.json").read_text(encoding="utf-8")
    write(root / "attn_course/grading/run.py", "changed = 2\n")
    assert "scores.md" in forget_changed(cache, root)
    assert (cache / "made_with.json").read_text(encoding="utf-8") != before


def test_compiled_files_do_not_matter(root, cache):
    write(root / "attn_course/__pycache__/scoring.pyc", "compiled")
    assert forget_changed(cache, root) == set()


def test_a_moved_checkout_forgets_as_well(root, cache):
    moved = root.rename(root.with_name("moved"))
    write(moved / "attn_course/scoring.py", "changed = 2\n")
    forget_changed(moved / ".jupyter_cache", moved)
    assert remembered(moved / ".jupyter_cache") == PAGES - {"scores.md"}


def test_the_imports_of_every_page_of_the_book_can_be_read():
    pages = {page.name: page.read_text(encoding="utf-8") for page in BOOK.glob("*.md")}
    silent = [
        name
        for name, text in pages.items()
        if re.search("^from attn_course", text, re.MULTILINE) and not imported_by(code_of(text))
    ]
    assert silent == []
    assert "attn_course.scoring.dot" in imported_by(code_of(pages["01_nadaraya_watson.md"]))
