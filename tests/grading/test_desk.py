"""From a download to grades: collected, graded, the best attempt counted, late work deducted."""

import csv
import json
from pathlib import Path

import pytest

from attn_course import cli
from attn_course.grading import isolation_trial, jobs, sandbox
from attn_course.grading.isolation import Rung
from attn_course.practice import exercises
from tests.grading import fixture_chapter
from tests.grading.downloads import GRADESCOPE, METADATA, RIGHT, ROSTER, STEM, WRONG, as_folder
from tests.grading.fake_sandbox import FakeSandbox
from tests.grading.fixture_chapter import CHAPTERS

POLICY = """
[late]
per_day = 0.5
exports = "final"
[deadlines]
88 = 2026-10-05T12:00:00Z
[extensions."zoë"]
88 = "5 days"
[extensions.nobody]
88 = "5 days"
[assignments]
88 = "Fixture (5)"
"""
# Ann was in time with a wrong answer, and late with the right one: 10 points against half of 12.
TWO = METADATA.replace("submission_71:", "submission_61:", 1).split("submission_73:")[0]
DOWNLOAD = {
    **GRADESCOPE,
    "assignment_9_export/submission_metadata.yml": (
        TWO.replace("2026-10-05 21:30", "2026-10-05 09:30") + METADATA.removeprefix("---\n")
    ).encode(),
    "assignment_9_export/submission_61/88_fixture.ipynb": WRONG,
    "assignment_9_export/submission_71/88_fixture.ipynb": RIGHT,
    "assignment_9_export/submission_73/88_fixture.ipynb": RIGHT,
}


@pytest.fixture
def collected(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(exercises, "chapters", lambda: CHAPTERS)
    monkeypatch.setattr(sandbox, "Sandbox", lambda rung, limits, waits=True: FakeSandbox())
    monkeypatch.setattr(isolation_trial, "find_rung", lambda wanted: Rung("A", "Isolation."))
    monkeypatch.setattr(jobs, "can_fork", lambda: False)
    Path("roster.csv").write_text(ROSTER, encoding="utf-8")
    Path("policy.toml").write_text(POLICY, encoding="utf-8")
    place = str(as_folder(DOWNLOAD, tmp_path / "download"))
    code = cli.main(
        ["collect", place, "--roster", "roster.csv", "--into", "in", "--attempt", "best"]
    )
    assert code == 1  # eve is missing


def grade(*words):
    return cli.main(["grade", "in", "--out", "out", "--checks", fixture_chapter.__file__, *words])


def grades():
    with open("out/grades.csv", encoding="utf-8", newline="") as file:
        return {row["learner"]: row for row in csv.DictReader(file)}


def test_the_best_attempt_counts_with_what_being_late_costs(collected, capsys):
    files = ["--policy", "policy.toml", "--roster", "roster.csv"]
    assert grade(*files, "--export", "canvas") == 1
    rows = grades()
    assert list(rows) == ["ann", "bob", "eve", "zoë"]
    found = {name: (row["points"], row["deduction"], row["final"]) for name, row in rows.items()}
    assert found == {
        "ann": ("10", "0", "10"),
        "bob": ("12", "6", "6"),
        "eve": ("", "", ""),
        "zoë": ("12", "0", "12"),
    }
    assert rows["bob"]["late_by"] == "13 h"
    page = Path("out/feedback/ann", f"{STEM}.html").read_text("utf-8")
    assert "Of your 2 attempts, number 1 counts: it is your best." in page
    assert "Points: 10 of 12" in page
    canvas = Path("out/canvas.csv").read_text("utf-8").splitlines()
    assert canvas[0].endswith(",Fixture (5)")
    assert canvas[2] == '"Doe, Ann",101,S-1,ann,A,10'
    assert canvas[3] == "Bob O'Hara,103,S-2,bob,A,6"
    assert "an extension for nobody, and there is no result" in capsys.readouterr().err


def test_without_a_policy_the_attempt_with_most_points_counts_and_nothing_is_deducted(collected):
    assert grade() == 1
    assert grades()["ann"]["points"] == "12"
    assert "final" not in grades()["ann"]


def test_the_same_files_are_written_again_after_an_override(collected):
    assert grade("--policy", "policy.toml") == 1
    Path("policy.toml").unlink()
    words = ["override", "bob", "88.squares", "--points", "0", "--reason", "copied"]
    assert cli.main([*words, "--in", "out"]) == 0
    bob = grades()["bob"]
    assert (bob["points"], bob["deduction"], bob["final"]) == ("10", "5", "5")


def test_an_override_is_for_the_attempt_that_counts(collected):
    assert grade("--policy", "policy.toml") == 1
    words = ["override", "ann", "88.row_weights", "--points", "3", "--reason", "nearly"]
    assert cli.main([*words, "--in", "out"]) == 0
    assert grades()["ann"]["points"] == "12"  # of the first attempt, which had 10 and was in time
    assert grades()["ann"]["final"] == "12"


def test_an_override_does_not_make_another_attempt_the_best(collected):
    assert grade() == 1
    words = ["override", "ann", "88.row_weights", "--points", "0", "--reason", "copied"]
    assert cli.main([*words, "--in", "out"]) == 0
    assert grades()["ann"]["points"] == "9"  # of the last attempt, which had 12, and not 10
    page = Path("out/feedback/ann", f"{STEM}.html").read_text("utf-8")
    assert "Of your 2 attempts, number 2 counts" in page
    assert "the check gave 3. Reason: copied" in page


@pytest.mark.parametrize(
    ("option", "text", "why"),
    [
        ("--policy", "[late]\nper_day = 7\n", "bad.txt: late.per_day is a share"),
        ("--roster", "a,b\n", "bad.txt must name its columns"),
        ("--collected", "folder\nann\n", "bad.txt can't be read"),
    ],
)
def test_a_bad_file_is_told_before_anything_is_graded(collected, capsys, option, text, why):
    Path("bad.txt").write_text(text)
    assert grade(option, "bad.txt") == 2
    assert why in capsys.readouterr().err
    assert not Path("out").exists()


def test_a_file_that_is_not_there_is_told(collected, capsys):
    assert grade("--policy", "gone.toml") == 2
    assert "gone.toml can't be read: No such file or directory." in capsys.readouterr().err


def test_results_tell_what_is_late_as_json(collected):
    grade("--policy", "policy.toml")
    results = json.loads(Path("out/results.json").read_text("utf-8"))["results"]
    late = {one["learner"]: one["late"] for one in results}
    assert late["bob"]["final"] == 6.0
    assert late["eve"]["why"] == ""
