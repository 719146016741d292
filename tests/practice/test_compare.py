import re
from copy import deepcopy

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from attn_course.practice.compare import (
    as_array,
    difference,
    guidance,
    hint_at,
    same,
    same_but_for_nan,
)
from tests.inside.test_wire import plain_values

ARRAY = np.array([[0.25, -1.5, 3.0], [1e-3, 0.0, 7.0]])


def told(got, wanted):
    """Return the sentence on how two values differ, which they do."""
    return difference(got, wanted).sentence


@pytest.mark.parametrize(
    "got",
    [
        ARRAY,
        ARRAY.astype(np.float32),
        ARRAY.tolist(),
        tuple(map(tuple, ARRAY.tolist())),
        torch.from_numpy(ARRAY),
        torch.from_numpy(ARRAY).float(),
        ARRAY * (1 + 5e-5),
        ARRAY + 5e-6,
    ],
    ids=lambda got: type(got).__name__,
)
def test_the_same_numbers_in_another_form_are_the_same(got):
    assert difference(got, ARRAY) is None


@pytest.mark.parametrize("factor", [1 + 1e-3, 1 - 1e-3, -1])
def test_numbers_that_differ_more_than_single_precision_are_told(factor):
    assert "numbers differ" in told(ARRAY * factor, ARRAY)


def test_how_many_numbers_differ_and_by_how_much():
    got = ARRAY.copy()
    got[0, 1] += 0.5
    assert told(got, ARRAY) == "1 of 6 numbers differ, by at most 0.5."


@pytest.mark.parametrize("shape", [(3, 2), (6,), (2, 3, 1), (1, 2, 3), (2, 1)])
def test_another_shape_is_told_even_where_it_would_broadcast(shape):
    assert told(np.ones(shape), np.ones((2, 3))) == f"The shape is {shape}; it should be (2, 3)."


def test_nan_and_infinity_are_reported_by_their_number():
    got = ARRAY.copy()
    got[0, 0], got[1, 2] = np.nan, np.inf
    assert told(got, ARRAY) == "2 of 6 numbers are NaN or infinite."


def test_an_infinity_that_is_wanted_must_be_there():
    wanted = np.array([0.0, -np.inf, 1.0])
    assert same(wanted.copy(), wanted)
    assert "1 of 3 numbers differ, by at most 1." in told([1.0, -np.inf, 1.0], wanted)
    assert "by at most inf" in told([0.0, 2.0, 1.0], wanted)


@pytest.mark.parametrize(
    "got", ["text", {}, [[1.0], [1.0, 2.0]], [None], [2**70], 1j, [[[]], [1]]], ids=repr
)
def test_what_is_no_array_is_named_by_its_type(got):
    assert told(got, ARRAY) == (
        f"It is a {type(got).__name__}; it should be an array of shape (2, 3)."
    )
    assert as_array(got) is None


def test_a_number_may_be_an_int_or_a_float():
    assert same(6, 6.0)
    assert same(6.0, 6)
    assert same(np.array(6.0), 6)
    assert not same([6], 6)
    assert not same(6.01, 6)


@pytest.mark.parametrize("got", [(2, 3), [2, 3], np.array([2, 3]), torch.tensor([2, 3])], ids=repr)
def test_a_shape_may_come_in_any_form(got):
    assert same(got, (2, 3))


@pytest.mark.parametrize(
    "got",
    [(3, 2), (2,), (2, 3, 1), np.array([2, 4]), 6, "23", None, [np.zeros(2), 3], (2, 3.0001)],
    ids=repr,
)
def test_a_shape_is_exact(got):
    assert "it should be (2, 3)" in told(got, (2, 3))


def test_a_true_or_false_or_a_word_or_none_is_exact():
    assert same(True, True)
    assert not same(1, True)
    assert not same(np.ones(3), True)
    assert not same(False, True)
    assert same("keys", "keys")
    assert not same("Keys", "keys")
    assert not same(0, None)
    assert same(["keys", "values"], ["keys", "values"])
    assert not same(["keys", "queries"], ["keys", "values"])


def test_the_part_of_a_tuple_that_differs_is_named():
    wanted = (np.zeros((2, 3)), np.ones(5))
    assert same([np.zeros((2, 3)), np.ones(5)], wanted)
    assert told((np.zeros((2, 3)), np.zeros(5)), wanted).startswith("Part 2: 5 of 5")
    for wrong in (np.zeros((2, 3)), (np.zeros((2, 3)),)):
        assert told(wrong, wanted) == "It should be a tuple of 2 things."


@pytest.mark.parametrize("wanted", [ARRAY, 2.5, (np.zeros(2), np.ones(3))], ids=repr)
def test_a_function_that_returns_nothing_is_asked_for_its_return(wanted):
    assert told(None, wanted) == "It returns nothing: is there a `return`?"


@pytest.mark.parametrize("convert", [np.array, list, torch.tensor], ids=["array", "list", "tensor"])
def test_a_tuple_of_numbers_may_come_as_one_array(convert):
    wanted = (0.5, np.float32(7.0), 11)
    assert same(convert([0.5, 7.0, 11.0]), wanted)
    assert told(convert([0.5, 7.5, 11.0]), wanted).startswith("Part 2: ")
    assert told(convert([0.5, 7.0]), wanted) == "It should be a tuple of 3 things."


def test_a_tuple_of_arrays_may_not():
    wanted = (np.zeros(3), np.ones(3))
    assert told(np.stack(wanted), wanted) == "It should be a tuple of 2 things."


@pytest.mark.parametrize("order", [(1, 0, 2), (2, 0, 1), (2, 1, 0)])
def test_right_parts_in_another_order_are_told(order):
    wanted = (0.5, np.ones((2, 3)), np.arange(5.0))
    got = [wanted[place] for place in order]
    assert told(got, wanted) == "The parts are right, their order is not."
    got[1] = got[1] + 1
    assert told(got, wanted).startswith("Part ")


def test_nan_that_is_wanted_must_be_there():
    wanted = np.array([np.nan, 1.0, 2.0])
    assert same(wanted.copy(), wanted)
    assert told([0.0, 1.0, 2.0], wanted) == "1 of 3 numbers should be NaN."
    assert told([np.nan, np.nan, 2.0], wanted) == "1 of 3 numbers are NaN or infinite."


def test_the_same_but_for_nan_is_right_wherever_it_is_a_number():
    assert same_but_for_nan(ARRAY, ARRAY)
    assert same_but_for_nan(np.where(ARRAY > 1, np.nan, ARRAY), ARRAY)
    assert not same_but_for_nan(np.where(ARRAY > 1, np.nan, ARRAY + 1), ARRAY)
    assert not same_but_for_nan(ARRAY + np.inf, ARRAY)
    assert not same_but_for_nan(np.full((3, 2), np.nan), ARRAY)
    assert not same_but_for_nan(None, ARRAY)
    assert same_but_for_nan((1.0, "word"), (1.0, "word"))


# Where they differ


def at(value, path):
    """Return the part of a value that is found by keys and numbers of parts."""
    for step in path:
        value = value[step]
    return value


masks = arrays_of.arrays(bool, arrays_of.array_shapes(max_dims=4, max_side=4))


@given(masks)
def test_the_numbers_that_differ_are_marked_and_no_others(mask):
    wanted = np.arange(float(mask.size)).reshape(mask.shape)
    got = wanted + 7.0 * mask
    found = difference(got, wanted)
    assert (found is not None) == mask.any()
    if found:
        assert found.place == ()
        assert (found.got is got, found.wanted is wanted) == (True, True)
        assert found.where.dtype == bool
        assert np.array_equal(found.where, mask)
        assert not found.is_secret


@pytest.mark.parametrize("convert", [np.ndarray.tolist, torch.from_numpy, np.float32])
def test_the_numbers_that_differ_are_marked_in_every_form_of_an_array(convert):
    got = ARRAY.copy()
    got[1, 2] = -7.0
    found = difference(convert(got), ARRAY)
    assert np.argwhere(found.where).tolist() == [[1, 2]]


def test_nan_is_marked_where_it_should_not_be_and_where_it_is_missing():
    wanted = np.array([np.nan, np.nan, 1.0, 2.0, 3.0])
    found = difference([np.nan, 0.0, np.nan, np.inf, 3.0], wanted)
    assert found.where.tolist() == [False, True, True, True, False]


@pytest.mark.parametrize(
    ("got", "wanted"),
    [
        (np.zeros((3, 2)), ARRAY),
        (None, ARRAY),
        ("word", "another"),
        ((3, 2), (2, 3)),
        (np.zeros(3), (np.zeros(3), np.ones(3))),
        ({"a": 1.0}, {"b": 1.0}),
        (None, {"b": 1.0}),
    ],
    ids=repr,
)
def test_where_there_are_no_two_arrays_of_one_shape_the_whole_differs_and_nothing_is_marked(
    got, wanted
):
    found = difference(got, wanted)
    assert found.where is None
    assert found.place == ()
    assert found.got is got
    assert same(found.wanted, wanted)


@pytest.mark.parametrize(
    ("wanted", "path", "place"),
    [
        ({"weight": np.zeros(2), "bias": ARRAY}, ["bias"], ("bias",)),
        ({"gradients": {"W": ARRAY, "b": 1.0}}, ["gradients", "W"], ("gradients", "W")),
        ({3: ARRAY}, [3], ("3",)),
        ((np.zeros(2), ARRAY), [1], ("part 2",)),
        ([ARRAY, "word"], [0], ("part 1",)),
        ((1.0, ("word", ARRAY)), [1, 1], ("part 2", "part 2")),
        ({"output": (ARRAY, np.ones(5))}, ["output", 0], ("output", "part 1")),
        (((1.0, {"W": ARRAY}), 2.0), [0, 1, "W"], ("part 1", "part 2", "W")),
    ],
    ids=lambda thing: str(thing) if isinstance(thing, tuple) else "",
)
def test_the_place_leads_to_the_part_that_differs_with_its_numbers_marked(wanted, path, place):
    got = deepcopy(wanted)
    at(got, path)[1, 0] += 1.0
    found = difference(got, wanted)
    assert found.place == place
    assert found.got is at(got, path)
    assert found.wanted is at(wanted, path)
    assert np.argwhere(found.where).tolist() == [[1, 0]]
    assert found.sentence.endswith("1 of 6 numbers differ, by at most 1.")
    assert difference(deepcopy(wanted), wanted) is None


def test_of_several_parts_that_differ_the_first_is_shown():
    found = difference({"b": 7.0, "a": 7.0}, {"a": 1.0, "b": 2.0})
    assert (found.place, found.wanted) == (("a",), 1.0)
    found = difference((1.0, 7.0, 7.0), (1.0, 2.0, 3.0))
    assert (found.place, found.got, found.wanted) == (("part 2",), 7.0, 2.0)


def test_of_parts_in_another_order_the_first_that_is_not_in_its_place_is_shown():
    found = difference((1.0, np.ones(3), ARRAY), (1.0, ARRAY, np.ones(3)))
    assert found.sentence == "The parts are right, their order is not."
    assert found.place == ("part 2",)
    assert np.array_equal(found.got, np.ones(3))
    assert found.wanted is ARRAY
    assert found.where is None


def test_a_shape_inside_a_dict_is_named_by_its_place():
    found = difference({"parameters": {"W": (2, 3)}}, {"parameters": {"W": (3, 2)}})
    assert found.place == ("parameters", "W")
    assert (found.got, found.wanted) == ((2, 3), (3, 2))
    assert found.sentence == "parameters: W: It is (2, 3); it should be (3, 2)."


# What is to be found


def test_what_is_to_be_found_is_kept_out_of_the_difference():
    assert hint_at([0.75, 0.9], [0.75, 0.9]) is None
    found = hint_at([0.75, 0.8], [0.75, 0.9])
    assert found.sentence == guidance([0.75, 0.8], [0.75, 0.9])
    assert (found.got, found.wanted, found.place) == ([0.75, 0.8], None, ())
    assert found.where is None
    assert found.is_secret
    assert "0.9" not in repr(found)


@given(st.lists(st.integers(100, 999), min_size=2, max_size=7), st.data())
def test_guidance_names_the_parts_that_are_right_and_tells_no_number(wanted, data):
    right = data.draw(st.lists(st.booleans(), min_size=len(wanted), max_size=len(wanted)))
    got = [number if fits else -number for number, fits in zip(wanted, right, strict=True)]
    told = guidance(got, wanted)
    assert [int(place) for place in re.findall(r"part (\d)", told)] == [
        place for place, fits in enumerate(right, start=1) if fits
    ]
    assert not re.search(r"\d\d", told)


@given(plain_values, plain_values)
def test_there_is_guidance_for_any_answer(got, wanted):
    assert guidance(got, wanted)


@pytest.mark.parametrize(
    ("got", "rounded"),
    [(0.0134, True), (0.013, True), (0.01, True), (0.0, False), (0.0133, False)],
)
def test_a_number_with_too_few_digits_is_told_so(got, rounded):
    told = guidance([got, 1.0], [0.0133510, 2.0])
    assert ("Give more digits: part 1." in told) == rounded


def test_the_entry_of_a_dict_that_differs_is_named():
    wanted = {"weight": np.zeros(2), "bias": np.zeros(3)}
    assert same({"bias": np.zeros(3), "weight": np.zeros(2)}, wanted)
    assert told({"weight": np.zeros(2), "bias": np.ones(3)}, wanted).startswith("bias: 3 of 3")
    assert told({"w": np.zeros(2)}, wanted) == "There is w; there should be weight, bias."
    assert told({}, wanted) == "There is none; there should be weight, bias."
    assert told(None, wanted) == "There is NoneType; there should be weight, bias."


@given(plain_values, plain_values)
def test_any_two_plain_values_can_be_compared(one, other):
    found = difference(one, other)
    assert found is None or (isinstance(found.sentence, str) and found.sentence)
    assert found is None or all(isinstance(step, str) for step in found.place)


@given(plain_values)
def test_a_plain_value_is_the_same_as_itself(value):
    assert difference(value, value) is None


@given(arrays_of.arrays(float, (3, 5), elements=st.floats(-1e3, 1e3)), st.integers(0, 14))
def test_one_wrong_number_among_many_is_always_found(array, place):
    got = array.copy()
    got.flat[place] += 1.0
    assert told(got, array).startswith("1 of 15")


def test_a_list_with_one_long_word_is_no_array_and_is_told_shortly():
    answer = ["x" * 10_000_000] + [""] * 10_000  # as a NumPy array: 400 GB
    assert as_array(answer) is None
    assert len(told(answer, np.zeros(3))) < 200
    assert len(told("x" * 10_000_000, "yes")) < 200
    assert len(told({str(n): 1 for n in range(9000)}, {"a": 1})) < 2000
