"""One notebook: points for what is right, a sentence for what is wrong, a fault costs its own."""

import copy
import dataclasses
import json
import math
from contextlib import contextmanager
from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest

from attn_course.grading.feedback_page import page
from attn_course.grading.grade_one import grade_cells, seed_of, seed_of_submission
from attn_course.grading.gradebook import Entry
from attn_course.grading.intake import cells_of
from attn_course.grading.records import from_json
from attn_course.grading.sandbox import InfrastructureFault
from attn_course.inside.selection import Problem
from attn_course.practice import judging
from attn_course.practice.results import Verdict
from tests.grading.fake_sandbox import EXCEPTIONS, VERDICTS, FakeSandbox
from tests.grading.fixture_chapter import STUBS, WRONG_ROWS, chapter, notebook_bytes

ROWS, SQUARES, NUMBER, STEP, LAYER = (f"88.{name}" for name in chapter.exercises)
MOST = {one.id: one.points for one in chapter.exercises.values()}


def graded(sandbox=None, seed=7, of=chapter, **changes):
    cells = cells_of("n", notebook_bytes(**changes))
    sandbox = sandbox or FakeSandbox()
    return grade_cells(sandbox, cells, of, seed, "n.ipynb", seconds=60, clock=sandbox.clock)


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
    assert verdicts(record)[SQUARES] is Verdict.MISSING
    assert {group.status for group in one(record, SQUARES).groups} == {Verdict.MISSING}
    assert one(record, SQUARES).notes == ("No cell defines `squares`.",)
    assert points(record) == MOST | {SQUARES: 0}


@pytest.mark.parametrize("name", chapter.exercises)
def test_an_answer_of_any_kind_can_be_missing(name):
    record = graded(**{name: "y = 1"})
    assert verdicts(record) == dict.fromkeys(MOST, Verdict.PASSED) | {f"88.{name}": "missing"}
    assert points(record) == MOST | {f"88.{name}": 0}


def test_an_answer_that_raises_what_looks_like_its_absence_keeps_its_points():
    stops = (
        "def row_weights(scores):\n"
        "    if len(scores) == 1:\n"
        "        raise KeyError('row_weights')\n"
        "    return scores / scores.sum(-1, keepdims=True)"
    )
    record = graded(row_weights=stops)
    rows = one(record, ROWS)
    assert (rows.points, rows.max_points, rows.verdict) == (2, 3, Verdict.ERROR)
    assert [group.status for group in rows.groups] == [Verdict.ERROR, Verdict.PASSED]
    assert rows.notes[0] == "In “one row”: It raised KeyError: 'row_weights'"
    assert rows.notes[1] == "At the line: raise KeyError('row_weights')"
    assert points(record) == MOST | {ROWS: 2}


class SaysMissing(FakeSandbox):
    """A child that says, from the n-th request about an exercise on, that there is no answer."""

    def __init__(self, name, first):
        super().__init__()
        self._name, self._first = name, first

    @contextmanager
    def open(self, cells, names, file="notebook", without=None):
        with super().open(cells, names, file, without) as submission:
            request, asked = submission.request, []

            def lie(op, payload, seconds):
                asked.extend([op] * (payload.get("name") == self._name))
                if payload.get("name") == self._name and len(asked) >= self._first:
                    return {"missing": True}
                return request(op, payload, seconds)

            submission.request = lie
            yield submission


@pytest.mark.parametrize(("first", "kept"), [(1, 0), (2, 1), (3, 3)])
@pytest.mark.parametrize("answer", ["right", "wrong"])
def test_who_says_late_that_an_answer_is_missing_gains_nothing_and_loses_its_own(
    first, kept, answer
):
    changes = {"row_weights": WRONG_ROWS} if answer == "wrong" else {}
    record = graded(SaysMissing("row_weights", first), **changes)
    honest = one(graded(**changes), ROWS)
    assert points(record) == MOST | {ROWS: min(kept, honest.points)}
    verdict = honest.verdict if first > 2 else Verdict.MISSING
    assert verdicts(record) == dict.fromkeys(MOST, Verdict.PASSED) | {ROWS: verdict}
    assert record.status is Verdict.GRADED


@pytest.mark.parametrize("op", ["parameters", "load", "forward", "vjp"])
def test_a_layer_of_which_something_is_said_to_be_missing_has_no_points(op):
    scale = chapter.exercises["Scale"]
    honest = scale.local(scale.reference)

    class Lies:
        def request(self, asked, payload):
            return {"missing": True} if asked == op else honest.request(asked, payload)

    assert scale.check(Lies(), seed=7).points == 0


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


# Time


def test_a_slow_answer_costs_its_own_exercise_alone():
    sandbox = FakeSandbox(takes={"row_weights": 55.0}, call_seconds=100)  # and it has two cases
    record = graded(sandbox)
    assert points(record) == MOST | {ROWS: 1}  # the first, in its second try
    assert verdicts(record) == dict.fromkeys(MOST, "passed") | {ROWS: "timed out"}
    rest = [name for name in chapter.exercises if name != "row_weights"]
    assert sandbox.opened == [list(chapter.exercises), rest, ["row_weights"]]


def test_one_that_is_stopped_first_has_all_points_if_the_others_leave_it_enough_time():
    record = graded(FakeSandbox(takes={"row_weights": 9.0}))  # 18 seconds; its share is 12
    assert points(record) == MOST
    assert record.status is Verdict.GRADED


def with_exercises(names):
    """Return the chapter with some of its exercises, in this order."""
    made = copy.copy(chapter)
    made.exercises = {name: chapter.exercises[name] for name in names}
    return made


@pytest.mark.parametrize(
    ("needed", "done"),
    [
        ({"squares": 45, "how_many": 1, "train_step": 1}, {SQUARES, NUMBER, STEP}),
        ({"squares": 99, "how_many": 1, "train_step": 1}, {NUMBER, STEP}),
        ({"squares": 40, "train_step": 15}, {SQUARES, STEP}),
        ({"squares": 50, "train_step": 15}, {STEP}),
        ({"squares": 25, "how_many": 25, "train_step": 5}, {SQUARES, NUMBER, STEP}),
        ({"squares": 26, "how_many": 24, "train_step": 5}, {SQUARES, NUMBER, STEP}),
        ({"squares": 99, "how_many": 99, "train_step": 19}, {STEP}),
    ],
)
def test_the_order_of_slow_answers_does_not_decide(needed, done):
    for order in permutations(needed):
        sandbox = FakeSandbox(takes=needed, call_seconds=1000)
        record = graded(sandbox, of=with_exercises(order))
        assert {one for one, verdict in verdicts(record).items() if verdict == "passed"} == done
        assert sandbox.clock.now <= 1120, order


@pytest.mark.parametrize("slow", [("squares", "how_many"), ("how_many", "squares")])
def test_where_there_is_time_for_one_of_two_it_is_for_the_one_worth_more(slow):
    others = [name for name in chapter.exercises if name not in slow]
    sandbox = FakeSandbox(takes=dict.fromkeys(slow, 35), call_seconds=1000)
    record = graded(sandbox, of=with_exercises([*slow, *others]))
    assert points(record) == MOST | {NUMBER: 0}


def test_a_notebook_of_slow_answers_ends_after_twice_the_time():
    sandbox = FakeSandbox(takes=dict.fromkeys(chapter.exercises, 1000), call_seconds=1000)
    assert set(verdicts(graded(sandbox)).values()) == {"timed out"}
    assert sandbox.clock.now <= 1120


def test_who_is_stopped_by_the_limit_of_a_call_is_not_tried_again():
    sandbox = FakeSandbox(takes={"squares": 11.0})
    record = graded(sandbox)
    assert verdicts(record) == dict.fromkeys(MOST, "passed") | {SQUARES: "timed out"}
    assert len(sandbox.opened) == 2
    assert sandbox.clock.now == 1010


def test_another_try_that_comes_to_nothing_keeps_the_points_of_the_first():
    class Slower(FakeSandbox):
        """Its second child is slower than the first."""

        def open(self, *arguments):
            if len(self.opened) == 2:
                self.takes = {"row_weights": 100.0}
            return super().open(*arguments)

    record = graded(Slower(takes={"row_weights": 8.0}, call_seconds=1000))
    assert points(record) == MOST | {ROWS: 1}


def test_running_the_cells_again_is_on_nobodys_account():
    faulty = f"{EXCEPTIONS}\ndef squares(x):\n    raise Crash"
    sandbox = FakeSandbox(takes={"train_step": 9.0}, cells_take=50.0)
    assert points(graded(sandbox, squares=faulty)) == MOST | {SQUARES: 0}


def test_no_child_is_begun_after_twice_the_time():
    crashes = f"{EXCEPTIONS}\ndef NAME(*inputs):\n    raise Crash"
    wrong = {name: crashes.replace("NAME", name) for name in ("row_weights", "squares")}
    in_time, late = FakeSandbox(cells_take=39.0), FakeSandbox(cells_take=61.0)
    assert points(graded(in_time, **wrong)) == MOST | {ROWS: 0, SQUARES: 0}
    assert len(in_time.opened) == 3
    record = graded(late, **wrong)
    assert len(late.opened) == 2
    assert verdicts(record) == {
        ROWS: "crashed",
        SQUARES: "timed out",
        NUMBER: "timed out",
        STEP: "timed out",
        LAYER: "timed out",
    }
    assert one(record, LAYER).notes == ("The time for the whole notebook was used up before.",)


@pytest.mark.parametrize(("ours", "kept"), [(11, 2), (30, 2), (70, 0)])
def test_an_answer_that_takes_us_long_to_judge_costs_its_own_exercise(monkeypatch, ours, kept):
    sandbox = FakeSandbox(takes={"train_step": 9.0})
    honest = chapter.exercises["squares"].check

    def expensive(submission, seed, observing):
        result = honest(submission, seed, observing=observing)
        sandbox.clock.advance(ours)  # comparing can't be interrupted
        return result

    monkeypatch.setattr(chapter.exercises["squares"], "check", expensive, raising=False)
    record = graded(sandbox)
    assert points(record) == MOST | {SQUARES: kept}
    if not kept:
        assert one(record, SQUARES).verdict is Verdict.TIMED_OUT
        assert one(record, SQUARES).notes == ("What it returned takes too long to compare.",)


def test_a_check_that_stops_is_the_instructors_fault_and_the_others_go_on(monkeypatch):
    def broken(submission, seed, observing):
        raise RuntimeError("my own check")

    monkeypatch.setattr(chapter.exercises["squares"], "check", broken, raising=False)
    record = graded()
    assert verdicts(record)[SQUARES] == record.status == "not judged"
    assert "RuntimeError: my own check" in one(record, SQUARES).notes[0]
    assert points(record) == MOST | {SQUARES: None}


def test_a_fault_of_ours_is_not_put_down_to_the_learner():
    with pytest.raises(InfrastructureFault):
        graded(squares="# the worker fails here")


def asked_for_squares(seed):
    """Return the input of one exercise, as an answer to it sees it."""
    asked = []

    class Listening(FakeSandbox):
        @contextmanager
        def open(self, cells, names, file="notebook", without=None):
            with super().open(cells, names, file, without) as submission:
                request = submission.request

                def listen(op, payload, seconds):
                    if payload.get("name") == "squares":
                        asked.append(payload["args"][0].tolist())
                    return request(op, payload, seconds)

                submission.request = listen
                yield submission

    record = graded(Listening(), seed=seed)
    assert record.seed == seed
    return asked


def test_the_same_seed_asks_the_same_and_another_something_else():
    assert asked_for_squares(7) == asked_for_squares(7) != asked_for_squares(8)


def test_the_seed_of_a_submission_depends_on_the_run_the_learner_and_the_content():
    seeds = [
        seed_of_submission(run, learner, content)
        for run in (1, 2)
        for learner in ("ann", "bob", "1 ann")
        for content in (b"", b"one", b"two")
    ]
    assert len(set(seeds)) == len(seeds)
    assert seed_of_submission(1, "ann", b"one") == seeds[1]


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

    monkeypatch.setattr(judging, "math", SimpleNamespace(prod=small_product))
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
    assert result.verdict is Verdict.FAILED
    assert asked == ["construct", "parameters", "load", "forward"]


def test_a_record_survives_being_written_down():
    record = graded(row_weights=WRONG_ROWS, squares=f"{EXCEPTIONS}\ndef squares(x): raise Crash")
    read = from_json(record.to_json())
    assert read == record
    assert type(read.status) is Verdict
    assert {type(exercise.verdict) for exercise in read.exercises} == {Verdict}
    assert {type(g.status) for exercise in read.exercises for g in exercise.groups} == {Verdict}
    assert from_json(record.to_json()).to_json() == record.to_json()
    changed = dataclasses.replace(record, message="other")
    assert changed.to_json() != record.to_json()


# As a gradebook has it that was begun before verdicts were an enum.
OLD_RECORD = """
{"exercises": [
 {"groups": [{"label": "one row", "points": 1, "status": "passed"},
             {"label": "many rows", "points": 2, "status": "failed"}],
  "id": "88.row_weights", "kind": "function", "max_points": 3, "mistake": "one_sum_for_all",
  "mistake_message": "You took the sum of everything: each row has a sum of its own.",
  "notes": ["In “many rows”: 35 of 35 numbers differ, by at most 0.155.",
            "The input, not shown here: scores of shape (5, 7)."],
  "points": 1, "section": "Rows", "title": "Weights in rows", "verdict": "failed"},
 {"groups": [{"label": "a few numbers", "points": 2, "status": "error"}],
  "id": "88.squares", "kind": "function", "max_points": 2, "mistake": "", "mistake_message": "",
  "notes": ["It crashed."],
  "points": 0, "section": "Rows", "title": "Squares", "verdict": "crashed"},
 {"groups": [{"label": "the number", "points": 1, "status": "todo"}],
  "id": "88.how_many", "kind": "value", "max_points": 1, "mistake": "", "mistake_message": "",
  "notes": [],
  "points": 0, "section": "Rows", "title": "How many", "verdict": "todo"},
 {"groups": [{"label": "one step", "points": 3, "status": "error"}],
  "id": "88.train_step", "kind": "function", "max_points": 3, "mistake": "", "mistake_message": "",
  "notes": ["No cell defines `train_step`."],
  "points": 0, "section": "Steps", "title": "A step", "verdict": "missing"},
 {"groups": [{"label": "forward and backward", "points": 3, "status": "passed"}],
  "id": "88.Scale", "kind": "module", "max_points": 3, "mistake": "", "mistake_message": "",
  "notes": [],
  "points": 3, "section": "Steps", "title": "A layer", "verdict": "passed"}],
 "max_points": 12, "message": "", "runs": "", "status": "crashed"}
"""


def old_fields(written, old):
    """Return what was written without the fields that the old record had not yet."""
    if isinstance(old, dict):
        return {name: old_fields(written[name], value) for name, value in old.items()}
    if isinstance(old, list):
        return [old_fields(*pair) for pair in zip(written, old, strict=True)]
    return written


def test_a_record_of_an_old_gradebook_is_read():
    record = from_json(OLD_RECORD)
    assert old_fields(json.loads(record.to_json()), json.loads(OLD_RECORD)) == json.loads(
        OLD_RECORD
    )
    assert record.seed is None
    assert record.status is Verdict.CRASHED
    assert verdicts(record) == {
        ROWS: Verdict.FAILED,
        SQUARES: Verdict.CRASHED,
        NUMBER: Verdict.TODO,
        STEP: Verdict.MISSING,
        LAYER: Verdict.PASSED,
    }
    assert one(record, ROWS).groups[1].status is Verdict.FAILED
    words = page(Entry("ann", "88_fixture", "c", "v", "A", 0.0, record))
    assert "Points: 4 of 12" in words
    assert "Stopped: crashed." in words


# The words that gradebooks have had since the first one: none of them may ever change.
@pytest.mark.parametrize(
    "word",
    [
        *("graded", "no code", "unreadable", "not graded", "nothing handed in"),
        *("broke the protocol", "crashed", "out of memory", "timed out", "not judged"),
    ],
)
def test_every_status_of_an_old_gradebook_is_still_known(word):
    fields = {"exercises": [], "max_points": 12, "message": "", "runs": "", "status": word}
    record = from_json(json.dumps(fields))
    assert record.status is Verdict(word)
    assert old_fields(json.loads(record.to_json()), fields) == fields


def test_where_no_mistake_is_known_the_record_says_what_can_be_seen():
    record = graded(squares="def squares(x):\n    return 3 * x**2")
    (found,) = [one for one in record.exercises if one.id == SQUARES]
    assert (found.mistake, found.observations) == (
        "",
        ("Your answer is the right one times 3, in every case.",),
    )
