"""The scales and the verdicts of the benchmarks; no test measures time."""

import pytest
import torch

from benchmarks.measure import Line, memory, straight_line


def test_memory_is_counted_to_the_byte_and_freed_memory_is_given_back():
    def run():
        first = torch.empty(1000)  # 4,000 bytes
        del first
        second = torch.empty(3000)  # 12,000 bytes
        return second[:10].clone()  # 40 bytes

    assert memory(run) == (12_040, 12_000)


def test_memory_inside_an_operation_is_seen():
    x = torch.ones(100, 100)
    softmax = memory(lambda: torch.softmax(x.mT, dim=-1))  # copies before it begins
    assert softmax.peak >= 2 * x.nbytes


def test_a_straight_line_is_told_from_a_parabola():
    sizes = (1000, 2000, 4000, 8000)
    assert straight_line("", sizes, [7 * n + 10**6 for n in sizes]).value == pytest.approx(0)
    assert straight_line("", sizes, [7 * n for n in sizes]).kept
    assert not straight_line("", sizes, [n * n for n in sizes]).kept


def test_a_line_says_whether_its_bound_is_kept():
    assert "pass" in str(Line("time", 1.0, 1.2))
    assert "FAIL" in str(Line("time", 1.3, 1.2))
    assert Line("time", 99.0).kept  # for information only
