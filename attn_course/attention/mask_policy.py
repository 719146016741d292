r"""The policy for masks: whatever is masked has no effect, on results and on gradients.

This is true even if it is NaN or inf, and it is the policy of every mechanism in the course:

- Where query $i$ may not attend to key $l$, neither key nor value $l$ changes context $i$, its
  weights, or any gradient that comes from them.
- A query that may attend nowhere gets weights 0, context 0 and gradient 0.
- Where query $i$ may attend to a broken number, context $i$ is as broken as the formula says. The
  contexts of other queries and their gradients are not.
- A layer that makes queries, keys and values from the same features treats the broken numbers of a
  feature that no query may attend to as 0.

Setting scores to -inf and weights to 0 is not enough, because 0 · NaN is NaN: in the average, and
in the backward pass of every product in which a masked number was a factor. So broken numbers are
replaced by 0 *before* a formula is differentiated, and put back into its result.

Broken numbers are rare. `all_finite` notices in one pass that there are none, and then nothing
here costs anything.
"""

import sys
from collections.abc import Callable
from math import inf, isfinite, nan
from typing import Any

from attn_course._arrays import (
    AnyArray,
    batch_shape,
    broadcasts,
    is_tensor,
    namespace,
    require_mask,
    shape,
)
from attn_course.alignment import causal_mask


def pair_mask(
    mask: AnyArray | None,
    key_mask: AnyArray | None,
    causal: bool,
    queries: AnyArray,
    keys: AnyArray,
) -> AnyArray | None:
    """Return one mask over pairs, `(..., q, k)`, or None where every query may see every key.

    `key_mask` is `(..., k)`, True where there is a key. `causal` counts the queries as the last of
    the keys, so that decoding with a cache is right.
    """
    if key_mask is not None:
        require_key_mask(key_mask, (*batch_shape(queries=queries, keys=keys), keys.shape[-2]))
        mask = both_masks(mask, key_mask[..., None, :])
    if causal:
        mask = both_masks(mask, causal_mask(queries.shape[-2], keys.shape[-2], like=keys))
    return mask


def require_key_mask(key_mask: AnyArray, wanted: tuple[int, ...]) -> None:
    """Raise unless `key_mask` is boolean and broadcasts to `wanted`, `(..., k)`."""
    require_bool(key_mask, "key_mask")
    if key_mask.ndim < 1 or not broadcasts(shape(key_mask), wanted):
        raise ValueError(
            f"key_mask must be (..., k) = {wanted}, one truth value per key, but is "
            f"{shape(key_mask)}. A mask over pairs of queries and keys is the argument mask."
        )


def both_masks(mask: AnyArray | None, other: AnyArray) -> AnyArray:
    """Return where both masks are True; a `mask` of None is True everywhere."""
    if mask is None:
        return other
    require_bool(mask)
    sizes = zip(reversed(shape(mask)), reversed(shape(other)), strict=False)
    if any(size != its and 1 not in (size, its) for size, its in sizes):
        raise ValueError(
            f"mask must broadcast to (..., q, k) with the other masks, {shape(other)}, but is "
            f"{shape(mask)}. If it says which keys are real, (batch, k), write key_mask=mask."
        )
    return mask & other


def require_bool(mask: AnyArray, name: str = "mask") -> None:
    """Raise unless the mask is boolean."""
    require_mask(mask, mask, name)  # every shape broadcasts to itself


def require_pairs(mask: AnyArray, scores: AnyArray) -> None:
    """Raise unless `mask` is boolean and broadcasts to the scores `(..., q, k)`."""
    require_bool(mask)
    if not broadcasts(shape(mask), shape(scores)):
        raise ValueError(
            f"mask must broadcast to the scores {shape(scores)}, but is {shape(mask)}. If it says "
            "which keys are real, (batch, k), write key_mask=mask, or mask[..., None, :]."
        )


def all_finite(*arrays: AnyArray) -> bool:
    """Tell whether no number is NaN or inf; False where that can't be known while tracing.

    PyTorch's sum needs neither a second pass nor memory, and one broken number makes it broken. It
    may also overflow, which costs time but no correctness.
    """
    if is_tensor(arrays[0]):
        torch = sys.modules["torch"]
        if torch.compiler.is_compiling():
            return False
        try:
            return isfinite(sum(_total(torch, array) for array in arrays).item())
        except RuntimeError:  # numbers that a transformation such as vmap keeps to itself
            return False
    xp = namespace(array=arrays[0])
    return all(bool(xp.all(xp.isfinite(array))) for array in arrays)


def _total(torch: Any, array: AnyArray) -> AnyArray:
    """Return the sum of all numbers; half precision ends at 65,504, which a sum soon passes."""
    half = array.dtype == torch.float16
    return array.detach().sum(dtype=torch.float32 if half else None)


def whole(array: AnyArray) -> AnyArray:
    """Return the array with 0 in place of NaN and inf."""
    xp = namespace(array=array)
    return xp.where(xp.isfinite(array), array, xp.zeros_like(array))


def apart(row_map: Callable[[AnyArray], AnyArray], rows: AnyArray) -> AnyArray:
    """Return `row_map(rows)`, where a broken row spoils its own result and no gradient.

    For maps with parameters, applied to each row by itself, `(..., n, d)` to `(..., n, d')`.
    """
    xp = namespace(rows=rows)
    broken = xp.any(~xp.isfinite(rows), axis=-1, keepdims=True)
    mapped = row_map(xp.where(broken, xp.zeros_like(rows), rows))
    return xp.where(broken, xp.full_like(mapped, nan), mapped)


def mapped_for(
    mask: AnyArray | None, features: AnyArray, *row_maps: Callable[[AnyArray], AnyArray]
) -> list[AnyArray]:
    """Return the features under each map; with a mask, broken ones are kept apart."""
    if mask is None or all_finite(features):
        return [row_map(features) for row_map in row_maps]
    return [apart(row_map, features) for row_map in row_maps]


def without_unseen(features: AnyArray, mask: AnyArray | None) -> AnyArray:
    """Return features `(..., n, d)` whose broken numbers are 0 where no query may see them.

    `mask` broadcasts to `(..., q, n)`. For layers that make their queries from the same features,
    which then ask with numbers that are whole.
    """
    if mask is None or all_finite(features):
        return features
    xp = namespace(features=features, mask=mask)
    kept = seen_keys(mask)[..., None] | xp.isfinite(features)
    return xp.where(kept, features, xp.zeros_like(features))


def seen_keys(mask: AnyArray) -> AnyArray:
    """Return where some query may attend to a key, `(..., k)`."""
    xp = namespace(mask=mask)
    return mask if mask.ndim < 2 else xp.any(mask, axis=-2)


def with_broken_values(context: AnyArray, values: AnyArray, mask: AnyArray) -> AnyArray:
    """Return the context with inf and NaN where its query may attend to them.

    `context` `(..., q, d)` is an average in which the broken numbers of the values `(..., k, d)`
    counted as 0. They are added as in a sum: inf gives inf, inf and -inf give NaN.
    """
    xp = namespace(context=context, values=values, mask=mask)
    rows = mask[None, :] if mask.ndim == 1 else mask
    allowed = xp.broadcast_to(rows, (*shape(rows)[:-1], values.shape[-2]))
    found = {inf: values == inf, -inf: values == -inf, nan: xp.isnan(values)}
    for number, where in found.items():
        reached = xp.astype(allowed, values.dtype) @ xp.astype(where, values.dtype) > 0
        context = context + xp.where(reached, number, xp.zeros_like(context))
    return context


def without_gradient(array: AnyArray) -> AnyArray:
    """Return the array as a constant: nothing flows back through it."""
    return array.detach() if is_tensor(array) else array


def any_nan(array: AnyArray) -> AnyArray:
    """Return which rows contain NaN, `(..., 1)`."""
    xp = namespace(array=array)
    return xp.any(xp.isnan(array), axis=-1, keepdims=True)
