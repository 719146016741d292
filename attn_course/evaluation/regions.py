r"""How much do two regions share?  IoU of masks and of boxes, NumPy or PyTorch.  (chapter 8)"""

from attn_course._arrays import Array, namespace, require_shape, shape


def iou(mask: Array, other: Array, *, both_empty: float = 1.0) -> float:
    r"""$\lvert A \cap B\rvert / \lvert A \cup B\rvert = F_1 / (2 - F_1)$ of two boolean masks.

    The Jaccard index. Two empty masks agree, so they get 1; say `both_empty=0.0` where nothing
    found in nothing shall not count as success.

    Where it misleads: it is hard on thin things. A line drawn one pixel away from the
    correct one gets 0, as one at the other end of the image does:

    >>> import numpy as np
    >>> line, beside, far = np.eye(32, k=0) > 0, np.eye(32, k=1) > 0, np.eye(32, k=30) > 0
    >>> iou(line, beside), iou(line, far)
    (0.0, 0.0)
    """
    xp = namespace(mask=mask, other=other)
    require_shape(shape(mask), "as mask is,", other=other)
    for name, given in {"mask": mask, "other": other}.items():
        if "bool" not in str(given.dtype):
            raise ValueError(
                f"{name} must be boolean, True inside the region, but has dtype {given.dtype}. "
                "Choose a threshold, for example weights > 0.5."
            )
    union = int(xp.sum(xp.astype(mask | other, xp.int64)))
    both = int(xp.sum(xp.astype(mask & other, xp.int64)))
    return both / union if union else both_empty


def box_iou(boxes: Array, others: Array, *, both_empty: float = 1.0) -> Array:
    r"""$\lvert A \cap B\rvert / \lvert A \cup B\rvert$ of boxes (left, top, right, bottom).

    `(..., 4)` and `(..., 4)`, which broadcast, give `(...)`: write `boxes[:, None]` to compare
    each with each. Two boxes without area get `both_empty`.

    Where it misleads: boxes that do not meet get 0, be they neighbours or far apart, so it can't
    tell which of two wrong boxes is nearer.

    >>> import numpy as np
    >>> wrong = np.array([[2.0, 0, 4, 2], [90, 90, 92, 92], [1, 0, 3, 2]])
    >>> box_iou(np.array([0.0, 0, 2, 2]), wrong).round(3)
    array([0.   , 0.   , 0.333])
    """
    xp = namespace(boxes=boxes, others=others)
    for name, given in {"boxes": boxes, "others": others}.items():
        if given.ndim == 0 or given.shape[-1] != 4:
            raise ValueError(
                f"{name} must be (..., 4): left, top, right, bottom, but are {shape(given)}."
            )
        if not bool(xp.all(given[..., 2:] >= given[..., :2])):
            raise ValueError(
                f"{name} must be left, top, right, bottom, but some have right < left or "
                "bottom < top. Are they given as (left, top, width, height)?"
            )
    boxes, others = xp.astype(boxes, xp.float64), xp.astype(others, xp.float64)
    start = xp.maximum(boxes[..., :2], others[..., :2])
    overlap = xp.minimum(boxes[..., 2:], others[..., 2:]) - start
    both = _area(xp.where(overlap > 0, overlap, xp.zeros_like(overlap)))
    union = _area(boxes[..., 2:] - boxes[..., :2]) + _area(others[..., 2:] - others[..., :2]) - both
    is_empty = union == 0
    safe = xp.where(is_empty, xp.ones_like(union), union)
    return xp.where(is_empty, xp.full_like(union, both_empty), both / safe)


def _area(sides: Array) -> Array:
    return sides[..., 0] * sides[..., 1]
