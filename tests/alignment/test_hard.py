"""Hard alignment against its definition in loops, and properties P2.9–P2.11."""

from importlib import import_module

import array_api_strict
import numpy as np
import pytest
import torch

from attn_course import alignment
from attn_course.alignment import softmax
from attn_course.alignment.hard import uniform_draws
from attn_course.definitions import alignment as definition


@pytest.mark.agrees("alignment.hard", "definitions.alignment.hard")
def test_hard_draws_the_key_on_which_the_same_number_falls_in_the_definition():
    rng = np.random.default_rng(5)
    scores, mask = rng.normal(size=(13, 7, 5)), rng.random((13, 7, 5)) < 0.7
    mask[3, 2] = False
    found = alignment.hard(scores, np.random.default_rng(6), mask=mask)
    numbers = np.random.default_rng(6).random((13, 7, 1))[..., 0]
    for at in np.ndindex(13, 7):
        assert found[at].tolist() == definition.hard(scores[at], numbers[at], mask[at])
    assert len({tuple(row) for row in found.reshape(-1, 5)}) == 6  # each key, and none


def test_hard_weights_are_one_hot_and_never_on_a_masked_key():
    rng = np.random.default_rng(0)
    scores, mask = rng.normal(size=(500, 3, 7)), rng.random((3, 7)) < 0.5
    mask[1] = False
    weights = alignment.hard(scores, rng, mask=mask)
    assert set(np.unique(weights)) == {0.0, 1.0}
    np.testing.assert_array_equal(weights.sum(-1), np.broadcast_to([1, 0, 1], (500, 3)))
    assert (weights * ~mask == 0).all()


@pytest.mark.proves("P2.9")
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_hard_attention_is_soft_attention_on_average(library):
    scores = np.array([[0.0, 1.0, -1.0, 2.0]])
    values = np.array([[1.0], [2.0], [3.0], [5.0]])
    many = np.repeat(scores[None], 40_000, axis=0)
    if library == "numpy":
        weights = alignment.hard(many, np.random.default_rng(0))
    else:
        weights = alignment.hard(torch.from_numpy(many), torch.Generator().manual_seed(0)).numpy()
    soft = softmax(scores)
    np.testing.assert_allclose(weights.mean(0), soft, atol=0.01)  # four standard errors
    np.testing.assert_allclose((weights @ values).mean(0), soft @ values, atol=0.03)


@pytest.mark.proves("P2.10")
@pytest.mark.agrees(
    "alignment.expected_reward_gradient",
    "definitions.alignment.expected_reward_gradient",
)
def test_enumerated_reinforce_is_exact_for_every_baseline():
    rng = np.random.default_rng(0)
    scores, rewards = rng.normal(size=5), rng.normal(size=5)
    exact = alignment.expected_reward_gradient(scores, rewards)
    np.testing.assert_allclose(exact, definition.expected_reward_gradient(scores, rewards))
    a = softmax(scores)
    for baseline in (0.0, -3.0, rewards.mean()):
        terms = [
            a[m]
            * alignment.score_function_gradient(
                scores, np.eye(5)[m][None], rewards[m : m + 1], baseline
            )
            for m in range(5)
        ]
        np.testing.assert_allclose(np.sum(terms, axis=0), exact, atol=1e-14)


def test_the_exact_gradient_is_autograds():
    scores = torch.randn(5, dtype=torch.float64, requires_grad=True)
    rewards = torch.randn(5, dtype=torch.float64)
    (gradient,) = torch.autograd.grad((softmax(scores) * rewards).sum(), scores)
    torch.testing.assert_close(alignment.expected_reward_gradient(scores, rewards), gradient)


@pytest.mark.proves("P2.10")
def test_the_optimal_baseline_has_the_least_variance():
    rng = np.random.default_rng(0)
    scores, rewards = rng.normal(size=5), rng.normal(size=5) + 3
    a = softmax(scores)

    def variance(baseline):
        each = [
            alignment.score_function_gradient(
                scores, np.eye(5)[m][None], rewards[m : m + 1], baseline
            )
            for m in range(5)
        ]
        mean = sum(p * g for p, g in zip(a, each, strict=True))
        return sum(p * ((g - mean) ** 2).sum() for p, g in zip(a, each, strict=True))

    best = alignment.optimal_baseline(scores, rewards)
    assert variance(best) < variance(best + 0.1)
    assert variance(best) < variance(best - 0.1)
    assert variance(best) < variance(0.0) / 2
    assert abs(best - (a * rewards).sum()) > 1e-3  # it is not the mean reward


@pytest.mark.proves("P2.11")
def test_one_hot_weights_make_hard_and_soft_the_same():
    scores = np.array([[0.0, 1e3, 0.0]])
    for seed in range(5):
        drawn = alignment.hard(scores, np.random.default_rng(seed))
        np.testing.assert_array_equal(drawn, softmax(scores))


class Fixed(np.random.Generator):
    """A generator that always draws the same number."""

    def __init__(self, number):
        super().__init__(np.random.PCG64(0))
        self.number = number

    def random(self, size):
        return np.full(size, self.number)


def test_the_smallest_draw_passes_over_a_masked_key_at_the_front():
    weights = alignment.hard(np.zeros((1, 3)), Fixed(0.0), mask=np.array([[False, True, True]]))
    np.testing.assert_array_equal(weights, [[0, 1, 0]])


def test_the_largest_draw_finds_a_key_though_rounded_weights_add_up_to_less_than_one():
    scores = np.zeros((1, 3), dtype=np.float16)  # three times 0.3333 in half precision: 0.9995
    assert softmax(scores).sum(dtype=np.float64) < 0.9999
    weights = alignment.hard(scores, Fixed(0.9999))
    np.testing.assert_array_equal(weights, [[0, 0, 1]])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_every_one_of_many_equal_keys_is_drawn_in_half_precision(dtype):
    k = 307
    scores = torch.zeros(20 * k, 1, k, dtype=dtype)
    weights = alignment.hard(scores, torch.Generator().manual_seed(0))
    assert (weights.sum(-1) == 1).all()
    times_drawn = weights.double().sum((0, 1))
    assert (times_drawn > 0).all()
    assert times_drawn.max() < 20 + 6 * 20**0.5  # six standard deviations


def test_no_gradient_flows_through_the_draw():
    scores = torch.randn(1, 5, requires_grad=True)
    assert not alignment.hard(scores, torch.Generator()).requires_grad


def test_temperature_towards_zero_is_the_best_key():
    scores = np.array([[0.3, 0.1, 0.2]])
    np.testing.assert_allclose(softmax(scores, temperature=1e-4), [[1, 0, 0]], atol=1e-12)


@pytest.mark.parametrize(
    ("scores", "rng", "wanted"),
    [
        (np.ones((1, 2)), torch.Generator(), "rng must be a np.random.Generator"),
        (torch.ones(1, 2), np.random.default_rng(0), "rng must be a torch.Generator"),
        (np.ones((1, 2)), 0, "but is a int"),
    ],
)
def test_a_generator_of_another_library_is_refused(scores, rng, wanted):
    with pytest.raises(ValueError, match=wanted):
        alignment.hard(scores, rng)


def test_hard_and_select_draw_the_same_in_every_library():
    scores = np.random.default_rng(0).normal(size=(13, 7, 5)).astype(np.float32)
    mask = np.random.default_rng(1).random((13, 7, 5)) < 0.7
    strict = array_api_strict.asarray
    drawn = alignment.hard(strict(scores), np.random.default_rng(2), strict(mask))
    wanted = alignment.hard(scores, np.random.default_rng(2), mask)
    np.testing.assert_array_equal(np.asarray(drawn), wanted)
    probabilities = softmax(scores)
    selected = alignment.select(strict(probabilities), np.random.default_rng(3))
    wanted = alignment.select(probabilities, np.random.default_rng(3))
    np.testing.assert_array_equal(np.asarray(selected), wanted)


def test_a_library_of_single_precision_gets_draws_below_1(monkeypatch):
    class Single:
        """An array library whose numbers are single precision unless asked, as JAX's are."""

        @staticmethod
        def asarray(numbers, device=None):
            return np.asarray(numbers, dtype=np.float32)

    class AlmostOne(np.random.Generator):
        def random(self, size, dtype=np.float64):
            return np.full(size, np.nextafter(dtype(1), dtype(0)), dtype=dtype)

    module = import_module("attn_course.alignment.hard")  # its name is also the function's
    monkeypatch.setattr(module, "namespace", lambda **_: Single)
    draws = uniform_draws(AlmostOne(np.random.PCG64(0)), np.ones((3, 2), dtype=np.float32))
    assert draws.dtype == np.float32
    assert (draws < 1).all()
