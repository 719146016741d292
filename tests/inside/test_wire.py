import collections
import math
from decimal import Decimal
from fractions import Fraction

import msgpack
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from attn_course.inside.wire import NotPlain, pack, unpack
from attn_course.practice.exercises import chapters
from attn_course.practice.results import Verdict

DTYPES = [
    *(bool, np.float16, np.float32, np.float64),
    *(np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
]
ARRAY, TENSOR, TUPLE, BIG_INT = 1, 2, 3, 4
MARK = msgpack.ExtType(TUPLE, b"")  # the first item of a list that is a tuple

arrays = st.sampled_from(DTYPES).flatmap(
    lambda dtype: arrays_of.arrays(
        dtype, arrays_of.array_shapes(min_dims=0, max_side=5, min_side=0)
    )
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(10**300), 10**300)
    | st.floats()
    | st.text()
)
plain_values = st.recursive(
    scalars | arrays | arrays.map(torch.from_numpy),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(max_size=5) | st.integers(-(2**63), 2**64 - 1), inner, max_size=4)
    ),
    max_leaves=12,
)


def assert_identical(one, other):
    assert type(one) is type(other)
    if isinstance(one, list | tuple):
        assert len(one) == len(other)
        for left, right in zip(one, other, strict=True):
            assert_identical(left, right)
    elif isinstance(one, dict):
        assert list(one) == list(other)
        assert_identical(list(one.values()), list(other.values()))
    elif isinstance(one, torch.Tensor):
        assert_identical(one.numpy(), other.numpy())
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        assert one.tobytes() == other.tobytes()  # NaN and -0.0 to the last bit
    elif isinstance(one, float):
        assert math.isnan(one) == math.isnan(other)
        assert repr(one) == repr(other)
    else:
        assert one == other


def is_plain(value):
    if isinstance(value, list | tuple):
        return all(map(is_plain, value))
    if isinstance(value, dict):
        return all(type(key) in (str, int) for key in value) and is_plain(list(value.values()))
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "biuf"
    return value is None or type(value) in (bool, int, float, str, torch.Tensor)


@given(plain_values)
def test_a_plain_value_comes_back_as_it_was(value):
    assert_identical(unpack(pack(value)), value)


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_a_plain_value_or_refused(data):
    try:
        value = unpack(data)
    except NotPlain:
        return
    assert is_plain(value)


@given(plain_values, st.data())
def test_a_damaged_message_is_a_plain_value_or_refused(value, data):
    message = bytearray(pack(value))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(message) - 1))
        message[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(message)))
    for damaged in (bytes(message), bytes(message[:cut]), bytes(message[cut:])):
        try:
            found = unpack(damaged)
        except NotPlain:
            continue
        assert is_plain(found)


@given(st.integers(0, 255), st.binary(max_size=60))
def test_an_extension_of_any_kind_and_content_is_plain_or_refused(code, content):
    try:
        value = unpack(msgpack.packb(msgpack.ExtType(code % 128, content)))
    except NotPlain:
        return
    assert is_plain(value)


def array_message(header, content=b"", code=ARRAY):
    return msgpack.packb(msgpack.ExtType(code, msgpack.packb(header) + content))


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\xc1",  # the byte that msgpack never uses
        msgpack.packb(b"bytes"),
        msgpack.packb([1, {"a": b"bytes"}]),
        msgpack.packb(msgpack.Timestamp(1, 2)),
        msgpack.packb({1.5: 1}),
        msgpack.packb({None: 1}),
        msgpack.packb({True: 1}),
        msgpack.packb(1) + msgpack.packb(2),
        msgpack.packb(MARK),
        msgpack.packb([1, MARK]),
        msgpack.packb([MARK, MARK]),
        msgpack.packb({"a": MARK}),
        msgpack.packb([msgpack.ExtType(TUPLE, b"more"), 1]),
        msgpack.packb(msgpack.ExtType(BIG_INT, b"9" * 401)),
        msgpack.packb(msgpack.ExtType(BIG_INT, b"twelve")),
        msgpack.packb(msgpack.ExtType(99, b"")),
        array_message(["object", [1]], b"12345678"),
        array_message(["complex128", [1]], b"1234567812345678"),
        array_message(["float64", [-1]], b""),
        array_message(["float64", [1.0]], b"12345678"),
        array_message(["float64", [True]], b"12345678"),
        array_message(["float64", 1], b"12345678"),
        array_message(["float64"], b"12345678"),
        array_message([["float64"], [1]], b"12345678"),
        array_message(["float64", [2]], b"12345678"),
        array_message(["float64", [1]] * 2, b"12345678"),
        array_message(["float64", [1] * 17], b"12345678"),
        array_message(["float64", [2**39, 2**39, 2**39]], b""),
        array_message(["float64", [2**39, 2**39]], b"", TENSOR),
        msgpack.packb(msgpack.ExtType(ARRAY, b"\xdd\x05\xf5\xe1\x00")),  # claims 10^8 items
        b"\xdd\xff\xff\xff\xff",  # a list that claims 4 thousand million items
        b"\xdf\xff\xff\xff\xff",  # a dict that does
        b"\xc6\xff\xff\xff\xff",  # bytes that do
        b"\xc9\xff\xff\xff\xff\x01",  # an array that does
    ],
    ids=lambda message: message[:12].hex(),
)
def test_a_message_that_pack_never_wrote_is_refused(message):
    with pytest.raises(NotPlain):
        unpack(message)


def test_a_false_length_reserves_no_memory():
    import tracemalloc

    claims = b"\xdd\x00\x01\x86\xa0" * 400  # lists in lists, each said to hold 100,000 items
    header = msgpack.packb(msgpack.ExtType(ARRAY, b"\xdd\x05\xf5\xe1\x00"))  # 10^8 items
    tracemalloc.start()
    for message in (claims, header):
        with pytest.raises(NotPlain):
            unpack(message)
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10 * 2**20


def nested(kind, levels, value=1.0):
    for _ in range(levels):
        value = {"a": value} if kind is dict else kind([value])
    return value


@pytest.mark.parametrize("kind", [list, tuple, dict])
def test_32_levels_cross_and_33_are_refused(kind):
    deepest = nested(kind, 32)
    assert unpack(pack(deepest)) == deepest
    with pytest.raises(NotPlain, match="32 levels"):
        pack(nested(kind, 33))


@pytest.mark.parametrize("levels", [33, 100, 500, 5000])
def test_deep_nesting_in_a_message_is_refused_and_does_not_end_the_process(levels):
    tuples = (b"\x92" + msgpack.packb(MARK)) * levels + b"\xc0"
    lists = b"\x91" * levels + b"\xc0"
    dicts = b"\x81\x01" * levels + b"\xc0"
    for message in (tuples, lists, dicts):
        with pytest.raises(NotPlain):
            unpack(message)


def test_a_list_that_contains_itself_is_refused():
    circle = []
    circle.append(circle)
    with pytest.raises(NotPlain):
        pack(circle)


Pair = collections.namedtuple("Pair", "context weights")


class OfMyOwn(Fraction):
    """A fraction that may do anything when it is asked for a float."""

    def __float__(self):
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("value", "arrives_as"),
    [
        (np.float32(1.5), 1.5),
        (np.float64(-0.1), -0.1),
        (np.int8(-3), -3),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        (2**64, 2**64),
        (-(2**63) - 1, -(2**63) - 1),
        (10**350, 10**350),
        (torch.zeros(2, 3).shape, (2, 3)),
        (Pair(1, 2), (1, 2)),
        (Fraction(5, 6), 5 / 6),
        (Fraction(3), 3.0),
        (Fraction(10**400, 10**399), 10.0),
        (Decimal("0.1"), 0.1),
        (Decimal("-Infinity"), -math.inf),
        (Decimal("NaN"), math.nan),
        ([Fraction(1, 3), {"a": (Decimal("0.5"),)}], [1 / 3, {"a": (0.5,)}]),
    ],
    ids=repr,
)
def test_numbers_and_tuples_of_libraries_arrive_as_pythons_own(value, arrives_as):
    assert_identical(unpack(pack(value)), arrives_as)


@pytest.mark.parametrize(
    ("exercise_id", "answer"),
    [
        ("01.predicted_limits", [Fraction(5, 6), Decimal("1.5"), 2]),
        (
            "03.predicted_weights",
            (Fraction(3, 4), Decimal("0.9"), Fraction(2, 3), Fraction("1/4"), Fraction(3)),
        ),
    ],
)
def test_who_is_asked_for_a_fraction_may_write_one(exercise_id, answer):
    number, name = exercise_id.split(".")
    exercise = chapters()[number].exercises[name]
    assert exercise.check(exercise.local(answer)).verdict is Verdict.PASSED
    answer = [Fraction(1, 7), *answer[1:]]
    assert exercise.check(exercise.local(answer)).verdict is Verdict.FAILED


@pytest.mark.parametrize(
    "value",
    [
        object(),
        len,
        (x for x in ()),
        {1, 2},
        b"bytes",
        1j,
        np.complex128(1j),
        np.longdouble(1),
        np.datetime64("2020-01-01"),
        np.array([object()]),
        np.array([1j]),
        np.array(["a"]),
        np.array([(1, 2)], dtype=[("a", int), ("b", int)]),
        np.zeros(2, dtype=np.longdouble),
        torch.zeros(2, dtype=torch.bfloat16),
        torch.zeros(2, dtype=torch.complex64),
        torch.zeros(2, 2).to_sparse(),
        torch.zeros(2, device="meta"),
        {1.5: 1},
        {(1, 2): 1},
        {True: 1},
        "\ud800",
        {"\ud800": 1},
        10**5000,
        [0] * 50_001,
        collections.OrderedDict(a=1),
        Fraction(10**400),  # no float is as large
        Decimal("sNaN"),
        np.array([Fraction(1, 2)]),
        {Fraction(1, 2): 1},
        OfMyOwn(1, 2),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_plain_is_refused_with_one_kind_of_error(value):
    with pytest.raises(NotPlain):
        pack(value)


def test_layout_and_gradient_of_an_array_do_not_matter():
    array = np.arange(30.0).reshape(5, 6)
    for version in (array.T, array[::2, ::-1], np.asfortranarray(array), array.astype(">f8")):
        assert (unpack(pack(version)) == version).all()
    tensor = torch.ones(2, 3, requires_grad=True)
    assert unpack(pack(tensor * 2)).tolist() == [[2.0] * 3] * 2


def test_an_array_arrives_writable_and_apart():
    array = np.zeros((2, 3))
    arrived = unpack(pack(array))
    arrived += 1
    assert not array.any()


def test_a_byte_that_is_neither_true_nor_false_becomes_true():
    arrived = unpack(array_message(["bool", [3]], b"\x00\x01\x02"))
    assert arrived.tolist() == [False, True, True]
    assert (arrived == [False, True, True]).all()


def test_a_message_that_is_too_large_is_refused_before_it_is_read():
    message = pack(np.zeros(100))
    assert unpack(message, largest=len(message)).size == 100
    with pytest.raises(NotPlain, match="larger"):
        unpack(message, largest=len(message) - 1)


def test_the_longest_list_and_tuple_cross():
    longest = list(range(50_000))
    assert unpack(pack(longest)) == longest
    assert unpack(pack(tuple(longest))) == tuple(longest)


def test_many_small_lists_are_refused_before_they_fill_the_memory():
    inner = msgpack.packb([[]] * 1000)
    message = b"\xdd" + (1000).to_bytes(4, "big") + inner * 1000  # a million empty lists
    with pytest.raises(NotPlain, match="more than 100000 items"):
        unpack(message)


def test_many_small_arrays_are_refused_before_they_fill_the_memory():
    empty = [np.zeros(0), torch.zeros(0)]
    assert len(unpack(pack(empty * 2000))) == 4000
    with pytest.raises(NotPlain, match="more than 100000 items"):
        unpack(pack(empty * 5000))


def test_items_inside_tuples_and_dicts_count_too():
    tuples = [tuple(range(50)) for _ in range(2000)]
    with pytest.raises(NotPlain, match="more than 100000 items"):
        unpack(pack(tuples))
    dicts = [{"a": 1, "b": 2} for _ in range(20_000)]
    with pytest.raises(NotPlain, match="more than 100000 items"):
        unpack(pack([dicts, dicts]))
    assert unpack(pack(dicts)) == dicts


@pytest.mark.parametrize("kind", [list, tuple, dict])
def test_nesting_makes_no_copies_of_what_is_inside(kind):
    import tracemalloc

    size = 2**20
    message = pack(nested(kind, 31, "x" * size))
    tracemalloc.start()
    unpack(message)
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2 * size
