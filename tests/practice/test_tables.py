"""The tables of a chapter: what there is to do, what is done, what is missing."""

import ast
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from attn_course import practice
from attn_course.inside import inert_practice
from attn_course.practice import exercises, progress
from attn_course.practice.exercise import Chapter
from attn_course.practice.tables import overview
from tests.practice.sample_exercises import (
    Linear,
    WithoutBias,
    chapter,
    one_sum_for_all,
    row_weights,
)

PLAIN = [
    "01 A sample",
    "Exercise          Task       Difficulty  Minutes  Points",
    "Row weights       implement  easy        5        3",
    "How many weights  predict    medium      1        1",
    "A linear layer    implement  hard        10       2",
]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    """Keep progress out of the checkout, and let the sample be chapter 01."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ATTN_COURSE_HOME", raising=False)
    monkeypatch.delenv(practice.CELLS_MUST_PASS, raising=False)
    monkeypatch.setattr(exercises, "chapters", lambda: {"01": chapter})


def shown(tables):
    """Return the HTML as a tree: it must be well formed, which a browser would not insist on."""
    return ElementTree.fromstring(f"<div>{tables._repr_html_()}</div>")


def rows_in(tables):
    """Return the rows of the HTML as a reader reads them, without the marks."""
    rows = []
    for row in shown(tables).iter("tr"):
        for cell in row:
            for mark in cell.findall("span"):
                assert mark.get("aria-hidden") == "true"
                cell.remove(mark)
                cell.text = (cell.text or "") + (mark.tail or "")
        rows.append(tuple("".join(cell.itertext()) for cell in row))
    return rows


def stub(scores, scale=1.0):
    raise NotImplementedError


# What a notebook may call


def test_every_public_name_of_practice_does_nothing_inside_the_sandbox():
    """A notebook that calls one of them must not fail there for that."""
    source = ast.parse(Path(practice.__file__).read_text(encoding="utf-8"))
    defined = {
        name
        for statement in source.body
        for name in (
            [statement.name]
            if isinstance(statement, ast.FunctionDef | ast.ClassDef)
            else [one.id for one in statement.targets if isinstance(one, ast.Name)]
            if isinstance(statement, ast.Assign)
            else []
        )
        if not name.startswith("_")
    }
    assert defined == set(practice.__all__)
    assert list(inert_practice.__all__) == list(practice.__all__)
    for name in practice.__all__:
        real, inert = getattr(practice, name), getattr(inert_practice, name)
        if isinstance(real, str):
            assert inert == real
        elif isinstance(real, type):
            assert [one.__name__ for one in inert.__mro__] == [one.__name__ for one in real.__mro__]
        else:
            assert inert() is inert("01.f", stub, others=False, w=(0, 1)) is None


# The overview


def test_the_overview_lists_every_exercise():
    found = practice.overview("01")
    assert found.text().split("\n") == PLAIN
    assert rows_in(found)[1] == ("Row weights", "implement", "easy", "5", "3")
    assert {cell.get("scope") for cell in shown(found).iter("th")} == {"col"}
    assert repr(overview([chapter])) == found.text()


def test_the_overview_of_a_chapter_has_a_table_for_each_of_its_notebooks(monkeypatch):
    parts = [Chapter(f"05{letter}_part", title=f"Part {letter}", sections={}) for letter in "ab"]
    for one in parts:
        one.exercises = dict(chapter.exercises)
    monkeypatch.setattr(exercises, "chapters", lambda: {one.number: one for one in parts})
    whole, first = practice.overview("5"), practice.overview("05a")
    assert [line for line in whole.text().split("\n") if "Part" in line] == [
        "05a Part a",
        "05b Part b",
    ]
    assert whole.text().startswith(first.text() + "\n\n05b Part b\nExercise ")
    captions = [one.text for one in shown(whole).iter("caption")]
    assert captions == ["05a Part a", "05b Part b"]
    assert len(list(shown(whole).iter("td"))) == 2 * 3 * 5


def four_checks():
    practice.check("01.row_weights", one_sum_for_all)
    practice.check("01.weight_count", 35)
    practice.check("01.Linear", Linear.reference)
    practice.check("01.Linear", WithoutBias)


def test_who_comes_back_sees_where_one_stands():
    four_checks()
    found = practice.overview("01")
    assert found.text().split("\n") == [
        "01 A sample",
        "Exercise          Task       Difficulty  Minutes  Best points  Last check",
        "Row weights       implement  easy        5        1 of 3       not yet",
        "How many weights  predict    medium      1        1 of 1       passed",
        "A linear layer    implement  hard        10       2 of 2       not yet",
    ]
    assert rows_in(found)[1] == ("Row weights", "implement", "easy", "5", "1 of 3", "not yet")
    marks = ["".join(mark.itertext()).strip() for mark in shown(found).iter("span")]
    assert marks == ["✗", "✓", "✗"]


def test_what_was_not_tried_yet_says_so_beside_what_was():
    practice.check("01.row_weights", stub)
    lines = practice.overview("01").text().split("\n")
    assert lines[2].endswith("0 of 3       not written yet")
    assert lines[3].endswith("0 of 1       not tried yet")


def test_hints_alone_change_nothing_in_the_overview(tmp_path):
    progress.load(tmp_path).next_hint(row_weights)
    assert practice.overview("01").text().split("\n") == PLAIN


def test_where_cells_are_compared_the_overview_does_not_depend_on_progress(tmp_path, monkeypatch):
    before = practice.overview("01")._repr_html_()
    practice.check("01.weight_count", 35)
    file = tmp_path / ".attn-course" / "progress.json"
    file.write_text("broken")
    monkeypatch.setenv(practice.CELLS_MUST_PASS, "1")
    assert practice.overview("01").text().split("\n") == PLAIN
    assert practice.overview("01")._repr_html_() == before
    assert file.read_text() == "broken"  # it was not even looked at


def test_progress_that_can_not_be_read_is_a_note_below_the_table(tmp_path):
    (tmp_path / ".attn-course").mkdir()
    (tmp_path / ".attn-course" / "progress.json").write_text("<broken>")
    found = practice.overview("01")
    assert found.text().split("\n")[:5] == PLAIN
    assert "could not be read; it is kept as progress-unreadable-" in found.text()
    (tmp_path / ".attn-course" / "progress.json").write_text("<broken>")
    assert "could not be read" in "".join(shown(practice.overview("01")).itertext())


# The summary


def test_the_summary_is_one_table_of_points_and_of_what_is_missing():
    four_checks()
    found = practice.summary("01")
    assert found.text().split("\n") == [
        "01 A sample",
        "Exercise          Best points  What is missing",
        "Row weights       1 of 3       points: 2 (not yet)",
        "How many weights  1 of 1       nothing",
        "A linear layer    2 of 2       it was right before, and not in the last check",
        "In all            4 of 6       exercises: 2 of 3",
        "Save the notebook before you hand it in: "
        "`attn-course check 01` looks at the file as it is saved.",
    ]
    rows = rows_in(found)
    assert rows[0] == ("Exercise", "Best points", "What is missing")
    assert rows[1] == ("Row weights", "1 of 3", "points: 2 (not yet)")
    assert rows[-1] == ("In all", "4 of 6", "exercises: 2 of 3")
    assert "attn-course check 01" in "".join(shown(found).itertext())
    assert repr(found) == found.text()


def test_the_summary_before_and_after_all_the_work():
    lines = practice.summary("01").text().split("\n")
    assert lines[2] == "Row weights       0 of 3       points: 3 (not tried yet)"
    assert lines[5] == "In all            0 of 6       exercises: 3 of 3"
    for exercise in chapter.exercises.values():
        practice.check(exercise.id, exercise.reference)
    lines = practice.summary("01").text().split("\n")
    assert [line.split()[-1] for line in lines[2:6]] == ["nothing"] * 4


def test_the_summary_of_a_chapter_that_there_is_not_gets_a_sentence():
    assert "no chapter '77'" in practice.summary("77").text()
    assert "no chapter '77'" in practice.overview("77").text()
