"""The failing input is made smaller while it fails in the same way."""

import numpy as np
import pytest
import torch

from attn_course.practice.exercise import Case
from attn_course.practice.shrinking import count
from tests.practice.test_observations import exercise_of


def failure_of(exercise, answer):
    return exercise.check(exercise.local(answer), seed=0, closer=True).failure


def size(failure):
    return count(Case(*failure.arguments.values()))


def attend(queries, keys, values):
    scores = queries @ np.swapaxes(keys, -2, -1)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True) @ values


def inputs(batch=(2,), q=3, k=5, d=7, d_v=11):
    rng = np.random.default_rng(0)
    shapes = ((q, d), (k, d), (k, d_v))
    return Case(*(rng.normal(size=(*batch, *shape)) for shape in shapes))


ATTEND = exercise_of(attend, [inputs()])


def test_batch_queries_keys_and_features_are_dropped_together():
    def halved(queries, keys, values):
        return attend(queries, keys, values) / 2

    failure = failure_of(ATTEND, halved)
    assert size(failure) <= 4
    queries, keys, values = failure.arguments.values()
    assert np.allclose(failure.difference.wanted, attend(queries, keys, values))
    assert np.allclose(failure.difference.got, attend(queries, keys, values) / 2)


def test_what_is_needed_to_fail_stays():
    def over_the_queries(queries, keys, values):
        scores = queries @ np.swapaxes(keys, -2, -1)
        exponentials = np.exp(scores)
        return exponentials / exponentials.sum(axis=-2, keepdims=True) @ values

    failure = failure_of(ATTEND, over_the_queries)
    assert size(failure) <= 20
    assert failure.difference.where.any()


def test_a_batch_that_alone_fails_is_kept():
    def no_batch(queries, keys, values):
        return attend(queries, keys, values) if queries.ndim == 2 else 0 * queries[..., :1]

    failure = failure_of(exercise_of(attend, [inputs(batch=(2,))]), no_batch)
    assert failure.arguments["queries"].ndim == 3


def test_a_shape_that_is_wrong_stays_wrong_in_the_same_way():
    failure = failure_of(ATTEND, lambda q, k, v: attend(q, k, v)[..., 0])
    assert failure.difference.where is None
    assert np.ndim(failure.difference.got) == np.ndim(failure.difference.wanted) - 1


def test_an_exception_stays_the_same_exception():
    def raises(queries, keys, values):
        if keys.shape[-2] == 1:
            raise RuntimeError("another one")
        raise ValueError(keys.shape)

    failure = failure_of(ATTEND, raises)
    assert failure.raised.type == "ValueError"
    assert failure.arguments["keys"].shape[-2] > 1


def test_what_the_reference_can_not_digest_is_no_example():
    def at_least_three(x):
        if len(x) < 3:
            raise ValueError("too short")
        return x.sum()

    lengths = []

    def remembers(x):
        lengths.append(len(x))
        return x.sum() + 1

    exercise = exercise_of(at_least_three, [Case(np.arange(7.0))])
    failure = failure_of(exercise, remembers)
    assert len(failure.arguments["x"]) == 3
    assert min(lengths) == 3  # an answer may never end on what the task rules out


def right_number(x, target):
    return np.take_along_axis(x, target[..., None], axis=-1)[..., 0]


@pytest.mark.parametrize(
    "case",
    [Case(np.arange(1.0, 6.0), np.array(0)), Case(np.ones((2, 3, 5)), np.ones((2, 3), dtype=int))],
)
def test_an_array_without_axes_stays_an_array(case):
    """An answer may index it, as in `target[..., None]`, which a Python number does not allow."""
    exercise = exercise_of(right_number, [case])
    failure = failure_of(exercise, lambda x, target: right_number(x, target) + 1)
    x, target = failure.arguments.values()
    assert isinstance(target, np.ndarray)
    assert x.shape == (*target.shape, int(target.max()) + 1)
    assert x.ndim < 3


def test_the_first_of_a_batch_is_an_array_even_where_it_is_one_number():
    def scaled(x, factors):
        return x * factors[..., None, None]

    exercise = exercise_of(scaled, [Case(np.ones((2, 3, 5)), np.array([2.0, 3.0]))])
    failure = failure_of(exercise, lambda x, factors: scaled(x, factors) + 1)
    x, factors = failure.arguments.values()
    assert isinstance(factors, np.ndarray)
    assert (x.shape, factors.shape) == ((1, 1), ())


def test_numbers_do_not_become_nan_on_the_way():
    def ratio(x):
        return x / x.sum()

    exercise = exercise_of(ratio, [Case(np.array([0.0, 0.0, 3.0, 5.0]))])
    failure = failure_of(exercise, lambda x: 2 * x / x.sum())
    assert np.isfinite(failure.difference.got).all()


def test_an_example_on_which_the_answer_is_nearly_right_is_no_example():
    """With one number x / (1 + eps) is 1 at a glance, though not to the last digit."""

    def share(x):
        return x / (np.abs(x).sum() + 1e-3)

    exercise = exercise_of(share, [Case(np.array([3.0, 1.0, 4.0]))])
    failure = failure_of(exercise, np.sign)
    (x,) = failure.arguments.values()
    assert len(x) == 2
    assert np.abs(failure.difference.got - failure.difference.wanted).max() > 0.1


def test_a_width_inside_a_module_becomes_smaller_too():
    class Hidden(torch.nn.Module):
        def __init__(self, d, hidden):
            super().__init__()
            self.A = torch.nn.Parameter(torch.ones(d, hidden))

        def forward(self, x):
            return (x @ self.A).sum(dim=-1)

    class Wrong(Hidden):
        def forward(self, x):
            return super().forward(x) + 1

    exercise = exercise_of(Hidden, [Case(torch.ones(3, 5), d=5, hidden=7)], kind="module")
    failure = failure_of(exercise, Wrong)
    assert failure.parameters["A"].shape == (1, 1)
    assert (failure.arguments["d"], failure.arguments["hidden"]) == (1, 1)


@pytest.mark.parametrize("slow", [True, False])
def test_it_gives_up_in_time(monkeypatch, slow):
    from attn_course.practice import shrinking

    ticks = iter(range(10_000))
    if slow:
        monkeypatch.setattr(shrinking.time, "monotonic", lambda: float(next(ticks)))
    failure = failure_of(ATTEND, lambda q, k, v: attend(q, k, v) + 1)
    assert (size(failure) > 4) == slow
