"""TVD, KL, JSD and the ceiling of JSD: SciPy as the oracle, P6.3 and P6.5."""

from math import inf, log

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy

from attn_course.alignment import softmax
from attn_course.evaluation.divergences import jsd, jsd_ceiling, kl, tvd

ROWS, K = 3, 7


def distributions(smallest=0.0):
    """Rows that add up to 1; some keys have exactly no weight unless there is a `smallest`."""
    numbers = arrays(np.float64, (ROWS, K), elements=st.just(smallest) | st.floats(0.01, 1))
    return numbers.filter(lambda x: (x.sum(-1) > 0).all()).map(lambda x: x / x.sum(-1)[:, None])


@pytest.mark.agrees("evaluation.kl", "SciPy")
@pytest.mark.agrees("evaluation.jsd", "SciPy")
@given(one=distributions(), other=distributions())
def test_they_agree_with_scipy(one, other):
    np.testing.assert_allclose(kl(one, other), entropy(one, other, axis=-1), atol=1e-12)
    # SciPy's is the root, and for equal rows its sum is sometimes rounded to just below 0.
    with np.errstate(invalid="ignore"):
        theirs = jensenshannon(one, other, axis=-1) ** 2
    np.testing.assert_allclose(jsd(one, other), np.nan_to_num(theirs), atol=1e-12)
    wanted = [
        max(abs((p - q)[list(event)].sum()) for event in events())
        for p, q in zip(one, other, strict=True)
    ]
    np.testing.assert_allclose(tvd(one, other), wanted, atol=1e-12)


def events():
    """All sets of keys: TVD is the largest difference any of them sees."""
    return [[l for l in range(K) if number >> l & 1] for number in range(1, 2**K)]


@given(one=distributions(), other=distributions())
def test_numpy_and_pytorch_agree(one, other):
    theirs = torch.from_numpy(one), torch.from_numpy(other)
    for distance in (tvd, kl, jsd):
        np.testing.assert_allclose(distance(*theirs).numpy(), distance(one, other), atol=1e-12)
    np.testing.assert_allclose(jsd_ceiling(theirs[0]).numpy(), jsd_ceiling(one), atol=1e-12)


@pytest.mark.proves("P6.3")
@given(one=distributions(), other=distributions())
def test_jsd_is_symmetric_between_zero_and_log_two_and_zero_for_equals_only(one, other):
    np.testing.assert_allclose(jsd(one, other), jsd(other, one), atol=1e-15)
    np.testing.assert_allclose(jsd(one, one), 0, atol=1e-15)
    assert (jsd(one, other) <= log(2) + 1e-12).all()
    assert (jsd(one, other) >= -1e-15).all()
    apart = tvd(one, other) > 1e-3
    assert (jsd(one, other)[apart] > 1e-8).all()


@pytest.mark.proves("P6.3")
def test_disjoint_supports_are_as_far_apart_as_can_be():
    one = np.array([0.25, 0.75, 0, 0, 0])
    other = np.array([0, 0, 0.5, 0.2, 0.3])
    assert jsd(one, other) == pytest.approx(log(2))
    assert tvd(one, other) == pytest.approx(1)
    assert kl(one, other) == inf


@pytest.mark.proves("P6.3")
@given(one=distributions(), other=distributions())
def test_tvd_lies_between_zero_and_one(one, other):
    assert ((tvd(one, other) >= 0) & (tvd(one, other) <= 1 + 1e-12)).all()
    np.testing.assert_array_equal(tvd(one, one), 0)


@pytest.mark.proves("P6.5")
@given(one=distributions(), other=distributions(smallest=0.01))
def test_pinsker(one, other):
    assert (tvd(one, other) <= np.sqrt(np.maximum(kl(one, other), 0) / 2) + 1e-9).all()


# --- the ceiling ------------------------------------------------------------------------------


@given(weights=distributions(), other=distributions(), mask=arrays(np.bool_, (ROWS, K)))
def test_no_distribution_over_the_same_keys_is_further_than_the_ceiling(weights, other, mask):
    mask[:, 3] = True
    weights = np.where(mask, weights + 1e-9, 0)
    weights /= weights.sum(-1, keepdims=True)
    other = np.where(mask, other + 1e-9, 0)
    other /= other.sum(-1, keepdims=True)
    ceiling = jsd_ceiling(weights, mask)
    assert (jsd(weights, other) <= ceiling + 1e-12).all()
    corners = np.stack([jsd(weights, np.eye(K)[[l] * ROWS]) for l in range(K)], axis=-1)
    np.testing.assert_allclose(ceiling, np.where(mask, corners, 0).max(-1), atol=1e-12)


def test_the_ceiling_over_uniform_weights_is_that_of_the_survey_of_seven_keys():
    assert jsd_ceiling(np.full(7, 1 / 7)) == pytest.approx(0.478, abs=5e-4)
    assert jsd_ceiling(np.full(12, 1 / 12)) == pytest.approx(0.546, abs=5e-4)


def test_with_one_key_there_is_nothing_else_and_with_none_no_ceiling():
    mask = np.array([[True, False, False], [False, False, False]])
    weights = softmax(np.zeros((2, 3)), mask=mask)
    np.testing.assert_allclose(jsd_ceiling(weights, mask), [0, np.nan], atol=1e-15)


# --- gradients, errors ------------------------------------------------------------------------


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=6)
def test_gradients_are_right_also_beside_masked_keys(seed):
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(ROWS, K, generator=generator, dtype=torch.float64).requires_grad_()
    mask = torch.rand(ROWS, K, generator=generator) < 0.7
    fixed = softmax(torch.randn(ROWS, K, generator=generator, dtype=torch.float64), mask=mask)
    for distance in (jsd, kl):
        assert torch.autograd.gradcheck(
            lambda e, distance=distance: distance(softmax(e, mask=mask), fixed), scores
        )


@pytest.mark.parametrize("distance", [tvd, kl, jsd])
def test_distributions_over_different_keys_are_refused(distance):
    with pytest.raises(ValueError, match=r"the first is \(2, 3\), the other \(2, 5\)"):
        distance(np.ones((2, 3)) / 3, np.ones((2, 5)) / 5)


@pytest.mark.parametrize("distance", [tvd, kl, jsd])
def test_batches_that_do_not_fit_are_refused(distance):
    with pytest.raises(ValueError, match=r"the first is \(2, 3\), the other \(5, 3\)"):
        distance(np.ones((2, 3)) / 3, np.ones((5, 3)) / 3)
