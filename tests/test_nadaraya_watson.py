"""Nadaraya–Watson: its definition in loops, scikit-learn, the fixtures and properties P8.1–P8.3."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import rbf_kernel

from attn_course import nadaraya_watson as nw
from attn_course.alignment import softmax
from attn_course.definitions import nadaraya_watson as definition
from attn_course.scoring import dot

LOOPS = {
    "gaussian": definition.gaussian,
    "boxcar": definition.boxcar,
    "triangular": definition.triangular,
    "epanechnikov": definition.epanechnikov,
}
KERNEL_NAMES = list(LOOPS)
seeds = st.integers(0, 2**32 - 1)

# Noise-free points of the chapter: targets are the true curve, rounded to six digits.
FIXTURE_X = np.array([0.5, 1, 2, 3.5, 4.5])
FIXTURE_Y = np.array([1.533200, 2.682942, 3.559696, 2.022730, 1.375904])


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def curve():
    return nw.noisy_curve(np.random.default_rng(0))


# --- agreement ---------------------------------------------------------------------------------


@pytest.mark.agrees("nadaraya_watson.weights", "definitions.nadaraya_watson.weights")
@pytest.mark.agrees("nadaraya_watson.regress", "definitions.nadaraya_watson.regress")
@given(seed=seeds, w=st.floats(-3, 3), kernel=st.sampled_from(KERNEL_NAMES), masked=st.booleans())
def test_weights_and_predictions_agree_with_the_definition_in_loops(seed, w, kernel, masked):
    rng = np.random.default_rng(seed)
    queries, keys, values = rng.normal(size=3), rng.normal(size=7), rng.normal(size=7)
    mask = rng.random((3, 7)) < 0.5 if masked else None
    weights = nw.weights(queries, keys, w, mask, kernel)
    predictions = nw.regress(queries, keys, values, w, mask, kernel)
    assert weights.shape == (3, 7)
    assert predictions.shape == (3,)
    for i, query in enumerate(queries):
        row = None if mask is None else mask[i]
        loop = LOOPS[kernel]
        a = definition.weights(query, keys, w, row, loop)
        f = definition.regress(query, keys, values, w, row, loop)
        np.testing.assert_allclose(weights[i], a, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(predictions[i], f, rtol=1e-9, atol=1e-12)


@pytest.mark.agrees("nadaraya_watson.weights", "scikit-learn")
def test_gaussian_weights_are_scikit_learns_rbf_kernel_normalised(rng):
    queries, keys = rng.normal(size=5), rng.normal(size=11)
    kernel = rbf_kernel(queries[:, None], keys[:, None], gamma=0.5 * 1.7**2)
    theirs = kernel / kernel.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(nw.weights(queries, keys, w=1.7), theirs)


@pytest.mark.agrees("nadaraya_watson.gaussian", "definitions.nadaraya_watson.gaussian")
@pytest.mark.agrees("nadaraya_watson.boxcar", "definitions.nadaraya_watson.boxcar")
@pytest.mark.agrees("nadaraya_watson.triangular", "definitions.nadaraya_watson.triangular")
@pytest.mark.agrees("nadaraya_watson.epanechnikov", "definitions.nadaraya_watson.epanechnikov")
@pytest.mark.parametrize("kernel", KERNEL_NAMES)
def test_kernels_agree_with_the_definition_on_a_grid(kernel):
    grid = np.linspace(-2, 2, 41)
    wanted = [LOOPS[kernel](u) for u in grid]
    np.testing.assert_allclose(nw.KERNELS[kernel](grid), wanted, atol=1e-15)


def test_every_kernel_has_its_loop():
    assert list(nw.KERNELS) == KERNEL_NAMES


def test_the_kernels_have_the_shapes_their_names_say():
    half = np.array([0.5])
    assert nw.boxcar(half) == 1
    assert nw.triangular(half) == 0.5
    assert nw.epanechnikov(half) == 0.75
    np.testing.assert_allclose(nw.gaussian(half), np.exp(-0.125))


def test_numpy_and_pytorch_agree(rng):
    arrays = rng.normal(size=(2, 3)), rng.normal(size=(2, 7)), rng.normal(size=(2, 7))
    mask = rng.random((2, 3, 7)) < 0.5
    for kernel in KERNEL_NAMES:
        ours = nw.regress(*arrays, 0.8, mask, kernel)
        tensors = [torch.from_numpy(a) for a in (*arrays, mask)]
        theirs = nw.regress(*tensors[:3], 0.8, tensors[3], kernel)
        np.testing.assert_allclose(theirs.numpy(), ours, atol=1e-14)


def test_a_batch_is_the_same_as_one_at_a_time(rng):
    queries, keys, values = (rng.normal(size=(5, n)) for n in (3, 7, 7))
    together = nw.regress(queries, keys, values, w=2.0)
    for b in range(5):
        np.testing.assert_allclose(together[b], nw.regress(queries[b], keys[b], values[b], w=2.0))


@pytest.mark.parametrize("kernel", KERNEL_NAMES)
def test_masks_and_batches_that_do_not_fit_get_a_sentence(kernel):
    x = torch.ones(2, 7)
    with pytest.raises(ValueError, match="mask must be boolean"):
        nw.regress(x, x, x, mask=torch.ones(7, 7), kernel=kernel)
    with pytest.raises(ValueError, match="mask must broadcast to the scores"):
        nw.weights(x, x, mask=torch.ones(7, 5, dtype=torch.bool), kernel=kernel)
    with pytest.raises(ValueError, match="the leading axes do not fit"):
        nw.regress(torch.ones(3, 5), x, x, kernel=kernel)


# --- the numbers of the chapter ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("w", "loo", "loo_gradient", "kept", "kept_gradient"),
    [
        (0.0, 2.524295, 0.0, 1.615549, 0.0),
        (0.5, 2.764160, 0.140472, 1.353498, -1.280928),
        (1.0, 2.238414, -1.299692, 0.653994, -1.119427),
        (2.0, 1.812829, 0.189919, 0.168412, -0.123200),
        (4.0, 2.118898, 0.017125, 0.018743, -0.032890),
    ],
)
def test_loss_and_gradient_at_the_fixture(w, loo, loo_gradient, kept, kept_gradient):
    at = (FIXTURE_X, FIXTURE_Y, w)
    assert nw.loss(*at) == pytest.approx(loo, abs=3e-6)
    assert nw.loss_gradient(*at) == pytest.approx(loo_gradient, abs=3e-6)
    assert nw.loss(*at, leave_one_out=False) == pytest.approx(kept, abs=3e-6)
    assert nw.loss_gradient(*at, leave_one_out=False) == pytest.approx(kept_gradient, abs=3e-6)


def test_leave_one_out_predictions_at_the_fixture():
    mask = nw.leave_one_out_mask(5)
    predictions = nw.regress(FIXTURE_X, FIXTURE_X, FIXTURE_Y, 1.0, mask)
    wanted = [2.910145, 2.347645, 2.186676, 2.154778, 2.128106]
    np.testing.assert_allclose(predictions, wanted, atol=2e-6)


def test_the_minimiser_of_the_fixture_is_where_the_gradient_vanishes():
    assert abs(nw.loss_gradient(FIXTURE_X, FIXTURE_Y, 1.7684)) < 1e-4
    assert nw.loss(FIXTURE_X, FIXTURE_Y, 1.7684) == pytest.approx(1.788635, abs=1e-5)


def test_gradient_descent_finds_the_bandwidth_that_predicts_best(curve):
    path = nw.gradient_descent(*curve, w=0.5, learning_rate=0.1, steps=600)
    assert path[0] == 0.5
    assert path[-1] == pytest.approx(4.929, abs=1e-3)
    grid = np.arange(0, 5, 0.1)

    def error_of(w):
        return np.mean((nw.regress(grid, *curve, w) - nw.true_curve(grid)) ** 2)

    errors = [error_of(w) for w in (0.0, 1.0, path[-1], 60.0)]
    np.testing.assert_allclose(errors, [0.889, 0.301, 0.028, 0.266], atol=1e-3)


def test_the_data_have_noise_of_the_stated_standard_deviation():
    x, y = nw.noisy_curve(np.random.default_rng(1), n=20_000)
    residual = y - nw.true_curve(x)
    assert (np.diff(x) >= 0).all()
    assert residual.std() == pytest.approx(0.5, abs=0.01)


# --- gradients ---------------------------------------------------------------------------------


@pytest.mark.agrees("nadaraya_watson.loss_gradient", "definitions.nadaraya_watson.loss_gradient")
@given(seed=seeds, w=st.floats(0.1, 5), leave_one_out=st.booleans())
def test_the_closed_form_gradient_agrees_with_the_loops_and_with_autograd(seed, w, leave_one_out):
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(0, 5, 7), rng.normal(size=7)
    closed_form = nw.loss_gradient(x, y, w, leave_one_out)
    loops = definition.loss_gradient(list(x), list(y), w, leave_one_out)
    parameter = torch.tensor(w, dtype=torch.float64, requires_grad=True)
    nw.loss(torch.from_numpy(x), torch.from_numpy(y), parameter, leave_one_out).backward()
    np.testing.assert_allclose(closed_form, loops, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(closed_form, parameter.grad.item(), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("kernel", ["gaussian", "triangular", "epanechnikov"])
def test_gradcheck_through_queries_keys_values_and_w(rng, kernel):
    sizes = ((3,), (7,), (7,), ())
    arrays = [torch.from_numpy(rng.normal(size=s)).requires_grad_() for s in sizes]
    mask = torch.from_numpy(rng.random((3, 7)) < 0.7)

    def predict(q, k, v, w):
        return nw.regress(q, k, v, w, mask, kernel)

    assert torch.autograd.gradcheck(predict, arrays)


def test_the_module_trains_as_the_closed_form_does(curve):
    x, y = (torch.from_numpy(a) for a in curve)
    mask = torch.from_numpy(nw.leave_one_out_mask(50))
    model = nw.NadarayaWatson(w=0.5).double()
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(20):
        optimiser.zero_grad()
        (0.5 * (model(x, x, y, mask) - y).square().sum()).backward()
        optimiser.step()
    path = nw.gradient_descent(*curve, w=0.5, learning_rate=0.1, steps=20)
    assert model.w.item() == pytest.approx(path[-1], abs=1e-6)


# --- properties --------------------------------------------------------------------------------


@pytest.mark.proves("P8.1")
@given(seed=seeds, w=st.floats(0, 10))
def test_the_loss_is_even_in_w_and_flat_at_zero(seed, w):
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(0, 5, 7), rng.normal(size=7)
    assert nw.loss(x, y, w) == pytest.approx(nw.loss(x, y, -w))
    assert nw.loss_gradient(x, y, 0.0) == 0


@pytest.mark.proves("P8.2")
def test_small_w_averages_and_large_w_takes_the_nearest(rng):
    keys, values = np.array([0.0, 1.0, 3.0, 3.0]), rng.normal(size=4)
    queries = np.array([0.1, 2.9])
    np.testing.assert_allclose(nw.regress(queries, keys, values, 0.0), [values.mean()] * 2)
    nearest = nw.regress(queries, keys, values, 1e6)
    np.testing.assert_allclose(nearest, [values[0], values[2:].mean()])  # a tie is shared


@pytest.mark.proves("P8.2")
def test_leave_one_out_at_w_zero_is_the_mean_of_the_others(rng):
    y = rng.normal(size=5)
    predictions = nw.regress(np.arange(5.0), np.arange(5.0), y, 0.0, nw.leave_one_out_mask(5))
    np.testing.assert_allclose(predictions, [np.delete(y, i).mean() for i in range(5)])


@pytest.mark.proves("P8.3")
def test_w_one_is_the_estimator_without_a_parameter(rng):
    queries, keys = rng.normal(size=3), rng.normal(size=7)
    np.testing.assert_allclose(nw.weights(queries, keys), nw.weights(queries, keys, w=1.0))
    loops = [definition.weights(q, keys) for q in queries]
    np.testing.assert_allclose(nw.weights(queries, keys), loops)


def test_keys_of_equal_norm_make_it_dot_product_attention(rng):
    # On the line only -c and c have equal norm; the penalty is then the same for all keys.
    queries, keys, w = rng.normal(size=(3, 1)), np.array([[-1.5], [1.5]]), 0.7
    np.testing.assert_allclose(
        nw.weights(queries[:, 0], keys[:, 0], w), softmax(dot(w**2 * queries, keys))
    )


def test_self_included_loss_runs_to_zero_and_leave_one_out_does_not(curve):
    kept = [nw.loss(*curve, w, leave_one_out=False) for w in (5, 20, 60, 2000)]
    assert (np.diff(kept) < 0).all()
    assert kept[-1] < 0.1
    assert nw.loss(*curve, 2000) > 5


def test_a_query_out_of_every_reach_gets_no_weight():
    weights = nw.weights(np.array([0.0, 9.0]), np.array([0.2, 0.4]), w=1.0, kernel="epanechnikov")
    np.testing.assert_allclose(weights.sum(-1), [1, 0])
    assert nw.regress(np.array([9.0]), np.array([0.2]), np.array([5.0]), kernel="boxcar") == 0


def test_a_far_query_still_finds_its_nearest_key_under_the_gaussian():
    weights = nw.weights(np.array([1000.0]), np.array([1.0, 2.0, 3.0]), w=2.0)
    np.testing.assert_allclose(weights, [[0, 0, 1]], atol=1e-12)


# --- errors ------------------------------------------------------------------------------------


def test_an_unknown_kernel_is_refused_with_the_list_of_kernels():
    with pytest.raises(ValueError, match="one of gaussian, boxcar, triangular, epanechnikov"):
        nw.weights(np.ones(2), np.ones(3), kernel="epanechikov")


def test_a_bare_number_is_refused_with_advice():
    with pytest.raises(ValueError, match="queries must be an array"):
        nw.weights(1.0, np.ones(3))
    with pytest.raises(ValueError, match="one number a point"):
        nw.weights(np.float64(1.0).reshape(()), np.ones(3))


def test_keys_and_values_must_be_as_many():
    with pytest.raises(ValueError, match="3 keys meet 2 values"):
        nw.regress(np.ones(1), np.ones(3), np.ones(2))
