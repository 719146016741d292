"""Reports: the columns, every learner's page, and nothing of a stranger's that does harm."""

import csv
import io
import json
import re
import unicodedata
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attn_course.grading import exports, feedback_page, reports
from attn_course.grading.feedback_page import page
from attn_course.grading.grade_one import grade_cells
from attn_course.grading.gradebook import Entry
from attn_course.grading.intake import cells_of
from attn_course.grading.records import ExerciseRecord, GroupRecord, Record
from attn_course.grading.safe_names import cell, file_names, shown
from attn_course.practice import feedback
from attn_course.practice.results import FAULTS, Verdict, in_words
from tests.grading.fake_sandbox import EXCEPTIONS, FakeSandbox
from tests.grading.fixture_chapter import STUBS, WRONG_ROWS, chapter, notebook_bytes

IDS = [exercise.id for exercise in chapter.exercises.values()]


def entry(learner="ann", message="", **changes):
    cells = cells_of("n", notebook_bytes(**changes))
    record = grade_cells(FakeSandbox(), cells, chapter, 7, "n.ipynb", seconds=60)
    record = Record(record.status, record.max_points, message, record.exercises)
    return Entry(learner, "88_fixture", "c", "v", "A", 0.0625, record, "2026-01-01T00:00:00+00:00")


def unreadable(learner="eve", message="It is no notebook."):
    record = Record(Verdict.UNREADABLE, 12, message)
    return Entry(learner, "88_fixture", "", "v", "A", 0.0, record)


def table(entries):
    return list(csv.reader(io.StringIO(reports.grades_csv(entries), newline="")))


def test_the_table_has_the_documented_columns_and_one_for_each_exercise():
    head, ann, bob, eve = table([entry(), entry("bob", row_weights=WRONG_ROWS), unreadable()])
    assert head[:7] == [
        *("learner", "chapter", "points", "max_points", "percent", "status", "seconds")
    ]
    assert head[7:] == IDS
    assert ann == ["ann", "88_fixture", "12", "12", "100.0", "graded", "0.062", *"32133"]
    assert bob == ["bob", "88_fixture", "10", "12", "83.3", "graded", "0.062", *"12133"]
    assert eve == ["eve", "88_fixture", "0", "12", "0.0", "unreadable", "0.000", *[""] * 5]


FORMULAS = ["=1+1", "+49 170", "-x", "@SUM(A1)", "＝1", "\t=1", "\r=1", "\n=1"]


@pytest.mark.parametrize("name", FORMULAS)
def test_a_name_is_never_a_formula(name):
    assert not table([entry(name)])[1][0].startswith(("=", "+", "-", "@", "＝", "\t", "\r", "\n"))


@pytest.mark.parametrize("name", ["ann;=1+1", "ann\n=1+1", 'ann";=1+1'])
@pytest.mark.parametrize("separator", ",;\t")
def test_a_name_is_one_cell_wherever_a_spreadsheet_divides_them(name, separator):
    text = reports.grades_csv([unreadable(name)])
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    assert not [found for row in rows for found in row if found.startswith("=")]


@given(st.text(st.characters(exclude_categories=("Cs",)), min_size=1))
def test_nothing_in_a_table_steers_a_terminal(name):
    assert all(line.isprintable() for line in reports.grades_csv([unreadable(name)]).split("\r\n"))


@given(st.text(st.characters(exclude_categories=("Cs",)), min_size=1))
def test_any_name_survives_the_table(name):
    _head, row = table([unreadable(name)])
    assert row[0] == cell(name)
    assert row[1] == "88_fixture"


def test_results_json_has_everything():
    content = json.loads(reports.results_json([entry(row_weights=WRONG_ROWS)], 7, ["a notice"]))
    assert (content["seed"], content["notices"]) == (7, ["a notice"])
    (result,) = content["results"]
    assert (result["learner"], result["points"], result["rung"]) == ("ann", 10, "A")
    assert result["exercises"][0]["mistake"] == "one_sum_for_all"
    assert [one["id"] for one in result["exercises"]] == IDS


def test_files_are_written_where_they_belong(tmp_path):
    entries = [entry("ann"), entry("../../escape"), entry("Ann")]
    reports.write_all(tmp_path, entries, 7, [])
    found = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*"))
    pages = [name for name in found if name.endswith(".html")]
    assert len(pages) == 3
    assert all(re.fullmatch(r"feedback/[\w-]+/88_fixture\.html", name) for name in pages)
    assert sorted(set(found) - set(pages)) == ["grades.csv", "results.json"]


# Names


def test_ordinary_names_stay():
    names = ["ann", "Ana María", "o.neil@school.edu", "李明", "2024-group_7"]
    assert file_names(names) == {name: name for name in names}


@given(st.lists(st.text(), unique=True, max_size=20))
def test_file_names_are_safe_and_unique_whatever_the_names(names):
    names = list(dict.fromkeys(names + list(file_names(names).values())))  # who takes another's
    made = file_names(names)
    assert list(made) == names
    folded = [unicodedata.normalize("NFKC", name).casefold() for name in made.values()]
    assert len(set(folded)) == len(folded)
    for name in made.values():
        assert re.fullmatch(r"\w[\w .@+-]*", name)
        assert not name.endswith((".", " "))
        assert len(name.encode()) < 250


@pytest.mark.parametrize("pair", [("Ann", "ann"), ("Jose\u0301", "Jos\u00e9")])
def test_names_that_are_one_file_on_some_disks_get_two(pair):
    made = file_names(pair)
    assert len({unicodedata.normalize("NFKC", name).casefold() for name in made.values()}) == 2


@pytest.mark.parametrize("name", ["O'Hara", "../../etc", "a/b", "\u202e"])
def test_nobody_can_take_the_file_of_another(name):
    (taken,) = file_names([name]).values()
    for other in (taken, taken.upper(), taken.replace("-", "\uff0d")):
        assert len(set(file_names([name, other]).values())) == 2
        assert file_names([other, name])[name] == taken


def test_a_name_does_not_depend_on_who_else_is_there_unless_they_collide():
    assert file_names(["a/b"])["a/b"] == file_names(["x", "a/b", "y"])["a/b"]


@given(st.text())
def test_nothing_that_is_shown_steers_a_terminal(text):
    assert shown(text).isprintable()


def test_ordinary_text_is_shown_as_it_is():
    assert shown("Ana María 李明 🦉") == "Ana María 李明 🦉"


# Pages


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found, self.words = set(), ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.add(tag)
        self.found.update(name for name, _value in attrs if name.startswith("on"))

    def handle_data(self, data):
        self.words += data


def test_a_page_says_what_was_right_and_what_was_wrong():
    words = Tags(page(entry(row_weights=WRONG_ROWS))).words
    assert "Points: 10 of 12" in words
    assert "Not yet, points: 1 of 3" in words
    assert "one sum for all" in words
    assert "each row has a sum of its own" in words
    assert "Passed, points: 2 of 2" in words
    assert "Read: chapter 88, section “Rows”" in words


def test_a_page_shows_no_input():
    text = page(entry(row_weights="def row_weights(scores):\n    return scores * 0"))
    assert "The input, not shown here: scores of shape (1, 3)." in text
    assert "smallest input" not in text
    assert "<svg" not in text


def test_a_page_about_an_untouched_notebook_says_what_is_to_do():
    words = Tags(page(entry(**STUBS))).words
    assert words.count("Not written.") == 4
    assert words.count("Not answered.") == 1
    assert "Points: 0 of 12" in words


@pytest.mark.parametrize("name", STUBS)
def test_a_page_never_asks_for_what_can_no_longer_be_done(name):
    words = Tags(page(entry(**{name: STUBS[name]}))).words
    assert words.count("Not written.") + words.count("Not answered.") == 1
    for advice in ("run this again", "cell above", "fill in", "Fill it in", "yet:"):
        assert advice not in words


def test_a_page_does_not_call_unwritten_what_has_points():
    half = (
        "def row_weights(scores):\n"
        "    if len(scores) > 1:\n"
        "        raise NotImplementedError\n"
        "    return scores / scores.sum()"
    )
    words = Tags(page(entry(row_weights=half))).words
    assert "Not yet, points: 1 of 3" in words
    assert "many rows: to do, 0 of 2" in words
    assert "Not written" not in words


def test_a_page_about_a_missing_answer_says_so():
    words = Tags(page(entry(squares="y = 1"))).words
    assert "No cell defines `squares`." in words
    assert "a few numbers: missing, 0 of 2" in words
    assert "Stopped" not in words


def test_a_page_about_a_notebook_without_code_says_of_every_answer_that_it_is_not_there():
    record = grade_cells(FakeSandbox(), (), chapter, 7, "n", seconds=60)
    words = Tags(page(Entry("ann", "88_fixture", "c", "v", "A", 0.0, record))).words
    assert words.count("Not found in the notebook.") == len(IDS)
    assert words.count(": missing, 0 of ") == 6  # groups


def faulty(fault):
    groups = (GroupRecord("one row", 1, Verdict.PASSED), GroupRecord("many rows", 2, fault))
    rows = ExerciseRecord("88.a", "Title", "function", "Rows", 1, 3, fault, groups=groups)
    return Entry("ann", "88_fixture", "c", "v", "A", 0.0, Record(fault, 3, exercises=(rows,)))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_page_and_a_line_name_a_fault_in_the_readers_own_words(fault, monkeypatch):
    words = Tags(page(faulty(fault))).words
    assert f"Stopped: {in_words(fault)}." in words
    assert f"many rows: {in_words(fault)}, 0 of 2" in words

    def in_another_language(verdict):
        return f"⟨{verdict.name}⟩"

    for module in (feedback_page, feedback, reports):
        monkeypatch.setattr(module, "in_words", in_another_language)
    words = Tags(page(faulty(fault))).words
    assert words.count(f"⟨{fault.name}⟩") == 2
    assert "one row: ⟨PASSED⟩, 1 of 1" in words
    assert fault not in words
    (line,) = reports.problems([faulty(fault)])
    assert line.startswith(f"ann  88_fixture  ⟨{fault.name}⟩")


def test_tables_keep_the_same_words_in_every_language(monkeypatch):
    monkeypatch.setattr(reports, "in_words", lambda verdict: "other")
    assert table([faulty(Verdict.TIMED_OUT)])[1][5] == "timed out"
    (result,) = json.loads(reports.results_json([faulty(Verdict.TIMED_OUT)], 7, []))["results"]
    assert (result["status"], result["exercises"][0]["verdict"]) == ("timed out", "timed out")


@pytest.mark.parametrize("verdict", Verdict)
def test_there_are_words_for_every_verdict(verdict):
    assert in_words(verdict)


def test_a_page_about_a_crash_says_so():
    words = Tags(page(entry(squares=f"{EXCEPTIONS}\ndef squares(x):\n    raise Crash"))).words
    assert "Stopped: crashed." in words
    assert words.count("Passed, points: ") == 4


def test_a_page_about_a_file_that_is_no_notebook_says_so():
    words = Tags(page(unreadable())).words
    assert "It is no notebook." in words


@pytest.mark.parametrize(
    "changes",
    [
        {"learner": "<script>alert(1)</script>"},
        {"learner": '"><img src=x onerror=alert(1)>'},
        {"message": "<script>alert(1)</script>"},
        {"squares": "def squares(x):\n    raise ValueError('<script>alert(1)</script>')"},
        {"squares": "def squares(x):\n    return '<img src=x onerror=alert(1)>'"},
        {"squares": "'<script>'; def squares(x) return"},
    ],
)
def test_nothing_of_a_learner_becomes_markup(changes):
    text = page(entry(**changes))
    assert Tags(text).found.isdisjoint({"script", "img", "onerror", "iframe", "link", "a"})
    assert "default-src 'none'" in text


# Summary and lines


def test_the_summary_counts_and_names_the_common_mistake():
    entries = [entry("a"), *(entry(n, row_weights=WRONG_ROWS) for n in "bc"), unreadable()]
    lines = reports.summary(entries).splitlines()
    assert lines[0] == "88_fixture: notebooks 4, mean 67 %"
    assert " ".join(lines[1].split()) == (
        "88.row_weights passed 1 of 3 most common mistake: one_sum_for_all (2)"
    )
    assert lines[2].split() == ["88.squares", "passed", "3", "of", "3"]


def test_there_is_a_line_for_everything_that_needs_a_look():
    crash = entry("dia", squares=f"{EXCEPTIONS}\ndef squares(x):\n    raise Crash")
    lines = reports.problems([entry(), unreadable("e\x1b[2Jve"), crash, entry("x", message="two")])
    assert lines == [
        "e\\x1b[2Jve  88_fixture  unreadable  It is no notebook.",
        "dia  88_fixture  crashed  88.squares: It crashed.",
        "x  88_fixture  graded  two",
    ]


def test_a_line_is_not_longer_than_one_can_read():
    flood = f"{EXCEPTIONS}\ndef squares(x):\n    raise Crash"
    entries = [entry("x" * 10**4, squares=flood), entry(message="\U000e0001" * 10**4)]
    lines = reports.problems(entries)
    assert [len(line) for line in lines] == [300, 300]
    assert all(line.isprintable() for line in lines)


def test_who_handed_in_nothing_is_in_the_table_and_not_in_the_mean():
    record = Record(Verdict.NOTHING_HANDED_IN, 12, "Why.")
    nothing = Entry("zoe", "88_fixture", "", "v", "A", 0.0, record)
    assert table([entry(), nothing])[2][:6] == [
        *("zoe", "88_fixture", "0", "12", "0.0", "nothing handed in")
    ]
    assert reports.summary([entry(), nothing]) == reports.summary([entry()])
    assert reports.problems([nothing]) == ["zoe  88_fixture  nothing handed in  Why."]


# Exports


def exported(tmp_path, system):
    exports.write_export(tmp_path, [entry("ann"), unreadable("=eve")], system)
    return {path.relative_to(tmp_path).as_posix(): path for path in tmp_path.rglob("*.*")}


def test_canvas_gets_its_table(tmp_path):
    text = exported(tmp_path, "canvas")["canvas.csv"].read_text()
    assert text.splitlines() == [
        "Student,ID,SIS User ID,SIS Login ID,Section,88_fixture",
        "    Points Possible,,,,,12",
        "ann,,,ann,,12",
        "'=eve,,,'=eve,,0",
    ]


def test_moodle_gets_its_table(tmp_path):
    text = exported(tmp_path, "moodle")["moodle.csv"].read_text()
    assert text.splitlines() == ["username,88_fixture", "ann,12", "'=eve,0"]


def test_gradescope_gets_a_file_for_each_notebook(tmp_path):
    files = exported(tmp_path, "gradescope")
    content = json.loads(files["gradescope/ann/88_fixture.json"].read_text())
    assert content["score"] == 12
    assert content["tests"][0] == {
        "name": "88.row_weights",
        "score": 3,
        "max_score": 3,
        "output": "",
    }
    (other,) = set(files) - {"gradescope/ann/88_fixture.json"}
    assert json.loads(files[other].read_text())["output"] == "It is no notebook."
