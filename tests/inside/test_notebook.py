"""Notebook files: whatever a learner's file is, one clear sentence or its cells, never damage."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attn_course.inside.notebook import NotebookProblem, notebook_text, read_notebook
from attn_course.practice import numbers
from attn_course.practice.exercise import Chapter


def a_notebook(**changes):
    cells = [
        {"cell_type": "markdown", "id": "a", "metadata": {}, "source": ["# Title\n", "text"]},
        {
            "cell_type": "code",
            "execution_count": None,
            "id": "b",
            "metadata": {},
            "outputs": [],
            "source": "x = 1",
        },
    ]
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5} | changes


def text_of(**changes) -> str:
    return json.dumps(a_notebook(**changes), indent=1) + "\n"


def test_a_notebook_becomes_cells_with_kind_text_and_id(tmp_path):
    path = tmp_path / "n.ipynb"
    path.write_text(text_of())
    first, second = read_notebook(path).cells
    assert (first.number, first.kind, first.source, first.id) == (
        1,
        "markdown",
        "# Title\ntext",
        "a",
    )
    assert (second.number, second.kind, second.source, second.id) == (2, "code", "x = 1", "b")


def test_a_notebook_of_format_4_without_ids_is_read(tmp_path):
    path = tmp_path / "n.ipynb"
    path.write_text(
        text_of(nbformat_minor=2, cells=[{"cell_type": "code", "metadata": {}, "source": ["y"]}])
    )
    assert read_notebook(path).cells[0].id is None


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ["is empty", "attn-course start"]),
        (b"  \n\n", ["is empty"]),
        (b"hello", ["JSON", "this text is not", "line 1"]),
        (text_of()[:100].encode(), ["breaks off before its end"]),
        (("<<<<<<< HEAD\n" + text_of()).encode(), ["conflict marks of a git merge"]),
        (text_of(nbformat=3).encode(), ["nbformat 3", "nbformat 4 is wanted", "nbconvert"]),
        (text_of(nbformat=5).encode(), ["nbformat 5", "nbformat 4 is wanted"]),
        (text_of(nbformat="4").encode(), ["nbformat 4 is wanted"]),
        (b"\xef\xbb\xbf" + text_of().encode(), ["UTF-8 with a mark", "save it again as UTF-8"]),
        (text_of().encode("utf-16"), ["UTF-16", "save it again as UTF-8"]),
        (b'{"a": "\xff\xe9"}', ["plain UTF-8"]),
        (b"[1, 2]", ["JSON but not a notebook", "nbformat"]),
        (b"null", ["JSON but not a notebook"]),
        (text_of(cells=None).encode(), ["no list of cells"]),
        (text_of(cells=[3]).encode(), ["Cell 1", "is broken"]),
        (text_of(cells=[{"cell_type": "code", "source": 7}]).encode(), ["Cell 1", "is broken"]),
        (b'{"nbformat":' + b"[" * 100_000, ["nested too deeply"]),
    ],
)
def test_a_file_that_is_no_notebook_gets_one_sentence_and_is_left_alone(tmp_path, content, words):
    path = tmp_path / "n.ipynb"
    path.write_bytes(content)
    with pytest.raises(NotebookProblem) as caught:
        read_notebook(path)
    sentence = str(caught.value)
    assert str(path) in sentence
    assert "\n" not in sentence
    for word in words:
        assert word in sentence
    assert path.read_bytes() == content


def test_a_missing_file_and_a_folder_are_told_apart(tmp_path):
    with pytest.raises(NotebookProblem, match="There is no file"):
        read_notebook(tmp_path / "nothing.ipynb")
    with pytest.raises(NotebookProblem, match="is a folder"):
        read_notebook(tmp_path)


@given(content=st.binary(max_size=200))
def test_any_bytes_give_a_notebook_or_a_problem_and_nothing_else(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "any.ipynb"
    path.write_bytes(content)
    with pytest.raises(NotebookProblem):
        read_notebook(path)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=9,
)


@given(
    extra=json_values,
    indent=st.sampled_from([None, 1, 2, 4, "\t"]),
    escaped=st.booleans(),
    end=st.sampled_from(["", "\n", "\r\n"]),
    compact=st.booleans(),
)
def test_what_is_not_changed_is_written_back_byte_for_byte(extra, indent, escaped, end, compact):
    extra_text = "Größe → ✓"  # so that it shows whether the file escapes such letters
    separators = (",", ":") if compact else None
    text = json.dumps(
        a_notebook(metadata={"extra": extra, "name": extra_text}),
        indent=indent,
        ensure_ascii=escaped,
        separators=separators,
    )
    text = text.replace("\n", end) if end == "\r\n" else text
    text += end
    assert notebook_text(json.loads(text), like=text) == text


def test_half_a_character_survives(tmp_path):
    text = json.dumps(a_notebook(metadata={"half": "\ud83d"})) + "\n"
    assert notebook_text(json.loads(text), like=text) == text
    mixed = text.replace("Title", "Größe")
    written = notebook_text(json.loads(mixed), like=mixed)
    (tmp_path / "n.ipynb").write_text(written, encoding="utf-8")
    assert read_notebook(tmp_path / "n.ipynb").data == json.loads(mixed)


# To which chapter a file belongs

STEMS = ("01_sample", "05_levels", "05b_rotatory", "05c_levels_more", "06_levels")
KNOWN = {stem.partition("_")[0]: Chapter(stem, title="", sections={}) for stem in STEMS}


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("01_sample.ipynb", "01_sample"),
        ("05b_rotatory.ipynb", "05b_rotatory"),
        ("05b_rotatory (1).ipynb", "05b_rotatory"),
        ("05b_rotatory-Copy1.ipynb", "05b_rotatory"),
        ("05b-mine.ipynb", "05b_rotatory"),
        ("05b.ipynb", "05b_rotatory"),
        ("05b", "05b_rotatory"),
        ("05 of mine.ipynb", "05_levels"),
        ("06_levels.mine.ipynb", "06_levels"),
        ("05c_levels_more.ipynb", "05c_levels_more"),
        ("05_levels_more.ipynb", "05_levels"),
        ("05_rotatory.ipynb", "05_levels"),
        ("07_levels.ipynb", None),
        ("05d_rotatory.ipynb", None),
        ("005_levels.ipynb", None),
        ("01sample.ipynb", None),
        ("5b_rotatory.ipynb", None),
        ("sample.ipynb", None),
        ("sample_01.ipynb", None),
        (".ipynb", None),
        ("", None),
    ],
)
def test_a_file_belongs_to_the_chapter_of_its_stem_or_else_of_its_number(name, stem):
    found = numbers.chapter_of_file(name, KNOWN)
    assert (found.stem if found else None) == stem


def test_a_file_with_the_stem_of_old_times_belongs_to_the_chapter_of_today(monkeypatch):
    renamed = {"05b_turning": "06_levels", "08_gone": "09_gone", "01_sample": "06_levels"}
    monkeypatch.setattr(numbers, "RENAMED", renamed)

    def stem_of(name):
        found = numbers.chapter_of_file(name, KNOWN)
        return found.stem if found else None

    assert stem_of("05b_turning (2).ipynb") == "06_levels"
    assert stem_of("05b_turning_more.ipynb") == "05b_rotatory"  # by its number
    assert stem_of("08_gone.ipynb") is None
    assert stem_of("01_sample.ipynb") == "01_sample"  # a stem of today is that of its own chapter
    assert numbers.current_stem("05b_turning") == "06_levels"
    assert numbers.current_stem("05b_rotatory") == "05b_rotatory"


@given(st.text(max_size=12))
def test_any_name_of_a_file_has_a_number_or_none(name):
    number = numbers.number_in(name)
    assert number is None or name.startswith(number)
    found = numbers.chapter_of_file(name, KNOWN)
    assert found is None or name.startswith(found.number)
