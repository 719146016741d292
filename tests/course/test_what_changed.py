"""The longest tests run for what has changed, and for one part more."""

import json
from pathlib import Path

import pytest

from tests import what_changed
from tests.what_changed import KINDS, explorers, mutants, picked, to_test


@pytest.fixture(autouse=True)
def tested(tmp_path, monkeypatch):
    """Three parts were tested with this code: a, b and c."""
    path = tmp_path / "tested.json"
    path.write_text(json.dumps({"mutants": {"a": "1", "b": "2", "c": "3"}}), encoding="utf-8")
    monkeypatch.setattr(what_changed, "TESTED", path)
    monkeypatch.setattr(what_changed, "left_out", {})
    monkeypatch.setattr(what_changed, "commit", lambda: "b")
    monkeypatch.delenv("ATTN_COURSE_EVERYTHING", raising=False)
    return path


def test_what_is_new_or_changed_is_tested_and_one_part_more():
    wanted = to_test("mutants", {"a": "1", "b": "changed", "c": "3", "d": "new"})
    assert {"b", "d"} < set(wanted)
    assert len(wanted) == 3
    assert what_changed.sentences() == [
        "unchanged since everything was tested: 1 mutants (ATTN_COURSE_EVERYTHING=1 runs them too)"
    ]


def test_everything_is_tested_on_demand_and_where_nothing_was_ever_tested(tested, monkeypatch):
    parts = {"a": "1", "b": "2", "c": "3"}
    assert len(to_test("mutants", parts)) == 1
    tested.unlink()
    assert to_test("mutants", parts) == ["a", "b", "c"]
    tested.write_text("{}", encoding="utf-8")
    monkeypatch.setenv("ATTN_COURSE_EVERYTHING", "1")
    assert to_test("mutants", parts) == ["a", "b", "c"]


def test_commits_pick_each_part_in_turn():
    names = ["a", "b", "c"]
    assert {picked(names, f"{number:040x}") for number in range(9)} == set(names)
    assert picked([], "abc") is None


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_parts(kind):
    assert KINDS[kind]()


@pytest.mark.parametrize("parts", [mutants, explorers])
def test_exercises_and_explorers_differ(parts):
    found = parts()
    assert len(set(found.values())) == len(found)


def test_every_explorer_has_a_module_of_tests_in_the_browser():
    folder = Path(__file__).parents[1] / "browser"
    tested = {path.stem[5:-9] for path in folder.glob("test_*_explorer.py")}
    assert set(explorers()) == {*tested, "nadaraya_watson"}  # which has test_explorers.py
