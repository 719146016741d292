"""What is special to the exercises of page 05a; what holds for all is in `tests/course`."""

from functools import cache, partial

import matplotlib.pyplot as plt
import numpy as np
import pytest

from attn_course.practice.compare import same
from attn_course.practice.exercises import chapters, compiled
from attn_course.practice.results import Verdict
from tests.practice import drawn_cases

chapter = chapters()["05a"]
SEEDS = range(20)
TWO_INPUTS = ("alternating", "interactive", "overwritten_tokens")


reference = partial(drawn_cases.reference, chapter)
drawn = partial(drawn_cases.drawn, chapter)


def all_real(*lengths):
    return [np.ones(n, dtype=bool) for n in lengths]


@cache
def code_cells():
    cells = compiled(chapter.stem)["notebook"]["cells"]
    return {cell["id"]: "".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"}


def handed_out(*pieces):
    """Return what the cells define that contain one of the pieces, the masked softmax included."""
    names = {"np": np, "plt": plt}
    for piece in ("def softmax(", *pieces):
        source = next(source for source in code_cells().values() if piece in source)
        exec(source.replace('practice.overview("05a")', ""), names)
    return names


# The examples that the tasks work out by hand, with the numbers printed there.


def test_the_example_of_the_summary_is_right():
    features, mask = np.array([[1.0, 0.0], [0.0, 4.0], [9.0, 9.0]]), np.array([True, True, False])
    W, b, w = np.array([[50.0, 0.0]]), np.zeros(1), np.log([3.0])
    summary, weights = reference("summarise")(features, mask, w, W, b)
    np.testing.assert_allclose(weights, [0.75, 0.25, 0.0])
    np.testing.assert_allclose(summary, [0.75, 1.0])


def test_the_example_of_the_three_steps_is_right():
    log_3 = np.log([3.0])
    steps = (
        (log_3, np.array([[100.0, 0.0]]), np.zeros(1)),
        (log_3 / 2, np.array([[-100.0, 0.0]]), np.array([[100.0]])),
        (log_3, np.array([[-100.0]]), np.array([[100.0, 0.0]])),
    )
    numbers = np.array([[0.0], [1.0], [0.0]])
    c_1, c_2, a_1, a_2 = reference("alternating")(np.eye(2), numbers, *all_real(2, 3), *steps)
    np.testing.assert_allclose(a_2, [0.2, 0.6, 0.2])
    np.testing.assert_allclose(c_2, [0.6])
    np.testing.assert_allclose(a_1, [0.9, 0.1])
    np.testing.assert_allclose(c_1, [0.9, 0.1])


def test_the_example_of_the_two_means_is_right():
    numbers, mask_2 = np.array([[1.0], [3.0], [9.0]]), np.array([True, True, False])
    W_1, W_2 = np.array([[0.25], [0.0]]), np.zeros((1, 2))
    c_1, c_2, a_1, a_2 = reference("interactive")(
        2 * np.eye(2), numbers, *all_real(2), mask_2, W_1, 0.0, W_2, 0.0
    )
    assert np.round(a_1, 3).tolist() == [0.682, 0.318]
    assert np.round(c_1, 3).tolist() == [1.363, 0.637]
    assert a_2.tolist() == [0.5, 0.5, 0.0]
    assert c_2.tolist() == [2.0]


def test_the_example_of_the_two_bugs_is_right_and_so_is_what_the_handed_out_function_returns():
    one = np.ones((1, 1))
    inputs = np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]])
    masks = np.array([True, False]), np.array([True, True])
    _c_s, c_a, _a_s, a_a = reference("overwritten_tokens")(*inputs, *masks, one, one)
    assert np.round(a_a, 3).tolist() == [0.318, 0.682]
    assert np.round(c_a, 3).tolist() == [0.682]
    found = handed_out("def overwritten_tokens(")["overwritten_tokens"]
    assert found(*inputs, *masks, one, one)[3].tolist() == [0.5, 0.5]


# The stub that learners get to correct.


@pytest.mark.parametrize("seed", SEEDS)
def test_the_function_as_handed_out_is_recognised(seed):
    exercise = chapter.exercises["overwritten_tokens"]
    stub = handed_out("def overwritten_tokens(")["overwritten_tokens"]
    result = exercise.check(exercise.local(stub), seed=seed)
    assert result.verdict is Verdict.FAILED
    assert result.mistake.name == "as_handed_out"


@pytest.mark.parametrize("seed", SEEDS)
def test_the_function_as_handed_out_has_the_right_shapes_and_its_weights_sum_to_one(seed):
    stub = handed_out("def overwritten_tokens(")["overwritten_tokens"]
    for case in drawn("overwritten_tokens", seed):
        mine, wanted = stub(*case.args), reference("overwritten_tokens")(*case.args)
        assert [part.shape for part in mine] == [part.shape for part in wanted]
        for weights in mine[2:]:
            np.testing.assert_allclose(weights.sum(axis=-1), 1.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_one_bug_hides_the_other(seed):
    source = next(s for s in code_cells().values() if "def overwritten_tokens(" in s)
    wrong, right = "sentence.mean(axis=-2)", "sentence.sum(axis=-2) / sentence_mask.sum()"
    assert source.count(wrong) == 1
    names = handed_out("def overwritten_tokens(")
    stub = names["overwritten_tokens"]
    exec(source.replace(wrong, right), names)
    one_sentence = [case for case in drawn("overwritten_tokens", seed) if case.args[0].ndim == 2]
    assert len(one_sentence) >= 2
    for case in one_sentence:
        assert same(names["overwritten_tokens"](*case.args), stub(*case.args))


def test_the_bugs_need_a_word_each():
    word, nothing = np.ones((1, 1)), np.array([False])
    with pytest.raises(ValueError, match="one word"):
        reference("overwritten_tokens")(word, word, nothing, ~nothing, word, word)


# The cases are not blind to the mistakes that this page is about.


@pytest.mark.parametrize("name", TWO_INPUTS)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_two_inputs_never_have_the_same_length(name, seed):
    for case in drawn(name, seed):
        features_1, features_2 = case.args[:2]
        assert features_1.shape[-2] != features_2.shape[-2]


@pytest.mark.parametrize("name", ["alternating", "interactive"])
def test_there_are_inputs_of_one_width_and_of_two(name):
    # Of one width a wrong order raises nothing; of two widths W and its transpose differ in shape.
    widths = {case.args[0].shape[-1] == case.args[1].shape[-1] for case in drawn(name, seed=0)}
    assert widths == {True, False}


@pytest.mark.parametrize(("name", "axes"), [("summarise", 2), *((n, 2) for n in TWO_INPUTS[:2])])
def test_there_is_no_batch_and_one_along_two_axes(name, axes):
    dimensions = {case.args[0].ndim for case in drawn(name, seed=0)}
    assert {axes, axes + 1, axes + 2} <= dimensions


@pytest.mark.parametrize("name", TWO_INPUTS)
@pytest.mark.parametrize("seed", SEEDS)
def test_padding_is_in_both_inputs_and_leaves_two_features_in_each(name, seed):
    padded = [
        case
        for case in drawn(name, seed)
        if not case.args[2].all() and case.args[2].any(axis=-1).all()
    ]
    assert padded
    for case in padded:
        masks = case.args[2:4]
        assert all((~mask).any(axis=-1).all() for mask in masks)
        assert all((mask.sum(axis=-1) >= 2).all() for mask in masks)


@pytest.mark.parametrize("name", ["summarise", "alternating", "interactive"])
@pytest.mark.parametrize("seed", SEEDS)
def test_padding_is_nan_in_some_case_and_the_answer_never(name, seed):
    cases = drawn(name, seed)
    assert any(np.isnan(case.args[0]).any() for case in cases)
    for case in cases:
        assert all(np.isfinite(part).all() for part in reference(name)(*case.args))


@pytest.mark.parametrize("seed", SEEDS)
def test_large_scores_of_the_summary_overflow_in_one_input_and_vanish_in_the_other(seed):
    *_, case = drawn("summarise", seed)
    features, mask, w, W, b = case.args
    scores = np.tanh(features @ W.T + b) @ w
    with np.errstate(over="ignore"):
        exponentials = np.exp(scores)
    assert np.isinf(exponentials[0][mask[0]]).all()
    assert (exponentials[1][mask[1]] == 0).all()


# The picture at the end.


def test_the_picture_shows_what_the_text_below_it_says(monkeypatch):
    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.append(plt.gcf()))
    names = handed_out()
    names |= {name: reference(name) for name in chapter.exercises}
    exec(next(s for s in code_cells().values() if "def draw_everything" in s), names)
    (figure,) = shown
    panels = [[bar.get_width() for bar in ax.patches] for ax in figure.axes]
    plt.close(figure)
    largest = [max(panel) for panel in panels[1::2]]  # of the objects, by mechanism
    for words, objects in (panels[:2], panels[2:]):
        assert int(np.argmax(objects)) == names["objects"].index("red cube")
        assert {names["words"][i] for i in np.argsort(words)[-2:]} == {"red", "cube"}
    assert largest[0] > largest[1]


def test_without_answers_the_picture_draws_nothing_and_says_so(monkeypatch, capsys):
    monkeypatch.setattr(plt, "show", lambda: pytest.fail("nothing is answered yet"))
    figures = plt.get_fignums()
    handed_out("def summarise(", "def alternating(", "def interactive(", "def draw_everything(")
    assert plt.get_fignums() == figures
    assert "exercises 1, 2 and 3" in capsys.readouterr().out
