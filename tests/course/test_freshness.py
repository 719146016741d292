"""Pages show what the package does today: their cells run again when it has changed."""

import pytest
from attn_book.freshness import forget_if_changed

USED = (
    "attn_course/scoring.py",
    "attn_course/practice/exercises/01_topic.json",  # pages show the exercises of a chapter
    "book/_data/tasks.json",
)
UNUSED = ("attn_course/grading/run.py", "attn_course/authoring/release.py")


@pytest.fixture
def root(tmp_path):
    for name in (*USED, *UNUSED):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("as it was")
    return tmp_path


@pytest.fixture
def cache(root):
    """Return a cache that was made with the code in `root`, and holds something."""
    cache = root / ".jupyter_cache"
    assert forget_if_changed(cache, root)
    (cache / "global.db").write_text("outputs")
    return cache


def test_outputs_are_kept_as_long_as_nothing_changes(root, cache):
    assert not forget_if_changed(cache, root)
    assert (cache / "global.db").exists()


@pytest.mark.parametrize("name", USED)
def test_other_code_or_data_forgets_them(root, cache, name):
    (root / name).write_text("changed")
    assert forget_if_changed(cache, root)
    assert not (cache / "global.db").exists()
    assert not forget_if_changed(cache, root)


def test_a_file_that_is_gone_or_new_forgets_them(root, cache):
    (root / "attn_course" / "scoring.py").rename(root / "attn_course" / "scores.py")
    assert forget_if_changed(cache, root)


def test_what_no_page_runs_does_not_matter(root, cache):
    for name in UNUSED:
        (root / name).write_text("changed")
    (root / "attn_course" / "__pycache__").mkdir()
    (root / "attn_course" / "__pycache__" / "scoring.pyc").write_text("compiled")
    assert not forget_if_changed(cache, root)
