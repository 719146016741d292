"""What is special to the exercises of page 05c; what holds for all is in `tests/course`."""

from functools import cache, partial

import matplotlib.pyplot as plt
import numpy as np
import pytest

from attn_course.practice.exercises import chapters, compiled
from tests.practice import drawn_cases

chapter = chapters()["05c"]
SEEDS = range(20)
TABLES = ("affinity", "concat_affinity")


reference = partial(drawn_cases.reference, chapter)
drawn = partial(drawn_cases.drawn, chapter)


def all_real(*lengths):
    return [np.ones(n, dtype=bool) for n in lengths]


def masks_of(name, case):
    """Return the two masks of a case, or None for an exercise without any."""
    masks = [arg for arg in case.args if isinstance(arg, np.ndarray) and arg.dtype == bool]
    assert len(masks) == (0 if name in TABLES else 2)
    return masks or None


def lengths_of(name, case):
    masks = masks_of(name, case)
    if masks is None:
        return [features.shape[-2] for features in case.args[:2]]
    return [mask.shape[-1] for mask in masks]


@cache
def code_cells():
    cells = compiled(chapter.stem)["notebook"]["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def handed_out(*pieces):
    """Return what the cells define that contain one of the pieces, the masked softmax included."""
    names = {"np": np, "plt": plt}
    for piece in ("def softmax(", *pieces):
        source = next(source for source in code_cells() if piece in source)
        exec(source.replace('practice.overview("05c")', ""), names)
    return names


# The examples that the tasks work out by hand, with the numbers printed there.


def test_the_example_of_the_table_is_right():
    features_1 = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    A = reference("affinity")(features_1, np.array([[1.0], [0.0]]), np.array([[1.0], [2.0]]))
    assert np.round(A, 3).tolist() == [[0.762, 0.0], [0.964, 0.0], [0.995, 0.0]]


def test_the_example_of_both_sides_is_right():
    A = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    inputs = np.array([[1.0], [1.0]]), np.array([[1.0], [-2.0], [1.0]])
    W = np.array([[50.0]])
    e_1, e_2 = reference("parallel_scores")(
        A, *inputs, *all_real(2, 3), W, W, np.array([3.0]), np.array([2.0])
    )
    assert e_1.tolist() == [0.0, 3.0]
    assert e_2.tolist() == [2.0, -2.0, 2.0]


def test_the_example_of_the_best_match_is_right():
    A = np.array([[-1.0, -3.0, 9.0], [-2.0, -4.0, 9.0]])
    mask_2 = np.array([True, True, False])
    e_1, e_2 = reference("best_match_scores")(A, *all_real(2), mask_2)
    assert e_1.tolist() == [-1.0, -2.0]
    assert e_2.tolist() == [-1.0, -3.0, 0.0]


def test_the_example_of_the_concatenation_is_right():
    features_2 = np.array([[3.0, 1.0], [0.0, 1.0]])
    w_A = np.array([1.0, 0.0, 0.0, 1.0, 2.0, 1.0])
    A = reference("concat_affinity")(np.array([[1.0, 2.0]]), features_2, w_A)
    assert A.tolist() == [[10.0, 4.0]]


def test_the_example_of_the_two_grains_is_right():
    features_1, features_2 = np.array([[0.0], [1.0]]), np.array([[1.0], [2.0], [9.0]])
    mask_2 = np.array([True, True, False])
    log_3 = np.log(3)
    output = reference("multi_grained")(
        features_1,
        features_2,
        *all_real(2),
        mask_2,
        np.array([[2 / 3 * log_3]]),
        np.zeros((1, 1)),
        np.array([0.0, 0.0, log_3]),
    )
    np.testing.assert_allclose(output, [0.75, 1.5, 0.9, 1.75])


# The cases are not blind to the mistakes that this page is about.


@pytest.mark.parametrize("name", list(chapter.exercises))
@pytest.mark.parametrize("seed", SEEDS)
def test_the_two_inputs_never_have_the_same_length(name, seed):
    for case in drawn(name, seed):
        n_1, n_2 = lengths_of(name, case)
        assert n_1 != n_2


@pytest.mark.parametrize("name", ["affinity", "parallel_scores"])
def test_there_are_inputs_of_one_width_and_of_two(name):
    first = 0 if name == "affinity" else 1
    pairs = [case.args[first : first + 2] for case in drawn(name, seed=0)]
    assert {one.shape[-1] == two.shape[-1] for one, two in pairs} == {True, False}


@pytest.mark.parametrize("name", list(chapter.exercises))
def test_there_is_no_batch_and_one_along_two_axes(name):
    assert {2, 3, 4} <= {case.args[0].ndim for case in drawn(name, seed=0)}


@pytest.mark.parametrize("seed", SEEDS)
def test_no_affinity_of_the_table_is_flattened_by_the_tanh(seed):
    # An entry at 1 or -1 would be right whatever the product is.
    for case in drawn("affinity", seed):
        assert np.median(np.abs(reference("affinity")(*case.args))) < 0.95


@pytest.mark.parametrize("seed", SEEDS)
def test_a_matrix_between_inputs_of_one_width_is_not_symmetric(seed):
    for case in drawn("affinity", seed):
        W_A = case.args[2]
        assert W_A.shape[0] != W_A.shape[1] or not np.allclose(W_A, W_A.T)


@pytest.mark.parametrize("name", ["parallel_scores", "best_match_scores", "multi_grained"])
@pytest.mark.parametrize("seed", SEEDS)
def test_padding_is_nan_in_some_case_and_the_answer_never(name, seed):
    cases = drawn(name, seed)
    assert any(np.isnan(case.args[0]).any() for case in cases)
    for case in cases:
        answer = reference(name)(*case.args)
        parts = answer if isinstance(answer, tuple) else (answer,)
        assert all(np.isfinite(part).all() for part in parts)


@pytest.mark.parametrize("seed", SEEDS)
def test_zero_would_win_against_every_real_affinity_but_in_the_first_case(seed):
    _first, *cases = drawn("best_match_scores", seed)
    for case in cases:
        A, mask_1, mask_2 = case.args
        assert (A[mask_1[..., :, None] & mask_2[..., None, :]] < 0).all()


# The picture at the end.


def test_the_picture_shows_what_the_text_below_it_says(monkeypatch):
    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.append(plt.gcf()))
    names = handed_out()
    names |= {name: reference(name) for name in chapter.exercises}
    exec(next(s for s in code_cells() if "def draw_everything" in s), names)
    (figure,) = shown
    _table, projected, best = ([bar.get_width() for bar in ax.patches] for ax in figure.axes)
    plt.close(figure)
    red_cube = names["objects"].index("red cube")
    assert projected[red_cube] > 0.5
    assert best[0] == pytest.approx(best[1]) == pytest.approx(best[red_cube])


def test_without_answers_the_picture_draws_nothing_and_says_so(monkeypatch, capsys):
    monkeypatch.setattr(plt, "show", lambda: pytest.fail("nothing is answered yet"))
    figures = plt.get_fignums()
    handed_out(
        "def affinity(", "def parallel_scores(", "def best_match_scores(", "def draw_everything("
    )
    assert plt.get_fignums() == figures
    assert "exercises 1, 2 and 3" in capsys.readouterr().out
