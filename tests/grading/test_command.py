"""`attn-course grade` from the outside: what it says, what it refuses, how it ends."""

import argparse
import errno
import json
import os
from pathlib import Path

import pytest

from attn_course import cli, practice
from attn_course.grading import command, exports, isolation_trial, jobs, sandbox
from attn_course.grading.isolation import Rung
from attn_course.grading.isolation_trial import NoSandbox
from attn_course.practice.exercise import Chapter
from tests.grading import fixture_chapter
from tests.grading.fake_sandbox import FakeSandbox
from tests.grading.fixture_chapter import WRONG_ROWS, notebook_bytes

FIXTURE = fixture_chapter.__file__


@pytest.fixture(autouse=True)
def fakes(monkeypatch):
    """A sandbox that starts at once, and a rung that needs no trying."""
    asked = {}

    def make(rung, limits, waits=True):
        asked.update(rung=rung, limits=limits)
        return FakeSandbox()

    monkeypatch.setattr(sandbox, "Sandbox", make)
    monkeypatch.setattr(
        isolation_trial, "find_rung", lambda wanted: Rung("A", f"Isolation: {wanted}.")
    )
    monkeypatch.setattr(jobs, "can_fork", lambda: False)  # the fakes remember what they were asked
    return asked


@pytest.fixture
def submissions(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hand_in("ann", notebook_bytes())
    hand_in("bob", notebook_bytes(row_weights=WRONG_ROWS))
    return Path("in")


def hand_in(learner, content):
    path = Path("in", learner, "88_fixture.ipynb")
    path.parent.mkdir(parents=True)
    path.write_bytes(content)


def parser_of_grade():
    return command.add_parser(argparse.ArgumentParser().add_subparsers())


def parsed(*words):
    return parser_of_grade().parse_args(words)


def grade(*words):
    arguments = parsed("in", "--out", "out", "--checks", FIXTURE, "--chapters", "88", *words)
    return arguments.run(arguments)


def results():
    return json.loads(Path("out/results.json").read_text())


def test_a_class_is_graded_and_summed_up(submissions, capsys):
    assert grade("--seed", "5") == 0
    said = capsys.readouterr()
    assert said.err.startswith("Isolation: auto.\n")
    assert "88_fixture: notebooks 2, mean 92 %" in said.out
    assert "Results: out" in said.out
    assert [one["points"] for one in results()["results"]] == [12, 10]
    assert results()["seed"] == 5
    assert Path("out/feedback/bob/88_fixture.html").is_file()


def test_a_file_that_is_no_notebook_has_its_line_and_shows_in_the_exit_code(submissions, capsys):
    hand_in("e\x1bve", b"nonsense")
    assert grade() == 1
    said = capsys.readouterr()
    assert "Without points: e\\x1bve  88_fixture  unreadable  " in said.err
    assert "without points 1 (not in the mean)" in said.out
    assert "\x1b" not in said.out + said.err
    assert [one["points"] for one in results()["results"]] == [12, 10, None]


def test_json_is_all_that_is_printed(submissions, capsys):
    assert grade("--json") == 0
    out = capsys.readouterr().out
    assert json.loads(out) == results()


def test_limits_reach_the_sandbox(submissions, fakes):
    assert grade("--timeout-call", "2.5", "--timeout-submission", "30", "--memory", "512") == 0
    limits = fakes["limits"]
    assert (limits.call_seconds, limits.submission_seconds, limits.memory_mb) == (2.5, 30, 512)


@pytest.mark.parametrize("system", ["canvas", "moodle"])
def test_points_are_exported(submissions, system):
    assert grade("--export", system) == 0
    assert "88_fixture" in Path(f"out/{system}.csv").read_text()


def test_there_is_an_export_for_each_system_that_is_offered():
    (option,) = [one for one in parser_of_grade()._actions if one.dest == "export"]
    assert set(option.choices) == set(exports._SYSTEMS)


def test_a_learner_without_a_notebook_has_a_line_everywhere(submissions, capsys):
    Path("in/zoe").mkdir()
    assert grade("--export", "moodle") == 1
    line = "zoe  88_fixture  nothing handed in  There is no notebook of this chapter in the folder"
    assert f"Without points: {line}" in capsys.readouterr().err
    assert [one["points"] for one in results()["results"]] == [12, 10, None]
    assert "zoe,\r\n" in Path("out/moodle.csv").read_bytes().decode()


def test_who_is_blank_is_said_where_only_json_is_printed(submissions, capsys):
    Path("in/zoe").mkdir()
    assert grade("--json") == 1
    said = capsys.readouterr()
    assert json.loads(said.out) == results()
    assert "Without points: zoe  88_fixture  nothing handed in  " in said.err


def test_what_is_missing_is_zero_where_it_is_asked_for(submissions, capsys):
    Path("in/zoe").mkdir()
    hand_in("eve", b"nonsense")
    hand_in("ivy", notebook_bytes(squares="# the worker fails here"))
    assert grade("--export", "moodle", "--missing", "zero") == 1
    assert Path("out/moodle.csv").read_text().split() == [
        *("username,88_fixture", "ann,12", "bob,10", "eve,0", "ivy,", "zoe,0")
    ]
    said = capsys.readouterr()
    assert "88_fixture: notebooks 4, mean 46 %, without points 1" in said.out
    assert "zoe  88_fixture  nothing handed in" in said.out
    assert [line for line in said.err.splitlines() if "Without points" in line] == [
        line for line in said.err.splitlines() if line.startswith("Without points: ivy  ")
    ]
    grade("--export", "moodle")
    assert "zoe,\r\n" in Path("out/moodle.csv").read_bytes().decode()  # of one run, not kept


def test_a_notebook_that_was_judged_in_part_needs_a_look(submissions, monkeypatch):
    def stops(exercise, submission, seed=None, observing=False):
        raise KeyError("a mistake of ours")

    monkeypatch.setattr("attn_course.practice.judging.check", stops)
    assert grade() == 1
    assert [one["points"] for one in results()["results"]] == [None, None]


def test_a_later_file_that_can_not_be_read_needs_a_look(submissions, capsys):
    assert grade() == 0
    Path("in/ann/88_fixture.ipynb").write_bytes(b"")
    assert grade() == 1
    said = capsys.readouterr()
    assert "ann  88_fixture  graded  A later file came on " in said.out
    assert [one["points"] for one in results()["results"]] == [12, 10]


def test_a_login_is_written_as_it_is_unless_it_is_for_spreadsheets(submissions):
    hand_in("@eve", notebook_bytes())
    assert grade("--export", "moodle") == 0
    assert "\r\n@eve,12" in Path("out/moodle.csv").read_bytes().decode()
    assert grade("--export", "moodle", "--spreadsheet-safe") == 0
    assert "\r\n'@eve,12" in Path("out/moodle.csv").read_bytes().decode()


# The book


def book_of(*words):
    return parsed("in", "--out", "out", *words).book


def test_the_address_of_the_book_is_an_option_or_a_setting(monkeypatch):
    monkeypatch.delenv("ATTN_COURSE_BOOK", raising=False)
    assert book_of() == ""
    monkeypatch.setenv("ATTN_COURSE_BOOK", "https://example.org/book")
    assert book_of() == "https://example.org/book"
    assert book_of("--book", "http://here") == "http://here"
    assert book_of("--book", "") == ""


def test_the_address_of_the_book_reaches_the_pages(submissions):
    pages = '\nchapter.pages = {"rows": "07_rows"}\n'
    Path("checks.py").write_text(Path(FIXTURE).read_text() + pages)
    assert grade("--checks", "checks.py", "--book", "https://example.org/book") == 0
    page = Path("out/feedback/bob/88_fixture.html")
    assert 'href="https://example.org/book/07_rows.html#rows"' in page.read_text()
    assert grade("--checks", "checks.py") == 0
    assert "href=" not in page.read_text()  # a setting of one run, and not kept


@pytest.mark.parametrize(
    "book", ["javascript:alert(1)", "book", "/srv/book", "https://", "ftp://x"]
)
def test_what_is_no_address_of_a_book_is_refused(book, capsys, monkeypatch):
    monkeypatch.setenv("ATTN_COURSE_BOOK", book)
    for words in (["--book", book], []):
        with pytest.raises(SystemExit) as leaving:
            parsed("in", "--out", "out", *words)
        assert leaving.value.code == 2
        assert "is no address of a book" in capsys.readouterr().err


def test_help_says_what_is_never_zero(capsys):
    with pytest.raises(SystemExit):
        parsed("--help")
    said = " ".join(capsys.readouterr().out.split())
    assert "never for what the grader itself failed to judge" in said


def test_without_a_sandbox_other_peoples_files_are_refused(submissions, monkeypatch, capsys):
    monkeypatch.setattr(isolation_trial, "find_rung", lambda wanted: Rung("E", "Isolation: none."))
    assert grade("--isolation", "none") == 2
    assert "--i-trust-these-files" in capsys.readouterr().err
    assert not Path("out").exists()
    assert grade("--isolation", "none", "--i-trust-these-files") == 0
    assert {one["rung"] for one in results()["results"]} == {"E"}


def test_strict_isolation_that_can_not_be_had_is_refused(submissions, monkeypatch, capsys):
    def nothing(wanted):
        raise NoSandbox("There is nothing here.")

    monkeypatch.setattr(isolation_trial, "find_rung", nothing)
    assert grade("--isolation", "strict", "--i-trust-these-files") == 2
    assert capsys.readouterr().err == "There is nothing here.\n"
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nowhere", "--out", "out"], "nowhere is not a folder"),
        (["in", "--out", "in/out"], "is inside of in"),
        (["in", "--out", "out", "--chapters", "99"], "There is no chapter '99' with exercises"),
        (["in", "--out", "out", "--checks", "in"], "There is no Python file in in"),
    ],
)
def test_wrong_use_has_a_sentence(submissions, capsys, words, sentence):
    arguments = parsed(*words)
    assert arguments.run(arguments) == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["in"],
        ["in", "--out", "out", "--jobs", "0"],
        ["in", "--out", "out", "--timeout-call", "-1"],
        ["in", "--out", "out", "--timeout-call", "nan"],
        ["in", "--out", "out", "--memory", "lots"],
        ["in", "--out", "out", "--fresh", "--resume"],
        ["in", "--out", "out", "--isolation", "maybe"],
    ],
)
def test_wrong_options_are_refused(words, capsys):
    with pytest.raises(SystemExit) as leaving:
        parsed(*words)
    assert leaving.value.code == 2
    assert "error:" in capsys.readouterr().err


@pytest.fixture
def several(monkeypatch):
    """A course of which one chapter has several notebooks."""
    stems = ["01_topic", "05_levels", "05b_rotation", "05c_other", "12_last"]
    made = [Chapter(stem, title=stem, sections={}) for stem in stems]
    known = {one.number: one for one in made}
    monkeypatch.setattr("attn_course.practice.exercises.chapters", lambda: known)
    return known


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["1"], ["01"]),
        (["01", "5b"], ["01", "05b"]),
        (["5"], ["05", "05b", "05c"]),
        (["05"], ["05", "05b", "05c"]),
        (["05b"], ["05b"]),
        (["5b", "5"], ["05", "05b", "05c"]),
        (["12,1"], ["01", "12"]),
        (["05c,1", "12"], ["01", "05c", "12"]),
    ],
)
def test_chapters_are_named_as_people_name_them(several, words, meant):
    arguments = parsed("in", "--out", "out", "--chapters", *words)
    assert list(command._chapters(arguments)) == meant


@pytest.mark.parametrize("word", ["99", "5d", "9", "nonsense", "05.ask"])
def test_an_unknown_chapter_is_refused_in_the_words_that_a_learner_gets(
    submissions, several, capsys, word
):
    assert cli.main(["grade", "in", "--out", "out", "--chapters", word]) == 2
    _isolation, sentence = capsys.readouterr().err.splitlines()
    assert sentence.startswith("There is no chapter '")
    assert sentence.endswith("with exercises; there are: 01, 05, 05b, 05c, 12.")
    assert not Path("out").exists()
    notice = practice.overview(word)
    assert notice.text() == sentence


@pytest.mark.parametrize("word", ["99", "5d", "9"])
def test_grade_and_check_refuse_a_chapter_alike(submissions, several, capsys, word):
    assert cli.main(["grade", "in", "--out", "out", "--chapters", word]) == 2
    graded = capsys.readouterr().err.splitlines()[-1]
    assert cli.main(["check", word]) == 2
    assert capsys.readouterr().err.splitlines() == [graded]


def test_help_has_examples(capsys):
    with pytest.raises(SystemExit):
        parsed("--help")
    assert "attn-course grade submissions --out results" in capsys.readouterr().out


def test_another_seed_is_refused_and_fresh_allows_it(submissions, capsys):
    assert grade("--seed", "5") == 0
    assert grade("--seed", "6") == 1
    assert "begun with the seed 5" in capsys.readouterr().err
    assert grade("--seed", "6", "--fresh") == 0
    assert results()["seed"] == 6


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, ": the disk is full. Make room"),
        (errno.EDQUOT, ": the disk is full. Make room"),
        (errno.EACCES, ": check the permissions"),
        (errno.EROFS, ": check the permissions"),
        (errno.EIO, ". What was graded before is kept"),
    ],
)
def test_a_file_that_can_not_be_written_has_a_sentence(
    submissions, monkeypatch, capsys, number, advice
):
    def refused(*_arguments):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("attn_course.grading.folder.os.replace", refused)
    assert grade() == 1
    expected = "feedback/ann/88_fixture.html could not be written"
    assert f"{expected} ({os.strerror(number)}){advice}" in capsys.readouterr().err


def test_a_fault_that_is_about_no_file_has_a_sentence(submissions, monkeypatch, capsys):
    def no_process(*_arguments):
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr("attn_course.grading.run.grade_folder", no_process)
    assert grade() == 1
    said = capsys.readouterr().err
    assert "Stopped by the system (Resource temporarily unavailable)." in said
    assert "written" not in said


def test_control_c_says_how_to_go_on(submissions, monkeypatch, capsys):
    class Interrupted(FakeSandbox):
        def open(self, cells, names, file="notebook", without=None):
            raise KeyboardInterrupt

    monkeypatch.setattr(sandbox, "Sandbox", lambda rung, limits, waits=True: Interrupted())
    assert grade() == 1
    assert "run the same command again to go on" in capsys.readouterr().err
    monkeypatch.setattr(sandbox, "Sandbox", lambda rung, limits, waits=True: FakeSandbox())
    assert grade() == 0
    assert [one["points"] for one in results()["results"]] == [12, 10]


def test_an_empty_folder_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    assert grade() == 1
    assert "No notebook was found." in capsys.readouterr().out
