"""The table of what was collected: written, read back, and folders become learners again."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attn_course.grading.collected import (
    Attempt,
    CollectedProblem,
    counted,
    read_collected,
    to_csv,
)
from attn_course.grading.gradebook import Entry
from attn_course.grading.records import ExerciseRecord, Record
from attn_course.practice.results import Verdict

LOGINS = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1)
TIMES = st.datetimes(timezones=st.just(UTC), min_value=datetime(1990, 1, 1)).map(
    lambda time: time.replace(microsecond=0)
)


@given(LOGINS, st.none() | TIMES, st.booleans(), st.integers(1, 9))
def test_what_is_written_is_read_back(login, time, is_late, number):
    told = "system" if time else ""
    one = Attempt("f", login, "88_x", time, told, is_late, number, 9, 'a, "b".ipynb', "0f")
    assert read_collected(to_csv([one]), "collected.csv") == (one,)


@pytest.mark.parametrize(
    "change",
    [
        ("2026-10-05T00:00:00+00:00", "2026-10-05 00:00:00"),  # no zone
        (",system,", ",me,"),
        (",1,2,", ",one,2,"),
        ("folder,", "place,"),
    ],
)
def test_a_table_that_was_spoilt_says_so(change):
    time = datetime(2026, 10, 5, tzinfo=UTC)
    text = to_csv([Attempt("ann", "ann", "88_x", time, "system", False, 1, 2)])
    assert change[0] in text
    with pytest.raises(CollectedProblem, match=r"collected.csv can't be read"):
        read_collected(text.replace(*change), "collected.csv")


def entry(folder, points, chapter="88_x"):
    exercises = (ExerciseRecord("88.a", "A", "function", "R", points, 9, Verdict.PASSED),)
    nothing = Record(Verdict.NOTHING_HANDED_IN, 9, f"Nothing in {folder}.")
    record = nothing if points is None else Record(Verdict.GRADED, 9, exercises=exercises)
    return Entry(folder, chapter, folder, "v", "A", 0.0, record)


def attempts(*folders):
    count = len(folders)
    return [
        Attempt(name, "ann", "88_x", attempt=number, attempts=count)
        for number, name in enumerate(folders, start=1)
    ]


def best(entries):
    found = counted(entries, attempts("ann.attempt1", "ann"), lambda one, _: one.record.points)
    return [(one.learner, one.chapter, one.record.points, one.content) for one, _attempt in found]


@pytest.mark.parametrize(
    ("first", "last", "counts"), [(3, 5, "ann"), (5, 3, "ann.attempt1"), (4, 4, "ann")]
)
def test_the_attempt_with_most_points_counts_and_the_later_of_two_alike(first, last, counts):
    found = best([entry("ann", last), entry("ann.attempt1", first)])
    assert found == [("ann", "88_x", max(first, last), counts)]


def test_what_could_not_be_judged_never_counts_before_what_was():
    found = best([entry("ann", None), entry("ann.attempt1", 0)])
    assert found == [("ann", "88_x", 0, "ann.attempt1")]


def test_a_chapter_without_earlier_attempts_has_the_learners_own_line():
    entries = [
        *(entry("ann", None, "89_y"), entry("ann.attempt1", None, "89_y")),
        *(entry("ann", 1), entry("ann.attempt1", 2), entry("bob", 3, "89_y")),
    ]
    assert best(entries) == [
        ("ann", "88_x", 2, "ann.attempt1"),
        ("ann", "89_y", None, "ann"),
        ("bob", "89_y", 3, "bob"),
    ]


def test_a_folder_whose_name_is_not_the_login_is_its_learners():
    table = [Attempt("a-b-74cc", "a/b", "88_x")]
    ((found, attempt),) = counted([entry("a-b-74cc", 1)], table, lambda one, _: one.record.points)
    assert (found.learner, attempt) == ("a/b", table[0])
