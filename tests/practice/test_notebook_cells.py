"""A check says when it judges an older version of an answer than the one on the screen."""

import json
import linecache
import sys

import pytest

from attn_course.practice.notebook_cells import note_on_age

OLD = "def double(x):\n    return 2 * x\n"
NEW = "def double(x):\n    return x + x\n"


@pytest.fixture
def double(monkeypatch):
    """Return a function that was defined by a cell, as IPython does it."""
    monkeypatch.setitem(linecache.cache, "<cell>", (len(OLD), None, OLD.splitlines(True), "<cell>"))
    namespace = {}
    exec(compile(OLD, "<cell>", "exec"), namespace)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    return namespace["double"]


def ran(monkeypatch, *cells):
    monkeypatch.setattr(sys.modules["__main__"], "In", ["", *cells], raising=False)


def test_what_ran_last_is_not_old(monkeypatch, double):
    ran(monkeypatch, OLD, "print(double(2))")
    assert note_on_age("double", double) == ""


def test_a_cell_that_stopped_with_an_error_left_the_old_one(monkeypatch, double):
    ran(monkeypatch, OLD, NEW + "    oops(")
    assert note_on_age("double", double).startswith("This judges an older version of double")


def test_a_cell_that_was_changed_and_not_run_is_noticed_in_the_file(monkeypatch, double, tmp_path):
    path = tmp_path / "01_topic.ipynb"
    monkeypatch.setenv("JPY_SESSION_NAME", str(path))
    for text, is_old in ((OLD, False), (NEW, True)):
        path.write_text(json.dumps({"cells": [{"id": "double-answer", "source": [text]}]}))
        assert ("Run that cell again." in note_on_age("double", double)) == is_old


@pytest.mark.parametrize("content", ["", "[]", '{"cells": [{}]}', '{"cells": 3}'])
def test_a_file_that_can_not_be_read_says_nothing(monkeypatch, double, tmp_path, content):
    path = tmp_path / "01_topic.ipynb"
    path.write_text(content)
    monkeypatch.setenv("JPY_SESSION_NAME", str(path))
    assert note_on_age("double", double) == ""


def test_outside_of_jupyter_nothing_is_said(double):
    assert note_on_age("double", double) == ""
    assert note_on_age("double", 3.5) == ""
