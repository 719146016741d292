"""IoU of regions: the mean over images, and counted over all images at once."""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.translate import _


@reference
def iou(masks, others, both_empty):
    if masks.ndim != 3 or masks.shape != others.shape or not 0 <= both_empty <= 1:
        raise ValueError("images of one size")  # where inputs are changed
    scores, all_both, all_either = [], 0, 0
    for mask, other in zip(masks, others, strict=True):
        pairs = list(zip(mask.ravel().tolist(), other.ravel().tolist(), strict=True))
        both = sum(one and two for one, two in pairs)
        either = sum(one or two for one, two in pairs)
        scores.append(both / either if either else both_empty)
        all_both, all_either = all_both + both, all_either + either
    return sum(scores) / len(scores), all_both / all_either if all_either else both_empty


def _regions(rng, n, h, w):
    """Return masks and others that overlap, with pixels in one of them alone and in neither.

    The second image has a smaller region than the first, so a mean over images is no pooled IoU.
    """
    masks, others = np.zeros((n, h, w), dtype=bool), np.zeros((n, h, w), dtype=bool)
    for image in range(n):
        order = rng.permutation(h * w)
        if image == 1:
            one, two = order[:2], order[:1]  # 1 of 2
        else:
            m = h * w
            one, two = order[: m // 2], order[m // 6 : m - 1]
        masks[image].ravel()[one] = True
        others[image].ravel()[two] = True
    return masks, others


@iou.cases(points=2, label=_("regions that overlap, large ones and small ones"))
def overlapping(rng):
    yield Case(*_regions(rng, 1, 3, 4), 1.0)
    yield Case(*_regions(rng, 2, 3, 4), 1.0)
    yield Case(*_regions(rng, 3, 4, 5), 0.0)
    yield Case(*_regions(rng, 2, 5, 7), 0.25)


@iou.cases(points=1, label=_("an image in which both are empty counts as both_empty"))
def empty_images(rng):
    for n, h, w, both_empty in ((2, 3, 4, 0.25), (4, 3, 5, 1.0), (3, 2, 5, 0.0)):
        masks, others = _regions(rng, n, h, w)
        masks[-1], others[-1] = False, False
        yield Case(masks, others, both_empty)


@iou.cases(points=1, label=_("one of the two is empty, or they are apart: 0"))
def nothing_shared(rng):
    for empty in (0, 1):
        pair = _regions(rng, 1, 3, 4)
        pair[empty][0] = False
        yield Case(*pair, 0.75)
    for empty in (0, 1):
        pair = _regions(rng, 3, 4, 5)
        pair[empty][2] = False
        yield Case(*pair, 1.0)
    masks, others = _regions(rng, 2, 3, 5)
    others[0] &= ~masks[0]
    yield Case(masks, others, 0.75)


@iou.cases(points=1, label=_("every region is empty, or a single pixel is all there is"))
def all_or_nothing(rng):
    nothing = np.zeros((2, 3, 4), dtype=bool)
    for both_empty in (0.75, 0.0, 1.0):
        yield Case(nothing, nothing.copy(), both_empty)
    yield Case(~nothing, ~nothing, 0.0)
    one_pixel = nothing.copy()
    one_pixel[0, 1, rng.integers(4)] = True
    yield Case(one_pixel, one_pixel.copy(), 0.25)
    yield Case(*_regions(rng, 2, 3, 5), 0.5)


@iou.variant
def from_counts(masks, others, both_empty):
    a, b, both = (part.sum(axis=(1, 2)) for part in (masks, others, masks * others))

    def ratio(both, either):
        return both / either if either else both_empty

    scores = [ratio(*pair) for pair in zip(both, a + b - both, strict=True)]
    return np.mean(scores), ratio(both.sum(), (a + b - both).sum())


@iou.variant
def with_sets_of_pixels(masks, others, both_empty):
    def ratio(one, two):
        return len(one & two) / len(one | two) if one | two else both_empty

    def pixels(mask):
        return set(map(tuple, np.argwhere(mask).tolist()))

    each = [ratio(pixels(one), pixels(two)) for one, two in zip(masks, others, strict=True)]
    return sum(each) / len(each), ratio(pixels(masks), pixels(others))


@iou.variant
def iou_in_torch(masks, others, both_empty):
    import torch

    one, two = (torch.as_tensor(part).flatten(1) for part in (masks, others))
    both, either = (one & two).sum(1).double(), (one | two).sum(1).double()
    pooled = both.sum() / either.sum()
    return (both / either).nan_to_num(both_empty).mean(), pooled.nan_to_num(both_empty)
