"""What is special to the exercises of chapter 1; what holds for all is in `tests/course`."""

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
SOURCE = ROOT / "solutions" / "01_nadaraya_watson.md"
chapter = chapters()["01"]
SEEDS = range(20)
WRONG_SCORES = (
    "WIsCutOff",
    "ModuleWithWOutsideTheSquare",
    "ModuleWithoutTheHalf",
    "ModuleWithWAsBandwidth",
    "FarthestKeyWins",
)


reference = partial(drawn_cases.reference, chapter)
drawn = partial(drawn_cases.drawn, chapter)


# The examples that the tasks work out by hand, with the numbers printed there.


def test_the_example_of_average_pooling_is_right():
    predictions = reference("average_pooling")(np.array([1.0, 7.0]), np.array([2.0, 4.0, 9.0]))
    assert predictions.tolist() == [5.0, 5.0]


def test_the_example_of_gaussian_weights_is_right():
    weights = reference("gaussian_weights")(np.array([2.0]), np.array([1.0, 2.0, 3.0]), 1.0)
    assert weights.round(3).tolist() == [[0.274, 0.452, 0.274]]


@pytest.mark.parametrize(
    ("kernel", "weights"),
    [
        ("boxcar", [[1 / 2, 1 / 2, 0]]),
        ("triangular", [[1 / 3, 2 / 3, 0]]),
        ("epanechnikov", [[3 / 7, 4 / 7, 0]]),
    ],
)
def test_the_examples_of_the_kernels_are_right(kernel, weights):
    found = reference("kernel_weights")(np.array([2.0]), np.array([1.5, 2.0, 4.0]), 1.0, kernel)
    np.testing.assert_allclose(found, weights)


def test_the_answers_to_the_prediction_are_a_mean_a_tie_and_the_nearest():
    np.testing.assert_allclose(reference("predicted_limits"), [5 / 6, 3 / 2, 2])


def test_the_example_of_the_leave_one_out_loss_is_right():
    loss = reference("leave_one_out_loss")(np.arange(3.0), np.array([1.0, 2.0, 6.0]), 0.0)
    assert loss == pytest.approx(15.75)


def test_the_example_of_the_gradient_step_is_right():
    w = reference("gradient_step")(np.arange(3.0), np.array([0.0, 0.0, 1.0]), 1.0, 0.5)
    assert round(float(w), 3) == 1.041


def test_the_example_of_the_module_is_right():
    query, keys, values = torch.tensor([2.0]), torch.arange(1.0, 4.0), torch.tensor([0.0, 1.0, 5.0])
    assert round(reference("NadarayaWatson")()(query, keys, values).item(), 3) == 1.822


def test_the_example_of_the_experiment_is_right():
    numbers = [np.array([number]) for number in (0.0, 3.0, 1.0, 5.0)]
    assert reference("train_and_test")(*numbers, 0.7, 0.1, steps=0) == (0.7, 4.0)


def test_the_experiment_gives_the_figures_that_the_task_states():
    experiment = drawn("train_and_test", seed=0)[-1]
    w, error = reference("train_and_test")(*experiment.args)
    assert (round(w, 2), round(error, 3)) == (4.75, 0.027)
    task = SOURCE.read_text(encoding="utf-8")
    assert "`4.75`" in task
    assert "`0.027`" in task


# The stub that learners get to correct.


@cache
def released():
    return compiled(chapter.stem)["notebook"]


def stub_of(name):
    cell = next(cell for cell in released()["cells"] if cell["id"] == f"{name}-answer")
    names = {"np": np, "torch": torch, "nn": torch.nn}
    exec("".join(cell["source"]), names)
    return names[name]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_kernels_as_handed_out_are_recognised(seed):
    exercise = chapter.exercises["kernel_weights"]
    result = exercise.check(exercise.local(stub_of("kernel_weights")), seed=seed)
    assert result.verdict is Verdict.FAILED
    assert result.mistake.name == "kernels_as_handed_out"


@pytest.mark.parametrize("name", [name for name in chapter.exercises if name != "kernel_weights"])
def test_every_other_stub_waits_for_an_answer(name):
    exercise = chapter.exercises[name]
    assert exercise.check(exercise.local(stub_of(name)), seed=0).verdict is Verdict.TODO


# The cases leave nothing to chance.


@pytest.mark.parametrize("seed", SEEDS)
def test_rounding_never_decides_which_key_is_in_reach(seed):
    for case in drawn("kernel_weights", seed):
        queries, keys, w, _kernel = case.args
        from_the_edge = np.abs(np.abs(w * (queries[:, None] - keys)) - 1)
        assert np.all((from_the_edge == 0) | (from_the_edge > 1e-6))


@pytest.mark.parametrize("seed", SEEDS)
def test_every_step_of_the_cases_moves_w_by_more_than_the_tolerance(seed):
    for case in drawn("gradient_step", seed):
        w = case.args[2]
        assert not same(reference("gradient_step")(*case.args), w)


@pytest.mark.parametrize("seed", SEEDS)
def test_some_queries_are_whole_numbers_and_the_mean_is_none(seed):
    cases = [case.args for case in drawn("average_pooling", seed)]
    means = [values.mean() for queries, values in cases if queries.dtype.kind == "i"]
    assert means
    assert all(abs(mean - round(mean)) > 0.1 for mean in means)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_loss_is_asked_for_equal_inputs_and_with_the_smallest_and_largest_w(seed):
    cases = [case.args for case in drawn("leave_one_out_loss", seed)]
    assert any(len(set(inputs)) < len(inputs) for inputs, _targets, _w in cases)
    assert any(w == 0 for _inputs, _targets, w in cases)
    # The best score of a lonely point is below any large negative number that people write.
    distances = [w * np.diff(np.sort(inputs)).max() for inputs, _targets, w in cases]
    assert max(distances) ** 2 / 2 > 2e9


@pytest.mark.parametrize("w", [-3.0, -0.1, 0.1, 0.3, 1.5, 4.0])
def test_some_queries_of_the_module_are_so_far_away_that_exp_vanishes(w):
    nearest = [
        (queries[..., :, None] - keys[..., None, :]).abs().amin(dim=-1).min()
        for queries, keys, _values in (case.args for case in drawn("NadarayaWatson", seed=0))
    ]
    assert (torch.exp(-0.5 * (w * torch.stack(nearest)) ** 2) == 0).any()


def test_some_queries_of_the_module_are_alone():
    assert any(len(case.args[0]) == 1 for case in drawn("NadarayaWatson", seed=0))


def test_training_may_have_no_step_as_in_the_example():
    assert any(case.args[-1] == 0 for case in drawn("train_and_test", seed=0))


@pytest.mark.parametrize("w", [-3.0, -0.9, -0.1, -0.01, 0.003, 0.03, 0.3, 1.5, 4.0])
def test_a_wrong_module_shows_whatever_w_the_check_loads(w):
    exercise = chapter.exercises["NadarayaWatson"]
    known_by_name = {known.name: known for known in exercise.mistakes}
    for known in map(known_by_name.__getitem__, WRONG_SCORES):
        assert any(
            not same(_output_and_gradient(known.answer, w, case), right)
            for case in drawn("NadarayaWatson", seed=0)
            for right in [_output_and_gradient(exercise.reference, w, case)]
        ), f"{known.name} can't be told from the reference at w = {w}"


def _output_and_gradient(module_class, w, case):
    module = module_class()
    with torch.no_grad():
        module.w.fill_(w)
    output = module(*case.args)
    if not output.requires_grad:
        return output.numpy(), np.zeros(())
    (gradient,) = torch.autograd.grad(output.square().sum(), module.w)
    return output.detach().numpy(), gradient.numpy()
