"""Names and texts that strangers chose never stop a reader, whatever they are."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attn_course.grading import systems
from attn_course.grading.download import File
from attn_course.grading.systems import READERS, read_as, recognised, time_in

PIECES = [
    *("submitted", "ann", "week-1-", "-submissions", "_12_", "_LATE_", "_assignsubmission_file_"),
    *(".git", "logs", "HEAD", "timestamp.txt", "submission_metadata.yml", "88_fixture.ipynb", "🦉"),
    *(".ipynb", "_", "9" * 5000, "٣", "_٣_٣_x.ipynb"),
]
NAMES = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), min_size=1, max_size=4).map("".join)
TEXTS = st.text() | st.lists(
    st.sampled_from(
        [
            "submission_1:",
            "  :submitters:",
            "  - :name: A",
            "    :sid: '3",
            "  :created_at: 2026",
            "\n",
        ]
    )
).map("\n".join)


@given(st.lists(st.tuples(st.lists(NAMES, min_size=1, max_size=4), TEXTS), max_size=4))
def test_no_name_and_no_text_stops_a_reader(drawn):
    files = [
        File(
            tuple(path),
            datetime(2026, 1, 1, tzinfo=UTC),
            lambda text=text: text.encode("utf-8", "replace"),
        )
        for path, text in drawn
    ]
    assert recognised(files) in {"", *READERS}
    for system in READERS:
        found = read_as(system, files, ["ann"])
        assert {one.file.path for one in found.submitted} <= {file.path for file in files}
        assert all(one.name for one in found.submitted)


@given(st.text() | st.from_regex(systems._TIME))
def test_a_time_is_read_or_not_and_nothing_else_happens(text):
    time = time_in(text)
    assert time is None or time.tzinfo is UTC


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-10-05 21:30:00.123456000 Z", "2026-10-05 21:30:00+00:00"),
        ("2026-10-05T23:59:00+02:00", "2026-10-05 21:59:00+00:00"),
        ("2026-10-05 23:59:00 -0330", "2026-10-06 03:29:00+00:00"),
        ("2026-10-05 23:59:00 Nowhere/Else", "None"),
        ("2026-13-05 23:59:00 UTC", "None"),
        ("0001-01-01 00:00:00 +14:00", "None"),
    ],
)
def test_times_have_a_zone_or_are_none(text, time):
    assert str(time_in(text)) == time


@given(st.text())
def test_no_reflog_stops_the_reader(text):
    found = systems._last_commit(text)
    assert found is None or found.tzinfo is UTC


def test_a_clone_without_a_roster_is_known_by_what_is_left_of_its_folder():
    files = [File((f"hw-2-{name}", "01.ipynb"), None, bytes) for name in ("ann", "bob-li")]
    assert recognised(files) == "classroom"
    assert [one.who.login for one in read_as("classroom", files).submitted] == ["ann", "bob-li"]


def test_a_number_that_no_system_has_is_no_number():
    file = File((f"a_{'9' * 5000}_{'9' * 5000}_01.ipynb",), None, bytes)
    assert read_as("canvas", [file]).strange == (file,)
