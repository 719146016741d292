"""What every formula needs from an array library, and the errors for arrays that don't fit.

The formulas of the course are written once, over the Python array API standard, and so take
NumPy arrays, PyTorch tensors and others. This private module holds the few places where the
libraries differ, and the checks that turn a bad input into a sentence that helps.
"""

from collections.abc import Iterable
from typing import Any, TypeAlias

import array_api_compat

Array: TypeAlias = Any  # NumPy array, PyTorch tensor, or any other array API object


def namespace(**arrays: Array | None) -> Any:
    """Return the array library that all `arrays` (given by name; None is skipped) belong to."""
    present = {name: array for name, array in arrays.items() if array is not None}
    for name, array in present.items():
        if not array_api_compat.is_array_api_obj(array):
            raise ValueError(
                f"{name} must be an array (NumPy, PyTorch, …), but is a {type(array).__name__}. "
                f"Convert it first, for example with np.asarray({name})."
            )
    try:
        return array_api_compat.array_namespace(*present.values())
    except TypeError:
        kinds = ", ".join(
            f"{name} is {type(array).__module__}.{type(array).__name__}"
            for name, array in present.items()
        )
        raise ValueError(
            f"all arrays must come from one library, but {kinds}. "
            "Convert them first, for example with torch.from_numpy."
        ) from None


def softmax_along(xp: Any, scores: Array, axis: int) -> Array:
    """Return exp(scores) / sum(exp(scores)) along `axis`, without overflow.

    The array API standard has no softmax. PyTorch's own is faster than the three steps below,
    so it is used where the scores are PyTorch's.
    """
    if array_api_compat.is_torch_array(scores):
        return xp.softmax(scores, dim=axis)
    exponentials = xp.exp(scores - xp.max(scores, axis=axis, keepdims=True))
    return exponentials / xp.sum(exponentials, axis=axis, keepdims=True)


def require_same_width(queries: Array, keys: Array, formula: str) -> None:
    """Raise unless queries and keys have the same last axis, as dot products need."""
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError(
            f"{formula} compares queries and keys entry by entry, so they need the same width: "
            f"queries are {shape(queries)}, keys are {shape(keys)}. "
            "For different widths use `general` or `additive`."
        )


def require_axes(minimum: int, layout: str, **arrays: Array) -> None:
    """Raise unless each array has at least `minimum` axes; `layout` says which."""
    for name, array in arrays.items():
        if array.ndim < minimum:
            raise ValueError(
                f"{name} must be {layout}, but came as {shape(array)}. "
                f"Add the missing axes, for example {name}[None, :]."
            )


def require_shape(wanted: tuple[int, ...], layout: str, **arrays: Array) -> None:
    """Raise unless each array has the shape `wanted`; `layout` names its axes."""
    for name, array in arrays.items():
        if shape(array) != wanted:
            raise ValueError(
                f"{name} must be {layout} = {wanted}, but is {shape(array)}. "
                "Check the order of its axes and the widths of what it is used with."
            )


def require_choice(name: str, given: str, choices: Iterable[str]) -> None:
    """Raise unless `given` is one of the `choices` of the argument `name`."""
    listed = list(choices)
    if given not in listed:
        raise ValueError(f"{name} must be one of {', '.join(listed)}, but is {given!r}.")


def require_values(keys: Array, values: Array) -> None:
    """Raise unless there are as many values as keys."""
    if keys.shape[-2] != values.shape[-2]:
        raise ValueError(
            f"each key needs its value: keys are {shape(keys)}, values are {shape(values)}, "
            f"so {keys.shape[-2]} keys meet {values.shape[-2]} values. "
            "Both must have the same axis k, the one before the last."
        )


def require_keys(scores: Array, axis: int) -> None:
    """Raise when there is nothing to attend to."""
    if scores.shape[axis] == 0:
        raise ValueError(
            f"there are no keys to attend to: scores are {shape(scores)}. "
            "Give at least one key, or mask keys out instead of removing them."
        )


def require_mask(mask: Array, scores: Array) -> None:
    """Raise unless `mask` is boolean and broadcasts to the shape of `scores`."""
    if "bool" not in str(mask.dtype):
        raise ValueError(
            f"mask must be boolean with True where a query may attend, but has dtype {mask.dtype}. "
            "Write mask > 0, mask.bool() or mask.astype(bool)."
        )
    missing = scores.ndim - mask.ndim
    fits = missing >= 0 and all(
        m in (1, s) for m, s in zip(mask.shape, tuple(scores.shape)[missing:], strict=True)
    )
    if not fits:
        raise ValueError(
            f"mask must broadcast to the scores {shape(scores)}, but is {shape(mask)}. "
            "A mask over padded keys is (..., 1, k): write mask[..., None, :]."
        )


def shape(array: Array) -> tuple[int, ...]:
    """Return the shape as a plain tuple, the same for every library."""
    return tuple(array.shape)
