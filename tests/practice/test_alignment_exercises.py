"""What is special to the exercises of chapter 3; what holds for all is in `tests/course`."""

from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
import torch

from attn_course.alignment import softmax
from attn_course.practice.exercises import chapters, compiled
from attn_course.practice.exercises.alignment.train_hard import the_six_words
from attn_course.practice.results import Verdict
from tests.practice import drawn_cases

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "solutions" / "03_alignment.md"
chapter = chapters()["03"]
SEEDS = range(20)
HANDED_OUT = {
    "decoder_weights": "decoder_as_handed_out",
    "local_predictive": "local_p_as_handed_out",
}


reference = partial(drawn_cases.reference, chapter)
drawn = partial(drawn_cases.drawn, chapter)


# The examples that the tasks work out by hand, with the numbers printed there.


@pytest.mark.parametrize("scores", [[[2.0, 0.0]], [[1002.0, 1000.0]]])
def test_the_examples_of_the_stable_softmax_are_right(scores):
    weights = reference("stable_softmax")(np.array(scores), 2.0)
    assert weights.round(3).tolist() == [[0.731, 0.269]]


@pytest.mark.parametrize(
    ("mask", "weights"),
    [([[True, True, False]], [[0.5, 0.5, 0.0]]), ([[False] * 3], [[0.0, 0.0, 0.0]])],
)
def test_the_examples_of_the_masked_softmax_are_right(mask, weights):
    scores = np.array([[1.0, 1.0, np.nan]])
    assert reference("masked_softmax")(scores, np.array(mask)).tolist() == weights


def test_the_example_of_the_decoder_is_right():
    weights = reference("decoder_weights")(torch.zeros(3, 3), torch.tensor([False, False, True]))
    assert weights.tolist() == [[1, 0, 0], [0.5, 0.5, 0], [0.5, 0.5, 0]]


def test_the_examples_of_local_m_are_right():
    weights = reference("local_monotonic")(np.zeros((3, 5)), np.array([1, 3, 7]), 1)
    third = 1 / 3
    np.testing.assert_allclose(
        weights, [[0.5, 0.5, 0, 0, 0], [0, third, third, third, 0], [0, 0, 0, 0, 0]]
    )


def test_the_example_of_local_p_is_right():
    weights = reference("local_predictive")(np.zeros((1, 3)), np.array([2.0]), 2)
    assert weights.round(3).tolist() == [[0.202, 0.333, 0.202]]


def test_the_answers_to_the_prediction_are_right():
    answers = [3 / 4, 9 / 10, 2 / 3, 1 / 4, 3]
    np.testing.assert_allclose(reference("predicted_weights"), answers)


def one_query():
    """Return scores, one draw and rewards of the example of the last two tasks."""
    return np.zeros((1, 2)), np.array([0.7]), np.array([[1.0, 3.0]])


def test_the_example_of_the_reinforce_step_is_right():
    choice, scores = reference("reinforce_step")(*one_query(), baseline=1.0, learning_rate=0.5)
    assert choice.tolist() == [1]
    assert scores.tolist() == [[-0.5, 0.5]]


def test_the_example_of_the_experiment_is_right():
    scores, u, rewards = one_query()
    expected, baseline = reference("train_hard")(scores, u[None], rewards, 0.5, 0.9)
    assert (round(expected, 3), round(baseline, 3)) == (2.635, 0.3)


def test_the_experiment_gives_the_figures_that_the_task_states():
    scores, uniforms, rewards = the_six_words()
    before, _baseline = reference("train_hard")(scores, uniforms[:0], rewards, 0.2, 0.9)
    after, _baseline = reference("train_hard")(scores, uniforms, rewards, 0.2, 0.9)
    without, baseline = reference("train_hard")(scores, uniforms, rewards, 0.2, 1.0)
    assert baseline == 0
    task = SOURCE.read_text(encoding="utf-8")
    for figure in (f"is {before:.3f}.", f"`{after:.3f}`", f"`{without:.3f}`"):
        assert figure in task


# The stubs that learners get.


@cache
def released():
    return compiled(chapter.stem)["notebook"]


def stub_of(name):
    cell = next(cell for cell in released()["cells"] if cell["id"] == f"{name}-answer")
    names = {"np": np, "torch": torch}
    exec("".join(cell["source"]), names)
    return names[name]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", HANDED_OUT)
def test_a_function_as_handed_out_is_recognised(name, seed):
    exercise = chapter.exercises[name]
    result = exercise.check(exercise.local(stub_of(name)), seed=seed)
    assert result.verdict is Verdict.FAILED
    assert result.mistake.name == HANDED_OUT[name]


@pytest.mark.parametrize("name", [name for name in chapter.exercises if name not in HANDED_OUT])
def test_every_other_stub_waits_for_an_answer(name):
    exercise = chapter.exercises[name]
    assert exercise.check(exercise.local(stub_of(name)), seed=0).verdict is Verdict.TODO


# The cases leave nothing to chance.


@pytest.mark.parametrize(
    "name",
    [
        "stable_softmax",
        "masked_softmax",
        "decoder_weights",
        "local_monotonic",
        "local_predictive",
        "reinforce_step",
    ],
)
def test_there_is_one_table_alone_and_a_batch_along_two_axes(name):
    dimensions = {case.args[0].ndim for case in drawn(name, seed=0)}
    assert {2, 3, 4} <= dimensions


def test_the_mask_of_a_case_has_one_axis_and_that_of_another_as_many_as_the_scores():
    cases = [case.args for case in drawn("masked_softmax", seed=0)]
    assert any(mask.shape == (scores.shape[-1],) for scores, mask in cases)
    assert any(mask.shape == scores.shape for scores, mask in cases)


@pytest.mark.parametrize("fill", [-100.0, -1e4, -9e5])
@pytest.mark.parametrize("seed", SEEDS)
def test_no_number_above_the_lowest_score_hides_a_masked_key(fill, seed):
    def filled(scores, mask):
        return np.where(mask, softmax(np.where(mask, scores, fill)), 0.0)

    exercise = chapter.exercises["masked_softmax"]
    assert exercise.check(exercise.local(filled), seed=seed).points == exercise.points - 1


@pytest.mark.parametrize("seed", SEEDS)
def test_the_counted_scores_stay_where_the_task_says(seed):
    for case in drawn("masked_softmax", seed):
        scores, mask = case.args
        counted = scores[np.broadcast_to(mask, scores.shape)]
        assert np.abs(counted).max(initial=0.0) <= 1e6


@pytest.mark.parametrize("name", ["local_monotonic", "local_predictive"])
@pytest.mark.parametrize("seed", SEEDS)
def test_in_some_case_the_best_keys_lie_outside_every_window(name, seed):
    def is_one(scores, centres, half_width):
        places = np.arange(1, scores.shape[-1] + 1)
        inside = np.abs(places - centres[..., None]) <= half_width
        far_best = np.where(inside, scores, -np.inf).max(axis=-1) + 800 < scores.max(axis=-1)
        return inside.any(axis=-1).all() and far_best.all()

    assert any(is_one(*case.args) for case in drawn(name, seed))


@pytest.mark.parametrize("seed", SEEDS)
def test_rounding_never_decides_which_key_is_in_a_window(seed):
    for case in drawn("local_predictive", seed):
        scores, positions, half_width = case.args
        places = np.arange(1, scores.shape[-1] + 1)
        from_the_edge = np.abs(np.abs(places - positions[..., None]) - half_width)
        assert np.all((from_the_edge == 0) | (from_the_edge > 1e-3))
        assert np.all((positions > 0) & (positions < scores.shape[-1]))


@pytest.mark.parametrize("seed", SEEDS)
def test_rounding_never_decides_which_key_is_drawn(seed):
    for case in drawn("reinforce_step", seed):
        scores, u, *_rest = case.args
        from_the_end = np.abs(np.cumsum(softmax(scores), axis=-1) - u[..., None])
        assert np.all((from_the_end == 0) | (from_the_end > 1e-3))


@pytest.mark.parametrize("decay", [0.9, 1.0])
def test_rounding_decides_no_draw_of_the_experiment(decay):
    scores, uniforms, rewards = the_six_words()
    baseline = 0.0
    for u in uniforms:
        ends = np.cumsum(softmax(scores), axis=-1)[:, :-1]
        assert np.abs(ends - u[:, None]).min() > 1e-6
        choice, scores = reference("reinforce_step")(scores, u, rewards, baseline, 0.2)
        baseline = decay * baseline + (1 - decay) * rewards[np.arange(6), choice].mean()


@pytest.mark.parametrize("seed", SEEDS)
def test_every_row_of_a_mask_lets_a_key_in_and_leaves_one_out(seed):
    for case in drawn("masked_softmax", seed)[:2]:
        _scores, mask = case.args
        assert mask.any(axis=-1).all()
        assert not mask.all(axis=-1).any()


# One misunderstanding, written in other ways than the solution's edit, keeps its name.


def a_score_of_0_by_a_product(scores, mask):
    weights = softmax(np.nan_to_num(scores) * mask)
    return np.where(np.any(mask, axis=-1, keepdims=True), weights, 0.0)


def a_low_score_and_no_more(scores, mask):
    return softmax(np.where(mask, scores, np.finfo(float).min))


def exponentials_without_a_maximum(scores, mask):
    exponentials = np.where(mask, np.exp(scores), 0.0)
    total = exponentials.sum(axis=-1, keepdims=True)
    return exponentials / np.where(total > 0, total, 1.0)


def the_keys_that_count_together(scores, mask):
    weights, mask = np.zeros(scores.shape), np.broadcast_to(mask, scores.shape)
    weights[mask] = softmax(scores[mask])
    return weights


def exponents_under_a_limit(scores, temperature):
    exponentials = np.exp(np.clip(scores / temperature, -700, 700))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def gaussian_before_the_division(scores, positions, half_width):
    offsets = np.arange(1, scores.shape[-1] + 1) - positions[..., None]
    faded = scores - 2 * (offsets / half_width) ** 2
    return softmax(np.where(np.abs(offsets) <= half_width, faded, -np.inf))


def a_slice_for_each_step(scores, steps, half_width):
    inside = np.zeros(scores.shape, dtype=bool)
    for row in np.ndindex(steps.shape):
        first = max(0, steps[row] - half_width)  # counts steps from 0
        inside[row][first : steps[row] + half_width + 1] = True
    return softmax(scores, inside)


@pytest.mark.parametrize(
    ("name", "answer", "mistake"),
    [
        ("stable_softmax", exponents_under_a_limit, "exponents_clipped"),
        (
            "masked_softmax",
            a_score_of_0_by_a_product,
            "masked_scores_set_to_0_where_a_key_is_left",
        ),
        ("masked_softmax", a_low_score_and_no_more, "uniform_over_the_padding"),
        ("masked_softmax", exponentials_without_a_maximum, "masked_overflow_and_a_small_number"),
        ("masked_softmax", the_keys_that_count_together, "masked_whole_table_sums_to_one"),
        ("local_monotonic", a_slice_for_each_step, "window_one_too_far"),
        ("local_predictive", gaussian_before_the_division, "renormalised_after_the_gaussian"),
    ],
)
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_mistake_has_its_name_however_it_is_written(name, answer, mistake, seed):
    exercise = chapter.exercises[name]
    result = exercise.check(exercise.local(answer), seed=seed)
    assert result.mistake.name == mistake
