"""Reports: the columns, every learner's page, and nothing of a stranger's that does harm."""

import csv
import io
import json
import re
import unicodedata
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from attn_course.grading import exports, feedback_page, reports
from attn_course.grading.feedback_page import page
from attn_course.grading.grade_one import grade_cells
from attn_course.grading.gradebook import Entry
from attn_course.grading.intake import cells_of
from attn_course.grading.records import ExerciseRecord, GroupRecord, Record
from attn_course.grading.report_options import ReportOptions
from attn_course.grading.safe_names import cell, file_names, shown
from attn_course.practice import feedback
from attn_course.practice.exercise import Chapter
from attn_course.practice.results import FAULTS, Verdict, in_words
from tests.grading.fake_sandbox import EXCEPTIONS, FakeSandbox
from tests.grading.fixture_chapter import STUBS, WRONG_ROWS, chapter, notebook_bytes

IDS = [exercise.id for exercise in chapter.exercises.values()]


DEFAULTS = ReportOptions()
GRADED_AT = "2026-01-01T00:00:00+00:00"
ZERO = ReportOptions(missing_is_zero=True)
SPREADSHEETS = ReportOptions(for_spreadsheets=True)


def entry(learner="ann", message="", **changes):
    cells = cells_of("n", notebook_bytes(**changes))
    record = grade_cells(FakeSandbox(), cells, chapter, 7, "n.ipynb", seconds=60)
    record = Record(record.status, record.max_points, message, record.exercises)
    return Entry(learner, "88_fixture", "c", "v", "A", 0.0625, record, GRADED_AT)


def blank(status, learner, message):
    record = Record(status, 12, message)
    return Entry(learner, "88_fixture", "", "v", "A", 0.0, record, GRADED_AT)


def unreadable(learner="eve", message="It is no notebook."):
    return blank(Verdict.UNREADABLE, learner, message)


def nothing(learner="zoe"):
    return blank(Verdict.NOTHING_HANDED_IN, learner, "There is no notebook.")


def not_graded(learner="ivy"):
    return blank(Verdict.NOT_GRADED, learner, "The worker is gone.")


def not_judged(learner="joy", verdict=Verdict.NOT_JUDGED):
    """A notebook of which one exercise was judged, and one was not: the check stopped."""
    passed = (GroupRecord("one row", 3, Verdict.PASSED),)
    failed = (GroupRecord("a few numbers", 2, verdict),)
    exercises = (
        ExerciseRecord(IDS[0], "Weights", "function", "Rows", 3, 3, Verdict.PASSED, groups=passed),
        ExerciseRecord(
            IDS[1], "Squares", "function", "Rows", 0, 2, verdict, groups=failed, notes=("Why.",)
        ),
    )
    record = Record(verdict, 5, exercises=exercises)
    return Entry(learner, "88_fixture", "c", "v", "A", 0.0, record, GRADED_AT)


BLANKS = [unreadable(), nothing(), not_graded(), not_judged()]


def table(entries, options=DEFAULTS):
    text = reports.grades_csv(entries, options)
    return list(csv.reader(io.StringIO(text, newline="")))


def rows(entries, options=DEFAULTS):
    head, *found = table(entries, options)
    return [dict(zip(head, row, strict=True)) for row in found]


def result(one, options=DEFAULTS):
    (found,) = json.loads(reports.results_json([one], 7, [], options))["results"]
    return found


def test_the_table_has_the_documented_columns_and_one_for_each_exercise():
    head, ann, bob, eve = table([entry(), entry("bob", row_weights=WRONG_ROWS), unreadable()])
    assert head == [
        *("learner", "chapter", "points", "max_points", "percent", "status", "reason"),
        *IDS,
    ]
    assert ann == ["ann", "88_fixture", "12", "12", "100.0", "graded", "", *"32133"]
    assert bob == ["bob", "88_fixture", "10", "12", "83.3", "graded", "", *"12133"]
    assert eve == [
        *("eve", "88_fixture", "", "12", "", "unreadable", "It is no notebook."),
        *[""] * 5,
    ]


# What was not judged is blank


@pytest.mark.parametrize("one", BLANKS, ids=lambda one: one.record.status.name)
def test_what_was_not_judged_is_blank_with_a_reason_in_the_table(one):
    (row,) = rows([one])
    assert (row["points"], row["percent"]) == ("", "")
    assert row["reason"].endswith(one.record.message or "88.squares: Why.")


def test_an_exercise_that_was_not_judged_is_blank_and_the_others_have_their_points():
    (row,) = rows([not_judged()])
    assert (row[IDS[0]], row[IDS[1]]) == ("3", "")


def test_a_worse_fault_elsewhere_does_not_hide_that_an_exercise_was_not_judged():
    joy = not_judged()
    crashed = ExerciseRecord("88.c", "C", "function", "Rows", 0, 1, Verdict.CRASHED)
    record = Record(Verdict.CRASHED, 6, exercises=(*joy.record.exercises, crashed))
    (row,) = rows([Entry("joy", "88_fixture", "c", "v", "A", 0.0, record)])
    assert (row["points"], row["status"]) == ("", "crashed")
    assert row["reason"] == "88.squares: Why."


@pytest.mark.parametrize("one", BLANKS, ids=lambda one: one.record.status.name)
def test_what_was_not_judged_is_null_with_a_reason_in_the_results(one):
    found = result(one)
    assert (found["points"], found["percent"]) == (None, None)
    assert found["reason"] == (one.record.message or "88.squares: Why.")


def test_an_exercise_that_was_not_judged_is_null_in_the_results():
    assert [one["points"] for one in result(not_judged())["exercises"]] == [3, None]
    assert result(entry())["reason"] == ""


@pytest.mark.parametrize("system", ["canvas", "moodle"])
def test_what_was_not_judged_is_blank_in_the_tables_of_other_systems(tmp_path, system):
    exports.write_export(tmp_path, [entry(), *BLANKS], system)
    text = (tmp_path / f"{system}.csv").read_text()
    cells = {row[0]: row[-1] for row in csv.reader(text.splitlines())}
    assert cells["ann"] == "12"
    assert {learner: cells[learner] for learner in ("eve", "zoe", "ivy", "joy")} == dict.fromkeys(
        ("eve", "zoe", "ivy", "joy"), ""
    )


@pytest.mark.parametrize("one", BLANKS, ids=lambda one: one.record.status.name)
def test_gradescope_gets_no_score_for_what_was_not_judged_and_the_reason(tmp_path, one):
    exports.write_export(tmp_path, [one], "gradescope")
    content = json.loads((tmp_path / "gradescope" / one.learner / "88_fixture.json").read_text())
    # Without a score of the whole it would add up those of the tests: there may be none either.
    assert "score" not in content
    assert content["tests"]  # which must be there where the whole has no score
    assert not [test for test in content["tests"] if "score" in test or "max_score" in test]
    assert (one.record.message or "88.squares: Why.") in content["output"]


def test_gradescope_still_shows_how_the_judged_exercises_went(tmp_path):
    exports.write_export(tmp_path, [not_judged()], "gradescope")
    content = json.loads((tmp_path / "gradescope" / "joy" / "88_fixture.json").read_text())
    judged, other = content["tests"]
    assert judged == {"name": IDS[0], "status": "passed", "output": "Points: 3 of 3"}
    assert other == {"name": IDS[1], "output": "Not judged.\nWhy."}


@pytest.mark.parametrize("one", [unreadable(), nothing()], ids=lambda one: one.learner)
def test_what_is_missing_is_zero_where_an_instructor_wants_it(tmp_path, one):
    (row,) = rows([one], ZERO)
    assert (row["points"], row["percent"], row["reason"]) == ("0", "0.0", one.record.message)
    found = result(one, ZERO)
    assert (found["points"], found["percent"], found["reason"]) == (0, 0.0, one.record.message)
    for system in ("canvas", "moodle", "gradescope"):
        exports.write_export(tmp_path, [one], system, ZERO)
    assert (tmp_path / "canvas.csv").read_text().splitlines()[-1].endswith(",0")
    assert (tmp_path / "moodle.csv").read_text().splitlines()[-1] == f"{one.learner},0"
    content = json.loads((tmp_path / "gradescope" / one.learner / "88_fixture.json").read_text())
    assert content["score"] == 0
    assert "Points: 0 of 12" in Tags(page(one, ZERO)).words


@pytest.mark.parametrize("one", [not_graded(), not_judged()], ids=lambda one: one.learner)
def test_our_own_faults_are_never_zero(tmp_path, one):
    assert rows([one], ZERO) == rows([one])
    assert result(one, ZERO) == result(one)
    for folder in ("blank", "zero"):
        (tmp_path / folder).mkdir()
    for system in ("canvas", "moodle", "gradescope"):
        exports.write_export(tmp_path / "blank", [one], system)
        exports.write_export(tmp_path / "zero", [one], system, ZERO)
    written = {
        folder: {
            path.relative_to(tmp_path / folder): path.read_bytes()
            for path in (tmp_path / folder).rglob("*.*")
        }
        for folder in ("blank", "zero")
    }
    assert written["blank"] == written["zero"]
    assert len(written["zero"]) == 3
    assert page(one, ZERO) == page(one)


@pytest.mark.parametrize("one", BLANKS, ids=lambda one: one.record.status.name)
def test_a_page_says_in_a_sentence_that_there_are_no_points_yet(one):
    words = Tags(page(one)).words
    assert "Points:" not in words
    assert "0 of" not in words
    assert "no points yet" in words or "no total yet" in words
    assert one.record.message in words


def test_a_page_says_of_an_exercise_that_was_not_judged_that_it_was_not():
    words = Tags(page(not_judged())).words
    assert "Passed, points: 3 of 3" in words
    assert "Not judged, which is not your fault: there are no points yet." in words
    assert "Why." in words
    assert "Stopped" not in words


# What a spreadsheet takes for a formula


FORMULAS = ["=1+1", "+49 170", "-x", "@SUM(A1)", "＝1", "\t=1", "\r=1", "\n=1"]
LOGINS = ["+ann", "-ann", "=ann", "@ann", "ann;=1", "'ann", 'O"Hara', "a,b", " ann"]


@pytest.mark.parametrize("login", LOGINS)
def test_a_login_survives_every_table(tmp_path, login):
    assert table([entry(login)])[1][0] == login
    for system in ("canvas", "moodle"):
        exports.write_export(tmp_path, [entry(login)], system)
        lines = (tmp_path / f"{system}.csv").read_text().splitlines()
        assert list(csv.reader(lines))[-1][0] == login


@pytest.mark.parametrize("name", FORMULAS)
def test_a_name_is_never_a_formula_in_tables_for_spreadsheets(tmp_path, name):
    formula = ("=", "+", "-", "@", "＝", "\t", "\r", "\n")
    assert not table([entry(name)], SPREADSHEETS)[1][0].startswith(formula)
    for system in ("canvas", "moodle"):
        exports.write_export(tmp_path, [entry(name)], system, SPREADSHEETS)
        lines = (tmp_path / f"{system}.csv").read_text().splitlines()
        assert not list(csv.reader(lines))[-1][0].startswith(formula)


def test_a_reason_is_never_a_formula_since_no_system_needs_it_unchanged():
    (row,) = rows([unreadable(message="=1+1")])
    assert row["reason"] == "'=1+1"


@pytest.mark.parametrize("name", ["ann;=1+1", "ann\n=1+1", 'ann";=1+1'])
@pytest.mark.parametrize("separator", ",;\t")
def test_a_name_is_one_cell_wherever_a_spreadsheet_divides_them(name, separator):
    text = reports.grades_csv([unreadable(name)], SPREADSHEETS)
    divided = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    assert not [found for row in divided for found in row if found.startswith("=")]


@given(st.text(st.characters(exclude_categories=("Cs",)), min_size=1))
def test_nothing_in_a_table_steers_a_terminal(name):
    assert all(line.isprintable() for line in reports.grades_csv([unreadable(name)]).split("\r\n"))


@given(st.text(st.characters(exclude_categories=("Cs",)), min_size=1))
def test_any_name_survives_the_table(name):
    for options, written in ((ReportOptions(), shown(name)), (SPREADSHEETS, cell(name))):
        _head, row = table([unreadable(name)], options)
        assert row[0] == written
        assert row[1] == "88_fixture"


@given(st.text(st.characters(exclude_categories=("C", "Zl", "Zp")), min_size=1))
def test_a_name_without_control_characters_is_unchanged(name):
    assume(name.isprintable())
    assert table([unreadable(name)])[1][0] == name


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
        self.found, self.words, self.links = set(), "", []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.add(tag)
        self.found.update(name for name, _value in attrs if name.startswith("on"))
        self.links += [value for name, value in attrs if name in ("href", "src")]

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


def test_a_page_has_the_title_of_the_chapter_and_the_day_of_grading():
    ann = entry()
    ann = replace(ann, record=replace(ann.record, title="Rows & <columns>"))
    words = Tags(page(ann)).words
    assert "88 Rows & <columns>" in words
    assert "Graded on 2026-01-01" in words
    assert "ann" in words


def test_a_page_of_an_older_record_has_the_name_of_the_chapter_instead():
    words = Tags(page(replace(entry(), graded=""))).words
    assert "88_fixture" in words
    assert "Graded on" not in words


BOOKS = {
    "https://example.org/book": "https://example.org/book/07_rows.html#rows",
    "https://example.org/book/": "https://example.org/book/07_rows.html#rows",
    "https://example.org/book/index.html": "https://example.org/book/07_rows.html#rows",
    "http://[::1]:8000": "http://[::1]:8000/07_rows.html#rows",
}


def wrong_rows(**changes):
    """A page with something to read, and where to find it."""
    bob = entry("bob", row_weights=WRONG_ROWS)
    rows_, *others = bob.record.exercises
    rows_ = replace(rows_, **({"section_label": "rows", "section_page": "07_rows"} | changes))
    return replace(bob, record=replace(bob.record, exercises=(rows_, *others)))


@pytest.mark.parametrize("book", BOOKS)
def test_a_page_links_the_section_of_the_book_where_its_address_is_known(book):
    found = Tags(page(wrong_rows(), ReportOptions(book=book)))
    assert found.links == [BOOKS[book]]
    assert found.words.count("Read: chapter 88, section “Rows”") == 1


def test_without_an_address_the_section_is_named_and_not_linked():
    found = Tags(page(wrong_rows()))
    assert (found.links, "a" in found.found) == ([], False)
    assert found.words.count("Read: chapter 88, section “Rows”") == 1


def test_a_section_whose_page_is_not_known_is_named_and_not_linked():
    older = wrong_rows(section_label="", section_page="")
    found = Tags(page(older, ReportOptions(book="https://example.org")))
    assert found.links == []
    assert "Read: chapter 88, section “Rows”" in found.words


def test_nothing_in_the_address_of_a_section_leaves_the_link():
    odd = wrong_rows(section_label='"><script>', section_page="../../x y")
    found = Tags(page(odd, ReportOptions(book='https://example.org/"><script>/')))
    assert "script" not in found.found
    (link,) = found.links
    assert link.startswith("https://example.org/")


def test_the_grader_records_where_a_section_is():
    pages = {"rows": "07_rows"}
    known = Chapter("88_fixture", chapter.title, chapter.sections, pages)
    known.exercises = {name: replace(one, chapter=known) for name, one in chapter.exercises.items()}
    cells = cells_of("n", notebook_bytes(row_weights=WRONG_ROWS, squares="y = 1"))
    record = grade_cells(FakeSandbox(), cells, known, 7, "n.ipynb", seconds=60)
    assert [(one.section_label, one.section_page) for one in record.exercises] == [
        *[("rows", "07_rows")] * 3,
        *[("steps", "")] * 2,
    ]
    assert [one.section for one in record.exercises] == [*["Rows"] * 3, *["Steps"] * 2]


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


@pytest.mark.parametrize("fault", FAULTS[:-1])  # not judged is no fault of theirs
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
    (line,) = reports.blanks([unreadable()])
    assert "⟨UNREADABLE⟩" in line


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
    assert lines[0] == "88_fixture: notebooks 3, mean 89 %, without points 1 (not in the mean)"
    assert " ".join(lines[1].split()) == (
        "88.row_weights passed 1 of 3 most common mistake: one_sum_for_all (2)"
    )
    assert lines[2].split() == ["88.squares", "passed", "3", "of", "3"]


def test_there_is_a_line_for_everything_that_needs_a_look():
    crash = entry("dia", squares=f"{EXCEPTIONS}\ndef squares(x):\n    raise Crash")
    entries = [entry(), unreadable("e\x1b[2Jve"), crash, entry("x", message="two"), not_judged()]
    assert reports.problems(entries) == [
        "dia  88_fixture  crashed  88.squares: It crashed.",
        "x  88_fixture  graded  two",
    ]
    assert reports.blanks(entries) == [
        "Without points: e\\x1b[2Jve  88_fixture  unreadable  It is no notebook.",
        "Without points: joy  88_fixture  not judged  88.squares: Why.",
    ]


def test_what_is_zero_is_not_said_to_be_blank():
    assert reports.blanks([unreadable(), not_graded()], ZERO) == reports.blanks([not_graded()])
    assert reports.problems([unreadable()], ZERO) == [
        "eve  88_fixture  unreadable  It is no notebook."
    ]
    (line,) = reports.summary([entry(), unreadable()], ZERO).splitlines()[:1]
    assert line == "88_fixture: notebooks 2, mean 50 %"


def test_a_line_is_not_longer_than_one_can_read():
    flood = f"{EXCEPTIONS}\ndef squares(x):\n    raise Crash"
    entries = [entry("x" * 10**4, squares=flood), entry(message="\U000e0001" * 10**4)]
    entries.append(unreadable(message="x" * 10**4))
    lines = reports.problems(entries) + reports.blanks(entries)
    assert [len(line) for line in lines] == [300, 300, 300]
    assert all(line.isprintable() for line in lines)


def test_a_mean_is_of_what_was_judged_and_says_how_many_were_not():
    (line,) = reports.summary([entry(), *BLANKS]).splitlines()[:1]
    assert line == "88_fixture: notebooks 1, mean 100 %, without points 4 (not in the mean)"


def test_without_anything_judged_there_is_no_mean():
    (line,) = reports.summary([unreadable(), nothing()]).splitlines()
    assert line == "88_fixture: notebooks 0, without points 2"


def test_an_exercise_that_was_not_judged_is_not_counted_as_not_passed():
    lines = [" ".join(line.split()) for line in reports.summary([not_judged()]).splitlines()]
    assert lines[1:] == ["88.row_weights passed 1 of 1", "88.squares passed 0 of 0 not judged 1"]


# Exports


def exported(tmp_path, system):
    exports.write_export(tmp_path, [entry("ann"), unreadable("eve")], system)
    return {path.relative_to(tmp_path).as_posix(): path for path in tmp_path.rglob("*.*")}


def test_canvas_gets_its_table(tmp_path):
    text = exported(tmp_path, "canvas")["canvas.csv"].read_text()
    assert text.splitlines() == [
        "Student,ID,SIS User ID,SIS Login ID,Section,88_fixture",
        "    Points Possible,,,,,12",
        "ann,,,ann,,12",
        "eve,,,eve,,",
    ]


def test_moodle_gets_its_table(tmp_path):
    text = exported(tmp_path, "moodle")["moodle.csv"].read_text()
    assert text.splitlines() == ["username,88_fixture", "ann,12", "eve,"]


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
    other = json.loads(files["gradescope/eve/88_fixture.json"].read_text())
    assert other["output"] == "It is no notebook."
    assert other["output_format"] == "text"  # by default it would be taken for HTML
