"""IoU of masks against scikit-learn, and of boxes against their masks."""

import re

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score, jaccard_score

from attn_course.evaluation.regions import box_iou, iou

SIDE = 11


def two_masks(seed, shape=(5, 7)):
    rng = np.random.default_rng(seed)
    mask, other = rng.random(shape) < 0.4, rng.random(shape) < 0.4
    mask[0, 0] = True  # not empty
    return mask, other


@pytest.mark.agrees("evaluation.iou", "scikit-learn")
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_iou_agrees_with_scikit_learn_and_with_f1(seed):
    mask, other = two_masks(seed)
    score = iou(mask, other)
    assert score == pytest.approx(jaccard_score(mask.ravel(), other.ravel()))
    f1 = f1_score(mask.ravel(), other.ravel())
    assert score == pytest.approx(f1 / (2 - f1))
    assert score == iou(other, mask) == iou(torch.from_numpy(mask), torch.from_numpy(other))


def test_iou_is_1_for_equal_0_for_apart_and_the_convention_for_empty_masks():
    mask, _ = two_masks(0)
    nothing = np.zeros_like(mask)
    assert iou(mask, mask) == 1
    assert iou(mask, ~mask) == iou(mask, nothing) == 0
    assert iou(nothing, nothing) == 1
    assert iou(nothing, nothing, both_empty=0.0) == 0


corners = st.integers(0, SIDE)
boxes = st.tuples(corners, corners, corners, corners).map(
    lambda c: (min(c[0], c[2]), min(c[1], c[3]), max(c[0], c[2]), max(c[1], c[3]))
)


def as_mask(box):
    left, top, right, bottom = box
    mask = np.zeros((SIDE, SIDE), dtype=bool)
    mask[top:bottom, left:right] = True
    return mask


@given(one=boxes, other=boxes)
def test_iou_of_boxes_is_that_of_their_masks(one, other):
    for both_empty in (0.0, 1.0):
        score = box_iou(np.array(one), np.array(other), both_empty=both_empty)
        wanted = iou(as_mask(one), as_mask(other), both_empty=both_empty)
        assert float(score) == pytest.approx(wanted)
        tensors = torch.tensor(one), torch.tensor(other)
        assert float(box_iou(*tensors, both_empty=both_empty)) == pytest.approx(wanted)


def test_each_box_is_compared_with_each_by_broadcasting():
    rng = np.random.default_rng(0)
    start = rng.uniform(0, 5, (5, 2))
    some = np.concatenate([start, start + rng.uniform(0, 5, (5, 2))], axis=1)
    table = box_iou(some[:3, None], some)
    assert table.shape == (3, 5)
    for i, j in np.ndindex(3, 5):
        assert table[i, j] == box_iou(some[i], some[j])
    assert table[0, 0] == 1


def test_where_iou_misleads_a_thin_line_one_pixel_off_is_as_wrong_as_one_far_away():
    line, beside, far = (np.eye(32, k=k) > 0 for k in (0, 1, 30))
    assert iou(line, beside) == iou(line, far) == 0
    box, beside, far = ([x, 0, x + 2, 2] for x in (0, 2, 90))
    assert box_iou(np.array(box), np.array([beside, far])).tolist() == [0, 0]


MASK = np.ones((5, 7), dtype=bool)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: iou(MASK, MASK.T), "other must be as mask is, = (5, 7), but is (7, 5)"),
        (lambda: iou(MASK, MASK * 0.3), "other must be boolean"),
        (lambda: iou(MASK * 1, MASK), "Choose a threshold, for example weights > 0.5"),
        (lambda: iou(MASK.tolist(), MASK), "mask must be an array"),
        (lambda: box_iou(np.ones(3), np.ones(4)), "left, top, right, bottom, but are (3,)"),
        (
            lambda: box_iou(np.array([5.0, 5, 2, 2]), np.ones(4)),
            "Are they given as (left, top, width, height)?",
        ),
    ],
)
def test_a_bad_input_gets_a_sentence_that_helps(call, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        call()
