"""The still picture of an explorer, drawn by its own JavaScript, and the numbers in it."""

import re

import pytest

from attn_course.figures.explorers import still


def still_of(explorer):
    """Return the markup that the book shows before the figure moves."""
    pytest.importorskip("py_mini_racer")
    return still.draw(explorer.name, explorer.state())


def numbers_in(markup):
    """Return the numbers of a figure in full precision, each name with all its numbers."""
    numbers = {}
    for value, name in re.findall(r'<data value="([^"]*)" data-name="(\w+)"', markup):
        numbers.setdefault(name, []).append(float(value))
    return numbers


def exactly(numbers):
    """Return what compares equal to these numbers but for the rounding of another language."""
    return pytest.approx(numbers, rel=1e-12, abs=1e-13)
