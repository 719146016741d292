"""What a type checker knows of the formulas: NumPy in, NumPy out; tensors in, tensors out.

mypy reads this file with the package (`make types`) and checks every `assert_type`. It also reports
a `type: ignore` without an error under it, so the calls that must be refused are checked as well.
pytest runs the same calls, so the types are those of the values that come out.
"""

from functools import partial
from typing import Any, assert_type

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor

from attn_course import alignment, attend, evaluation, nadaraya_watson, scoring, softmax
from attn_course.activations import activation
from attn_course.dimensionality import attend_multi, multi_scores

AnyNumbers = npt.NDArray[Any]

ROW: npt.NDArray[np.float64] = np.ones(3)
ARRAY: npt.NDArray[np.float64] = np.ones((3, 3))
MASK: npt.NDArray[np.bool_] = np.ones((3, 3), dtype=bool)
TENSOR: Tensor = torch.ones(3, 3)


def test_numpy_arrays_become_numpy_arrays() -> None:
    context, weights = attend(ARRAY, ARRAY, ARRAY, mask=MASK)
    scores = scoring.additive(ARRAY, ARRAY, ROW, ARRAY, ARRAY)
    assert_type(context, AnyNumbers)
    assert_type(weights, AnyNumbers)
    assert_type(scores, AnyNumbers)
    assert_type(softmax(scores, MASK, temperature=2.0), AnyNumbers)
    assert_type(alignment.softmax_off_by_one(scores), AnyNumbers)
    assert_type(alignment.softmax_with_sink(scores, sink=ARRAY[:, :1]), AnyNumbers)
    assert_type(evaluation.tvd(weights, weights), AnyNumbers)
    assert_type(nadaraya_watson.weights(ROW, ROW), AnyNumbers)
    entry_score = partial(multi_scores, W_d=ARRAY, W_q=ARRAY, W_k=ARRAY)
    entries, _weights = attend_multi(ARRAY, ARRAY, ARRAY, entry_score)
    assert_type(entries, AnyNumbers)
    for found in (context, weights, scores, entries):
        assert isinstance(found, np.ndarray)


def test_tensors_become_tensors() -> None:
    context, weights = attend(TENSOR, TENSOR, TENSOR, align="sparsemax", mask=TENSOR > 0)
    scores = scoring.general(TENSOR, TENSOR, W=TENSOR)
    assert_type(context, Tensor)
    assert_type(weights, Tensor)
    assert_type(scores, Tensor)
    assert_type(alignment.entmax15(scores), Tensor)
    assert_type(evaluation.jsd(weights, weights), Tensor)
    for found in (context, weights, scores):
        assert isinstance(found, Tensor)


def test_a_score_with_parameters_can_be_handed_over() -> None:
    context, _weights = attend(ARRAY, ARRAY, ARRAY, score=partial(scoring.general, W=ARRAY))
    assert_type(context, AnyNumbers)
    assert isinstance(context, np.ndarray)


def test_an_activation_works_on_both() -> None:
    assert_type(activation("relu")(TENSOR), Tensor)
    assert_type(activation("relu")(ARRAY), AnyNumbers)
    assert isinstance(activation("relu")(TENSOR), Tensor)


def test_arrays_of_two_libraries_are_refused_before_and_during_the_run() -> None:
    with pytest.raises(ValueError, match="all arrays must come from one library"):
        attend(ARRAY, TENSOR, ARRAY)  # type: ignore[type-var]


def test_a_list_is_refused_before_and_during_the_run() -> None:
    with pytest.raises(ValueError, match="scores must be an array"):
        softmax([[1.0, 2.0]])  # type: ignore[type-var]
