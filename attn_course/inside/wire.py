"""What may cross between a check and a submission, and how it is written down.

A submission may run in another process, which is not trusted. So a check hands over, and gets back,
only None, bool, int, float, str, NumPy arrays, PyTorch tensors, and lists, tuples and dicts of
these. A `Fraction` or `Decimal` arrives as a float. `pack` writes such a value as msgpack with raw
little-endian buffers; `unpack` reads it and refuses everything else. There is no pickle in either
direction: reading runs no foreign code.
"""

import sys
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import msgpack
import numpy as np

Plain: TypeAlias = Any  # a value as described above

_ARRAY, _TENSOR, _TUPLE, _BIG_INT = 1, 2, 3, 4  # msgpack extension types of our own
_DTYPES = frozenset(
    {
        *("bool", "float16", "float32", "float64"),
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    }
)
_MOST_AXES = 16
_DEEPEST = 32
_LONGEST = 50_000  # items of a list: msgpack reserves room for as many as a message claims
_MOST_ITEMS = 100_000  # of all lists and dicts together: an empty list is 1 byte here, 56 in memory
_ITEMS_OF_AN_ARRAY = 10  # a tensor of no numbers is 15 bytes here, 600 in memory
_MOST_DIGITS = 400
_LONGEST_HEADER = 256
_TUPLE_MARK = object()  # the first item of a list that is a tuple


class NotPlain(ValueError):  # noqa: N818 (it says what is the matter)
    """A value that may not cross the wire, or bytes that are not a plain value."""


def pack(value: Plain) -> bytes:
    """Return `value` as bytes.

    >>> unpack(pack({"shape": (2, 3), "values": np.arange(2.0)}))
    {'shape': (2, 3), 'values': array([0., 1.])}
    """
    try:
        return bytes(msgpack.packb(_to_msgpack(value, depth=0), use_bin_type=True))
    except NotPlain:
        raise
    except Exception as error:  # half a character in a str, a tensor without storage, …
        raise NotPlain(f"this value can't be handed over: {error}") from error


def unpack(data: bytes | bytearray, largest: int = 256 * 2**20) -> Plain:
    """Return the value that `pack` wrote; raise `NotPlain` for anything else."""
    if len(data) > largest:
        raise NotPlain(f"a message of {len(data)} bytes is larger than the {largest} allowed")
    try:
        reader = _Reader()
        value = msgpack.unpackb(
            data,
            raw=False,
            ext_hook=reader.read_extension,
            list_hook=reader.read_list,
            object_hook=reader.read_dict,
            strict_map_key=False,
            max_array_len=min(_LONGEST + 1, len(data)),  # and the mark of a tuple
            max_map_len=min(_LONGEST, len(data)),
        )
        _require_plain(value, depth=0)
        return value
    except NotPlain:
        raise
    except Exception as error:  # msgpack raises many kinds; all mean the same here
        raise NotPlain(f"these bytes are not a plain value: {error}") from error


def _to_msgpack(value: Plain, depth: int) -> Any:
    if depth > _DEEPEST:
        raise NotPlain(f"a value nested more than {_DEEPEST} levels deep can't be handed over")
    kind = type(value)
    if value is None or kind in (bool, float, str):
        return value
    if kind is int:
        return value if -(2**63) <= value < 2**64 else msgpack.ExtType(_BIG_INT, _digits(value))
    if kind in (Fraction, Decimal):  # a learner who is asked for a fraction may well write one
        return float(value)
    if isinstance(value, np.generic) and type(value.item()) is not kind:
        return _to_msgpack(value.item(), depth)
    if isinstance(value, list | tuple | dict) and len(value) > _LONGEST:
        raise NotPlain(f"a {kind.__name__} of more than {_LONGEST} items: make it an array")
    if kind is list:
        return [_to_msgpack(item, depth + 1) for item in value]
    if isinstance(value, tuple):  # torch.Size and named tuples too
        # A list whose first item says so. Were it a message within the message, each level of
        # tuples in tuples would be one more copy of all that is in it.
        return [msgpack.ExtType(_TUPLE, b""), *(_to_msgpack(item, depth + 1) for item in value)]
    if kind is dict:
        return {_key(key): _to_msgpack(item, depth + 1) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return msgpack.ExtType(_ARRAY, _array_bytes(value))
    if _is_tensor(value):
        return msgpack.ExtType(_TENSOR, _array_bytes(value.detach().cpu().numpy()))
    raise NotPlain(
        f"a {kind.__module__}.{kind.__qualname__} can't be handed over: only None, bool, int, "
        "float, str, NumPy arrays, PyTorch tensors, and lists, tuples and dicts of these"
    )


class _Reader:
    """What msgpack asks while it reads a message, the innermost first: it counts the items."""

    def __init__(self) -> None:
        self._left = _MOST_ITEMS

    def read_list(self, items: list[Any]) -> Plain:
        """Return what a list stands for: itself, or a tuple."""
        self._count(1 + len(items))
        return tuple(items[1:]) if items and items[0] is _TUPLE_MARK else items

    def read_dict(self, items: dict[Any, Any]) -> Plain:
        """Return a dict as it is."""
        self._count(1 + len(items))
        return items

    def read_extension(self, code: int, data: bytes) -> Any:
        """Return what one of our own kinds of value stands for."""
        if code in (_ARRAY, _TENSOR):
            self._count(_ITEMS_OF_AN_ARRAY)
            array = _array_from(memoryview(data))
            return array if code == _ARRAY else _tensor_from(array)
        if code == _TUPLE and not data:
            return _TUPLE_MARK
        if code == _BIG_INT and len(data) <= _MOST_DIGITS:
            return int(data.decode())
        raise NotPlain(f"unknown kind of value {code}")

    def _count(self, items: int) -> None:
        self._left -= items
        if self._left < 0:
            raise NotPlain(f"a value of more than {_MOST_ITEMS} items: make it an array")


def _require_plain(value: Any, depth: int) -> None:
    """Refuse what msgpack knows and the wire does not: bytes, timestamps, other keys.

    And the mark of a tuple at any place but the first of a list.
    """
    if depth > _DEEPEST:
        raise NotPlain(f"a value nested more than {_DEEPEST} levels deep")
    if isinstance(value, bytes | msgpack.Timestamp) or value is _TUPLE_MARK:
        raise NotPlain(f"a {type(value).__name__} is not a plain value")
    if isinstance(value, dict):
        for key in value:
            _key(key)
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            _require_plain(item, depth + 1)


def _array_bytes(array: np.ndarray) -> bytes:
    if array.dtype.name not in _DTYPES:
        raise NotPlain(f"an array of dtype {array.dtype} can't be handed over")
    little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
    header = msgpack.packb([array.dtype.name, list(array.shape)])
    return bytes(header) + little.tobytes()


def _array_from(data: memoryview) -> np.ndarray:
    # The header alone is read as msgpack, so that a false length in it reserves little.
    unpacker = msgpack.Unpacker(raw=False, max_buffer_size=_LONGEST_HEADER)
    unpacker.feed(data[:_LONGEST_HEADER])
    header = unpacker.unpack()
    if not (isinstance(header, list) and len(header) == 2 and header[0] in _DTYPES):
        raise NotPlain("an array without a proper header")
    name, shape = header
    if not isinstance(shape, list) or len(shape) > _MOST_AXES:
        raise NotPlain("an array with a broken shape")
    if not all(type(size) is int and 0 <= size < 2**40 for size in shape):
        raise NotPlain("an array with a broken shape")
    dtype = np.dtype(name).newbyteorder("<")
    buffer = data[unpacker.tell() :]
    wanted = dtype.itemsize
    for size in shape:
        wanted *= size
    if len(buffer) != wanted:
        raise NotPlain(f"an array of shape {tuple(shape)} with {len(buffer)} bytes")
    if name == "bool":  # a byte may be neither 0 nor 1, which NumPy would believe
        return np.frombuffer(buffer, dtype=np.uint8).reshape(shape).astype(bool)
    array = np.frombuffer(buffer, dtype=dtype).reshape(shape)
    return array.astype(np.dtype(name))  # a writable copy in the machine's own byte order


def _tensor_from(array: np.ndarray) -> Any:
    import torch

    return torch.from_numpy(array)


def _digits(value: int) -> bytes:
    if value.bit_length() > 3 * _MOST_DIGITS:  # a digit is more than three bits
        raise NotPlain(f"an int of more than about {_MOST_DIGITS} digits can't be handed over")
    return str(value).encode()


def _key(key: Any) -> Any:
    if type(key) in (str, int):
        return key
    raise NotPlain(f"a dict key must be a str or an int, not a {type(key).__name__}")


def _is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")  # without torch loaded there can be no tensor
    return torch is not None and isinstance(value, torch.Tensor)
