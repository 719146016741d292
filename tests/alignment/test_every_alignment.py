"""What every alignment owes: NaN, masks, extreme scores, and a sentence for a bad input."""

import re
from functools import partial

import numpy as np
import pytest
import torch

from attn_course import alignment
from attn_course.alignment import softmax
from attn_course.attention import attend

FIXTURE = np.array([[0.1, 0.4, -0.2, 0.3, 0.0, 0.5, -0.1, 0.2]])


SUM_TO_ONE = ["softmax", "sparsemax", "entmax15", "hard"]


@pytest.mark.parametrize("name", [*SUM_TO_ONE, "softmax_off_by_one", "softmax_with_sink"])
@pytest.mark.parametrize("masked", [False, True])
def test_nan_is_passed_on_in_its_own_row_alone(name, masked):
    scores = np.array([[1.0, np.nan, 0.5, 2.0], [1.0, 0.0, 0.5, 2.0]])
    mask = np.array([True, True, True, False]) if masked else None
    parameters = {"rng": np.random.default_rng(0)} if name == "hard" else {}
    weights = getattr(alignment, name)(scores, mask=mask, **parameters)
    assert np.isnan(weights[0, :3]).all()
    assert np.isfinite(weights[1]).all()
    if name in SUM_TO_ONE:
        np.testing.assert_allclose(weights[1].sum(), 1)


ALIGNMENTS = {
    "softmax": softmax,
    "softmax_off_by_one": alignment.softmax_off_by_one,
    "softmax_with_sink": partial(alignment.softmax_with_sink, sink=2.5),
    "sparsemax": alignment.sparsemax,
    "entmax15": alignment.entmax15,
    "hard": partial(alignment.hard, rng=torch.Generator().manual_seed(0)),
    "local_monotonic": partial(
        alignment.local_monotonic, steps=torch.tensor([1.0, 2.0, 7.0]), half_width=2
    ),
    "local_predictive": partial(
        alignment.local_predictive, positions=torch.tensor([0.5, 3.3, 6.9]), half_width=2
    ),
    "reinforced": partial(alignment.reinforced, selection=torch.arange(7) % 2 == 0),
}


@pytest.mark.parametrize("name", ALIGNMENTS)
def test_every_alignment_can_be_handed_to_attend_with_its_zero_policy(name):
    torch.manual_seed(0)
    queries, keys, values = torch.randn(2, 3, 5), torch.randn(2, 7, 5), torch.randn(2, 7, 2)
    values[:, 6] = torch.nan
    mask = torch.ones(2, 3, 7, dtype=torch.bool)
    mask[..., 6] = False
    mask[0, 1] = False
    context, weights = attend(queries, keys, values, align=ALIGNMENTS[name], mask=mask)
    assert torch.isfinite(context).all()
    assert (weights[~mask] == 0).all()
    assert (context[0, 1] == 0).all()
    assert (weights.sum(-1) <= 1 + 1e-6).all()


@pytest.mark.parametrize("name", [name for name in ALIGNMENTS if name != "hard"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_extreme_scores_in_any_precision_stay_finite(name, dtype):
    scores = torch.tensor([[1e4, -1e4, 0, 1, 2, 3, 4]] * 3, dtype=dtype, requires_grad=True)
    weights = ALIGNMENTS[name](scores, mask=torch.ones(3, 7, dtype=torch.bool))
    weights.sum().backward()
    assert weights.dtype == dtype
    assert torch.isfinite(weights).all()
    assert torch.isfinite(scores.grad).all()


BAD_MASKS = {
    "local_monotonic": {"steps": np.array([2.0]), "half_width": 1},
    "local_predictive": {"positions": np.array([2.0]), "half_width": 1},
    "reinforced": {"selection": np.ones(8, dtype=bool)},
    "softmax": {},
    "softmax_off_by_one": {},
    "softmax_with_sink": {"sink": 2.5},
    "sparsemax": {},
    "entmax15": {},
    "hard": {"rng": np.random.default_rng(0)},
}


@pytest.mark.parametrize("name", BAD_MASKS)
@pytest.mark.parametrize(
    ("mask", "sentence"),
    [
        (np.ones((1, 8)), "mask must be boolean"),
        (np.ones((1, 7), dtype=bool), "mask must broadcast to the scores"),
    ],
)
def test_a_mask_that_is_none_is_refused_by_every_alignment(name, mask, sentence):
    with pytest.raises(ValueError, match=sentence):
        getattr(alignment, name)(FIXTURE, mask=mask, **BAD_MASKS[name])


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: alignment.local_monotonic(np.zeros(5), np.array([2.0]), 1),
            "scores must be (..., q, k), but came as (5,)",
        ),
        (lambda: softmax(np.array(1.0)), "scores must be (..., q, k), but came as ()"),
        (
            lambda: alignment.reinforced(FIXTURE, [True, False]),
            "selection must be an array (NumPy, PyTorch, …), but is a list",
        ),
        (
            lambda: alignment.reinforced(FIXTURE, np.ones(8)),
            "selection must be boolean",
        ),
        (
            lambda: alignment.reinforced(FIXTURE, np.ones(7, dtype=bool)),
            "selection must broadcast to the scores (1, 8), but is (1, 7)",
        ),
        (
            lambda: alignment.selection_probabilities(
                np.ones(5), np.ones(3), np.ones((3, 15)), np.ones(3)
            ),
            "features must be (..., k, d), but came as (5,)",
        ),
        (
            lambda: alignment.selection_probabilities(
                np.ones((7, 5)), np.ones(3), np.ones((3, 15)), np.ones(3), mask=np.ones(7)
            ),
            "mask must be boolean",
        ),
    ],
)
def test_a_bad_input_gets_a_sentence_that_helps(call, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        call()


def _warm(scores, mask, others):
    return softmax(scores, mask, temperature=others[0, 0].exp())


JUNK_BEHIND_A_MASK = {
    "softmax": lambda scores, mask, others: softmax(scores, mask),
    "softmax of a trained temperature": _warm,
    "softmax_off_by_one": lambda scores, mask, others: alignment.softmax_off_by_one(scores, mask),
    "softmax_with_sink": lambda scores, mask, others: alignment.softmax_with_sink(
        scores, mask, others[:, :1].where(mask[:, :1], 0.0)
    ),
    "sparsemax": lambda scores, mask, others: alignment.sparsemax(scores, mask),
    "entmax15": lambda scores, mask, others: alignment.entmax15(scores, mask),
    "local_predictive": lambda scores, mask, others: alignment.local_predictive(
        scores, 3 + others[:, 0], 2, mask
    ),
    "reinforced": lambda scores, mask, others: alignment.reinforced(scores, others[0] < 9, mask),
    "expected_reward_gradient": lambda scores, mask, others: alignment.expected_reward_gradient(
        scores, others, mask
    ),
    "optimal_baseline": lambda scores, mask, others: alignment.optimal_baseline(
        scores[:2], others[:2], mask[:2]
    ),
}


@pytest.mark.parametrize("junk", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("align", JUNK_BEHIND_A_MASK.values(), ids=JUNK_BEHIND_A_MASK)
def test_junk_behind_a_mask_changes_no_weight_and_no_gradient(align, junk):
    mask = torch.tensor([[True] * 5 + [False] * 2, [True] * 4 + [False] * 3, [False] * 7])

    def answers(filling):
        scores, others = torch.randn(2, 3, 7, generator=torch.Generator().manual_seed(0)).double()
        arrays = [x.where(mask, filling).requires_grad_() for x in (scores, others)]
        weights = align(arrays[0], mask, arrays[1])
        gradients = torch.autograd.grad(weights.square().sum(), arrays, allow_unused=True)
        return weights, *(g for g in gradients if g is not None)

    for found, wanted in zip(answers(junk), answers(0.0), strict=True):
        torch.testing.assert_close(found, wanted)
