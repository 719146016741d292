import re

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
    same,
    same_but_for_nan,
)
from tests.practice.test_wire import plain_values

ARRAY = np.array([[0.25, -1.5, 3.0], [1e-3, 0.0, 7.0]])


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
    assert "numbers differ" in difference(ARRAY * factor, ARRAY)


def test_how_many_numbers_differ_and_by_how_much():
    got = ARRAY.copy()
    got[0, 1] += 0.5
    assert difference(got, ARRAY) == "1 of 6 numbers differ, at most by 0.5."


@pytest.mark.parametrize("shape", [(3, 2), (6,), (2, 3, 1), (1, 2, 3), (2, 1)])
def test_another_shape_is_told_even_where_it_would_broadcast(shape):
    assert difference(np.ones(shape), np.ones((2, 3))) == (
        f"The shape is {shape}; it should be (2, 3)."
    )


def test_nan_and_infinity_are_reported_by_their_number():
    got = ARRAY.copy()
    got[0, 0], got[1, 2] = np.nan, np.inf
    assert difference(got, ARRAY) == "2 of 6 numbers are NaN or infinite."


def test_an_infinity_that_is_wanted_must_be_there():
    wanted = np.array([0.0, -np.inf, 1.0])
    assert same(wanted.copy(), wanted)
    assert "1 of 3 numbers differ, at most by 1." in difference([1.0, -np.inf, 1.0], wanted)
    assert "at most by inf" in difference([0.0, 2.0, 1.0], wanted)


@pytest.mark.parametrize(
    "got", [None, "text", {}, [[1.0], [1.0, 2.0]], [None], [2**70], 1j, [[[]], [1]]], ids=repr
)
def test_what_is_no_array_is_named_by_its_type(got):
    assert difference(got, ARRAY) == (
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
    assert "it should be (2, 3)" in difference(got, (2, 3))


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
    assert difference((np.zeros((2, 3)), np.zeros(5)), wanted).startswith("Part 2: 5 of 5")
    for wrong in (np.zeros((2, 3)), (np.zeros((2, 3)),), None):
        assert difference(wrong, wanted) == "It should be a tuple of 2 things."


@pytest.mark.parametrize("convert", [np.array, list, torch.tensor], ids=["array", "list", "tensor"])
def test_a_tuple_of_numbers_may_come_as_one_array(convert):
    wanted = (0.5, np.float32(7.0), 11)
    assert same(convert([0.5, 7.0, 11.0]), wanted)
    assert difference(convert([0.5, 7.5, 11.0]), wanted).startswith("Part 2: ")
    assert difference(convert([0.5, 7.0]), wanted) == "It should be a tuple of 3 things."


def test_a_tuple_of_arrays_may_not():
    wanted = (np.zeros(3), np.ones(3))
    assert difference(np.stack(wanted), wanted) == "It should be a tuple of 2 things."


@pytest.mark.parametrize("order", [(1, 0, 2), (2, 0, 1), (2, 1, 0)])
def test_right_parts_in_another_order_are_told(order):
    wanted = (0.5, np.ones((2, 3)), np.arange(5.0))
    got = [wanted[place] for place in order]
    assert difference(got, wanted) == "The parts are right, their order is not."
    got[1] = got[1] + 1
    assert difference(got, wanted).startswith("Part ")


def test_nan_that_is_wanted_must_be_there():
    wanted = np.array([np.nan, 1.0, 2.0])
    assert same(wanted.copy(), wanted)
    assert difference([0.0, 1.0, 2.0], wanted) == "1 of 3 numbers should be NaN."
    assert difference([np.nan, np.nan, 2.0], wanted) == "1 of 3 numbers are NaN or infinite."


def test_the_same_but_for_nan_is_right_wherever_it_is_a_number():
    assert same_but_for_nan(ARRAY, ARRAY)
    assert same_but_for_nan(np.where(ARRAY > 1, np.nan, ARRAY), ARRAY)
    assert not same_but_for_nan(np.where(ARRAY > 1, np.nan, ARRAY + 1), ARRAY)
    assert not same_but_for_nan(ARRAY + np.inf, ARRAY)
    assert not same_but_for_nan(np.full((3, 2), np.nan), ARRAY)
    assert not same_but_for_nan(None, ARRAY)
    assert same_but_for_nan((1.0, "word"), (1.0, "word"))


# What is to be found


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
    assert difference({"weight": np.zeros(2), "bias": np.ones(3)}, wanted).startswith(
        "bias: 3 of 3"
    )
    assert difference({"w": np.zeros(2)}, wanted) == "There is w; there should be weight, bias."
    assert difference({}, wanted) == "There is none; there should be weight, bias."
    assert difference(None, wanted) == "There is NoneType; there should be weight, bias."


@given(plain_values, plain_values)
def test_any_two_plain_values_can_be_compared(one, other):
    sentence = difference(one, other)
    assert sentence is None or (isinstance(sentence, str) and sentence)


@given(plain_values)
def test_a_plain_value_is_the_same_as_itself(value):
    assert difference(value, value) is None


@given(arrays_of.arrays(float, (3, 5), elements=st.floats(-1e3, 1e3)), st.integers(0, 14))
def test_one_wrong_number_among_many_is_always_found(array, place):
    got = array.copy()
    got.flat[place] += 1.0
    assert difference(got, array).startswith("1 of 15")


def test_a_list_with_one_long_word_is_no_array_and_is_told_shortly():
    answer = ["x" * 10_000_000] + [""] * 10_000  # as a NumPy array: 400 GB
    assert as_array(answer) is None
    assert len(difference(answer, np.zeros(3))) < 200
    assert len(difference("x" * 10_000_000, "yes")) < 200
    assert len(difference({str(n): 1 for n in range(9000)}, {"a": 1})) < 2000
