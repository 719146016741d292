"""The closer look: a change that makes every case right, or where right numbers end."""

import numpy as np
import pytest

from attn_course.practice import closer_look
from attn_course.practice.closer_look import source_of
from attn_course.practice.exercise import run_program
from attn_course.practice.exercises import chapters
from attn_course.practice.results import Verdict

pytestmark = pytest.mark.filterwarnings("ignore")  # a wrong answer may divide by zero

EXERCISES = {one.id: one for chapter in chapters().values() for one in chapter.exercises.values()}
ONLINE = EXERCISES["10a.online_softmax"]


@pytest.fixture
def unlisted(monkeypatch):
    """Return how `online_softmax` answers when no mistake is known by name."""
    monkeypatch.setattr(type(ONLINE), "mistakes", property(lambda self: []))
    monkeypatch.setattr(closer_look, "_SECONDS", 120.0)  # the machine may be busy
    monkeypatch.setattr(closer_look, "_SECONDS_FOR_ONE", 5.0)

    def check(*edits):
        program = ONLINE.solution.program
        for old, new in edits:
            assert program.count(old) == 1
            program = program.replace(old, new)
        answer = run_program(program, ONLINE.name)
        return ONLINE.check(ONLINE.local(answer), seed=3, closer=True)

    return check


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (
            ("m = m_new", "pass"),
            "Look at the line `for start in range(0, len(scores), block):`: at its end `m` has to",
        ),
        (
            ("ell * rescale + exp", "ell + rescale + exp"),
            "Look at the line `ell = ell + rescale + exponentials.sum()`: it needs another",
        ),
        (
            ("np.exp(e - m_new)", "np.exp(e - e.max())"),
            "Look at the line `exponentials = np.exp(e - e.max())`: it needs another variable",
        ),
    ],
)
def test_the_line_with_the_one_change_that_helps_is_told(unlisted, edit, sentence):
    result = unlisted(edit)
    assert result.mistake is None
    start = "With one small change your answer is right in every case of this check. "
    assert result.observations[-1].startswith(start + sentence)


def test_where_numbers_leave_those_of_right_answers_is_told(unlisted):
    keeps_the_context = [
        ("o = o * rescale + exponentials @ v", "o = o * rescale + exponentials @ v / ell"),
        ("contexts.append(o / ell)", "contexts.append(o)"),
    ]
    sentence = unlisted(*keeps_the_context).observations[-1]
    assert "until the line `o = o * rescale + exponentials @ v / ell`" in sentence
    assert "although it was right when it ran before" in sentence


def test_of_a_right_answer_nothing_is_said(unlisted):
    result = unlisted()
    assert result.verdict is Verdict.PASSED
    assert result.observations == ()


def test_an_answer_that_would_never_end_when_changed_does_no_harm(unlisted):
    endless = ("for start in range(0, len(scores), block):", "for start in contexts or [0]:")
    result = unlisted(endless, ("m = m_new", "m = m_new; scores = scores[block:]"))
    assert result.verdict is not Verdict.PASSED


def test_what_the_answer_changes_outside_itself_stays_as_it_was(unlisted):
    counts = {"calls": 0}
    program = ONLINE.solution.program.replace("m = m_new", "calls['calls'] += 1")
    answer = run_program(program, ONLINE.name)
    answer.__globals__["calls"] = counts
    ONLINE.check(ONLINE.local(answer), seed=3, closer=True)
    in_the_check = counts["calls"]
    assert in_the_check < 500  # the changed programs alone make thousands of rounds


def test_a_source_that_is_not_one_function_is_left_alone():
    factor = 2
    assert source_of(lambda x: x) == ""
    assert source_of(lambda x: x * factor) == ""
    assert source_of(np.sum) == ""
    assert source_of(test_a_source_that_is_not_one_function_is_left_alone).startswith("def test")
