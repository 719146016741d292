import json
import os
from datetime import datetime

import pytest

from attn_course.practice import exercises, numbers, progress
from attn_course.practice.exercise import Chapter
from attn_course.practice.progress import load
from attn_course.practice.results import Verdict
from tests.practice.sample_exercises import chapter, one_sum_for_all, row_weights, weight_count

CHAPTERS = {"01": chapter}


def check(exercise, answer):
    return exercise.check(exercise.local(answer), seed=3)


def stub(scores, scale=1.0):
    raise NotImplementedError


def breaks(scores, scale=1.0):
    raise ValueError


def file_in(folder):
    return folder / ".attn-course" / "progress.json"


def stored(folder):
    return json.loads(file_in(folder).read_text())["exercises"]


def test_a_check_is_remembered_for_the_next_run(tmp_path):
    load(tmp_path).record(check(row_weights, one_sum_for_all))
    entry = load(tmp_path).entries["01.row_weights"]
    assert (entry.best_points, entry.status, entry.attempts) == (1, Verdict.FAILED, 1)
    assert datetime.fromisoformat(entry.checked).tzinfo is not None


def test_the_file_holds_plain_words(tmp_path):
    """A gradebook or another version of the course reads them too."""
    answers = {"passed": row_weights.reference, "failed": one_sum_for_all, "error": breaks}
    for word, answer in {**answers, "todo": stub}.items():
        load(tmp_path).record(check(row_weights, answer))
        assert stored(tmp_path)["01.row_weights"]["status"] == word
        assert type(load(tmp_path).entries["01.row_weights"].status) is str


def test_the_best_points_stay_and_the_status_is_the_last(tmp_path):
    remembered = load(tmp_path)
    for answer in (one_sum_for_all, row_weights.reference, breaks):
        remembered.record(check(row_weights, answer))
    entry = load(tmp_path).entries["01.row_weights"]
    assert (entry.best_points, entry.status, entry.attempts) == (3, "error", 3)


def test_an_untouched_stub_is_no_attempt(tmp_path):
    load(tmp_path).record(check(row_weights, stub))
    assert load(tmp_path).entries["01.row_weights"].attempts == 0


def test_what_another_notebook_recorded_stays(tmp_path):
    load(tmp_path).record(check(row_weights, row_weights.reference))
    load(tmp_path).record(check(weight_count, 12))
    assert set(stored(tmp_path)) == {"01.row_weights", "01.weight_count"}


def test_hints_come_one_after_the_other_and_are_remembered(tmp_path):
    assert load(tmp_path).next_hint(row_weights) == (1, "Look at the rows.")
    assert load(tmp_path).next_hint(row_weights) == (2, "Divide by a sum.")
    last = (3, "scores / scores.sum(-1, keepdims=True)")
    assert load(tmp_path).next_hint(row_weights) == last
    assert load(tmp_path).next_hint(row_weights) == last
    assert load(tmp_path).next_hint(weight_count) == (1, "Count.")


def test_a_hint_is_not_a_check(tmp_path):
    load(tmp_path).next_hint(row_weights)
    assert "row_weights   0 of 3  [--------------------]  not tried yet" in (
        load(tmp_path).table(CHAPTERS)
    )


def test_the_table_shows_points_bars_and_where_you_are(tmp_path):
    remembered = load(tmp_path)
    remembered.record(check(row_weights, one_sum_for_all))
    remembered.record(check(weight_count, 35))
    assert remembered.table(CHAPTERS).split("\n") == [
        "01 A sample (points: 2 of 6) [######--------------]",
        "   row_weights   1 of 3  [######--------------]  not yet",
        "   weight_count  1 of 1  [####################]  passed",
        "   Linear        0 of 2  [--------------------]  not tried yet",
        "",
        "In all (points: 2 of 6) [######--------------]",
    ]


def test_the_table_of_nothing_and_of_a_newcomer(tmp_path):
    assert load(tmp_path).table({}) == "In all (points: 0 of 0) [--------------------]"
    assert "In all (points: 0 of 6)" in load(tmp_path).table(CHAPTERS)
    assert not file_in(tmp_path).exists()  # looking writes nothing


def test_points_never_exceed_what_can_be_earned_today(tmp_path):
    remembered = load(tmp_path)
    remembered.record(check(weight_count, 35))
    remembered.entries["01.weight_count"].best_points = 99
    assert "In all (points: 1 of 6)" in remembered.table(CHAPTERS)


def entry_with(**changes):
    entry = {"best_points": 1, "status": "passed", "attempts": 1, "checked": "", "hints": 0}
    return json.dumps({"format": 1, "exercises": {"01.row_weights": entry | changes}})


def test_a_file_as_it_should_be_is_read(tmp_path):
    file_in(tmp_path).parent.mkdir()
    file_in(tmp_path).write_text(entry_with())
    remembered = load(tmp_path)
    assert remembered.entries["01.row_weights"].best_points == 1
    assert remembered.notes == []


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe\x00",
        b"[]",
        b"null",
        b"[" * 100_000,
        b'{"exercises": {}}',
        b'{"format": 2, "exercises": {}}',
        b'{"format": 1, "exercises": []}',
        b'{"format": 1, "exercises": {"01.x": null}}',
        entry_with(best_points="1").encode(),
        entry_with(best_points=-1).encode(),
        entry_with(attempts=True).encode(),
        entry_with(status="splendid").encode(),
        entry_with(more=1).encode(),
    ],
    ids=lambda content: content[:30].decode(errors="replace"),
)
def test_a_broken_or_foreign_file_is_set_aside_and_not_lost(tmp_path, content):
    file_in(tmp_path).parent.mkdir()
    file_in(tmp_path).write_bytes(content)
    remembered = load(tmp_path)
    assert remembered.entries == {}
    (note,) = remembered.notes
    assert "it is kept as progress-unreadable-" in note
    assert "\n" not in note
    remembered.record(check(row_weights, row_weights.reference))
    (backup,) = file_in(tmp_path).parent.glob("progress-unreadable-*.json")
    assert backup.read_bytes() == content
    assert load(tmp_path).notes == []
    assert load(tmp_path).entries["01.row_weights"].best_points == 3


def test_two_broken_files_are_both_kept(tmp_path):
    file_in(tmp_path).parent.mkdir()
    for content in ("one", "two"):
        file_in(tmp_path).write_text(content)
        load(tmp_path)
    kept = file_in(tmp_path).parent.glob("progress-unreadable-*.json")
    assert {backup.read_text() for backup in kept} == {"one", "two"}


def refuse(*args, **kwargs):
    raise PermissionError(13, "Permission denied")


def test_a_folder_that_can_not_be_written_is_one_note(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "replace", refuse)  # root may write everywhere, so pretend
    remembered = load(tmp_path)
    remembered.record(check(row_weights, row_weights.reference))
    remembered.record(check(row_weights, one_sum_for_all))
    (note,) = remembered.notes
    assert (
        note
        == f"Your progress could not be saved in {tmp_path / '.attn-course'}: Permission denied."
    )
    assert remembered.entries["01.row_weights"].best_points == 3
    assert list((tmp_path / ".attn-course").iterdir()) == []  # no half file is left behind


def test_a_file_that_can_be_neither_read_nor_moved_is_left_alone(tmp_path, monkeypatch):
    file_in(tmp_path).parent.mkdir()
    file_in(tmp_path).write_text("precious")
    monkeypatch.setattr(type(tmp_path), "rename", refuse)
    remembered = load(tmp_path)
    remembered.record(check(row_weights, row_weights.reference))
    assert file_in(tmp_path).read_text() == "precious"
    assert remembered.notes == [f"{file_in(tmp_path)} can't be read; your progress is not saved."]


def test_a_write_that_fails_half_way_leaves_the_old_file_whole(tmp_path, monkeypatch):
    load(tmp_path).record(check(row_weights, one_sum_for_all))
    before = file_in(tmp_path).read_text()
    monkeypatch.setattr(os, "fdopen", refuse)
    load(tmp_path).record(check(row_weights, row_weights.reference))
    assert file_in(tmp_path).read_text() == before


def test_the_folder_is_the_working_directory_or_what_the_environment_says(tmp_path, monkeypatch):
    monkeypatch.delenv("ATTN_COURSE_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    assert progress.home() == tmp_path
    monkeypatch.setenv("ATTN_COURSE_HOME", str(tmp_path / "elsewhere"))
    assert progress.home() == tmp_path / "elsewhere"
    load(progress.home()).record(check(weight_count, 35))
    assert set(stored(tmp_path / "elsewhere")) == {"01.weight_count"}


# Under an id of old times


def notebooks(monkeypatch, *stems, renamed=None):
    """Let the course have these notebooks, each with an exercise `row_weights`."""
    known = {}
    for stem in stems:
        made = Chapter(stem, title="Rows", sections={"row-weights": "Weights in rows"})
        described = {"difficulty": 1, "minutes": 5, "section": "row-weights", "hints": ("a", "b")}
        exercise = made.exercise(title="Rows", goal="", **described)(row_weights.reference)
        for group in row_weights.groups:
            exercise.cases(group.points, group.label)(group.generate)
        known[made.number] = made
    monkeypatch.setattr(exercises, "chapters", lambda: known)
    monkeypatch.setattr(numbers, "RENAMED", renamed or {})
    return known


def write_entries(folder, **points):
    """Write a file with one entry for each id and its best points."""
    entry = {"status": "passed", "attempts": 1, "checked": "2024-01-01T00:00:00+00:00", "hints": 1}
    entries = {name: entry | {"best_points": best} for name, best in points.items()}
    file_in(folder).parent.mkdir()
    file_in(folder).write_text(json.dumps({"format": 1, "exercises": entries}))


@pytest.mark.parametrize(
    ("old_id", "renamed"),
    [
        ("05.row_weights", {}),
        ("02.row_weights", {"02_rows": "05b_rows"}),
        ("07c.row_weights", {"07c_earlier": "05b_rows", "08_other": "09_none"}),
    ],
    ids=["its chapter's number", "a former number", "a former letter"],
)
def test_an_entry_under_an_old_id_finds_its_exercise(tmp_path, monkeypatch, old_id, renamed):
    known = notebooks(monkeypatch, "01_first", "05b_rows", renamed=renamed)
    exercise = known["05b"].exercises["row_weights"]
    write_entries(tmp_path, **{old_id: 2})
    remembered = load(tmp_path)
    assert list(remembered.entries) == ["05b.row_weights"]
    assert remembered.table(known).split("\n") == [
        "01 Rows (points: 0 of 3) [--------------------]",
        "   row_weights  0 of 3  [--------------------]  not tried yet",
        "",
        "05b Rows (points: 2 of 3) [#############-------]",
        "   row_weights  2 of 3  [#############-------]  passed",
        "",
        "In all (points: 2 of 6) [######--------------]",
    ]
    assert remembered.next_hint(exercise) == (2, "b")  # the first was shown under the old id
    load(tmp_path).record(check(exercise, one_sum_for_all))
    entry = stored(tmp_path)["05b.row_weights"]
    assert set(stored(tmp_path)) == {"05b.row_weights"}
    assert (entry["best_points"], entry["attempts"]) == (2, 2)


def test_a_number_that_another_notebook_has_today_is_that_notebooks(tmp_path, monkeypatch):
    renamed = {"01_rows": "05b_rows", "05_rows": "01_first"}
    notebooks(monkeypatch, "01_first", "05_whole", "05b_rows", renamed=renamed)
    ids = {"01.row_weights": 1, "05.row_weights": 2, "05b.row_weights": 3}
    write_entries(tmp_path, **ids)
    entries = load(tmp_path).entries
    assert {name: entry.best_points for name, entry in entries.items()} == ids


def test_an_entry_whose_exercise_is_gone_is_kept_under_its_id(tmp_path, monkeypatch):
    known = notebooks(monkeypatch, "05b_rows", renamed={"02_old": "06_gone"})
    ids = {"02.row_weights": 1, "05c.row_weights": 1, "05.other": 1, "no id": 1, ".row_weights": 1}
    write_entries(tmp_path, **ids)
    remembered = load(tmp_path)
    assert set(remembered.entries) == set(ids)
    assert remembered.notes == []
    assert "In all (points: 0 of 3)" in remembered.table(known)
    remembered.record(check(known["05b"].exercises["row_weights"], row_weights.reference))
    assert set(stored(tmp_path)) == {*ids, "05b.row_weights"}
