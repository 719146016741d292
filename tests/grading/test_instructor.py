"""An instructor's own checks: they add to copies of the chapters, and change the version."""

from pathlib import Path

import pytest

from attn_course.grading.grade_one import grade_cells
from attn_course.grading.instructor import (
    ChecksProblem,
    PrivateGroup,
    files_in,
    version_of,
    with_own_checks,
)
from attn_course.grading.intake import cells_of
from attn_course.grading.limits import Limits
from attn_course.practice.exercise import Group
from tests.grading import fixture_chapter
from tests.grading.fake_sandbox import FakeSandbox
from tests.grading.fixture_chapter import CHAPTERS, chapter, notebook_bytes

MORE_CASES = """
from attn_course.practice.exercise import Case

def extend(chapters):
    @chapters["88"].exercises["squares"].cases(points=5, label="negative numbers")
    def negative_numbers(rng):
        yield Case(-rng.uniform(1, 2, size=3))
"""


@pytest.fixture
def own_checks(tmp_path):
    (tmp_path / "more.py").write_text(MORE_CASES)
    return tmp_path


def squares(chapters, answer):
    cells = cells_of("n", notebook_bytes(squares=f"def squares(x):\n    return {answer}"))
    record = grade_cells(FakeSandbox(), cells, chapters["88"], 7, "n", seconds=60)
    return next(one for one in record.exercises if one.id == "88.squares"), record.max_points


def test_own_cases_count_with_the_others(own_checks):
    chapters = with_own_checks(CHAPTERS, own_checks)
    right, most = squares(chapters, "x * x")
    wrong, _most = squares(chapters, "x * abs(x) * (x < 0) * -1")
    assert (right.points, right.max_points, most) == (7, 7, 17)
    assert wrong.points == 5
    assert [group.label for group in right.groups] == ["a few numbers", "negative numbers"]


@pytest.mark.parametrize(
    ("answer", "notes"),
    [
        ("x[77]", ("In “negative numbers”: it raised IndexError.", "At the line: return")),
        ("leaks(x)", ("In “negative numbers”: it raised ValueError.", "At the line: raise")),
        ("hides(x)", ("In “negative numbers”: it raised an exception.", "At the line: raise")),
        ("forges(x)", ("In “negative numbers”: it raised ValueError.",)),
        ("str(x)", ("In “negative numbers”: it is not right.",)),
        ("{str(x): 0}", ("In “negative numbers”: it is not right.",)),
    ],
)
def test_nothing_of_a_private_input_is_told(own_checks, answer, notes):
    helpers = (
        "import linecache\n"
        "def leaks(x):\n    raise ValueError(repr(x))\n"
        "def hides(x):\n    raise type(repr(x), (Exception,), {})\n"
        "def forges(x):\n"
        "    linecache.cache['line'] = (1, None, [repr(x)], 'line')\n"
        "    exec(compile('raise ValueError', 'line', 'exec'))\n"
    )
    program = f"{helpers}def squares(x):\n    return x * x if (x > 0).all() else {answer}"
    chapters = with_own_checks(CHAPTERS, own_checks)
    chapters["88"].exercises["squares"].groups[:-1] = []
    record = grade_cells(
        FakeSandbox(), cells_of("n", notebook_bytes(squares=program)), chapters["88"], 7, "n", 60
    )
    told = next(one.notes for one in record.exercises if one.id == "88.squares")
    assert len(told) == len(notes)
    for sentence, begins in zip(told, notes, strict=True):
        assert sentence.startswith(begins)
        assert "array" not in sentence


def test_the_courses_own_groups_stay_public(own_checks):
    chapters = with_own_checks(CHAPTERS, own_checks)
    kinds = [type(group) for group in chapters["88"].exercises["squares"].groups]
    assert kinds == [Group, PrivateGroup]


def test_the_course_itself_stays_as_it_is(own_checks):
    with_own_checks(CHAPTERS, own_checks)
    with_own_checks(CHAPTERS, own_checks)
    assert chapter.points == 12
    assert len(chapter.exercises["squares"].groups) == 1


def test_points_that_were_summed_before_are_summed_again(own_checks):
    assert chapter.points == 12
    assert with_own_checks(CHAPTERS, own_checks)["88"].points == 17


def test_a_chapter_of_ones_own_is_graded_too():
    chapters = with_own_checks({}, Path(fixture_chapter.__file__))
    assert list(chapters) == ["88"]
    assert list(chapters["88"].exercises) == list(chapter.exercises)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1", "has neither `def extend"),
        ("x = ", "stopped with SyntaxError"),
        ("import nothing_like_this", "stopped with ModuleNotFoundError"),
        ("def extend(chapters):\n    chapters['99']", "stopped with KeyError"),
    ],
)
def test_a_file_that_is_no_check_is_named(tmp_path, text, words):
    (tmp_path / "mine.py").write_text(text)
    with pytest.raises(ChecksProblem, match=r"mine\.py") as caught:
        with_own_checks(CHAPTERS, tmp_path)
    assert words in str(caught.value)


def test_a_folder_without_checks_is_refused(tmp_path):
    with pytest.raises(ChecksProblem, match="no Python file"):
        files_in(tmp_path)


def test_the_version_follows_the_checks_and_the_limits(own_checks):
    files = files_in(own_checks)
    versions = [version_of(chapter, Limits(), files)]
    assert version_of(chapter, Limits(), files) == versions[0]
    versions.append(version_of(chapter, Limits(memory_mb=77), files))
    versions.append(version_of(chapter, Limits()))
    files[0].write_text(MORE_CASES.replace("points=5", "points=6"))
    versions.append(version_of(chapter, Limits(), files))
    assert len(set(versions)) == len(versions)
