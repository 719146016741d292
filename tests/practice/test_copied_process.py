"""A copy of this process: what it returns comes back, and nothing that it does to itself."""

import os

import numpy as np
import pytest

from attn_course.practice.copied_process import TooLong, at_most, in_a_copy


def test_a_text_comes_back():
    assert in_a_copy(lambda: "a text" * 20_000, seconds=20) == "a text" * 20_000


def test_what_changes_in_the_copy_stays_as_it_is_here():
    numbers = [1, 2]

    def work():
        numbers.append(3)
        print("not to be seen")
        return str(len(numbers))

    assert in_a_copy(work, seconds=20) == "3"
    assert numbers == [1, 2]


def for_ever():
    while True:
        pass


@pytest.mark.parametrize(
    "work", [for_ever, lambda: 1 / 0, lambda: os._exit(3), lambda: str(np.ones(2**31).sum())]
)
def test_nothing_comes_back_from_what_does_not_end_or_takes_too_much(work):
    assert in_a_copy(work, seconds=1) == ""


def test_the_work_may_limit_a_part_of_itself():
    def work():
        try:
            with at_most(0.05):
                for_ever()
        except TooLong:
            return "stopped"
        return "not reached"

    assert in_a_copy(work, seconds=20) == "stopped"


def test_what_prints_stays_out_of_sight(capfd):
    assert in_a_copy(lambda: str(os.system("echo shouted")), seconds=20) == "0"
    assert capfd.readouterr() == ("", "")
