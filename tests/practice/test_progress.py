import json
import os
from datetime import datetime

import pytest

from attn_course.practice import progress
from attn_course.practice.progress import load
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
    assert (entry.best_points, entry.status, entry.attempts) == (1, "failed", 1)
    assert datetime.fromisoformat(entry.checked).tzinfo is not None


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
