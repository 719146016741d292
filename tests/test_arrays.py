"""What every formula owes to any array: any device, any mixture of numbers, a sentence if not."""

import re
from inspect import getmembers, isfunction

import numpy as np
import pytest
import torch

from attn_course import _arrays, activations, alignment, attention, scoring
from attn_course import nadaraya_watson as nw

B, Q, K, D, D_V, D_W = 2, 3, 7, 5, 11, 13  # every axis its own prime


def arrays_on(device):
    """Return a function that makes arrays of ones there, of the given shape."""
    return lambda *size, dtype=torch.float32: torch.ones(size, dtype=dtype, device=device)


def pairs(make):
    return {"queries": make(B, Q, D), "keys": make(B, K, D)}


def with_mask(make):
    return {"scores": make(B, Q, K), "mask": make(B, 1, K, dtype=torch.bool)}


def points(make):
    return {"queries": make(B, Q), "keys": make(B, K), "mask": make(Q, K, dtype=torch.bool)}


def hidden(make):
    return {"w": make(D_W), "W_q": make(D_W, D), "W_k": make(D_W, D), "b": make(D_W)}


def choices(make):
    return {"scores": make(K), "rewards": make(K), "mask": make(K, dtype=torch.bool)}


def drawn(make):
    return {"scores": make(K), "choices": make(Q, K), "rewards": make(Q)}


ALIGN = {
    "softmax": with_mask,
    "softmax_off_by_one": with_mask,
    "softmax_with_sink": lambda make: with_mask(make) | {"sink": make(B, Q, 1)},
    "sparsemax": with_mask,
    "entmax15": with_mask,
    "hard": lambda make: with_mask(make) | {"rng": torch.Generator()},
    "expected_reward_gradient": choices,
    "score_function_gradient": drawn,
    "optimal_baseline": choices,
    "local_monotonic": lambda make: with_mask(make) | {"steps": make(B, Q), "half_width": 2},
    "local_predictive": lambda make: with_mask(make) | {"positions": make(B, Q), "half_width": 2},
    "predict_positions": lambda make: {
        "queries": make(B, Q, D),
        "w_p": make(D_W),
        "W_p": make(D_W, D),
        "lengths": make(B),
    },
    "reinforced": lambda make: with_mask(make) | {"selection": make(B, K, dtype=torch.bool)},
    "selection_probabilities": lambda make: {
        "features": make(B, K, D),
        "w": make(D_W),
        "W": make(D_W, 3 * D),
        "b": make(D_W),
        "mask": make(B, K, dtype=torch.bool),
    },
    "select": lambda make: {"probabilities": make(B, K), "rng": torch.Generator()},
    "selection_log_probability": lambda make: {
        "probabilities": make(B, K),
        "selection": make(B, K, dtype=torch.bool),
    },
    "padding_mask": lambda make: {"lengths": make(B, dtype=torch.int64), "k": K},
    "causal_mask": lambda make: {"query_positions": Q, "key_positions": K, "like": make(1)},
    "window_mask": lambda make: {
        "query_positions": make(B, Q),
        "key_positions": make(K),
        "half_width": 2,
    },
    "sliding_window_mask": lambda make: {
        "query_positions": make(B, Q),
        "key_positions": make(K),
        "width": 2,
    },
}
SCORE = {
    "additive": lambda make: pairs(make) | hidden(make),
    "dot": pairs,
    "scaled_dot": pairs,
    "general": lambda make: pairs(make) | {"W": make(D, D)},
    "biased_general": lambda make: pairs(make) | {"W": make(D, D), "b": make(D)},
    "activated_general": lambda make: pairs(make) | {"W": make(D, D), "b": make()},
    "similarity": pairs,
    "no_query": lambda make: {
        "keys": make(B, K, D),
        "w": make(D_W),
        "W": make(D_W, D),
        "b": make(D_W),
    },
}
ATTEND = {
    "attend": lambda make: (
        pairs(make) | {"values": make(B, K, D_V), "mask": make(B, 1, K, dtype=torch.bool)}
    ),
    "attend_by_scores": lambda make: {
        "scores": make(B, Q, K),
        "values": make(B, K, D_V),
        "mask": make(B, 1, K, dtype=torch.bool),
    },
    "with_broken_values": lambda make: {
        "context": make(Q, D),
        "values": make(K, D),
        "mask": make(Q, K, dtype=torch.bool),
    },
    "mean_feature": lambda make: {
        "features": make(B, K, D),
        "mask": make(B, K, dtype=torch.bool),
    },
}
REGRESS = {
    "true_curve": lambda make: {"x": make(K)},
    "gaussian": lambda make: {"u": make(K)},
    "boxcar": lambda make: {"u": make(K)},
    "triangular": lambda make: {"u": make(K)},
    "epanechnikov": lambda make: {"u": make(K)},
    "weights": lambda make: points(make) | {"kernel": "boxcar"},
    "regress": lambda make: points(make) | {"values": make(B, K)},
    "log_kernel": lambda make: {"queries": make(Q, 1), "keys": make(K, 1), "kernel": "boxcar"},
    "loss": lambda make: {"inputs": make(K), "targets": make(K)},
    "loss_gradient": lambda make: {"inputs": make(K), "targets": make(K)},
}
ACTIVATE = {name: lambda make: {"x": make(K)} for name in activations.ACTIVATIONS}
MODULES = {
    scoring: SCORE,
    alignment: ALIGN,
    attention: ATTEND,
    nw: REGRESS,
    activations: ACTIVATE,
}
# Their answers are NumPy's, or plain numbers, or a function, wherever the arrays are.
ELSEWHERE = {"noisy_curve", "leave_one_out_mask", "gradient_descent", "activation"}
CALLS = [
    pytest.param(getattr(module, name), inputs, id=name)
    for module, calls in MODULES.items()
    for name, inputs in calls.items()
]


def tensors(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize(("function", "inputs"), CALLS)
def test_a_result_lies_on_the_device_of_its_inputs_and_has_the_shape_it_has_on_the_cpu(
    function, inputs
):
    there = tensors(function(**inputs(arrays_on("meta"))))
    here = tensors(function(**inputs(arrays_on("cpu"))))
    assert [t.device.type for t in there] == ["meta"] * len(here)
    assert [t.shape for t in there] == [t.shape for t in here]
    assert [t.dtype for t in there] == [t.dtype for t in here]


@pytest.mark.parametrize("module", MODULES)
def test_no_public_function_is_left_out(module):
    public = {
        name
        for name, function in getmembers(module, isfunction)
        if f"{function.__module__}.".startswith(f"{module.__name__}.") and not name.startswith("_")
    }
    assert public - ELSEWHERE == set(MODULES[module])


# --- numbers of different kinds ----------------------------------------------------------------

MULTIPLYING = SCORE | {name: ATTEND[name] for name in ["attend"]}
MULTIPLYING |= {name: ALIGN[name] for name in ["predict_positions", "selection_probabilities"]}
MULTIPLYING |= {name: REGRESS[name] for name in ["regress", "loss_gradient"]}


def is_floating(array):
    return isinstance(array, torch.Tensor) and array.is_floating_point()


def whole_numbers(*size, dtype=torch.float64):
    """Return the whole numbers from -2 to 2, over and over; as truth values, four of five True."""
    count = torch.arange(int(np.prod(size))) % 5 - 2
    return count.reshape(size).to(dtype)


@pytest.mark.parametrize("other", [torch.float32, torch.int64])
@pytest.mark.parametrize("name", MULTIPLYING)
def test_numbers_of_another_dtype_are_promoted_as_numpy_does(name, other):
    function = next(getattr(module, name) for module in MODULES if hasattr(module, name))
    wanted = MULTIPLYING[name](whole_numbers)
    for changed in [key for key, array in wanted.items() if is_floating(array)]:
        mixed = wanted | {changed: wanted[changed].to(other)}
        for ours, theirs in zip(
            tensors(function(**mixed)), tensors(function(**wanted)), strict=True
        ):
            torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("name", ["softmax", "sparsemax", "entmax15"])
def test_integer_scores_are_scores(name):
    align = getattr(alignment, name)
    whole = np.array([[3, 1, 2, -4, 3]])
    np.testing.assert_allclose(align(whole), align(whole.astype(float)))
    torch.testing.assert_close(align(torch.tensor(whole)), align(torch.tensor(whole).float()))


def test_integers_alone_become_the_floating_numbers_of_their_library():
    assert scoring.scaled_dot(torch.ones(1, 5, dtype=int), torch.ones(3, 5, dtype=int)).dtype == (
        torch.get_default_dtype()
    )
    assert scoring.scaled_dot(np.ones((1, 5), int), np.ones((3, 5), int)).dtype == np.float64


# --- leading axes ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [((), ()), ((2,), ()), ((2, 3), (3,)), ((5, 1), (1, 7)), ((1,), (5,)), ((0,), (1,))],
)
def test_leading_axes_are_shared_as_numpy_shares_them(one, other):
    shared = _arrays.batch_shape(a=np.ones((*one, 2, 3)), b=np.ones((*other, 5, 7)))
    assert shared == np.broadcast_shapes(one, other)


@pytest.mark.parametrize(("one", "other"), [((2,), (3,)), ((2, 3), (2,)), ((0,), (2,))])
def test_leading_axes_that_do_not_fit_are_named(one, other):
    a, b = np.ones((*one, 2, 3)), np.ones((*other, 5, 7))
    sentence = f"the leading axes do not fit: left are {a.shape}, right are {b.shape}."
    with pytest.raises(ValueError, match=re.escape(sentence)):
        _arrays.batch_shape(left=a, right=b)
