"""Late work: what is deducted, what is said, and that points as earned are never touched."""

import csv
import io
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attn_course.grading import exports, reports
from attn_course.grading.collected import Attempt, to_csv
from attn_course.grading.feedback_page import page
from attn_course.grading.gradebook import Entry
from attn_course.grading.policy import PolicyProblem, in_words, read_policy
from attn_course.grading.records import ExerciseRecord, Record
from attn_course.grading.report_options import ReportOptions
from attn_course.practice.results import Verdict

DEADLINE = datetime(2026, 10, 5, 21, 59, tzinfo=UTC)
POLICY = """
[late]
grace = "15 minutes"
per_day = 0.1
floor = 0.5

[deadlines]
88 = 2026-10-05T23:59:00+02:00

[extensions.ann]
88 = "3 days"

[extensions."o.neil@school.edu"]
all = 2026-10-20T12:00:00Z

[assignments]
88 = "The fixture (4711)"
"""


def policy(text=POLICY):
    return read_policy(text, "policy.toml")


def attempt(learner, late_by, **others):
    fields = {"time_from": "system", "sha256": "c"} | others
    time = None if late_by is None else DEADLINE + late_by
    return Attempt(learner, learner, "88_fixture", time, **fields)


def lateness(late_by, points=10, learner="bob", text=POLICY, **others):
    return policy(text).lateness(learner, "88_fixture", attempt(learner, late_by, **others), points)


HOUR, DAY, MINUTE = timedelta(hours=1), timedelta(days=1), timedelta(minutes=1)


@pytest.mark.parametrize(
    ("late_by", "deduction"),
    [
        (-HOUR, 0),
        (0 * HOUR, 0),
        (15 * MINUTE, 0),  # of grace
        (16 * MINUTE, 1),  # days are counted from the deadline
        (DAY, 1),
        (DAY + MINUTE / 60, 2),
        (3 * DAY, 3),
        (5 * DAY, 5),
        (50 * DAY, 5),  # not below the floor
    ],
)
def test_each_day_begun_costs_its_share(late_by, deduction):
    found = lateness(late_by)
    assert (found.deduction, found.final) == (deduction, 10 - deduction)


@given(st.integers(0, 10**6), st.integers(0, 100))
def test_nobody_gains_by_being_later_and_nobody_falls_below_the_floor(seconds, points):
    found = lateness(timedelta(seconds=seconds), points)
    later = lateness(timedelta(seconds=seconds + 3600), points)
    assert points / 2 - 0.01 <= later.final <= found.final <= points
    assert found.deduction + found.final == pytest.approx(points)


def test_what_has_no_points_has_none_after_the_deduction():
    found = lateness(2 * DAY, points=None)
    assert (found.final, found.deduction) == (None, 0)


def test_an_extension_moves_the_deadline_of_one_learner():
    assert lateness(3 * DAY, learner="ann").final == 10
    assert lateness(3 * DAY + HOUR, learner="ann").final == 9
    assert "Your deadline was 2026-10-08 23:59 (UTC+0200)." in lateness(HOUR, learner="ann").why


def test_an_extension_may_be_a_moment_and_for_everything():
    neil = "o.neil@school.edu"
    assert str(policy().deadline(neil, "88_fixture")) == "2026-10-20 12:00:00+00:00"
    assert policy().deadline(neil, "99_other") == policy().deadline(neil, "88_fixture")


def test_a_notebook_has_the_deadline_of_its_chapter_unless_it_has_its_own():
    text = "[deadlines]\n05 = 2026-01-01T00:00:00Z\n05b = 2026-02-02T00:00:00Z\n"
    found = [policy(text).deadline("x", stem) for stem in ("05a_x", "05b_x", "06_x")]
    assert [time and time.month for time in found] == [1, 2, None]


def test_without_a_deadline_nothing_is_late():
    assert policy("[late]\nper_day = 1.0\n").lateness("x", "88_f", None, 3) is None


def test_a_learner_reads_when_how_late_and_what_it_costs():
    assert lateness(DAY + HOUR).why == (
        "Your deadline was 2026-10-05 23:59 (UTC+0200). You handed this in on 2026-10-07 00:59 "
        "(UTC+0200), late by 1 d 1 h. This costs 20 % of the points."
    )
    assert "within the 15 min for which nothing is deducted" in lateness(MINUTE).why
    assert "in time." in lateness(-MINUTE).why


def test_a_time_that_nobody_told_deducts_nothing_and_says_so():
    found = lateness(None, time_from="")
    assert (found.final, found.late_by_text) == (10, "")
    assert "is not known here, so nothing is deducted" in found.why
    assert "marked this as late" in lateness(None, time_from="", marked_late=True).why


def test_the_time_of_a_file_counts_only_where_the_policy_says_so():
    assert lateness(2 * DAY, time_from="file").final == 10
    trusted = POLICY.replace("[late]", "[late]\ntrust_file_times = true")
    assert lateness(2 * DAY, time_from="file", text=trusted).final == 8


def test_a_time_that_an_instructor_wrote_down_counts():
    assert lateness(2 * DAY, time_from="instructor").final == 8


def test_an_extension_for_nobody_is_noticed():
    assert policy().strangers(["ann", "bob"]) == ["o.neil@school.edu"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[late", "policy.toml: "),
        ("[lat]\n", "lat is not known; there are: late, .* Did you mean late?"),
        ("late = 3\n", r"late is a table, written \[late\]"),
        ("[late]\nper_days = 0.1\n", r"late.per_days is not known.* Did you mean per_day\?"),
        ("[late]\nper_day = 10\n", "late.per_day is a share from 0 to 1, .* and not 10"),
        ("[late]\nfloor = true\n", "late.floor is a share"),
        ('[late]\ngrace = "soon"\n', 'late.grace is a length such as "15 minutes"'),
        ("[late]\ngrace = 15\n", "late.grace is a length"),
        ('[late]\nexports = "both"\n', "late.exports is 'raw' or 'final', and not 'both'"),
        ("[late]\ntrust_file_times = 1\n", "late.trust_file_times is True or False"),
        ("[deadlines]\nfirst = 2026-10-05T23:59:00Z\n", "deadlines.first names no chapter"),
        ("[deadlines]\n01 = 2026-10-05T23:59:00\n", "deadlines.01 is a moment with its zone"),
        ("[deadlines]\n01 = 2026-10-05\n", "deadlines.01 is a moment with its zone"),
        ('[deadlines]\n01 = "Monday"\n', "deadlines.01 is a moment with its zone"),
        ('[extensions]\nann = "2 days"\n', "extensions.ann is a table"),
        ("[extensions.ann]\n01 = 2\n", "extensions.ann.01 is a length"),
        ("[assignments]\n01 = 12\n", "assignments.01 is a name in quotes"),
    ],
)
def test_a_policy_that_can_not_be_used_says_where_and_why(text, why):
    with pytest.raises(PolicyProblem, match=why):
        policy(text)


@given(st.timedeltas(timedelta(0), timedelta(days=400)))
def test_a_length_in_words_is_never_shorter_than_it_was(length):
    sizes = {"d": DAY, "h": HOUR, "min": MINUTE}
    words = in_words(length).split()
    said = sum(
        (int(n) * sizes[unit] for n, unit in zip(words[::2], words[1::2], strict=True)), 0 * DAY
    )
    assert length <= said < length + MINUTE


# In reports and exports


def entry(learner, points=10, content="c"):
    one = ExerciseRecord("88.a", "A", "function", "Rows", points, 12, Verdict.PASSED)
    record = Record(Verdict.GRADED, 12, exercises=(one,))
    return Entry(learner, "88_fixture", content, "v", "A", 0.0, record)


TABLE = to_csv([attempt("bob", DAY + HOUR), attempt("ann", DAY + HOUR)])
CLASS = [
    entry("ann"),
    entry("bob"),
    replace(entry("eve"), record=Record(Verdict.NOTHING_HANDED_IN, 12)),
]
RAW = ReportOptions(policy=POLICY, collected=TABLE)
FINAL = replace(RAW, policy=POLICY.replace("[late]", '[late]\nexports = "final"'))


def table(text):
    head, *lines = csv.reader(io.StringIO(text, newline=""))
    return [dict(zip(head, line, strict=True)) for line in lines]


def test_the_table_of_grades_has_both_and_what_is_between_them():
    ann, bob, eve = table(reports.grades_csv(CLASS, RAW))
    assert (ann["points"], ann["late_by"], ann["deduction"], ann["final"]) == (
        "10",
        "0 min",
        "0",
        "10",
    )
    assert (bob["points"], bob["late_by"], bob["deduction"], bob["final"]) == (
        *("10", "1 d 1 h", "2", "8"),
    )
    assert bob["handed_in"] == "2026-10-06T22:59:00+00:00"
    assert (eve["points"], eve["late_by"], eve["final"]) == ("", "", "")


def test_without_a_policy_no_table_changes():
    assert reports.grades_csv(CLASS, ReportOptions(collected=TABLE)) == reports.grades_csv(CLASS)


def test_results_json_has_both_too():
    found = json.loads(reports.results_json(CLASS, 7, [], RAW))["results"][1]
    assert found["points"] == 10
    assert (found["late"]["deduction"], found["late"]["final"]) == (2.0, 8.0)
    assert "late by 1 d 1 h" in found["late"]["why"]


def test_a_page_shows_the_points_and_what_being_late_costs():
    text = page(CLASS[1], RAW)
    assert "Points: 10 of 12" in text
    assert "late by 1 d 1 h. This costs 20 % of the points." in text
    assert "Deducted: 2. Points that are left: 8 of 12." in text
    assert "Deducted" not in page(CLASS[0], RAW)


@pytest.mark.parametrize(("options", "points"), [(RAW, "10"), (FINAL, "8")])
def test_other_systems_get_what_the_policy_says(tmp_path, options, points):
    for system in ("canvas", "moodle", "gradescope"):
        exports.write_export(tmp_path, CLASS, system, options)
    canvas = table((tmp_path / "canvas.csv").read_text())
    assert canvas[2]["The fixture (4711)"] == points
    moodle = table((tmp_path / "moodle.csv").read_text())
    assert moodle[1]["The fixture (4711)"] == points
    late = [moodle[1][f"The fixture (4711) {one}"] for one in ("points", "late by", "final")]
    assert late == ["10", "1 d 1 h", "8"]
    result = json.loads((tmp_path / "gradescope" / "bob" / "88_fixture.json").read_text())
    assert result["score"] == float(points)
    assert "This costs 20 % of the points." in result["output"]


def test_a_result_of_a_file_that_was_not_collected_is_not_late():
    found = RAW.lateness(entry("bob", content="another"))
    assert found.final == 10
    assert "is not known here" in found.why


def test_a_file_that_could_not_be_read_was_handed_in_when_it_was():
    unread = replace(entry("bob", content=""), record=Record(Verdict.UNREADABLE, 12))
    found = RAW.lateness(unread)
    assert (found.late_by_text, found.final, found.deduction) == ("1 d 1 h", None, 0)


def test_zones_are_told():
    text = POLICY.replace("+02:00", "Z")
    assert "2026-10-05 23:59 (UTC)" in lateness(-HOUR, text=text).why
    zone = timezone(-timedelta(hours=3, minutes=30))
    assert policy().deadline("bob", "88_fixture").astimezone(zone) == DEADLINE
