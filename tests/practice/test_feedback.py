import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
import torch

from attn_course import practice
from attn_course.practice import exercises
from attn_course.practice.feedback import Feedback, Overview, aligned
from tests.practice.sample_exercises import (
    Linear,
    WithoutBias,
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
    def half_right(scores, scale=1.0):
        return (row_weights.reference if len(scores) == 1 else sums_over_the_columns)(scores)

    feedback = practice.check("01.row_weights", half_right)
    guess = "Perhaps: Your columns sum to 1; the rows should."
    assert f"[sums over the columns] {guess}" in feedback.text()
    assert guess in words(feedback)


def test_who_uses_earlier_answers_is_asked_whether_they_are_green():
    exercise = replace(row_weights, uses=("first_step", "second_step"))
    question = "It uses your earlier answers (first_step, second_step): are they green?"
    feedback = {
        answer: Feedback(exercise.check(exercise.local(answer)))
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
    text = Feedback(result).text()
    scores = result.failure.arguments["scores"]
    for told in (text, unescape(Feedback(result)._repr_html_())):
        assert f"scores = [[{scores[0, 0]:.4f}, " in told
        assert "# shape (3, 5)" in told
        assert "scale = 2.0" in told
        assert f"[[{result.failure.got[0, 0]:.4f}, " in told
        assert f"[[{result.failure.wanted[0, 0]:.4f}, " in told
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
    assert text.startswith("Not written yet")
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
    yours, expected = pictures(Feedback(result))
    assert yours.get("role") == expected.get("role") == "img"
    assert yours.get("aria-label") == "Your numbers as a heat map: 3 rows, 5 columns"
    fills = [[cell.get("fill") for cell in picture] for picture in (yours, expected)]
    assert len(fills[0]) == len(fills[1]) == 15
    largest = int(np.argmax(result.failure.wanted))
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


def test_nan_has_a_mark_in_the_picture():
    def first_is_nan(scores, scale=1.0):
        weights = row_weights.reference(scores, scale)
        weights[..., 0] = np.nan
        return weights

    yours, expected = pictures(practice.check("01.row_weights", first_is_nan))
    assert sum(element.tag == "path" for element in yours) == 1
    assert not any(element.tag == "path" for element in expected)


def test_negative_numbers_have_another_colour():
    yours, _expected = pictures(
        practice.check("01.row_weights", lambda scores, scale=1.0: -scores.astype(float))
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


def result_with(got, wanted, arguments=None):
    """Return a result whose failure shows these two."""
    from attn_course.practice.exercise import Failure, GroupResult, Result

    failure = Failure(arguments or {}, got, wanted, "They differ.")
    return Result(row_weights, (GroupResult("all", 3, "failed", failure),), None)


def printed(got, wanted):
    """Return the lines under "yours" and "expected"."""
    text = Feedback(result_with(got, wanted)).text()
    yours, expected = re.search(r"yours.*?:\n(.*)\nexpected.*?:\n(.*)\n\nRead", text, re.S).groups()
    return yours, expected


def test_long_arrays_are_cut_and_have_no_picture():
    feedback = Feedback(result_with(np.zeros((101, 103)), np.ones((101, 103))))
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

    text = practice.check("01.Linear", Unregistered).text()
    assert "There is none; there should be weight, bias." in text
    assert "yours (parameters):\n    {}\nexpected (parameters):\n    weight: (3, 2)" in text


def test_the_part_that_differs_is_shown_alone():
    got = (np.zeros((2, 3)), np.ones(5))
    wanted = (np.zeros((2, 3)), np.full(5, 2.0))
    text = Feedback(result_with(got, wanted)).text()
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
    ids=repr,
)
def test_any_two_values_can_be_shown(got, wanted):
    feedback = Feedback(result_with(got, wanted, {"x": got, "y": wanted}))
    assert "They differ." in feedback.text()
    assert "They differ." in words(feedback)
    assert len(feedback.text()) < 5000


def test_a_tensor_among_the_arguments_is_called_so():
    text = Feedback(result_with(1.0, 2.0, {"x": torch.zeros(2, 3)})).text()
    assert "# a tensor of shape (2, 3)" in text


def test_the_value_to_predict_is_not_given_away():
    feedback = practice.check("01.weight_count", 34)
    assert "yours:\n    34" in feedback.text()
    assert "expected" not in feedback.text()
    assert "35" not in feedback.text()
    assert "35" not in words(feedback)


def test_the_section_to_read_is_in_words():
    text = practice.check("01.row_weights", lambda scores, scale=1.0: scores).text()
    assert text.endswith("Read: chapter 01, section “Weights in rows”")
    text = practice.check("01.row_weights", sums_over_the_columns).text()
    assert text.endswith("Read: chapter 01, section “Rows and columns”")


def test_the_section_is_a_link_where_the_book_is_built(tmp_path, monkeypatch):
    book = tmp_path / "a book" / "_build" / "html"
    book.mkdir(parents=True)
    (book / "01_sample.html").write_text("the first page")
    (book / "01b_rows.html").write_text('<span id="row-weights"></span>')
    (book / "02_other.html").write_text('<span id="row-weights"></span>')
    folder = tmp_path / "a book" / "exercises"
    folder.mkdir()
    monkeypatch.chdir(folder)
    feedback = practice.check("01.row_weights", lambda scores, scale=1.0: scores)
    (link,) = [element for element in shown(feedback).iter() if element.tag == "a"]
    assert link.get("href") == "../_build/html/01b_rows.html#row-weights"
    assert link.text == "Read: chapter 01, section “Weights in rows”"
    assert f"({book / '01b_rows.html'})" in feedback.text()


@pytest.mark.filterwarnings("error")
def test_a_warning_in_the_learners_code_does_not_hide_the_message():
    def overflows(scores, scale=1.0):
        return np.exp(scores * 1e6) / np.exp(scores * 1e6).sum()

    assert "numbers are NaN or infinite" in practice.check("01.row_weights", overflows).text()


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


def test_the_overview_lists_every_exercise():
    overview = practice.overview("01")
    assert overview.text().split("\n") == [
        "01 A sample",
        "Exercise          Task       Difficulty  Minutes  Points",
        "Row weights       implement  easy        5        3",
        "How many weights  predict    medium      1        1",
        "A linear layer    implement  hard        10       2",
    ]
    table = shown(overview)
    assert [cell.text for cell in table.iter("td")][:5] == [
        "Row weights",
        "implement",
        "easy",
        "5",
        "3",
    ]
    assert {cell.get("scope") for cell in table.iter("th")} == {"col"}
    assert repr(Overview(chapter)) == overview.text()


def test_chinese_words_stand_under_one_another():
    assert aligned([("注意力", "a"), ("abc", "b")]) == ["注意力  a", "abc     b"]


def test_progress_that_can_not_be_saved_is_a_note_and_the_check_works(tmp_path):
    (tmp_path / ".attn-course").write_text("a file where the folder should be")
    feedback = practice.check("01.row_weights", row_weights.reference)
    assert feedback.result.status == "passed"
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
