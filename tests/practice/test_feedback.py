import ast
import inspect
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from attn_course import practice
from attn_course.grading.feedback_page import report_of_record
from attn_course.grading.records import ExerciseRecord, GroupRecord
from attn_course.inside.submission import LocalSubmission
from attn_course.practice import exercises, results
from attn_course.practice.classroom import Classroom, classroom
from attn_course.practice.compare import difference
from attn_course.practice.exercise import Case, Chapter, Solution
from attn_course.practice.feedback import Feedback, aligned
from attn_course.practice.pictures import pictures as heat_maps
from attn_course.practice.printing import argument_lines
from attn_course.practice.report import report_of
from attn_course.practice.results import Difference, Failure, GroupResult, Result, Verdict
from tests.practice.sample_exercises import (
    Linear,
    WithoutBias,
    changed,
    chapter,
    one_sum_for_all,
    row_weights,
    sums_over_the_columns,
    weight_count,
)


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    """Keep progress out of the checkout, and let the sample be chapter 01."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ATTN_COURSE_HOME", raising=False)
    monkeypatch.setattr(exercises, "chapters", lambda: {"01": chapter})


def stub(scores, scale=1.0):
    raise NotImplementedError("Write this.")


def checked(exercise, answer, seed=3):
    """Return the feedback on an answer, without a word on progress or a solution."""
    return Feedback(report_of(exercise.check(exercise.local(answer), seed)))


def shown(feedback):
    """Return the HTML as a tree: it must be well formed, which a browser would not insist on."""
    return ElementTree.fromstring(feedback._repr_html_())


def words(feedback):
    """Return what a reader of the HTML reads."""
    return " ".join("".join(shown(feedback).itertext()).split())


def pictures(feedback):
    return [element for element in shown(feedback).iter() if element.tag == "svg"]


def test_green_says_what_was_verified():
    feedback = practice.check("01.row_weights", row_weights.reference)
    assert feedback.text() == (
        "Passed: Row weights (points: 3 of 3)\n"
        "  passed  1 of 1  one row\n"
        "  passed  2 of 2  many rows"
    )
    assert folded(feedback) == []
    assert "one row: passed, 1 of 1" in words(feedback)
    assert "attn-green" in shown(feedback).get("class")
    assert "Read" not in feedback.text()


def test_green_is_the_same_each_time():
    first, second = (practice.check("01.row_weights", row_weights.reference) for _ in range(2))
    assert first._repr_html_() == second._repr_html_()
    assert repr(first) == first.text()


def test_an_untouched_stub_gets_one_gentle_line():
    feedback = practice.check("01.row_weights", stub)
    line = "Not written yet: fill in row_weights in the cell above, then run this again."
    assert feedback.text() == line
    assert words(feedback) == line
    assert "attn-grey" in shown(feedback).get("class")


def test_an_unanswered_value_gets_one_gentle_line():
    feedback = practice.check("01.weight_count", None)
    assert feedback.text() == (
        "Not answered yet: put your answer into weight_count in the cell above."
    )


def test_an_answer_that_is_not_there_is_grey_and_said_to_be_missing():
    result = row_weights.check(LocalSubmission({}), seed=3)
    feedback = Feedback(report_of(result))
    assert feedback.text() == (
        "Not yet: Row weights (points: 0 of 3)\n"
        "  missing  0 of 1  one row\n"
        "  missing  0 of 2  many rows"
    )
    assert "one row: missing, 0 of 1" in words(feedback)
    assert "attn-grey" in shown(feedback).get("class")


def test_an_answer_that_raises_a_key_error_with_its_name_has_stopped_and_is_not_missing():
    def raises_its_name(scores, scale=1.0):
        if scores.shape[-2] > 1:
            raise KeyError("row_weights")
        return row_weights.reference(scores, scale)

    feedback = practice.check("01.row_weights", raises_its_name)
    assert feedback.text().startswith("Not yet: Row weights (points: 1 of 3)")
    assert "  passed   1 of 1  one row\n  stopped  0 of 2  many rows" in feedback.text()
    assert "It raised KeyError: 'row_weights'" in feedback.text()
    assert "missing" not in feedback.text() + words(feedback)
    assert "attn-red" in shown(feedback).get("class")


# A report that was stored: its reader has no cell to run


def stored(kind, verdicts=(Verdict.TODO, Verdict.TODO)):
    """Return the report of a record as a gradebook keeps it."""
    groups = tuple(GroupRecord(f"group {n}", 1, one) for n, one in enumerate(verdicts, start=1))
    record = ExerciseRecord(
        id="01.row_weights",
        title="Row weights",
        kind=kind,
        section="Weights in rows",
        points=sum(one is Verdict.PASSED for one in verdicts),
        max_points=len(verdicts),
        verdict=results.worst(verdicts),
        groups=groups,
    )
    return report_of_record("01_sample", record)


@pytest.mark.parametrize(
    ("kind", "line"),
    [("function", "Not written."), ("module", "Not written."), ("value", "Not answered.")],
)
@pytest.mark.parametrize("uses", [(), ("first_step",)], ids=["alone", "uses another"])
def test_a_stored_report_says_that_nothing_is_written_and_asks_for_nothing(kind, line, uses):
    report = replace(stored(kind), uses=uses)
    assert not report.is_live
    assert Feedback(report).text() == words(Feedback(report)) == line
    told = Feedback(replace(report, is_live=True)).text()
    assert told.startswith(("Not written yet", "Not answered yet"))


def test_a_stored_report_of_a_half_written_answer_shows_what_passed_and_asks_for_nothing():
    feedback = Feedback(stored("function", (Verdict.PASSED, Verdict.TODO)))
    assert feedback.text().split("\n") == [
        "Not finished: Row weights (points: 1 of 2)",
        "  passed  1 of 1  group 1",
        "  to do   0 of 1  group 2",
    ]
    for told in (feedback.text(), words(feedback)):
        assert "run this again" not in told
        assert "cell above" not in told


# The words for a verdict


def test_every_verdict_has_words_that_an_extraction_tool_finds():
    """It finds only what is a literal inside `_(…)`."""
    tree = ast.parse(inspect.getsource(results))
    (function,) = (
        node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "in_words"
    )
    (table,) = (node for node in ast.walk(function) if isinstance(node, ast.Dict))
    literals = {}
    for key, value in zip(table.keys, table.values, strict=True):
        assert isinstance(key, ast.Attribute)
        assert ast.unparse(key) == f"Verdict.{key.attr}"
        assert isinstance(value, ast.Call)
        assert ast.unparse(value.func) == "_"
        (argument,) = value.args
        assert isinstance(argument, ast.Constant)
        literals[key.attr] = argument.value
    assert literals.keys() == Verdict.__members__.keys()
    for name, verdict in Verdict.__members__.items():
        assert isinstance(literals[name], str)
        assert results.in_words(verdict) == literals[name] != ""
    assert len(set(literals.values())) == len(Verdict)


def test_the_words_for_a_verdict_are_translated_when_they_are_asked_for(monkeypatch):
    monkeypatch.setattr(results, "_", lambda sentence: f"«{sentence}»")
    assert all(re.fullmatch("«.+»", results.in_words(verdict)) for verdict in Verdict)
    assert "«passed»  1 of 1  one row" in practice.check("01.row_weights", one_sum_for_all).text()


def test_red_begins_with_the_known_mistake():
    feedback = practice.check("01.row_weights", sums_over_the_columns)
    assert feedback.text().split("\n")[:3] == [
        "Not yet: Row weights (points: 0 of 3)",
        "",
        "[sums over the columns] Your columns sum to 1; the rows should.",
    ]
    told = words(feedback)
    assert told.index("Your columns sum to 1") < told.index("one row: wrong")
    assert "attn-red" in shown(feedback).get("class")


def test_a_guess_is_called_one():
    wrong = sums_over_the_columns  # from outside, so the source is not all there is

    def half_right(scores, scale=1.0):
        return (row_weights.reference if len(scores) == 1 else wrong)(scores)

    feedback = practice.check("01.row_weights", half_right)
    guess = "Perhaps: Your columns sum to 1; the rows should."
    assert f"[sums over the columns] {guess}" in feedback.text()
    assert guess in words(feedback)


def test_who_uses_earlier_answers_is_asked_whether_they_are_green():
    exercise = changed(row_weights, uses=("first_step", "second_step"))
    question = (
        "If your answer uses earlier ones (first_step, second_step), check that they are green."
    )
    feedback = {
        answer: checked(exercise, answer)
        for answer in (sums_over_the_columns, row_weights.reference, stub)
    }
    assert question in feedback[sums_over_the_columns].text()
    assert question in words(feedback[sums_over_the_columns])
    assert "earlier" not in feedback[row_weights.reference].text()
    line = (
        "Not written yet: row_weights, or what it uses (first_step, second_step). "
        "Fill it in, then run this again."
    )
    assert feedback[stub].text() == words(feedback[stub]) == line


def test_red_shows_the_smallest_input_got_and_expected():
    result = row_weights.check(row_weights.local(one_sum_for_all), seed=3)
    feedback = Feedback(report_of(result))
    text = feedback.text()
    scores = result.failure.arguments["scores"]
    for told in (text, unescape(feedback._repr_html_())):
        assert f"scores = [[{scores[0, 0]:.4f}, " in told
        assert "# shape (3, 5)" in told
        assert "scale = 2.0" in told
        assert f"[[{result.failure.difference.got[0, 0]:.4f}, " in told
        assert f"[[{result.failure.difference.wanted[0, 0]:.4f}, " in told
    assert text.index("yours:") < text.index("expected:")


def test_partial_credit_is_a_line_for_each_group():
    text = practice.check("01.row_weights", one_sum_for_all).text()
    assert "  passed  1 of 1  one row\n  wrong   0 of 2  many rows" in text
    assert "points: 1 of 3" in text


def test_a_half_written_answer_shows_what_passed():
    def half(scores, scale=1.0):
        if scores.shape[-2] > 1:
            raise NotImplementedError
        return row_weights.reference(scores, scale)

    text = practice.check("01.row_weights", half).text()
    assert text.startswith("Not finished: Row weights (points: 1 of 3)")
    assert "  passed  1 of 1  one row\n  to do   0 of 2  many rows" in text


def test_an_error_shows_the_exception_and_the_line_and_no_traceback():
    def wrong(scores, scale=1.0):
        return scores["<script>"]

    feedback = practice.check("01.row_weights", wrong)
    assert "It raised IndexError" in feedback.text()
    assert 'at the line:\n    return scores["<script>"]' in feedback.text()
    assert "Traceback" not in feedback.text()
    assert "yours" not in feedback.text()
    assert "<script" not in feedback._repr_html_()
    assert 'return scores["<script>"]' in words(feedback)


@pytest.mark.parametrize("attack", ["<script>alert(1)</script>", '"><img src=x onerror=y>', "&lt;"])
def test_what_comes_from_the_learner_is_escaped(attack):
    def says(scores, scale=1.0):
        return attack

    def raises(scores, scale=1.0):
        raise ValueError(attack)

    for answer in (says, raises):
        feedback = practice.check("01.row_weights", answer)
        assert attack in words(feedback)
        tags = {element.tag for element in shown(feedback).iter()}
        assert tags <= {"div", "p", "ul", "li", "span", "pre", "svg", "rect", "path"}


@pytest.mark.parametrize(
    "answer",
    [row_weights.reference, stub, sums_over_the_columns, lambda scores, scale=1.0: scores * np.nan],
)
def test_nothing_is_loaded_from_elsewhere(answer):
    html = practice.check("01.row_weights", answer)._repr_html_()
    assert not re.search(r"https?:|//|url\(|<script|<style|<link|src=", html)


def test_a_picture_has_a_name_and_one_scale_for_both():
    result = row_weights.check(row_weights.local(one_sum_for_all), seed=3)
    yours, expected = pictures(Feedback(report_of(result)))
    assert yours.get("role") == expected.get("role") == "img"
    assert yours.get("aria-label") == "Your numbers as a heat map: 3 rows, 5 columns"
    fills = [[cell.get("fill") for cell in picture] for picture in (yours, expected)]
    assert len(fills[0]) == len(fills[1]) == 15
    largest = int(np.argmax(result.failure.difference.wanted))
    assert fills[1][largest] == "#005ab5"  # the largest number of both has the full colour
    assert "#005ab5" not in fills[0]


def test_cells_that_differ_are_framed_unless_all_do():
    def one_wrong(scores, scale=1.0):
        weights = row_weights.reference(scores, scale)
        weights[..., 0, 1] += 0.5
        return weights

    (yours, _expected) = pictures(practice.check("01.row_weights", one_wrong))
    assert "1 framed cells differ" in yours.get("aria-label")
    framed = [cell for cell in yours if cell.get("fill") == "none"]
    assert {(cell.get("x"), cell.get("y")) for cell in framed} == {("25", "3")}


def framed_cells(picture, columns):
    """Return row and column of every frame in a heat map."""
    size = (int(picture.get("width")) - 2) // columns
    frames = [cell for cell in picture if cell.get("fill") == "none"]
    places = [(int(cell.get("y")) - 3, int(cell.get("x")) - 3) for cell in frames]
    assert all(y % size == x % size == 0 for y, x in places)
    return {(y // size, x // size) for y, x in places}


@given(
    st.sampled_from([(5,), (1, 2), (2, 3), (13, 2), (2, 3, 4), (2, 2, 3, 2)]).flatmap(
        lambda shape: arrays_of.arrays(bool, shape)
    )
)
def test_both_pictures_frame_the_cells_that_are_marked_and_no_others(where):
    wanted = np.arange(float(where.size)).reshape(where.shape)
    # The marks decide, and not the numbers: these differ everywhere.
    drawn = heat_maps(Difference("They differ.", wanted + 1, wanted, where=where))
    marked = where.reshape(-1, where.shape[-1])
    cells = set() if where.all() else {(int(y), int(x)) for y, x in np.argwhere(marked)}
    for svg in drawn:
        picture = ElementTree.fromstring(svg)
        assert framed_cells(picture, columns=where.shape[-1]) == cells
        label = f"; {len(cells)} framed cells differ"
        assert picture.get("aria-label").endswith(label if cells else " columns")


def test_without_marks_nothing_is_framed():
    for svg in heat_maps(Difference("They differ.", np.zeros((2, 3)), np.ones((2, 3)))):
        assert framed_cells(ElementTree.fromstring(svg), columns=3) == set()


@pytest.mark.parametrize(
    "wrap",
    [
        lambda array: array,
        lambda array: {"weights": array, "other": 1.0},
        lambda array: ("word", {"gradients": array}),
    ],
    ids=["alone", "in a dict", "in a dict in a tuple"],
)
def test_the_cells_of_the_part_that_differs_are_framed(wrap):
    wanted = np.arange(6.0).reshape(2, 3)
    got = wanted.copy()
    got[0, 2], got[1, 0] = np.nan, 7.0
    for picture in pictures(feedback_on(wrap(got), wrap(wanted))):
        assert framed_cells(picture, columns=3) == {(0, 2), (1, 0)}


def test_nan_has_a_mark_in_the_picture():
    def first_is_nan(scores, scale=1.0):
        weights = row_weights.reference(scores, scale)
        weights[..., 0] = np.nan
        return weights

    yours, expected = pictures(checked(row_weights, first_is_nan))
    assert sum(element.tag == "path" for element in yours) == 1
    assert not any(element.tag == "path" for element in expected)


def test_negative_numbers_have_another_colour():
    yours, _expected = pictures(
        checked(row_weights, lambda scores, scale=1.0: -scores.astype(float))
    )
    assert all(cell.get("fill") != "#ffffff" for cell in yours)
    orange = [cell.get("fill") for cell in yours]
    assert all(int(fill[1:3], 16) > int(fill[5:7], 16) for fill in orange)


def test_two_shapes_are_drawn_as_they_are():
    feedback = practice.check("01.row_weights", lambda scores, scale=1.0: scores.swapaxes(-1, -2))
    labels = [picture.get("aria-label") for picture in pictures(feedback)]
    assert labels == [
        "Your numbers as a heat map: 2 rows, 1 columns",
        "The expected numbers as a heat map: 1 rows, 2 columns",
    ]


def feedback_on(got, wanted, arguments=None):
    """Return feedback that shows these two, or their first parts that differ."""
    found = difference(got, wanted) or Difference("", got, wanted)
    failure = Failure(arguments or {}, difference=replace(found, sentence="They differ."))
    group = GroupResult("all", 3, Verdict.FAILED, failure)
    return Feedback(report_of(Result(row_weights, (group,), None)))


def printed(got, wanted):
    """Return the lines under "yours" and "expected"."""
    text = feedback_on(got, wanted).text()
    yours, expected = re.search(r"yours.*?:\n(.*)\nexpected.*?:\n(.*)\n\nRead", text, re.S).groups()
    return yours, expected


def test_long_arrays_are_cut_and_have_no_picture():
    feedback = feedback_on(np.zeros((101, 103)), np.ones((101, 103)))
    assert "..." in feedback.text()
    assert len(feedback.text()) < 2500
    assert not pictures(feedback)


def test_an_array_of_twelve_by_twelve_is_shown_whole():
    yours, _expected = printed(np.zeros((12, 12)), np.ones((12, 12)))
    assert yours.count("0.0") == 144


def test_numbers_stand_under_one_another_in_both():
    yours, expected = printed(np.array([[0.5, 10.25], [-3.0, 1.0]]), np.ones((2, 2)) / 3)
    assert (
        len({len(line.rstrip("],[ ")) for line in (*yours.split("\n"), *expected.split("\n"))}) == 1
    )


@pytest.mark.parametrize(
    ("got", "wanted"),
    [(0.10001, 0.1), (1e-9, 2e-9), (1e12, 1.1e12), (np.float32(1 / 3), 0.3334), (1000.0, 1000.2)],
)
def test_two_numbers_that_differ_look_different(got, wanted):
    one, other = printed(got, wanted)
    assert one != other
    one, other = printed(np.array([got, 1.0]), np.array([wanted, 1.0]))
    assert one != other


def test_a_zero_has_no_sign():
    yours, _expected = printed(np.array([-1e-9, 0.25]), np.array([1.0, 0.25]))
    assert yours.split() == ["[0.00,", "0.25]"]


def test_a_module_without_parameters_shows_that_there_are_none():
    class Unregistered(torch.nn.Module):
        def __init__(self, width):
            super().__init__()
            self.weight, self.bias = torch.zeros(3, width), torch.zeros(3)

        forward = Linear.reference.forward

    text = checked(Linear, Unregistered).text()
    assert "There is none; there should be weight, bias." in text
    assert "yours (parameters):\n    {}\nexpected (parameters):\n    weight: (3, 2)" in text


def test_the_part_that_differs_is_shown_alone():
    got = (np.zeros((2, 3)), np.ones(5))
    wanted = (np.zeros((2, 3)), np.full(5, 2.0))
    text = feedback_on(got, wanted).text()
    assert "yours (part 2):\n    [1.0, 1.0, 1.0, 1.0, 1.0]" in text
    feedback = practice.check("01.Linear", WithoutBias)
    assert "yours (output):" in feedback.text()
    assert "[without bias] You left the bias out." in feedback.text()
    assert len(pictures(feedback)) == 2


@pytest.mark.parametrize(
    ("got", "wanted"),
    [
        (None, np.zeros((2, 3))),
        ({"a": np.zeros(2)}, {"b": np.zeros(2)}),
        ((1, 2), (2, 1)),
        ("a" * 10_000, "b"),
        (np.zeros((0, 3)), np.zeros((2, 3))),
        (np.zeros((2, 2, 2, 2, 2)), np.ones((2, 2, 2, 2, 2))),
        (torch.zeros(2, 3), torch.ones(2, 3)),
        (np.array([True, False]), np.array([True, True])),
        (np.array([1, 2]), np.array([1.0, 2.5])),
        (np.full((2, 3), np.nan), np.full((2, 3), np.inf)),
        ([[1.0], [1.0, 2.0]], np.zeros((2, 2))),
        (float("nan"), 1.0),
        (10**300, 1.0),
        (1, 2),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_any_two_values_can_be_shown(got, wanted):
    feedback = feedback_on(got, wanted, {"x": got, "y": wanted})
    assert "They differ." in feedback.text()
    assert "They differ." in words(feedback)
    assert len(feedback.text()) < 5000


def test_a_tensor_among_the_arguments_is_called_so():
    text = feedback_on(1.0, 2.0, {"x": torch.zeros(2, 3)}).text()
    assert "# a tensor of shape (2, 3)" in text


@pytest.mark.parametrize(
    ("value", "shown"),
    [(np.array(0), "0"), (np.int64(-12), "-12"), (np.array(True), "True"), (np.array(2.0), "2.0")],
)
def test_an_integer_among_the_arguments_is_shown_as_one(value, shown):
    assert f"target = {shown}    # shape ()" in feedback_on(1.0, 2.0, {"target": value}).text()


def test_rows_of_a_list_are_shown_alike_however_long_they_are():
    rows = [np.array([5]), np.array([6, 3]), np.array([], dtype=int)]
    assert argument_lines({"a": rows}) == ["a = [[5],\n     [6, 3],\n     []]"]
    assert argument_lines({"a": rows[:1] * 2}) == ["a = [[5],\n     [5]]"]


def test_an_integer_is_shown_as_one_if_an_integer_is_expected():
    assert printed(np.array(3), np.array(4)) == ("    3", "    4")
    assert printed(np.array(3), np.array(4.5)) == ("    3.0", "    4.5")


def test_the_value_to_predict_is_not_given_away():
    feedback = practice.check("01.weight_count", 34)
    assert "yours:\n    34" in feedback.text()
    assert "expected" not in feedback.text()
    assert "35" not in feedback.text()
    assert "35" not in words(feedback)
    assert not pictures(feedback)


@pytest.mark.parametrize("wanted", [1 / 3, 0.5, 1e-9, 1e12])
def test_how_the_own_value_is_printed_tells_nothing_of_the_right_one(wanted):
    def number():
        return wanted

    sample = Chapter("01_sample", title="", sections={"s": "S"})
    described = {"title": "", "goal": "", "difficulty": 1, "minutes": 1, "section": "s"}
    exercise = sample.exercise(**described, hints=(), kind="value")(number)
    exercise.cases(points=1, label="")(lambda rng: [Case()])
    assert "yours:\n    0.333\n" in checked(exercise, 0.333).text()


def test_the_section_to_read_is_in_words():
    text = practice.check("01.row_weights", lambda scores, scale=1.0: scores).text()
    assert text.endswith("Read: chapter 01, section “Weights in rows”")
    text = practice.check("01.row_weights", sums_over_the_columns).text()
    assert text.endswith("Read: chapter 01, section “Rows and columns”")


def test_the_section_is_a_link_where_the_book_is_built(tmp_path, monkeypatch):
    book = tmp_path / "a book" / "_build" / "html"
    book.mkdir(parents=True)
    for page in ("01_sample", "01b_rows", "02_other"):
        (book / f"{page}.html").write_text('<span id="row-weights"></span>')
    folder = tmp_path / "a book" / "exercises"
    folder.mkdir()
    monkeypatch.chdir(folder)
    feedback = practice.check("01.row_weights", lambda scores, scale=1.0: scores)
    (link,) = [element for element in shown(feedback).iter() if element.tag == "a"]
    assert link.get("href") == "../_build/html/01b_rows.html#row-weights"
    assert link.text == "Read: chapter 01, section “Weights in rows”"
    assert f"({book / '01b_rows.html'})" in feedback.text()


def test_the_section_is_no_link_where_the_book_has_no_such_page(tmp_path):
    book = tmp_path / "_build" / "html"
    book.mkdir(parents=True)
    (book / "01_sample.html").write_text('<span id="row-weights"></span>')
    (book / ".html").write_text("no page")
    # The sample knows the page of the one section, which is not built, and of the other none.
    for answer in (lambda scores, scale=1.0: scores, sums_over_the_columns):
        feedback = practice.check("01.row_weights", answer)
        assert not [element for element in shown(feedback).iter() if element.tag == "a"]
        assert feedback.text().endswith("”")


@pytest.mark.filterwarnings("error")
def test_a_warning_in_the_learners_code_does_not_hide_the_message():
    def overflows(scores, scale=1.0):
        return np.exp(scores * 1e6) / np.exp(scores * 1e6).sum()

    assert "The number is NaN or infinite." in practice.check("01.row_weights", overflows).text()


# The solution, after green


LINE = 'return scores < "<b>" & scores # </pre>'
ANSWER = f"def row_weights(scores, scale=1.0):\n    {LINE}"
EXPLANATION = (
    "**Why.** The `scores` of a row\nare shared: $a_i < 1$ & <script>alert(1)</script>.\n\n"
    "**A mistake** is `x**2 + y**2 < 3`, and **a `b` c**."
)


@pytest.fixture
def _solved(monkeypatch):
    """Give the sample a solution, as the exercises of the course have one, and no other ways."""
    solution = Solution(ANSWER, ANSWER, EXPLANATION)
    monkeypatch.setattr(row_weights, "solution", solution)
    monkeypatch.setattr(row_weights.definition, "variants", {})


def folded(feedback):
    return [element for element in shown(feedback).iter() if element.tag == "details"]


def right(scores, scale=1.0):
    return row_weights.reference(scores, scale)


@pytest.mark.usefixtures("_solved")
def test_green_has_one_way_to_write_it_folded_and_escaped():
    feedback = practice.check("01.row_weights", right)
    (details,) = folded(feedback)
    assert details.get("open") is None
    assert [part.tag for part in details] == ["summary", "pre", "p", "p"]
    summary, code, first, second = details
    assert summary.text == "One way to write it, and why"
    assert code.text == ANSWER
    assert len(code) == 0
    assert "".join(first.itertext()) == (
        "Why. The scores of a row are shared: $a_i < 1$ & <script>alert(1)</script>."
    )
    assert [(part.tag, "".join(part.itertext())) for part in first] == [
        ("strong", "Why."),
        ("code", "scores"),
    ]
    # Two powers are nothing bold, and code may be bold with its sentence.
    assert "".join(second.itertext()) == "A mistake is x**2 + y**2 < 3, and a b c."
    assert [(part.tag, "".join(part.itertext())) for part in second] == [
        ("strong", "A mistake"),
        ("code", "x**2 + y**2 < 3"),
        ("strong", "a b c"),
    ]


@pytest.mark.usefixtures("_solved")
def test_green_in_a_terminal_names_the_command_and_shows_no_solution():
    feedback = practice.check("01.row_weights", right)
    assert feedback.text() == (
        "Passed: Row weights (points: 3 of 3)\n"
        "  passed  1 of 1  one row\n"
        "  passed  2 of 2  many rows\n"
        "One way to write it: attn-course solution 01.row_weights"
    )


def half_written(scores, scale=1.0):
    if scores.shape[-2] > 1:
        raise NotImplementedError
    return right(scores, scale)


def stops(scores, scale=1.0):
    raise ValueError


@pytest.mark.usefixtures("_solved")
@pytest.mark.parametrize(
    "answer",
    [sums_over_the_columns, one_sum_for_all, stops, stub, half_written, None],
    ids=lambda answer: getattr(answer, "__name__", "missing"),
)
def test_the_solution_is_never_shown_before_green(answer):
    held = {} if answer is None else {"row_weights": answer}
    result = row_weights.check(LocalSubmission(held), seed=3)
    report = report_of(result, with_solution=True)
    assert report.solution is not None
    told = [Feedback(report), Feedback(replace(report, points=report.most))]
    told += [] if answer is None else [practice.check("01.row_weights", answer)]
    for feedback in told:
        assert folded(feedback) == []
        assert "One way to write it" not in feedback.text() + words(feedback)
        assert LINE not in feedback.text() + words(feedback)


@pytest.mark.usefixtures("_solved")
def test_the_solution_is_shown_only_where_the_report_has_it():
    result = row_weights.check(row_weights.local(right), seed=3)
    assert len(folded(Feedback(report_of(result, with_solution=True)))) == 1
    without = Feedback(report_of(result))
    assert without.report.solution is None
    assert folded(without) == []
    assert "One way to write it" not in without.text() + words(without)


def test_an_exercise_without_a_solution_has_none_to_show():
    feedback = practice.check("01.row_weights", right)
    assert feedback.report.verdict is Verdict.PASSED
    assert folded(feedback) == []
    assert "One way to write it" not in feedback.text() + words(feedback)


def shows_the_solution():
    """Return whether a right answer shows it; in a terminal and in a notebook alike."""
    feedback = practice.check("01.row_weights", right)
    assert feedback.report.verdict is Verdict.PASSED
    in_text = "One way to write it" in feedback.text()
    assert in_text == (len(folded(feedback)) == 1) == (feedback.report.solution is not None)
    assert in_text == (LINE in words(feedback))
    return in_text


@pytest.mark.usefixtures("_solved")
@pytest.mark.parametrize("below", ["", "notebooks", "notebooks/of/mine"])
def test_a_class_switches_solutions_off_in_the_folder_or_above_it(tmp_path, monkeypatch, below):
    folder = tmp_path / below
    folder.mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(folder)
    assert shows_the_solution()
    (tmp_path / "attn-course.toml").write_text("# a class\nsolutions = false\n")
    assert not shows_the_solution()
    assert classroom(folder) == Classroom(solutions=False, file=tmp_path / "attn-course.toml")


@pytest.mark.usefixtures("_solved")
def test_the_settings_nearest_to_the_notebooks_count(tmp_path, monkeypatch):
    folder = tmp_path / "notebooks"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (tmp_path / "attn-course.toml").write_text("solutions = false")
    (folder / "attn-course.toml").write_text("solutions = true")
    assert shows_the_solution()


@pytest.mark.usefixtures("_solved")
def test_the_settings_hold_where_progress_is_kept(tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "attn-course.toml").write_text("solutions = false")
    assert shows_the_solution()
    monkeypatch.setenv("ATTN_COURSE_HOME", str(elsewhere))
    assert not shows_the_solution()


@pytest.mark.usefixtures("_solved")
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"solutions = true",
        b"hints = false",
        b'solutions = "false"',
        b"solutions = 0",
        b"[solutions]",
        b"solutions = false\nsolutions = false",  # twice is broken
        b"solutions = False",
        b"solutions: false",
        b"solutions = false\n\xff",
        b"\xff\xfes\x00",
        b"solutions = false\nmore = " + b"[" * 10_000,
    ],
    ids=lambda content: repr(content[:40]),
)
def test_settings_that_say_nothing_of_it_or_are_broken_switch_nothing_off(tmp_path, content):
    (tmp_path / "attn-course.toml").write_bytes(content)
    assert shows_the_solution()
    assert classroom(tmp_path) == Classroom(solutions=True, file=tmp_path / "attn-course.toml")


@pytest.mark.usefixtures("_solved")
def test_a_folder_with_the_name_of_the_settings_is_none(tmp_path):
    (tmp_path / "attn-course.toml").mkdir()
    assert shows_the_solution()
    assert classroom(tmp_path) == Classroom()


def test_an_unknown_exercise_gets_a_sentence():
    notice = practice.check("01.rwo_weights", stub)
    assert "no exercise 'rwo_weights'; it has: row_weights, weight_count, Linear" in notice.text()
    assert "There is no chapter '77'" in practice.check("77.x", stub).text()
    assert "no chapter '77'" in words(practice.overview("77"))


def test_arguments_in_the_wrong_order_get_a_sentence():
    assert "comes first, in quotes" in practice.check(stub, "01.row_weights").text()


@pytest.mark.parametrize(
    ("exercise", "answer", "sentence"),
    [
        ("01.row_weights", np.zeros((2, 3)), "You handed over a ndarray: what row_weights returns"),
        ("01.row_weights", None, "You handed over a NoneType"),
        ("01.Linear", Linear.reference(width=2), "a module that is already built"),
        ("01.Linear", 3.0, "You handed over a float"),
        ("01.weight_count", len, "weight_count is a value here"),
    ],
)
def test_a_result_instead_of_the_function_gets_a_sentence(exercise, answer, sentence, tmp_path):
    notice = practice.check(exercise, answer)
    assert sentence in notice.text()
    assert f'practice.check("{exercise}", {exercise[3:]})' in notice.text()
    assert not (tmp_path / ".attn-course").exists()  # nothing was checked, nothing is recorded


def test_chinese_words_stand_under_one_another():
    assert aligned([("注意力", "a"), ("abc", "b")]) == ["注意力  a", "abc     b"]


def test_progress_that_can_not_be_saved_is_a_note_and_the_check_works(tmp_path):
    (tmp_path / ".attn-course").write_text("a file where the folder should be")
    feedback = practice.check("01.row_weights", row_weights.reference)
    assert feedback.report.verdict is Verdict.PASSED
    assert feedback.text().endswith("your progress is not saved.")
    assert "your progress is not saved." in words(feedback)


def test_importing_practice_is_light():
    heavy = ("torch", "matplotlib", "numpy", "ipywidgets", "anywidget", "msgpack")
    code = (
        "import sys; from attn_course import practice; "
        f"print([m for m in {heavy!r} if m in sys.modules], "
        "'attn_course.nadaraya_watson' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] False"


# Sliders


def test_a_function_is_called_with_where_its_sliders_stand():
    seen = []

    def draw(w, n=3, other="kept"):
        seen.append((w, n, other))

    box = practice.play(draw, w=(0.5, 20.0), n=(1, 9))
    w, n, _output = box.children
    assert (w.label, w.min, w.max, w.value) == ("w", 0.5, 20.0, 0.5)
    assert (n.label, n.step, n.value) == ("n", 1, 3)
    assert seen == [(0.5, 3, "kept")]
    w.value = 2.5
    n.value = 7
    assert seen[1:] == [(2.5, 3, "kept"), (2.5, 7, "kept")]
    assert type(seen[-1][1]) is int


def test_what_is_not_written_yet_draws_nothing_and_says_so(capsys):
    figure = pytest.importorskip("matplotlib.pyplot")
    kept = figure.figure()

    def draw(w):
        figure.figure()
        return stub(w)

    try:
        practice.play(draw, w=(0.5, 20.0))
        assert figure.get_fignums() == [kept.number]
        assert "Not written yet: " in capsys.readouterr().out
    finally:
        figure.close("all")


def test_any_other_fault_of_the_function_is_shown_as_it_is():
    def draw(w):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        practice.play(draw, w=(0.5, 20.0))


@pytest.mark.parametrize("limits", [(1.0,), (2.0, 1.0), ("a", "b"), 3.0, (1, 2, 3, 4)])
def test_a_range_that_is_none_gets_a_sentence(limits):
    with pytest.raises(ValueError, match=r"The range of w must be \(low, high\)"):
        practice.play(lambda w: w, w=limits)


def test_play_without_a_range_or_a_function_gets_a_sentence():
    with pytest.raises(TypeError, match="Give a function and a range"):
        practice.play(lambda w: w)
    with pytest.raises(TypeError, match="Give a function and a range"):
        practice.play(3.0, w=(0.0, 1.0))


def test_the_sample_value_is_what_the_tests_think():
    assert weight_count.reference == 35
