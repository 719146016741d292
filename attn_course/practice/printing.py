"""Numbers in print: rounded, under one another, with as many digits as it takes."""

from typing import Any

import numpy as np

from attn_course.practice.compare import as_array
from attn_course.translate import _

MOST_SHOWN = 12  # rows and columns of an array in print
_EDGE = 4  # of a longer array, so many numbers at each end


def argument_lines(arguments: dict[str, Any]) -> list[str]:
    """Return the arguments of a call, a line or more for each."""
    lines = []
    for name, value in arguments.items():
        start = f"{name} = "
        printed = _print(value).replace("\n", "\n" + " " * len(start))
        lines.append(start + printed + _kind_of_array(value))
    return lines


def _kind_of_array(value: Any) -> str:
    if not hasattr(value, "shape"):
        return ""
    shape = tuple(value.shape)
    if type(value).__module__.startswith("torch"):
        return "    # " + _("a tensor of shape {shape}").format(shape=shape)
    return "    # " + _("shape {shape}").format(shape=shape)


def print_alike(got: Any, wanted: Any) -> tuple[str, str]:
    """Return both in print, with as many digits as it takes to tell them apart."""
    arrays = [array for array in (as_array(got), as_array(wanted)) if array is not None]
    numbers = np.concatenate([array.ravel() for array in arrays]) if arrays else np.zeros(0)
    for style in (_style_for(numbers), "{:.7f}", "{:.9e}"):
        width = _number_width(numbers, style)
        texts = _print(got, style, width), _print(wanted, style, width)
        if texts[0] != texts[1]:
            break
    return texts


def _print(value: Any, style: str = "", width: int = 0) -> str:
    """Return a plain value in print: numbers rounded and under one another, long arrays cut."""
    if _is_list_of_rows(value):  # whether or not the rows happen to be equally long
        return "[" + ",\n ".join(_print(row) for row in value) + "]"
    array = as_array(value)
    if isinstance(value, dict) and value:
        return "\n".join(f"{key}: {_print(item)}" for key, item in value.items())
    if array is None or isinstance(value, bool | int):
        return _cut(repr(value))
    if isinstance(value, tuple) and array.dtype.kind != "f":
        return _cut(repr(value))
    if array.ndim == 0 and array.dtype.kind in "biu" and not width:
        return repr(array.item())
    if array.ndim == 0:
        return _number(array.item(), style).strip() if width else repr(float(f"{array:.6g}"))
    style = style or _style_for(array)
    width = width or _number_width(array, style)
    formatter: Any = {"float_kind": lambda number: _number(number, style).rjust(width)}
    long = array.size > MOST_SHOWN**2 or max(array.shape) > 2 * MOST_SHOWN
    return np.array2string(
        array,
        separator=", ",
        formatter=formatter if array.dtype.kind == "f" else None,
        threshold=0 if long else array.size + 1,
        edgeitems=_EDGE if array.ndim <= 2 else 2,
        max_line_width=88,
    )


def _is_list_of_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(hasattr(row, "shape") for row in value)


def _cut(text: str, longest: int = 300) -> str:
    return text if len(text) <= longest else text[:longest] + " …"


def _style_for(numbers: np.ndarray) -> str:
    """Return up to four decimals, or the scientific form where these would hide the numbers."""
    if numbers.dtype.kind != "f":
        return "{:.4f}"
    finite = numbers[np.isfinite(numbers)].astype(float)
    largest = np.abs(finite).max(initial=0.0)
    if largest >= 1e6 or 0 < largest < 1e-2:
        return "{:.3e}"
    enough = (d for d in (1, 2, 3) if np.abs(finite - finite.round(d)).max(initial=0.0) < 1e-7)
    return f"{{:.{next(enough, 4)}f}}"


def _number_width(numbers: np.ndarray, style: str) -> int:
    if numbers.dtype.kind != "f" or numbers.size == 0 or numbers.size > 10_000:
        return 0
    return max(len(_number(number, style)) for number in numbers.ravel().tolist())


def _number(number: float, style: str) -> str:
    text = style.format(number)
    return text.removeprefix("-") if float(text) == 0 else text
