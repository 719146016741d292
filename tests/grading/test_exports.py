"""Exports in the forms that Canvas, Moodle and Gradescope document, with an instructor's files."""

import csv
import json

from attn_course.grading import exports
from attn_course.grading.gradebook import Entry
from attn_course.grading.instructor import private_groups, with_own_checks
from attn_course.grading.records import ExerciseRecord, GroupRecord, Record
from attn_course.grading.report_options import ReportOptions
from attn_course.practice.results import Verdict
from tests.grading.fixture_chapter import CHAPTERS

ROSTER = (
    "Student,ID,SIS User ID,SIS Login ID,Section\n"
    '"Doe, Ann",101,S-1,ann,Monday\n'
    '"O\'Hara, Zoë 🦉",103,,zoë,"Tuesday, late"\n'
)
POLICY = '[assignments]\n88 = "A fixture (4711)"\n'
PASSED, FAILED = Verdict.PASSED, Verdict.FAILED


def entry(learner, *exercises, chapter="88_fixture"):
    record = Record(Verdict.GRADED, 12, exercises=exercises)
    return Entry(learner, chapter, "c", "v", "A", 0.0, record)


def exercise(points=3, statuses=(PASSED, PASSED), **others):
    labels, sizes = ("one row", "secret"), (1, 2)
    groups = tuple(map(GroupRecord, labels, sizes, statuses))
    return ExerciseRecord(
        "88.a", "A", "function", "Rows", points, 3, FAILED, groups=groups, **others
    )


def written(tmp_path, entries, system, **options):
    exports.write_export(tmp_path, entries, system, ReportOptions(**options))
    with open(tmp_path / f"{system}.csv", encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_canvas_gets_the_columns_of_its_gradebook_and_the_names_of_its_assignments(tmp_path):
    entries = [entry("ann", exercise()), entry("bob", exercise(0)), entry("zoë", exercise(2))]
    assert written(tmp_path, entries, "canvas", roster=ROSTER, policy=POLICY) == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "A fixture (4711)"],
        ["    Points Possible", "", "", "", "", "12"],
        ["Doe, Ann", "101", "S-1", "ann", "Monday", "3"],
        ["bob", "", "", "bob", "", "0"],
        ["O'Hara, Zoë 🦉", "103", "", "zoë", "Tuesday, late", "2"],
    ]


def test_a_chapter_without_a_name_has_its_own_and_every_learner_has_a_cell(tmp_path):
    entries = [
        entry("ann", exercise()),
        entry("ann", exercise(1), chapter="89_other"),
        entry("bob", exercise(2), chapter="89_other"),
    ]
    head, _most, *lines = written(tmp_path, entries, "canvas", policy=POLICY)
    assert head[5:] == ["A fixture (4711)", "89_other"]
    assert [line[5:] for line in lines] == [["3", "1"], ["", "2"]]


def test_moodle_has_the_names_too_and_columns_on_late_work_where_there_is_a_policy(tmp_path):
    head, ann = written(tmp_path, [entry("ann", exercise())], "moodle", policy=POLICY)
    name = "A fixture (4711)"
    assert head == [
        *("username", name, f"{name} points", f"{name} late by"),
        *(f"{name} deduction", f"{name} final"),
    ]
    assert ann == ["ann", "3", "3", "", "0", "3"]
    assert written(tmp_path, [entry("ann", exercise())], "moodle")[0] == ["username", "88_fixture"]


# An instructor's own checks are hidden from learners in Gradescope

PRIVATE = ["88.a secret"]


def scored(tmp_path, one):
    options = ReportOptions(private=PRIVATE)
    exports.write_export(tmp_path, [entry("ann", one)], "gradescope", options)
    content = json.loads((tmp_path / "gradescope" / "ann" / "88_fixture.json").read_text())
    assert content["score"] == one.points
    return content["tests"]


def test_what_private_checks_found_is_in_a_hidden_test(tmp_path):
    one = exercise(1, (PASSED, FAILED), notes=("In “secret”: it is wrong.",), mistake_message="No.")
    seen, hidden = scored(tmp_path, one)
    assert seen == {"name": "88.a", "score": 1, "max_score": 1, "output": ""}
    assert hidden == {
        "name": "88.a, further checks",
        "score": 0,
        "max_score": 2,
        "output": "No.\nIn “secret”: it is wrong.",
        "visibility": "hidden",
    }


def test_what_public_checks_found_is_told(tmp_path):
    seen, hidden = scored(tmp_path, exercise(2, (FAILED, PASSED), notes=("Look at rows.",)))
    assert (seen["score"], seen["output"]) == (0, "Look at rows.")
    assert (hidden["score"], hidden["output"]) == (2, "")


def test_without_private_checks_there_is_one_test(tmp_path):
    exports.write_export(tmp_path, [entry("ann", exercise())], "gradescope", ReportOptions())
    content = json.loads((tmp_path / "gradescope" / "ann" / "88_fixture.json").read_text())
    assert content["tests"] == [{"name": "88.a", "score": 3, "max_score": 3, "output": ""}]


def test_points_that_an_instructor_set_are_not_divided(tmp_path):
    (only,) = scored(tmp_path, exercise(2, (PASSED, FAILED), decision="2 points: a fine idea."))
    assert (only["score"], only["max_score"]) == (2, 3)
    assert only["output"] == "2 points: a fine idea."


def test_an_exercise_of_an_instructors_own_is_not_hidden_from_its_learners(tmp_path):
    options = ReportOptions(private=[*PRIVATE, "88.a one row"])
    exports.write_export(tmp_path, [entry("ann", exercise())], "gradescope", options)
    content = json.loads((tmp_path / "gradescope" / "ann" / "88_fixture.json").read_text())
    assert content["tests"] == [{"name": "88.a", "score": 3, "max_score": 3, "output": ""}]


def test_the_groups_of_own_checks_are_known_by_exercise_and_label(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "from attn_course.practice.exercise import Case\n"
        "def extend(chapters):\n"
        "    @chapters['88'].exercises['squares'].cases(points=2, label='secret')\n"
        "    def _cases(rng):\n"
        "        yield Case(rng.normal(size=3))\n"
    )
    assert private_groups(with_own_checks(CHAPTERS, file)) == ["88.squares secret"]
    assert private_groups(CHAPTERS) == []
