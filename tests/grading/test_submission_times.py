"""Times from a table: for what the download does not tell, by whatever a learner is called."""

from pathlib import Path

import pytest

from attn_course import cli
from attn_course.grading.roster import RosterProblem, read_roster
from attn_course.grading.submission_times import read_times
from attn_course.practice import exercises
from tests.grading.downloads import DOWNLOADS, ROSTER, as_folder
from tests.grading.fixture_chapter import CHAPTERS

STEM = "88_fixture"
KNOWN = read_roster(ROSTER, "roster.csv")
CLASSROOM = (
    '"assignment_name","github_username","roster_identifier","submission_timestamp"\n'
    '"week 1","bobgit","Bob","2026-10-05 21:30:00 UTC"\n'
    '"week 1","ann-codes","Ann, ""A.""","2026-10-07T08:00:00Z"\n'
    '"week 1","eve9","",""\n'
)


def times(text, roster=KNOWN):
    found = read_times(text, "times.csv", roster).known
    return {who: time.isoformat() for who, time in found.items()}


def test_the_table_of_github_classroom_is_read_as_it_is():
    assert times(CLASSROOM) == {
        ("bob", ""): "2026-10-05T21:30:00+00:00",
        ("ann", ""): "2026-10-07T08:00:00+00:00",
    }


@pytest.mark.parametrize(
    "text",
    [
        "login,handed_in\nzoë,2026-10-05T23:59:00+02:00\n",
        "email,handed_in\nZOE@school.edu,2026-10-05T23:59:00+02:00\n",
        "login,name,handed_in\nunknown,Zoë 🦉 李,2026-10-05T23:59:00+02:00\n",
    ],
)
def test_a_learner_is_found_as_in_a_roster(text):
    assert times(text) == {("zoë", ""): "2026-10-05T21:59:00+00:00"}


def test_a_chapter_may_have_a_time_of_its_own():
    text = "login,chapter,handed_in\nann,,2026-10-01T00:00:00Z\nann,88,2026-10-02T00:00:00Z\n"
    found = read_times(text, "times.csv", KNOWN)
    assert [found.of("ann", stem).day for stem in (STEM, "01_other")] == [2, 1]
    assert found.of("bob", STEM) is None


def test_without_a_roster_the_table_says_who():
    assert list(times(CLASSROOM, roster=None)) == [("bobgit", ""), ("ann-codes", "")]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "names no column handed_in or submission_timestamp"),
        ("login,when\nann,now\n", "names no column handed_in"),
        ("login,handed_in\nann,Monday\n", "Line 2 of times.csv: 'Monday' is no time"),
        ("login,handed_in\nann,2026-10-05 23:59:00\n", "is no time with its zone"),
        ("handed_in\n2026-10-05 23:59:00 UTC\n", "must name its columns"),
    ],
)
def test_a_table_that_can_not_be_used_says_why(text, why):
    with pytest.raises(RosterProblem, match=why):
        times(text)


def test_the_table_fills_in_what_the_download_does_not_tell(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(exercises, "chapters", lambda: CHAPTERS)
    Path("roster.csv").write_text(ROSTER, encoding="utf-8")
    Path("times.csv").write_text(CLASSROOM, encoding="utf-8")
    place = str(as_folder(DOWNLOADS["classroom"], tmp_path / "download"))
    words = ["collect", place, "--roster", "roster.csv", "--into", "in", "--times"]
    assert cli.main([*words, "times.csv"]) == 1
    rows = [line.split(",")[:5] for line in Path("in/collected.csv").read_text("utf-8").split()]
    assert [row[3:] for row in rows[1:3]] == [
        ["2026-10-05T19:53:20+00:00", "system"],  # of ann's own clone, which tells it
        ["2026-10-05T21:30:00+00:00", "system"],
    ]
    assert rows[3][4] == "file"
    assert cli.main([*words, "gone.csv"]) == 2
    assert "gone.csv can't be read" in capsys.readouterr().err
