"""One notebook: points for what is right, a sentence for what is wrong, a fault costs its own."""

import dataclasses
import math
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from attn_course.grading.grade_one import grade_cells, seed_of
from attn_course.grading.intake import cells_of
from attn_course.grading.records import from_json
from attn_course.grading.sandbox import InfrastructureFault
from attn_course.practice import exercise
from attn_course.practice.selection import Problem
from tests.grading.fake_sandbox import EXCEPTIONS, VERDICTS, FakeSandbox
from tests.grading.fixture_chapter import STUBS, WRONG_ROWS, chapter, notebook_bytes

ROWS, SQUARES, NUMBER, STEP, LAYER = (f"88.{name}" for name in chapter.exercises)
MOST = {one.id: one.points for one in chapter.exercises.values()}


def graded(sandbox=None, seed=7, clock=lambda: 0.0, **changes):
    cells = cells_of("n", notebook_bytes(**changes))
    return grade_cells(
        sandbox or FakeSandbox(), cells, chapter, seed, "n.ipynb", seconds=60, clock=clock
    )


def points(record):
    return {one.id: one.points for one in record.exercises}


def verdicts(record):
    return {one.id: one.verdict for one in record.exercises}


def one(record, name):
    return next(exercise for exercise in record.exercises if exercise.id == name)


def test_a_right_notebook_has_all_points():
    record = graded()
    assert points(record) == MOST
    assert (record.status, record.points, record.max_points) == ("graded", 12, 12)
    assert set(verdicts(record).values()) == {"passed"}
    assert all(exercise.notes == () for exercise in record.exercises)


def test_an_untouched_notebook_has_none():
    record = graded(**STUBS)
    assert (record.status, record.points) == ("graded", 0)
    assert set(verdicts(record).values()) == {"todo"}


def test_a_wrong_answer_keeps_its_right_part_and_is_called_by_its_name():
    rows = one(graded(row_weights=WRONG_ROWS), ROWS)
    assert (rows.points, rows.verdict, rows.mistake) == (1, "failed", "one_sum_for_all")
    assert rows.mistake_message.startswith("You took the sum of everything")
    assert [group.status for group in rows.groups] == ["passed", "failed"]


def test_inputs_are_named_and_not_shown():
    notes = one(graded(row_weights=WRONG_ROWS), ROWS).notes
    assert notes[0].startswith("In “many rows”: 35 of 35 numbers differ")
    assert notes[1] == "The input, not shown here: scores of shape (5, 7)."


def test_an_exception_is_told_with_its_line():
    notes = one(graded(squares="def squares(x):\n    return x + hlep"), SQUARES).notes
    assert "NameError" in notes[0]
    assert notes[1] == "At the line: return x + hlep"


def test_a_missing_answer_is_called_missing():
    record = graded(squares="y = 1")
    assert verdicts(record)[SQUARES] == "missing"
    assert one(record, SQUARES).notes == ("No cell defines `squares`.",)
    assert points(record) == MOST | {SQUARES: 0}


def test_a_notebook_without_code_says_so():
    record = grade_cells(FakeSandbox(), (), chapter, 7, "n", seconds=60)
    assert (record.status, record.points, record.max_points) == ("no code", 0, 12)
    assert record.message == "There is no code in the notebook."
    assert set(verdicts(record).values()) == {"missing"}


@pytest.mark.parametrize(("exception", "verdict"), VERDICTS.items())
def test_a_fault_in_an_answer_costs_its_own_exercise(exception, verdict):
    sandbox = FakeSandbox()
    faulty = f"{EXCEPTIONS}\ndef squares(x):\n    raise {exception}"
    record = graded(sandbox, squares=faulty)
    assert points(record) == MOST | {SQUARES: 0}
    assert verdicts(record)[SQUARES] == record.status == verdict
    assert one(record, SQUARES).notes[0] == f"It {verdict}."
    # The new child is asked for what is left, and for nothing that was judged or at fault.
    assert sandbox.opened == [list(chapter.exercises), ["how_many", "train_step", "Scale"]]


def test_the_cases_before_a_fault_keep_their_points():
    late = (
        f"{EXCEPTIONS}\ndef row_weights(s):\n    if len(s) > 1: raise Crash\n    return s / s.sum()"
    )
    assert points(graded(row_weights=late)) == MOST | {ROWS: 1}


def test_who_forges_an_answer_is_not_believed_the_ones_before():
    late = (
        f"{EXCEPTIONS}\ndef row_weights(s):\n    if len(s) > 1: raise Forge\n    return s / s.sum()"
    )
    assert points(graded(row_weights=late)) == MOST | {ROWS: 0}


def test_a_fault_in_a_cell_costs_only_the_exercises_that_need_the_cell():
    sandbox = FakeSandbox()
    ends = f"{EXCEPTIONS}\ndef ends():\n    raise Crash\nfactor = ends()"
    needs_it = f"{ends}\ndef squares(x):\n    return x * x * factor"
    record = graded(sandbox, squares=needs_it)
    assert points(record) == MOST | {SQUARES: 0}
    assert verdicts(record)[SQUARES] == "crashed"
    assert sandbox.opened[1:] == [[name] for name in chapter.exercises]


def test_no_child_is_begun_when_the_time_is_up():
    ticks = iter([0.0, 0.0, 61.0])
    faulty = f"{EXCEPTIONS}\ndef squares(x):\n    raise Loop"
    record = graded(clock=lambda: next(ticks), squares=faulty)
    assert verdicts(record) == {
        ROWS: "passed",
        SQUARES: "timed out",
        NUMBER: "timed out",
        STEP: "timed out",
        LAYER: "timed out",
    }
    assert one(record, LAYER).notes == ("The time for the whole notebook was used up before.",)


def test_a_check_that_stops_is_the_instructors_fault_and_the_others_go_on(monkeypatch):
    def broken(submission, seed):
        raise RuntimeError("my own check")

    monkeypatch.setattr(chapter.exercises["squares"], "check", broken, raising=False)
    record = graded()
    assert verdicts(record)[SQUARES] == record.status == "not judged"
    assert "RuntimeError: my own check" in one(record, SQUARES).notes[0]
    assert points(record) == MOST | {SQUARES: 0}


def test_a_fault_of_ours_is_not_put_down_to_the_learner():
    with pytest.raises(InfrastructureFault):
        graded(squares="# the worker fails here")


def test_everybody_is_asked_the_same_and_another_run_something_else():
    asked = []

    class Listening(FakeSandbox):
        def open(self, cells, names, file="notebook", without=None):
            opened = super().open(cells, names, file, without)
            submission = opened.__enter__()
            request = submission.request

            def listen(op, payload):
                if payload.get("name") == "squares":
                    asked.append(payload["args"][0].tolist())
                return request(op, payload)

            submission.request = listen
            opened.__exit__(None, None, None)
            return _Open(submission)

    graded(Listening(), seed=7)
    graded(Listening(), seed=7, how_many="how_many = 3")
    graded(Listening(), seed=8)
    assert asked[0] == asked[1] != asked[2]


class _Open:
    def __init__(self, submission):
        self._submission = submission

    def __enter__(self):
        return self._submission

    def __exit__(self, *_fault):
        return None


def test_the_seed_of_an_exercise_depends_on_the_run_and_the_exercise():
    seeds = {seed_of(e, run) for e in chapter.exercises.values() for run in (1, 2, 3)}
    assert len(seeds) == 3 * len(chapter.exercises)


def test_a_whole_book_in_an_exception_is_cut():
    long = "def squares(x):\n    raise ValueError('x' * 10**6)"
    assert all(len(note) <= 600 for note in one(graded(squares=long), SQUARES).notes)


def test_a_thousand_problems_are_cut_to_a_few():
    class Flooded(FakeSandbox):
        @contextmanager
        def open(self, cells, names, file="notebook", without=None):
            with super().open(cells, names, file, without) as submission:
                submission.problems = [Problem(frozenset(names), "x" * 1000)] * 1000
                yield submission

    record = graded(Flooded(), squares=f"{EXCEPTIONS}\ndef squares(x):\n    raise Crash")
    assert {len(exercise.notes) for exercise in record.exercises} == {13}
    squares = one(record, SQUARES).notes
    assert squares[0] == "It crashed."  # what matters comes first
    assert squares[-1] == "There is more to say than fits here."
    assert len(record.to_json()) < 50_000


@pytest.mark.parametrize(
    "shape", ["(1,) * 70", "(10**360,) * 3", "(10**360,) * 40_000", "(0, 10**8)", "(1000,) * 3"]
)
def test_a_shape_that_is_none_is_neither_multiplied_nor_drawn(monkeypatch, shape):
    def small_product(sizes):
        assert len(sizes) <= 8
        assert all(size <= 10**6 for size in sizes)
        return math.prod(sizes)

    monkeypatch.setattr(exercise, "math", SimpleNamespace(prod=small_product))
    liar = (
        "class Giant:\n"
        f"    shape = {shape}\n"
        "class Scale(torch.nn.Module):\n"
        "    def __init__(self, width):\n"
        "        super().__init__()\n"
        "    def named_parameters(self):\n"
        "        return [('weight', Giant())]"
    )
    record = graded(Scale=liar)
    assert verdicts(record)[LAYER] == "error"
    assert "not tensors of a reasonable size" in one(record, LAYER).notes[0]


def test_no_gradient_is_taken_of_a_giant_output():
    asked = []

    class Giant:
        verdict, problems = None, ()

        def request(self, op, payload):
            asked.append(op)
            answers = {"construct": 0, "parameters": {}, "forward": np.zeros(2 * 10**6, np.uint8)}
            return {"value": answers.get(op)}

    result = chapter.exercises["Scale"].check(Giant(), seed=7)
    assert result.status == "failed"
    assert asked == ["construct", "parameters", "load", "forward"]


def test_a_record_survives_being_written_down():
    record = graded(row_weights=WRONG_ROWS, squares=f"{EXCEPTIONS}\ndef squares(x): raise Crash")
    assert from_json(record.to_json()) == record
    assert from_json(record.to_json()).to_json() == record.to_json()
    changed = dataclasses.replace(record, message="other")
    assert changed.to_json() != record.to_json()
