"""Which files a piece of code depends on, found in a small package."""

import pytest

from attn_course._sources import (
    ROOT,
    code_without_comments,
    code_without_words,
    files_behind,
    fingerprint,
)

FILES = {
    "__init__.py": "from importlib import import_module\nimport_module(name)\n",
    "top.py": "from attn_course.middle.part import one\nimport numpy\n",
    "middle/__init__.py": "from attn_course.unused import two\n",
    "middle/part.py": "def one():\n    import attn_course.bottom\n",
    "middle/words.txt": "data",
    "middle/more/words.txt": "data",
    "bottom.py": "",
    "unused.py": "two = 2\n",
    "typed.py": "if TYPE_CHECKING:\n    from attn_course import bottom\n",
    "gathered.py": "from attn_course.middle import two\n",
    "by_name/__init__.py": "import importlib\nimportlib.import_module(name)\n",
    "by_name/kind.py": "from attn_course import bottom\n",
    "homes/__init__.py": 'import_module(HOMES[name])\nHOMES = {"picture": "plots"}\n',
    "homes/plots.py": "",
    "homes/explorers/__init__.py": "",
    "circle.py": "from attn_course import circle\n",
}


@pytest.fixture
def root(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / "attn_course" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def behind(root, *names, **options):
    modules = [f"attn_course.{name}" for name in names]
    found = files_behind(modules, root, **options)
    return {path.relative_to(root / "attn_course").as_posix() for path in found}


DATA = {"middle/words.txt", "middle/more/words.txt"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bottom", {"bottom.py"}),
        ("top", {"top.py", "middle/part.py", "bottom.py", *DATA}),  # inside a function
        ("typed", {"typed.py", "bottom.py"}),
        ("gathered", {"gathered.py", "middle/__init__.py", "unused.py", *DATA}),
        ("by_name.something", {"by_name/__init__.py", "by_name/kind.py", "bottom.py"}),
        ("homes.picture", {"homes/__init__.py", "homes/plots.py"}),
        ("circle", {"circle.py"}),
    ],
)
def test_what_a_module_imports_counts_however_indirectly(root, name, expected):
    assert behind(root, name) == expected


def test_the_package_itself_needs_everything_that_it_may_import(root):
    (root / "attn_course" / "__pycache__").mkdir()
    (root / "attn_course" / "__pycache__" / "top.pyc").touch()
    assert behind(root, "anything") == set(FILES)


def test_what_cannot_matter_is_left_out_with_what_it_alone_imports(root):
    assert behind(root, "top", without=["attn_course.middle.part"]) == {"top.py"}


def test_a_name_outside_the_course_has_no_file(root):
    assert files_behind(["numpy.linalg"], root) == set()


def test_a_fingerprint_changes_with_a_byte_a_name_or_a_word(root):
    package = root / "attn_course"
    files = [package / "top.py", package / "bottom.py"]
    before = fingerprint(files, "torch 1", root=root)
    assert fingerprint(reversed(files), "torch 1", root=root) == before
    assert fingerprint(files, "torch 2", root=root) != before
    assert fingerprint(files[:1], "torch 1", root=root) != before
    (package / "bottom.py").write_text("# a comment\n", encoding="utf-8")
    assert fingerprint(files, "torch 1", root=root) != before


def test_a_comment_can_be_ignored_but_no_other_change(root):
    package = root / "attn_course"
    path = package / "top.py"
    before = code_without_comments(path)
    path.write_text("# why\n\n" + FILES["top.py"], encoding="utf-8")
    assert code_without_comments(path) == before
    path.write_text(FILES["top.py"] + "x = 1\n", encoding="utf-8")
    assert code_without_comments(path) != before
    assert code_without_comments(package / "middle/words.txt") == b"data"


@pytest.mark.parametrize("before", ['"""Do."""\nx = 1\n', 'def f():\n    "Do."\n    return 1\n'])
def test_a_docstring_can_be_ignored_but_no_other_string(tmp_path, before):
    path = tmp_path / "a.py"

    def read(text):
        path.write_text(text, encoding="utf-8")
        return code_without_words(path)

    assert read(before.replace("Do.", "Do it.")) == read(before)
    assert read(before.replace("1", "2")) != read(before)
    assert read(before + 'y = "Do."\n') != read(before + 'y = "Do it."\n')
    assert read(before) == read(before.replace('"Do."\n    ', "").replace('"""Do."""\n', ""))


def test_packages_only_gather_names_so_that_importing_a_module_needs_no_init():
    """`files_behind` leaves the `__init__.py` above a module out: none may set anything up."""
    loud = ("os.environ[", "set_default", "seed(", "filterwarnings(", "setrlimit(")
    inits = list((ROOT / "attn_course").rglob("__init__.py"))
    assert len(inits) > 10
    assert [str(p) for p in inits if any(word in p.read_text("utf-8") for word in loud)] == []
