"""What an instructor decides: kept with author and time, shown everywhere, outlives a regrade."""

import csv
import json
from pathlib import Path

import pytest

from attn_course import cli
from attn_course.grading import decide_command
from attn_course.grading.decisions import Decision, Decisions
from attn_course.grading.feedback_page import page
from attn_course.grading.gradebook import Entry, Gradebook
from attn_course.grading.records import ExerciseRecord, GroupRecord, Record
from attn_course.practice.results import Verdict
from tests.grading.fixture_chapter import ANSWERS, WRONG_ROWS, notebook_bytes
from tests.grading.test_command import FIXTURE, fakes, hand_in  # noqa: F401  (a fixture)

EXERCISE, MISTAKE = "88.row_weights", "one_sum_for_all"
ALMOST = "This is right but for the sum."


@pytest.fixture
def graded(tmp_path, monkeypatch):
    """Ann has everything right, Bob and Cy took one sum for all; they were graded with a seed."""
    monkeypatch.chdir(tmp_path)
    hand_in("ann", notebook_bytes())
    hand_in("bob", notebook_bytes(row_weights=WRONG_ROWS))
    hand_in("cy", notebook_bytes(row_weights=WRONG_ROWS))
    grade("--seed", "5", "--export", "gradescope", "--export", "canvas")
    return tmp_path


def grade(*words):
    return run("grade", "in", "--out", "out", "--checks", FIXTURE, "--chapters", "88", *words)


def run(*words):
    return cli.main(list(words))


def override(*words, learner="bob", exercise=EXERCISE):
    return run("override", learner, exercise, *words, "--in", "out")


def give(points, **others):
    return override("--points", str(points), "--reason", ALMOST, "--by", "Ms. Noether", **others)


def grades():
    with Path("out/grades.csv").open(newline="") as file:
        return {row["learner"]: row for row in csv.DictReader(file)}


def feedback(learner):
    return Path("out/feedback", learner, "88_fixture.html").read_text()


def changes():
    with Path("out/changes.csv").open(newline="") as file:
        return list(csv.DictReader(file))


# --- overrides -------------------------------------------------------------------------------


def test_an_override_counts_in_every_table_and_says_why(graded, capsys):
    assert grades()["bob"]["points"] == "10"
    assert give(3) == 0
    assert "bob, 88.row_weights: 1 → 3 of 3" in capsys.readouterr().out
    row = grades()["bob"]
    assert (row["points"], row[EXERCISE]) == ("12", "3")
    assert "the check gave 1" in row["overrides"]
    assert ALMOST in row["overrides"]
    assert grades()["cy"]["overrides"] == ""
    with Path("out/canvas.csv").open() as file:
        assert [line[-1] for line in csv.reader(file) if line[0] == "bob"] == ["12"]


def test_the_learner_reads_who_decided_and_why(graded):
    give(3)
    read = feedback("bob")
    assert "Points: 3 of 3, as your instructor decided" in read
    assert "Points set by Ms. Noether on " in read
    assert ALMOST in read
    assert "Points: 12 of 12" in read
    told = json.loads(Path("out/gradescope/bob/88_fixture.json").read_text())
    assert told["score"] == 12
    assert ALMOST in told["tests"][0]["output"]


def test_results_json_has_the_decision_and_what_the_check_said(graded):
    give(2)
    results = json.loads(Path("out/results.json").read_text())["results"]
    (bob,) = [one for one in results if one["learner"] == "bob"]
    found = bob["exercises"][0]
    assert (found["points"], found["verdict"], found["mistake"]) == (2, "failed", MISTAKE)
    assert "Ms. Noether" in found["decision"]


def test_only_the_feedback_that_changes_is_written_and_what_is_gone(graded):
    pages = {name: Path("out/feedback", name, "88_fixture.html") for name in ("ann", "bob", "cy")}
    pages["ann"].write_text("an instructor's own words")
    pages["cy"].unlink()
    assert give(2) == 0
    assert feedback("ann") == "an instructor's own words"
    assert ALMOST in feedback("bob")
    assert "</html>" in feedback("cy")


def test_an_override_is_kept_with_author_and_time_and_can_be_removed(graded, capsys):
    give(3)
    give(2)
    assert override("--remove", "--by", "Mr. Euler") == 0
    assert (grades()["bob"]["points"], feedback("bob").count(ALMOST)) == ("10", 0)
    with Gradebook(Path("out")) as gradebook:
        made = gradebook.decisions()
    assert [(one.author, one.points) for one in made] == [
        ("Ms. Noether", 3),
        ("Ms. Noether", 2),
        ("Mr. Euler", None),
    ]
    assert all(one.made.startswith("20") for one in made)
    capsys.readouterr()
    assert run("override", "--list", "--in", "out") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[4] for line in lines] == ["3", "2", "removed"]


@pytest.mark.parametrize("how", [["--fresh"], ["--timeout-call", "9"]])
def test_an_override_survives_a_regrade(graded, how):
    give(3)
    grade(*how)
    assert grades()["bob"]["points"] == "12"
    assert ALMOST in feedback("bob")


def test_the_gradebook_keeps_what_the_checks_gave(graded):
    give(3)
    with Gradebook(Path("out")) as gradebook:
        points = {one.learner: one.record.points for one in gradebook.latest(is_decided=False)}
        stored = [one.record.exercises[0].decision for one in gradebook.history()]
    assert points["bob"] == 10
    assert set(stored) == {""}


def test_the_author_is_who_git_knows(graded, monkeypatch):
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "user.name")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "Sophie Germain")
    assert decide_command.author() == "Sophie Germain"


def test_without_git_the_author_is_the_login(graded, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("LOGNAME", "sgermain")
    assert decide_command.author() == "sgermain"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["override", "bob", EXERCISE, "--points", "4", "--reason", "x"], "has 0 to 3 points"),
        (["override", "bob", EXERCISE, "--points", "-1", "--reason", "x"], "has 0 to 3 points"),
        (["override", "bob", EXERCISE, "--points", "2"], "Say why"),
        (["override", "--points", "2", "--reason", "x"], "Say whose points"),
        (["override", "bo", EXERCISE, "--points", "2", "--reason", "x"], "Did you mean bob?"),
        (["override", "bob", "88.row_weight", "--points", "2", "--reason", "x"], "Did you mean"),
        (["override", "bob", EXERCISE, "--remove"], "no override to remove"),
        (["comment", EXERCISE, "one_sum", "x"], "Did you mean one_sum_for_all?"),
        (["comment", "88.nothing", MISTAKE, "x"], "There is no result"),
        (["comment", EXERCISE, MISTAKE], "Say either"),
    ],
)
def test_a_decision_about_what_is_not_there_is_refused(graded, capsys, words, said):
    assert run(*words, "--in", "out") == 2
    assert said in capsys.readouterr().err
    with Gradebook(Path("out")) as gradebook:
        assert gradebook.decisions() == []


def test_a_folder_without_a_gradebook_gets_none(tmp_path, capsys):
    assert run("override", "bob", EXERCISE, "--remove", "--in", str(tmp_path)) == 1
    assert "There is no gradebook" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_unreadable_notebook_has_no_points_to_override(graded, capsys):
    hand_in("eve", b"no notebook")
    grade()
    assert give(2, learner="eve") == 2
    assert "was not judged" in capsys.readouterr().err


def test_what_the_grader_failed_to_judge_can_be_decided():
    groups = (GroupRecord("one row", 3, Verdict.NOT_JUDGED),)
    left = ExerciseRecord(
        EXERCISE, "Weights", "function", "Rows", None, 3, Verdict.NOT_JUDGED, groups=groups
    )
    record = Record(Verdict.NOT_JUDGED, 3, exercises=(left,))
    made = Decision("88_fixture", "row_weights", "Ann", "joy", points=2, words="By hand.")
    shown = Decisions([made]).shown_in("joy", record)
    assert (shown.points, shown.status) == (2, Verdict.GRADED)
    assert "came to no end" in shown.exercises[0].decision
    assert "Not judged" not in page(Entry("joy", "88_fixture", "c", "v", "A", 0.0, shown))


def test_an_override_is_about_one_learner():
    made = Decisions([Decision("88_fixture", "a", "Ann", "joy", points=2, words="x")])
    assert made.override("joy", "88.a") is not None
    assert made.override("roy", "88.a") is None


# --- comments --------------------------------------------------------------------------------


def test_a_comment_is_written_once_for_everyone_with_the_mistake(graded, capsys):
    words = ["comment", EXERCISE, MISTAKE, "We do this <again> on Monday.", "--by", "Ada"]
    assert run(*words, "--in", "out") == 0
    assert "shown in the feedback of 2" in capsys.readouterr().out
    said = "Comment by Ada: We do this &lt;again&gt; on Monday."
    assert [said in feedback(name) for name in ("ann", "bob", "cy")] == [False, True, True]
    hand_in("dan", notebook_bytes(row_weights=WRONG_ROWS))
    grade("--fresh")
    assert said in feedback("dan")


def test_a_comment_can_be_replaced_and_removed(graded):
    for words in (["First."], ["Second."]):
        run("comment", EXERCISE, MISTAKE.replace("_", " "), *words, "--in", "out")
    assert ("First." in feedback("bob"), "Second." in feedback("bob")) == (False, True)
    run("comment", EXERCISE, MISTAKE, "--remove", "--in", "out")
    assert "Second." not in feedback("bob")


# --- after a regrade -------------------------------------------------------------------------


def test_a_first_run_and_one_that_changes_nothing_report_no_change(graded, capsys):
    grade()
    assert not Path("out/changes.csv").exists()
    assert "other points than before" not in capsys.readouterr().out


def test_a_regrade_says_who_changed_by_how_much_and_why(graded, capsys):
    Path("in/bob/88_fixture.ipynb").write_bytes(notebook_bytes())
    Path("in/ann/88_fixture.ipynb").write_bytes(notebook_bytes(squares="squares = None"))
    capsys.readouterr()
    grade()
    said = capsys.readouterr().out
    assert "Notebooks with other points than before: 2 (changes.csv)" in said
    assert (
        "bob  88_fixture  +2  88.row_weights 1 → 3, another file was handed in "
        "(one sum for all → passed)"
    ) in said
    assert [(one["learner"], one["before"], one["after"]) for one in changes()] == [
        ("ann", "2", "0"),
        ("bob", "1", "3"),
    ]


def test_other_checks_are_named_as_the_reason(graded, tmp_path, capsys):
    stricter = tmp_path / "stricter.py"
    text = Path(FIXTURE).read_text()
    stricter.write_text(text.replace("return 35", "return 36"))
    run("grade", "in", "--out", "out", "--checks", str(stricter), "--chapters", "88")
    assert "Notebooks with other points than before: 3" in capsys.readouterr().out
    assert {one["why"].partition(" (")[0] for one in changes()} == {
        "the course, the checks or the limits have changed"
    }


def test_a_fresh_run_is_compared_with_the_gradebook_set_aside(graded, monkeypatch, capsys):
    Path("in/cy/88_fixture.ipynb").write_bytes(notebook_bytes())
    grade("--fresh")
    assert [(one["learner"], one["before"], one["after"]) for one in changes()] == [
        ("cy", "1", "3")
    ]


def test_a_change_below_an_override_is_told_and_the_override_counts(graded, capsys):
    give(2)
    Path("in/bob/88_fixture.ipynb").write_bytes(notebook_bytes())
    capsys.readouterr()
    grade()
    assert "your override of 2 still counts" in capsys.readouterr().out
    assert changes()[0]["override"] == "2"
    assert grades()["bob"][EXERCISE] == "2"
    assert "the check gave 3" in feedback("bob")


def test_a_run_that_was_stopped_is_compared_with_the_time_before_it(graded, monkeypatch, capsys):
    for name in ("bob", "cy"):
        Path("in", name, "88_fixture.ipynb").write_bytes(notebook_bytes())
    keep = Gradebook.add

    def add_and_stop(gradebook, entry):
        keep(gradebook, entry)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Gradebook, "add", add_and_stop)
        assert grade() == 1
    grade()
    assert [one["learner"] for one in changes()] == ["bob", "cy"]


def test_the_log_of_changes_grows(graded):
    for answer in (ANSWERS["row_weights"], WRONG_ROWS):
        Path("in/bob/88_fixture.ipynb").write_bytes(notebook_bytes(row_weights=answer))
        grade()
    assert [one["after"] for one in changes()] == ["3", "1"]


def test_the_exports_are_written_again_as_they_were(graded, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "attn_course.grading.outputs.write_export",
        lambda _out, _entries, system, options: asked.append((system, options.book)),
    )
    grade("--book", "https://example.org", "--export", "moodle")
    give(3)
    assert asked == [("moodle", "https://example.org")] * 2
