"""Every submission meets inputs of its own: a rerun the same ones, a resubmission fresh ones."""

import json
from dataclasses import replace

import pytest

from attn_course.grading import reports, run
from attn_course.grading.gradebook import Gradebook
from attn_course.grading.run import Settings, grade_folder, open_gradebook
from tests.grading.fake_sandbox import FakeSandbox
from tests.grading.fixture_chapter import CHAPTERS, notebook_bytes

FILE = "88_fixture.ipynb"
SPIES = (
    "ASKED = []\ndef squares(x):\n    ASKED.append(x.tolist())\n    raise ValueError(ASKED[0][0])"
)


@pytest.fixture(autouse=True)
def same_checks(monkeypatch):
    """Whoever edits the course while the tests run changes no version; and nothing is forked."""
    monkeypatch.setattr(run, "version_of", lambda chapter, limits, own_checks: "v")
    monkeypatch.setattr(run.jobs, "can_fork", lambda: False)


@pytest.fixture
def asked(tmp_path):
    common = {"chapters": CHAPTERS, "open_sandbox": FakeSandbox, "rung": "A", "seed": 7}
    folders = {"submissions": tmp_path / "in", "out": tmp_path / "out"}
    return Settings(**folders, **common, show_progress=False)


def hand_in(asked, learner, content):
    path = asked.submissions / learner / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def graded(asked):
    """Grade; return, by learner, the seed in the record and what the answer was asked."""
    with open_gradebook(asked) as gradebook:
        found = grade_folder(asked, gradebook)
        entries = list(gradebook.latest())
    reports.write_all(asked.out, entries, gradebook.seed, found.notices)
    return {entry.learner: (entry.record.seed, first_number(entry)) for entry in entries}


def first_number(entry):
    squares = next(one for one in entry.record.exercises if one.id == "88.squares")
    return squares.notes[0].rpartition(" ")[2]


def test_a_rerun_asks_the_same(asked, tmp_path):
    hand_in(asked, "ann", notebook_bytes(squares=SPIES))
    assert graded(asked) == graded(replace(asked, out=tmp_path / "again"))


def test_a_resubmission_meets_fresh_inputs(asked):
    hand_in(asked, "ann", notebook_bytes(squares=SPIES))
    first = graded(asked)["ann"]
    hand_in(asked, "ann", notebook_bytes(squares=SPIES + "\n"))
    second = graded(asked)["ann"]
    hand_in(asked, "ann", notebook_bytes(squares=SPIES))
    third = graded(asked)["ann"]
    assert first == third
    assert first[0] != second[0]
    assert first[1] != second[1]


def test_identical_notebooks_of_two_learners_meet_different_inputs(asked):
    for learner in ("ann", "bob"):
        hand_in(asked, learner, notebook_bytes(squares=SPIES))
    found = graded(asked)
    assert found["ann"][0] != found["bob"][0]
    assert found["ann"][1] != found["bob"][1]


def test_another_run_asks_something_else(asked, tmp_path):
    hand_in(asked, "ann", notebook_bytes(squares=SPIES))
    assert graded(asked)["ann"][1] != graded(replace(asked, seed=8, out=tmp_path / "8"))["ann"][1]


def test_the_seed_is_in_the_record_and_in_the_results_and_no_learner_sees_it(asked):
    hand_in(asked, "ann", notebook_bytes())
    hand_in(asked, "eve", b"no notebook")
    for learner in ("ann", "eve"):
        assert (asked.submissions / learner).is_dir()
    with open_gradebook(asked) as gradebook:
        found = grade_folder(asked, gradebook)
        entries = list(gradebook.latest())
    reports.write_all(asked.out, entries, gradebook.seed, found.notices)
    ann, eve = json.loads((asked.out / "results.json").read_text())["results"]
    assert ann["seed"] == entries[0].record.seed != 7
    assert eve["seed"] is None  # nothing was asked
    page = (asked.out / "feedback" / "ann" / "88_fixture.html").read_text()
    assert str(ann["seed"]) not in page


def test_a_stopped_run_goes_on_with_the_seeds_it_would_have_used(asked):
    hand_in(asked, "ann", notebook_bytes(squares=SPIES))
    alone = graded(asked)["ann"]
    hand_in(asked, "bob", notebook_bytes(squares=SPIES))
    assert graded(replace(asked, seed=None))["ann"] == alone
    with Gradebook(asked.out) as gradebook:
        assert gradebook.seed == 7
