"""What is special to the exercises of chapter 2; what holds for all is in `tests/course`."""

from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
import torch

from attn_course.practice.compare import same
from attn_course.practice.exercises import chapters, compiled
from attn_course.practice.results import Verdict
from tests.practice import drawn_cases

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "solutions" / "02_scoring.md"
chapter = chapters()["02"]
SEEDS = range(20)
BUGS = {"scaled_dot": "scale_as_handed_out", "activated_general": "activated_as_handed_out"}


reference = partial(drawn_cases.reference, chapter)
drawn = partial(drawn_cases.drawn, chapter)


def rows(*numbers):
    return np.array(numbers, dtype=float)


# The examples that the tasks work out by hand, with the numbers printed there.


@pytest.mark.parametrize(
    ("kind", "scores"), [("dot", [[50, 9]]), ("cosine", [[1, 0.6]]), ("euclidean", [[-5, -4]])]
)
def test_the_example_of_compare_is_right(kind, scores):
    found = reference("compare")(rows([3, 4]), rows([6, 8], [3, 0]), kind)
    np.testing.assert_allclose(found, scores)


def test_the_example_of_the_scaled_dot_is_right_and_the_code_handed_out_fails_it():
    queries, keys = rows([1, 1, 1, 1]), rows([2, 2, 2, 2], [1, 0, 0, 1], [1, 1, 1, 1])
    assert reference("scaled_dot")(queries, keys).tolist() == [[4, 1, 2]]
    assert not same(stub_of("scaled_dot")(queries, keys), [[4, 1, 2]])


def test_the_example_of_the_experiment_is_right():
    measured = reference("scale_experiment")(rows([2, 0]), rows([1, 0], [-1, 0]))
    assert [round(number, 3) for number in measured] == [4.0, 0.09, 0.215]


def test_the_example_of_the_additive_score_is_right():
    score = reference("AdditiveScore")(d_q=1, d_k=2, d_w=2)
    numbers = {"w": [1, 2], "W_q": [[1], [0]], "W_k": [[1, 0], [0, 1]], "b": [0, 0]}
    score.load_state_dict({name: torch.tensor(number) for name, number in numbers.items()})
    scores = score(torch.tensor([[1.0]]), torch.tensor([[-1.0, 0.5]]))
    assert round(scores.item(), 3) == 0.924


@pytest.mark.parametrize(("b", "scores"), [(1, [[12, -4]]), (0, [[9, -3]])])
def test_the_examples_of_the_biased_general_score_are_right(b, scores):
    found = reference("biased_general")(rows([1, 2]), rows([3], [-1]), rows([1, 1]), rows(b))
    assert found.tolist() == scores


def test_the_example_of_the_activated_score_is_right_and_the_code_handed_out_fails_it():
    inputs = rows([1, 2]), rows([1], [-1], [2]), rows([0.5, 0]), 0.5
    assert reference("activated_general")(*inputs).round(3).tolist() == [[0.762, 0.0, 0.905]]
    handed_out = stub_of("activated_general")(*inputs)
    assert handed_out.shape == (3, 1)
    assert handed_out.max() > 1  # no tanh is


def test_the_predictions_are_what_the_solution_says():
    ratio, largest, smallest, unbounded = reference("predicted_weights")
    np.testing.assert_allclose([ratio, unbounded], [np.exp(2), 1])
    np.testing.assert_allclose([largest, smallest], [0.425, 0.013], atol=5e-4)
    of_two, of_a_thousand = (np.exp(2) / (np.exp(2) + others) for others in (1, 999))
    assert round(of_two, 3) == 0.881
    assert of_a_thousand < 0.01


def test_the_example_of_the_training_step_is_right():
    inputs = rows([1]), np.eye(2), np.zeros((2, 1)), np.array([0])
    loss, W = reference("general_step")(*inputs, learning_rate=1.0)
    assert round(loss, 3) == 0.693
    assert W.tolist() == [[0.5], [-0.5]]


def test_the_experiment_gives_the_figures_that_the_task_states():
    *_others, experiment = drawn("scale_experiment", seed=0)
    variance, without, with_scale = reference("scale_experiment")(*experiment.args)
    task = SOURCE.read_text(encoding="utf-8")
    for figure in (f"`{variance:.1f}`", f"`{without:.3f}`", f"`{with_scale:.3f}`"):
        assert figure in task


# The stubs that learners get, two of them to correct.


@cache
def released():
    return compiled(chapter.stem)["notebook"]


def stub_of(name):
    cell = next(cell for cell in released()["cells"] if cell["id"] == f"{name}-answer")
    names = {"np": np, "torch": torch, "nn": torch.nn}
    exec("".join(cell["source"]), names)
    return names[name]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("name", "bug"), BUGS.items())
def test_the_code_as_handed_out_is_recognised(name, bug, seed):
    exercise = chapter.exercises[name]
    result = exercise.check(exercise.local(stub_of(name)), seed=seed)
    assert result.verdict is Verdict.FAILED
    assert result.mistake.name == bug


@pytest.mark.parametrize("name", [name for name in chapter.exercises if name not in BUGS])
def test_every_other_stub_waits_for_an_answer(name):
    exercise = chapter.exercises[name]
    assert exercise.check(exercise.local(stub_of(name)), seed=0).verdict is Verdict.TODO


# A learner who fixes one bug of two, and one who falls into both traps of the experiment.


def test_who_fixes_one_bug_of_two_hears_which_is_left():
    def keys_in_the_rows(queries, keys, W, b):
        return np.tanh(keys @ W @ np.swapaxes(queries, -2, -1) + b)

    exercise = chapter.exercises["activated_general"]
    result = exercise.check(exercise.local(keys_in_the_rows), seed=0)
    assert result.mistake.name == "activated_with_keys_in_the_rows"


def test_who_falls_into_both_traps_of_the_experiment_hears_of_the_first():
    def naive(queries, keys):
        def entropy(scores):
            weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
            return -(weights * np.log(weights)).sum(axis=-1).mean()

        scores = queries @ keys.T
        return scores.var(), entropy(scores), entropy(scores / np.sqrt(keys.shape[-1]))

    exercise = chapter.exercises["scale_experiment"]
    result = exercise.check(exercise.local(naive), seed=0)
    assert result.points == 2
    assert result.mistake.name == "entropy_that_overflows"


def test_who_subtracts_the_maximum_of_the_whole_table_is_not_accepted():
    def entropy(scores):
        exponentials = np.exp(scores - scores.max())
        weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
        return -sum(one * np.log(one) for one in weights.flat if one > 0) / len(scores)

    def one_maximum(queries, keys):
        scores = queries @ keys.T
        return scores.var(), entropy(scores), entropy(scores / np.sqrt(keys.shape[-1]))

    exercise = chapter.exercises["scale_experiment"]
    result = exercise.check(exercise.local(one_maximum), seed=0)
    assert [group.verdict is Verdict.PASSED for group in result.groups] == [True, False, True, True]


def test_the_step_refuses_a_right_key_that_is_not_there_so_no_example_has_one():
    inputs = rows([1]), np.eye(2), np.zeros((2, 1))
    with pytest.raises(IndexError):
        reference("general_step")(*inputs, np.array([2]), learning_rate=1.0)


# The cases leave nothing to chance.


@pytest.mark.parametrize(("precision", "breaks"), [(np.float64, True), (np.float32, False)])
@pytest.mark.parametrize("seed", SEEDS)
def test_rounding_breaks_the_short_formula_of_a_distance_in_double_precision_alone(
    seed, precision, breaks
):
    group = next(g for g in chapter.exercises["compare"].groups if g.label == "euclidean")
    *_others, case = group.generate(np.random.default_rng(seed))
    queries, keys = (array.astype(precision) for array in case.args[:2])
    lengths = (queries**2).sum(axis=-1)[:, None] + (keys**2).sum(axis=-1)
    assert (lengths - 2 * queries @ keys.T < 0).any() == breaks


def test_who_cuts_the_gradient_of_the_module_hears_so():
    class Cut(reference("AdditiveScore")):
        def forward(self, queries, keys):
            with torch.no_grad():
                return super().forward(queries, keys)

    exercise = chapter.exercises["AdditiveScore"]
    result = exercise.check(exercise.local(Cut), seed=0)
    assert result.mistake.name == "GradientCut"


@pytest.mark.parametrize("seed", SEEDS)
def test_in_some_experiment_one_row_of_scores_vanishes_beside_the_other(seed):
    gaps = []
    for case in drawn("scale_experiment", seed):
        queries, keys = case.args
        best = (queries @ keys.T).max(axis=-1) / np.sqrt(keys.shape[-1])
        gaps.append(np.exp(best.min() - best.max()))
    assert min(gaps) == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_the_bias_of_every_activated_case_moves_scores_that_are_not_saturated(seed):
    for case in drawn("activated_general", seed):
        queries, keys, W, b = case.args
        scores = reference("activated_general")
        moved = np.abs(scores(queries, keys, W, b) - scores(queries, keys, W, 0.0))
        assert moved.max() > 0.1


@pytest.mark.parametrize("seed", SEEDS)
def test_every_step_of_the_cases_moves_w_by_more_than_the_tolerance(seed):
    for case in drawn("general_step", seed):
        _loss, moved = reference("general_step")(*case.args)
        assert not same(moved, case.args[2])
