"""What every formula needs from an array library, and the errors for arrays that don't fit.

The formulas of the course are written once, over the Python array API standard, and so take
NumPy arrays, PyTorch tensors and others. This private module holds the few places where the
libraries differ, and the checks that turn a bad input into a sentence that helps.
"""

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import array_api_compat
import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

# What a type checker knows: arrays of one library go in, and an array of that library comes out.
# Arrays of any other array API library work as well, but a type checker has to be told so.
Array = TypeVar("Array", np.ndarray, "Tensor")
# Where nothing more can be said, as inside a formula, whose steps are those of any library.
AnyArray: TypeAlias = Any


# The library of each type of array met so far: to find it out costs more than a small product.
_NAMESPACES: dict[type, Any] = {}


def namespace(**arrays: AnyArray | None) -> Any:
    """Return the array library that all `arrays` (given by name; None is skipped) belong to."""
    present = {name: array for name, array in arrays.items() if array is not None}
    known = {_NAMESPACES.get(type(array)) for array in present.values()}
    if len(known) == 1 and None not in known:
        return known.pop()
    for name, array in present.items():
        if not array_api_compat.is_array_api_obj(array):
            raise ValueError(
                f"{name} must be an array (NumPy, PyTorch, …), but is a {type(array).__name__}. "
                f"Convert it first, for example with np.asarray({name})."
            )
    try:
        xp = array_api_compat.array_namespace(*present.values())
    except TypeError:
        kinds = ", ".join(
            f"{name} is {type(array).__module__}.{type(array).__name__}"
            for name, array in present.items()
        )
        raise ValueError(
            f"all arrays must come from one library, but {kinds}. "
            "Convert them first, for example with torch.from_numpy."
        ) from None
    _NAMESPACES.update({type(array): xp for array in present.values()})
    return xp


def is_tensor(array: AnyArray) -> bool:
    """Tell whether the array is PyTorch's; where PyTorch is not loaded, none is."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def is_surely_empty(xp: Any, condition: AnyArray) -> bool:
    """Tell whether the condition is nowhere true; no, where that can't be known.

    While a graph is traced (`torch.compile`) or a function is mapped (`torch.vmap`) arrays have no
    numbers yet. A caller may skip work where the answer is yes, and is right without that too.
    """
    torch = sys.modules.get("torch")  # whoever compiles has loaded it
    if torch is not None and torch.compiler.is_compiling():
        return False
    try:
        return not bool(xp.any(condition))
    except (RuntimeError, TypeError):
        return False


def softmax_along(xp: Any, scores: AnyArray, axis: int) -> AnyArray:
    """Return exp(scores) / sum(exp(scores)) along `axis`.

    Nothing overflows: the largest score is taken off first.
    The array API standard has no softmax. PyTorch's own is faster than
    the three steps below, so it is used where the scores are PyTorch's.
    """
    if is_tensor(scores):
        return xp.softmax(scores, dim=axis)
    largest = xp.max(scores, axis=axis, keepdims=True)
    exponentials = xp.exp(scores - largest)
    return exponentials / xp.sum(exponentials, axis=axis, keepdims=True)


def floating_dtype(xp: Any, *arrays: AnyArray) -> Any:
    """Return the widest floating dtype of the arrays; the library's own where none has one."""
    present = {array.dtype for array in arrays if array is not None}
    own = [dtype for dtype in present if xp.isdtype(dtype, "real floating")]
    return xp.result_type(*own) if own else xp.asarray(0.0).dtype


def as_floats(xp: Any, *arrays: AnyArray) -> tuple[AnyArray, ...]:
    """Return the arrays in one floating dtype, the widest of theirs; None stays None.

    NumPy does so by itself; PyTorch multiplies matrices of one dtype only.
    """
    dtype = floating_dtype(xp, *arrays)
    return tuple(a if a is None or a.dtype == dtype else xp.astype(a, dtype) for a in arrays)


def at_least(xp: Any, dtype: Any, array: AnyArray) -> AnyArray:
    """Return the array in `dtype`, or in its own where that is wider.

    For sums and counts over many keys: half precision has no number 257 (bfloat16), none of 2049
    (float16).
    """
    return xp.astype(array, xp.result_type(floating_dtype(xp, array), dtype), copy=False)


def require_same_width(queries: AnyArray, keys: AnyArray, formula: str) -> None:
    """Raise unless queries and keys have the same last axis, as dot products need."""
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError(
            f"{formula} compares queries and keys entry by entry, so they need the same width: "
            f"queries are {shape(queries)}, keys are {shape(keys)}. "
            "For different widths use `general` or `additive`."
        )


def require_axes(minimum: int, layout: str, **arrays: AnyArray) -> None:
    """Raise unless each array has at least `minimum` axes; `layout` says which."""
    for name, array in arrays.items():
        if array.ndim < minimum:
            raise ValueError(
                f"{name} must be {layout}, but came as {shape(array)}. "
                f"Add the missing axes, for example {name}[None, :]."
            )


def require_shape(wanted: tuple[int, ...], layout: str, **arrays: AnyArray) -> None:
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


def require_values(keys: AnyArray, values: AnyArray) -> None:
    """Raise unless there are as many values as keys."""
    if keys.shape[-2] != values.shape[-2]:
        raise ValueError(
            f"each key needs its value: keys are {shape(keys)}, values are {shape(values)}, "
            f"so {keys.shape[-2]} keys meet {values.shape[-2]} values. "
            "Both must have the same axis k, the one before the last."
        )


def require_keys(scores: AnyArray, axis: int) -> None:
    """Raise when there is nothing to attend to."""
    if scores.shape[axis] == 0:
        raise ValueError(
            f"there are no keys to attend to: scores are {shape(scores)}. "
            "Give at least one key, or mask keys out instead of removing them."
        )


def require_mask(mask: AnyArray, scores: AnyArray, name: str = "mask") -> None:
    """Raise unless `mask` is boolean and broadcasts to the shape of `scores`."""
    if "bool" not in str(mask.dtype):
        raise ValueError(
            f"{name} must be boolean with True where a query may attend, but has dtype "
            f"{mask.dtype}. Write {name} > 0, {name}.bool() or {name}.astype(bool)."
        )
    if not broadcasts(shape(mask), shape(scores)):
        raise ValueError(
            f"{name} must broadcast to the scores {shape(scores)}, but is {shape(mask)}. "
            f"A {name} over padded keys is (..., 1, k): write {name}[..., None, :]."
        )


def broadcasts(given: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Tell whether the shape `given` can be stretched to the shape `wanted`."""
    try:
        return given == wanted or np.broadcast_shapes(given, wanted) == wanted
    except ValueError:
        return False


def batch_shape(**arrays: AnyArray) -> tuple[int, ...]:
    """Return the leading axes, all but the last two, that the arrays share; raise if they don't."""
    leading = [shape(array)[:-2] for array in arrays.values()]
    if all(axes == leading[0] for axes in leading):
        return leading[0]
    try:
        return np.broadcast_shapes(*leading)
    except ValueError:
        shapes = ", ".join(f"{name} are {shape(array)}" for name, array in arrays.items())
        raise ValueError(
            f"the leading axes do not fit: {shapes}. "
            "All axes before the last two must be the same, or 1."
        ) from None


def shape(array: AnyArray) -> tuple[int, ...]:
    """Return the shape as a plain tuple, the same for every library."""
    return tuple(array.shape)
