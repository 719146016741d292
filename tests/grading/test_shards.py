"""Parts of a class, joined: the same gradebook as that of one run, or a reason."""

import argparse
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from attn_course import cli
from attn_course.grading import gradebook, jobs, outputs, run, shards
from attn_course.grading.decisions import Decision
from attn_course.grading.exports import write_export
from attn_course.grading.gradebook import Gradebook, GradebookProblem, content_of
from attn_course.grading.instructor import version_of, with_own_checks
from attn_course.grading.report_options import ReportOptions
from attn_course.grading.reports import write_all
from attn_course.grading.run import Settings, grade_folder, open_gradebook
from attn_course.grading.shards import Shard, ShardsProblem, join, shard
from attn_course.inside.limits import Limits
from tests.grading import fixture_chapter
from tests.grading.fake_sandbox import FakeSandbox
from tests.grading.fixture_chapter import CHAPTERS, STUBS, WRONG_ROWS, notebook_bytes

FILE = "88_fixture.ipynb"
ANSWERS = [notebook_bytes(), notebook_bytes(row_weights=WRONG_ROWS), notebook_bytes(**STUBS)]
OF = 3


@pytest.fixture(autouse=True)
def quickly(monkeypatch):
    """No fork, no version of code that somebody edits, and one day for all."""
    monkeypatch.setattr(jobs, "can_fork", lambda: False)
    monkeypatch.setattr(run, "version_of", lambda chapter, limits, own_checks: f"{limits}")
    monkeypatch.setattr(gradebook, "_now", lambda: "2026-07-24T10:30:00+00:00")


@pytest.fixture
def submissions(tmp_path):
    for number in range(9):
        hand_in(tmp_path / "in", f"learner {number}", ANSWERS[number % len(ANSWERS)])
    hand_in(tmp_path / "in", "=eve", b"no notebook at all")
    (tmp_path / "in" / "nothing").mkdir()
    (tmp_path / "in" / "notes.txt").write_text("left aside")
    return tmp_path / "in"


def hand_in(root, learner, content):
    path = root / learner / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def settings(submissions, out, **changes):
    made = Settings(
        submissions=submissions,
        out=submissions.parent / out,
        chapters=CHAPTERS,
        open_sandbox=FakeSandbox,
        rung="A",
        seed=7,
        show_progress=False,
    )
    return replace(made, **changes)


def grade(asked):
    with open_gradebook(asked) as book:
        found = grade_folder(asked, book)
        write(asked.out, book, found.notices)
        return content_of(book)


def write(out, book, notices):
    entries = list(book.latest())
    write_all(out, entries, book.seed, notices)
    for system in ("canvas", "moodle", "gradescope"):
        write_export(out, entries, system)


def grade_parts(submissions, **changes):
    """Grade all parts; return their folders."""
    for number in range(1, OF + 1):
        grade(settings(submissions, f"part {number}", shard=Shard(number, OF), **changes))
    return [submissions.parent / f"part {number}" for number in range(1, OF + 1)]


def joined(places, out="joined"):
    """Join parts, reports included; return what the gradebook then says."""
    out = places[0].parent / out
    book, notices, _options = join(places, out)
    with book:
        write(out, book, notices)
        return content_of(book)


def all_files(out):
    return {
        path.relative_to(out): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file() and path.name != "gradebook.sqlite"
    }


def without_seconds(files):
    """Return files in which times are not told: how long each took is another each time."""
    lines = files[Path("results.json")].splitlines()
    told = b"\n".join(line for line in lines if b'"seconds"' not in line)
    return files | {Path("results.json"): told}


def test_a_learner_is_in_one_part_whoever_else_is_there():
    names = ["ann", "bob", "é", "\udcff", "a b", ""]
    for name in names:
        assert sum(Shard(number, 5).has(name) for number in range(1, 6)) == 1
    # Written down, since a part that goes on next week must have the same learners.
    assert [n for n in range(20) if Shard(2, 5).has(f"learner {n}")] == [0, 2, 14, 18, 19]


def test_parts_are_of_about_the_same_size():
    sizes = [sum(Shard(n, 4).has(f"learner {i}") for i in range(4000)) for n in range(1, 5)]
    assert sum(sizes) == 4000
    assert all(900 < size < 1100 for size in sizes)


@pytest.mark.parametrize("word", ["0/3", "4/3", "3", "1/", "/2", "a/b", "1/3/5", "-1/3", "1/0"])
def test_what_is_no_part_is_refused(word):
    with pytest.raises(argparse.ArgumentTypeError, match="is no part: write 1/3"):
        shard(word)


def test_joined_parts_are_one_run_byte_for_byte(submissions):
    one = grade(settings(submissions, "one"))
    places = grade_parts(submissions)
    assert joined(places) == one
    whole, found = (all_files(submissions.parent / name) for name in ("one", "joined"))
    assert without_seconds(found) == without_seconds(whole)
    assert {path.name for path in whole} >= {"grades.csv", "canvas.csv", "moodle.csv"}
    assert b"Left aside: notes.txt" in found[Path("results.json")]


def test_the_order_in_which_parts_are_named_makes_no_difference(submissions):
    places = grade_parts(submissions)
    assert joined(places) == joined(places[::-1], "again")
    found = [all_files(submissions.parent / name) for name in ("joined", "again")]
    assert found[0] == found[1]


def test_every_part_has_something_to_do_here(submissions):
    for place in grade_parts(submissions):
        with Gradebook(place) as book:
            assert len(list(book.latest())) >= 1


def test_times_are_those_of_the_parts(submissions, monkeypatch):
    places = grade_parts(submissions)
    monkeypatch.setattr(gradebook, "_now", lambda: "2027-01-01T00:00:00+00:00")
    joined(places)
    with Gradebook(submissions.parent / "joined") as book:
        assert {entry.graded for entry in book.latest()} == {"2026-07-24T10:30:00+00:00"}


def test_parts_that_went_on_are_joined_again_and_nothing_comes_twice(submissions):
    places = grade_parts(submissions)
    joined(places)
    hand_in(submissions, "learner 2", ANSWERS[0])
    grade_parts(submissions)
    hand_in(submissions, "learner 2", ANSWERS[2])
    hand_in(submissions, "zoe", ANSWERS[0])
    places = grade_parts(submissions)
    again = joined(places)
    assert joined(places) == again
    assert joined(places, "new") == again


def test_a_joined_gradebook_goes_on_as_one_of_a_whole_class(submissions):
    joined(grade_parts(submissions))
    before = grade(settings(submissions, "one"))
    assert grade(settings(submissions, "joined")) == before


def test_what_was_decided_in_a_part_is_kept_and_not_twice(submissions):
    places = grade_parts(submissions)
    decision = Decision(
        "88_fixture", "squares", "Ada", "learner 0", points=1, words="late", made="2026-07-25"
    )
    with Gradebook(places[0]) as book:
        book.decide(decision)
    joined(places)
    joined(places)
    with Gradebook(submissions.parent / "joined") as book:
        assert book.decisions() == [decision]


# What does not fit


def test_missing_parts_are_named(submissions):
    places = grade_parts(submissions)
    with pytest.raises(ShardsProblem, match=r"Not all parts are here. Missing: 1/3, 3/3\."):
        joined(places[1:2])
    assert not (submissions.parent / "joined").exists()


def test_a_part_that_was_stopped_is_named(submissions):
    places = grade_parts(submissions)

    class Stops(FakeSandbox):
        def open(self, cells, names, file="notebook", without=None):
            raise KeyboardInterrupt

    for number in range(9):
        hand_in(submissions, f"learner {number}", notebook_bytes(squares="# changed"))
    with pytest.raises(KeyboardInterrupt):
        grade(settings(submissions, "part 2", shard=Shard(2, OF), open_sandbox=Stops))
    with pytest.raises(ShardsProblem, match=r"part 2/3\) was stopped before its end"):
        joined(places)
    grade_parts(submissions)
    assert joined(places, "joined") != ""


def test_another_seed_is_refused(submissions):
    places = grade_parts(submissions)
    shutil.rmtree(places[1])
    grade(settings(submissions, "part 2", shard=Shard(2, OF), seed=8))
    with pytest.raises(ShardsProblem, match=r"different seeds \(7 and 8\)"):
        joined(places)


def test_other_checks_are_refused(submissions):
    places = grade_parts(submissions)
    other = Limits(call_seconds=1.0)
    grade(settings(submissions, "part 3", shard=Shard(3, OF), limits=other))
    with pytest.raises(ShardsProblem, match=r"different checks.*\(88_fixture\)"):
        joined(places)


def test_other_chapters_are_refused(submissions):
    places = grade_parts(submissions)
    shutil.rmtree(places[1])
    grade(settings(submissions, "part 2", shard=Shard(2, OF), chapters={}))
    with pytest.raises(ShardsProblem, match=r"different chapters \(88_fixture\)"):
        joined(places)


def test_parts_of_another_number_of_parts_are_refused(submissions):
    places = grade_parts(submissions)
    grade(settings(submissions, "other", shard=Shard(2, 4)))
    with pytest.raises(ShardsProblem, match=r"is part 1/3 and .*other is part 2/4"):
        joined([places[0], submissions.parent / "other"])


def test_one_part_twice_is_refused(submissions):
    places = grade_parts(submissions)
    shutil.copytree(places[0], submissions.parent / "copy")
    with pytest.raises(ShardsProblem, match="are both part 1/3"):
        joined([*places, submissions.parent / "copy"])


def test_what_is_no_part_is_named_and_nothing_is_made(submissions):
    places = grade_parts(submissions)
    empty = submissions.parent / "empty"
    empty.mkdir()
    with pytest.raises(ShardsProblem, match=r"There is no gradebook in .*empty"):
        joined([*places, empty])
    assert list(empty.iterdir()) == []
    grade(settings(submissions, "one"))
    with pytest.raises(ShardsProblem, match="of a whole class and no part"):
        joined([*places, submissions.parent / "one"])


def test_a_gradebook_of_another_run_is_not_added_to(submissions):
    places = grade_parts(submissions)
    before = grade(settings(submissions, "one", seed=8))
    with pytest.raises(ShardsProblem, match="is of another run"):
        joined(places, "one")
    with Gradebook(submissions.parent / "one") as book:
        assert content_of(book) == before


@pytest.mark.parametrize("other", [Shard(2, OF), Shard(1, 4), None])
def test_a_part_stays_the_part_that_it_was_begun_as(submissions, other):
    grade(settings(submissions, "part 1", shard=Shard(1, OF)))
    with pytest.raises(GradebookProblem, match="has part 1/3 in it"):
        grade(settings(submissions, "part 1", shard=other))


def test_a_whole_class_does_not_become_a_part(submissions):
    grade(settings(submissions, "one"))
    with pytest.raises(GradebookProblem, match="has a whole class in it, and this is part 1/3"):
        grade(settings(submissions, "one", shard=Shard(1, OF)))


# From the command line


def test_merge_writes_the_reports_and_says_where(submissions, capsys):
    places = grade_parts(submissions)
    out = submissions.parent / "joined"
    words = ["merge", *map(str, places), "--out", str(out), "--export", "moodle"]
    assert cli.main(words) == 1  # two are without points
    said = capsys.readouterr()
    assert "88_fixture: notebooks 9, mean 61 %, without points 2 (not in the mean)" in said.out
    assert "Left aside: notes.txt" in said.out
    assert (out / "moodle.csv").is_file()
    assert (out / "feedback" / "learner 0" / "88_fixture.html").is_file()


def test_merge_says_in_one_line_what_is_missing(submissions, capsys):
    places = grade_parts(submissions)
    out = submissions.parent / "joined"
    assert cli.main(["merge", str(places[0]), "--out", str(out)]) == 1
    assert capsys.readouterr().err == "Not all parts are here. Missing: 2/3, 3/3.\n"


def test_a_part_needs_a_seed(submissions, capsys):
    words = ["grade", str(submissions), "--out", str(submissions.parent / "x"), "--shard", "1/2"]
    assert cli.main([*words, "--isolation", "none", "--i-trust-these-files"]) == 2
    assert "--shard needs --seed" in capsys.readouterr().err
    assert not (submissions.parent / "x").exists()


def test_the_part_reaches_the_run():
    assert (
        shards.shard("2/3")
        == cli.parser()
        .parse_args(["grade", "in", "--out", "out", "--seed", "7", "--shard", "2/3"])
        .shard
    )


def test_groups_of_an_instructor_stay_hidden(submissions):
    places = grade_parts(submissions)
    private = ["88.squares a few numbers"]
    for place in places:
        with Gradebook(place) as book:
            outputs.write(place, book, (), ReportOptions(private=private))
    out = submissions.parent / "joined"
    cli.main(["merge", *map(str, places), "--out", str(out), "--export", "gradescope"])
    with Gradebook(out) as book:
        assert list(outputs.options_of(book).private) == private


def test_the_version_of_the_checks_does_not_depend_on_where_they_are(tmp_path, monkeypatch):
    versions = set()
    for place in ("a", "z/deep"):
        (tmp_path / place).mkdir(parents=True)
        copy = shutil.copy(fixture_chapter.__file__, tmp_path / place)
        chapter = with_own_checks({}, tmp_path / place)["88"]
        versions.add(version_of(chapter, Limits(), [Path(copy)]))
        monkeypatch.chdir(tmp_path / place)
        versions.add(version_of(chapter, Limits(), [Path("fixture_chapter.py")]))
    assert len(versions) == 1
