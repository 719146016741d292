"""The longest tests run for what has changed, and for one part more."""

import json

import pytest

from tests import what_changed
from tests.what_changed import KINDS, mutants, picked, to_test


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


def test_every_kind_has_parts_and_exercises_differ():
    assert all(parts() for parts in KINDS.values())
    found = mutants()
    assert len(set(found.values())) == len(found)
