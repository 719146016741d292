"""A learner's answer next to the right one, under sliders."""

import ipywidgets
import numpy as np
import pytest

from attn_course import practice
from attn_course.practice import exercises
from attn_course.practice.numbers import exercise_named
from attn_course.practice.side_by_side import SideBySide

ID = "01.gaussian_weights"


def gaussian_weights(queries, keys, w):
    scores = -0.5 * (w * (queries[..., :, None] - keys[..., None, :])) ** 2
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def blind_to_w(queries, keys, w):
    return gaussian_weights(queries, keys, 1.0)


def side_by_side(answer):
    return SideBySide(answer, exercise_named(ID, exercises.chapters()))


def test_a_right_answer_is_the_same_on_every_example():
    both = side_by_side(gaussian_weights)
    assert len(both.cases) > 1
    for number in range(1, len(both.cases) + 1):
        _arguments, found = both.compared(example=number)
        assert found.sentence == "Both are the same."


def test_a_range_changes_the_input_of_both_answers():
    both = side_by_side(blind_to_w)
    assert both.compared(example=2, w=1.0)[1].sentence == "Both are the same."
    arguments, found = both.compared(example=2, w=3.0)
    assert arguments["w"] == 3.0
    wanted = gaussian_weights(arguments["queries"], arguments["keys"], 3.0)
    assert np.allclose(found.wanted, wanted)
    assert not np.allclose(found.got, wanted)


def test_an_array_is_multiplied():
    both = side_by_side(gaussian_weights)
    once, _found = both.compared(example=1)
    twice, _found = both.compared(example=1, keys=2.0)
    assert np.array_equal(twice["keys"], 2 * once["keys"])


def test_the_examples_are_the_same_every_time():
    first, second = (side_by_side(gaussian_weights).compared(example=2)[0] for _ in range(2))
    assert np.array_equal(first["queries"], second["queries"])


def test_an_exception_is_told_and_the_right_answer_shown():
    def broken(queries, keys, w):
        raise IndexError("one axis too many")

    _arguments, found = side_by_side(broken).compared(example=1)
    assert found.sentence == "IndexError: one axis too many"
    assert found.wanted is not None


def test_play_draws_sliders_above_both_answers():
    box = practice.play(gaussian_weights, beside=ID, w=(0.1, 5.0))
    assert isinstance(box, ipywidgets.Widget)
    example, w, _output = box.children
    assert (example.label, example.min, example.value) == ("example", 1, 1)
    assert (w.label, w.max) == ("w", 5.0)


def test_an_answer_that_is_not_written_says_so(capsys):
    def stub(queries, keys, w):
        raise NotImplementedError

    practice.play(stub, beside=ID)
    assert "Not written yet" in capsys.readouterr().out


def test_an_argument_that_is_not_there_gets_a_sentence():
    with pytest.raises(ValueError, match=r"has no argument width; it has queries, keys, w"):
        practice.play(gaussian_weights, beside=ID, width=(0.0, 1.0))


def test_an_exercise_that_is_not_there_gets_a_notice():
    notice = practice.play(gaussian_weights, beside="01.gausian_weights")
    assert "Did you mean gaussian_weights?" in notice.text()


def test_no_widget_where_outputs_are_compared(monkeypatch):
    monkeypatch.setenv(practice.CELLS_MUST_PASS, "1")
    assert practice.play(gaussian_weights, beside=ID, w=(0.1, 5.0)) is None


def test_only_functions_can_be_played_with():
    with pytest.raises(TypeError, match="asks for a module"):
        practice.play(object, beside="01.NadarayaWatson")


def test_one_example_and_no_range_have_no_slider(monkeypatch):
    monkeypatch.setattr("attn_course.practice.side_by_side._MOST_NUMBERS", 0)
    assert len(side_by_side(gaussian_weights).cases) == 1
    with pytest.raises(TypeError, match="Give a function and a range"):
        practice.play(gaussian_weights, beside=ID)
