"""Mutants: what is changed, what runs where it can do no harm, and who survives with what right."""

import ast
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from attn_course.authoring import survivors
from attn_course.authoring.entries import read_entries
from attn_course.authoring.selftest import is_good, report
from attn_course.authoring.source import SourceCell, SourceChapter, SourceExercise
from attn_course.authoring.survivors import NoMutants, solution_in, solutions_of, try_mutants
from attn_course.practice.exercise import Case, Chapter
from attn_course.practice.mutants import mutants_of

# Making mutants

CHANGES = {
    "y = a + b": {"operator": ["y = a - b"], "operand left out": ["y = a", "y = b"]},
    "y = a - b": {
        "operator": ["y = a + b"],
        "operands swapped": ["y = b - a"],
        "operand left out": ["y = a", "y = b"],
    },
    "y = a * b": {"operator": ["y = a / b"], "operand left out": ["y = a", "y = b"]},
    "y = a / b": {
        "operator": ["y = a * b"],
        "operands swapped": ["y = b / a"],
        "operand left out": ["y = a", "y = b"],
    },
    "y = a @ b": {
        "operator": ["y = a * b"],
        "operands swapped": ["y = b @ a"],
        "operand left out": ["y = a", "y = b"],
    },
    "y = a ** b": {
        "operator": ["y = a * b"],
        "operands swapped": ["y = b ** a"],
        "operand left out": ["y = a", "y = b"],
    },
    "y = a & b": {"operator": ["y = a | b"], "operand left out": ["y = a", "y = b"]},
    "y -= a": {"operator": ["y += a"], "statement left out": ["pass"]},
    "y = -a": {"sign or not left out": ["y = a"]},
    "y = ~a": {"sign or not left out": ["y = a"]},
    "y = not a": {"sign or not left out": ["y = a"]},
    "y = a < b": {"comparison": ["y = a <= b", "y = a >= b"]},
    "y = a >= b": {"comparison": ["y = a > b", "y = a < b"]},
    "y = a == b": {"comparison": ["y = a != b"]},
    "y = a is not b": {"comparison": ["y = a is b"]},
    "y = a < b <= c": {
        "comparison": ["y = a <= b <= c", "y = a >= b <= c", "y = a < b < c", "y = a < b > c"]
    },
    "y = a and b": {"and or or": ["y = a or b"], "operand left out": ["y = b", "y = a"]},
    "y = a if c else b": {
        "branches swapped": ["y = b if c else a"],
        "condition turned round": ["y = a if not c else b"],
    },
    "y = 2": {"constant": ["y = 3", "y = -2", "y = 0"]},
    "y = 0": {"constant": ["y = 1"]},
    "y = -1": {"constant": ["y = -2", "y = 1", "y = 0"]},
    "y = 0.5": {"constant": ["y = 1.5", "y = -0.5", "y = 0.0"]},
    "y = True": {"true or false": ["y = False"]},
    "y = x.T": {"transpose left out": ["y = x"]},
    "y = x[..., None, :]": {"new axis elsewhere": ["y = x[None, ..., :]", "y = x[..., :, None]"]},
    "y = np.sqrt(x)": {"call left out": ["y = x"]},
    "y = x.exp()": {"call left out": ["y = x"]},
    "y = x.sum(axis=-1)": {
        "call left out": ["y = x"],
        "axis": ["y = x.sum(axis=-2)", "y = x.sum(axis=0)"],
    },
    "y = np.max(x, 1)": {"call left out": ["y = x"], "axis": ["y = np.max(x, 0)"]},
    "y = x.mean((-2, -1))": {
        "call left out": ["y = x"],
        "axis": [
            *("y = x.mean((-1, -1))", "y = x.mean((0, -1))"),
            *("y = x.mean((-2, -2))", "y = x.mean((-2, 0))"),
        ],
    },
    "y = x.shape[-1]": {"axis": ["y = x.shape[-2]", "y = x.shape[0]"]},
    "y = x.sum(keepdims=True)": {
        "call left out": ["y = x"],
        "true or false": ["y = x.sum(keepdims=False)"],
    },
    "y = f(a, b, c)": {
        "arguments swapped": ["y = f(b, a, c)", "y = f(a, c, b)"],
        "call left out": ["y = a"],
    },
    "loss.backward()": {"statement left out": ["pass"], "call left out": ["loss"]},
}
# What gives the same numbers whatever is done to it.
UNCHANGED = ("y = x.clone()", "y = loss.item()", "y = np.asarray(x)", "y = 'words'", "y = None")

LONG = '''
def attend(queries, keys, w, mask=None):
    """Return contexts: not a word of this is changed."""
    scores = -0.5 * (w * (queries[..., :, None] - keys[..., None, :])) ** 2
    if mask is not None and not mask.all():
        scores = np.where(mask, scores, -np.inf)
    for place in range(3):
        w -= 0.1 * scores[place]
    while w > 1:
        w /= 2
    best = scores.max(axis=-1, keepdims=True) if stable else 0.0
    return np.exp(scores - best).T, [x for x in scores if x > 0]


class Layer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w = nn.Parameter(torch.randn(d, 2 * d) / d**0.5)

    def forward(self, x):
        return torch.softmax(self.score(x, self.w), dim=-1) @ x.mT
'''


@pytest.mark.parametrize("source", CHANGES)
def test_each_kind_of_change_makes_what_it_says(source):
    made = {}
    for mutant in mutants_of(source):
        before, after = mutant.change.split(" -> ")
        assert before == source
        assert after == mutant.source
        made.setdefault(mutant.kind, []).append(after)
    assert made == CHANGES[source]


@pytest.mark.parametrize("source", UNCHANGED)
def test_what_can_not_be_wrong_is_left_alone(source):
    assert mutants_of(source) == []


def test_every_mutant_is_another_program_and_valid():
    mutants = mutants_of(LONG)
    sources = [mutant.source for mutant in mutants]
    assert len(sources) > 60
    assert len(set(sources)) == len(sources)
    assert ast.unparse(ast.parse(LONG)) not in sources
    for mutant in mutants:
        ast.parse(mutant.source)
        before, after = mutant.change.split(" -> ")
        assert before != after
        assert "\n" not in mutant.change
        assert "not a word of this is changed" in mutant.source


def test_a_mutant_differs_in_one_statement_alone():
    original = ast.unparse(ast.parse(LONG)).splitlines()
    for mutant in mutants_of(LONG):
        changed = mutant.source.splitlines()
        assert len(changed) == len(original)
        assert sum(one != other for one, other in zip(original, changed, strict=True)) == 1


def test_the_text_of_a_change_does_not_hang_on_layout_and_comments():
    tidy = mutants_of("def f(x):\n    return 2 * x\n")
    loose = mutants_of("def f( x ):\n\n    return (2 *  # twice\n            x)\n")
    assert [mutant.change for mutant in tidy] == [mutant.change for mutant in loose]


# Trying them


def exercise_with(source, cases, name="f", reference=None, equivalent=""):
    """Return the solution of an exercise whose answer cell is `source`.

    `equivalent` is the text of a cell of that tag.
    """
    chapter = Chapter("77_small", title="A small chapter", sections={"here": "Here"})
    reference = reference or (lambda x: x)
    reference.__name__ = name
    exercise = chapter.exercise(
        title="A title", goal="A goal.", difficulty=1, minutes=1, section="here", hints=("",) * 3
    )(reference)

    @exercise.cases(points=1, label="a few")
    def _cases(rng):
        yield from (Case(case) for case in cases)

    cells = [
        SourceCell("code", "import os\nstep = 1", 1, {}),
        SourceCell("markdown", "Write it.", 3, {"exercise": name}),
        SourceCell("code", "### BEGIN SOLUTION\n" + source + "\n### END SOLUTION", 4, {}),
        SourceCell("code", "raise RuntimeError('no answer needs this cell')", 9, {}),
    ]
    entries, problems = read_entries(equivalent, 10)
    assert problems == []
    written = SourceExercise(
        name, 3, {"exercise": name}, answer_line=4, answer=source, equivalents=entries
    )
    return solution_in(SourceChapter(Path("77_small.md"), cells, {name: written}), exercise)


def changes(mutants):
    return [mutant.change for mutant in mutants]


def test_a_check_that_looks_closely_kills_every_mutant():
    solution = exercise_with("def f(x):\n    return x * step", [np.array([2.0, 3.0])])
    counted = []
    trial = try_mutants(solution, tried=lambda: counted.append(1))
    # `x` alone and `x / step` are right: step is 1.
    assert changes(trial.unexplained) == [
        "return x * step -> return x / step",
        "return x * step -> return x",
    ]
    assert (trial.killed, trial.tried, len(counted)) == (1, 3, 3)
    assert not trial.is_good


def test_only_the_answer_cell_is_changed_and_it_runs_with_what_it_needs():
    solution = exercise_with("def f(x):\n    return x * step", [np.array([2.0])])
    assert solution.program == ("step = 1", "def f(x):\n    return x * step")
    for mutant, program in solution.mutants:
        assert program == ("step = 1", mutant.source)


def test_what_the_answer_does_not_need_is_not_changed():
    solution = exercise_with("print(2 * 3)\ndef f(x):\n    return x * step", [np.array([2.0])])
    alone = exercise_with("def f(x):\n    return x * step", [np.array([2.0])])
    assert solution.program == alone.program
    assert changes(mutant for mutant, _program in solution.mutants) == changes(
        mutant for mutant, _program in alone.mutants
    )


def test_an_answer_of_several_statements_has_mutants_of_each():
    solution = exercise_with("half = 2\ndef f(x):\n    return half * x", [np.array([2.0])])
    assert solution.program == ("half = 2", "def f(x):\n    return half * x")
    programs = [program for _mutant, program in solution.mutants]
    assert ("half = 3", "def f(x):\n    return half * x") in programs
    assert ("half = 2", "def f(x):\n    return half / x") in programs
    assert len(set(programs)) == len(programs)


def test_a_mutant_that_survives_one_draw_gets_others():
    drawn = []

    def cases(rng):
        drawn.append(rng)
        yield Case(np.array([float(rng.integers(2))]))  # of 0 the half and the double are the same

    solution = exercise_with("def f(x):\n    return x * step * 2", [], reference=lambda x: 2 * x)
    solution.exercise.groups[:] = [SimpleNamespace(label="", points=1, generate=cases)]
    draws = [np.random.default_rng(seed).integers(2) for seed in (0, 1, 2)]
    assert 0 < sum(draws) < 3
    zero = [seed for seed in (0, 1, 2) if draws[seed] == 0][:1]
    with_one = [seed for seed in (0, 1, 2) if draws[seed] == 1][:1]
    survived = changes(try_mutants(solution, seeds=zero).survivors)
    halved = "return x * step * 2 -> return x * step / 2"
    assert halved in survived
    assert halved not in changes(try_mutants(solution, seeds=zero + with_one).survivors)


def test_a_mutant_that_never_ends_is_killed_and_the_next_ones_are_tried(monkeypatch):
    monkeypatch.setattr(survivors, "_SHORTEST_DEADLINE", 0.1)
    source = "def f(x):\n    n = 3\n    while n > 0:\n        n -= 1\n    return x + n"
    trial = try_mutants(exercise_with(source, [2.0]), seeds=[0])
    assert trial.endless >= 2  # n += 1, and n -= 1 left out
    survived = changes(trial.survivors)
    assert "n = 3 -> n = 4" in survived  # it makes no difference how long the loop is
    assert not [change for change in survived if change.startswith("n -= 1 ->")]
    assert "return x + n -> return x - n" in survived
    assert "return x + n -> return n" not in survived


def test_a_mutant_that_ends_the_process_is_killed_and_the_next_ones_are_tried():
    # Signal 9, since a process may have been told to ignore others: 1 is, under nohup.
    source = "def f(x):\n    os.kill(os.getpid(), 9 * 0)\n    return x"
    trial = try_mutants(exercise_with(source, [2.0]), seeds=[0])
    survived = changes(trial.survivors)
    assert "os.kill(os.getpid(), 9 * 0) -> os.kill(os.getpid(), 9)" not in survived
    assert "os.kill(os.getpid(), 9 * 0) -> pass" in survived
    assert trial.endless == 0


def test_what_a_mutant_says_is_not_heard(capfd):
    try_mutants(exercise_with("print('loud')\ndef f(x):\n    print(x)\n    return 1 * x", [2.0]))
    assert capfd.readouterr() == ("", "")


def test_a_solution_that_does_not_pass_is_no_ground_for_mutants():
    with pytest.raises(ValueError, match=r"77\.f does not pass its own check"):
        try_mutants(exercise_with("def f(x):\n    return 2 * x", [2.0]))


def test_a_check_that_breaks_is_no_kill(monkeypatch):
    solution = exercise_with("def f(x):\n    return 1 * x", [2.0])
    real = survivors._passes

    def breaks(exercise, program, seed):
        assert program == solution.program
        return real(exercise, program, seed)

    monkeypatch.setattr(survivors, "_passes", breaks)
    with pytest.raises(RuntimeError, match=r"the check of 77\.f itself broke on:(.|\n)*1 / x"):
        try_mutants(solution)


def test_no_child_outlives_a_trial_that_is_broken_off(monkeypatch):
    solution = exercise_with("def f(x):\n    return 1 * x", [2.0])

    def enough():
        raise KeyboardInterrupt

    # Its own children only: another test's server may still be running in this process.
    children = []
    fork = os.fork

    def fork_and_remember():
        child = fork()
        if child:
            children.append(child)
        return child

    monkeypatch.setattr(os, "fork", fork_and_remember)
    with pytest.raises(KeyboardInterrupt):
        try_mutants(solution, tried=enough)
    assert children
    for child in children:
        with pytest.raises(ChildProcessError):
            os.waitpid(child, os.WNOHANG)


def test_without_fork_a_sentence_says_what_to_do(monkeypatch):
    monkeypatch.delattr(os, "fork")
    with pytest.raises(NoMutants, match="--no-mutants"):
        try_mutants(exercise_with("def f(x):\n    return x", [2.0]))


def test_without_the_source_of_a_chapter_a_sentence_says_what_to_do(tmp_path):
    exercise = exercise_with("def f(x):\n    return x", [2.0]).exercise
    for root in (None, tmp_path):
        with pytest.raises(NoMutants, match=r"solutions/77_small\.md.*--no-mutants"):
            solutions_of([exercise], root)


# Explaining survivors

SQUARE = "def f(x):\n    return (x - step) ** 2"
TURNED = "return (x - step) ** 2 -> return (step - x) ** 2"
TURNED_ROUND = "turned_round: `x - step` -> `step - x`\n: It is squared."


def squared_with(equivalent):
    """Return the solution of squaring a difference, with such a cell `equivalent`."""

    def squared(x):
        return (x - 1) ** 2

    return exercise_with(SQUARE, [np.array([2.0, 5.0])], reference=squared, equivalent=equivalent)


@pytest.fixture(scope="module")
def squared():
    """Return a trial in which one mutant, which is right, survives."""
    return try_mutants(squared_with(TURNED_ROUND))


def explained_by(trial, *edits):
    """Return the trial as it would be with these edits in the cell `equivalent`."""
    text = "\n\n".join(
        f"explanation_{number}: {edit}\n: It is squared." for number, edit in enumerate(edits)
    )
    return replace(trial, explanations=squared_with(text).explanations)


def test_a_survivor_with_a_reason_does_not_count(squared):
    trial = squared
    assert changes(trial.survivors) == [TURNED]
    assert trial.reason_of(trial.survivors[0]) == "It is squared."
    assert trial.unexplained == ()
    assert trial.wrong == trial.tried - 1
    assert trial.killed == trial.wrong
    assert trial.is_good


def test_dots_in_an_explanation_stand_for_anything(squared):
    assert explained_by(squared, "`(x - step) ** 2` -> `…`").is_good
    assert explained_by(squared, "`x - step` -> `step - …`").is_good
    assert explained_by(squared, "`return … step` -> `return (step - x`").is_good
    assert not explained_by(squared, "`x - step` -> `x + …`").is_good
    assert not explained_by(squared, "`x - step` -> `...`").is_good


def test_layout_makes_no_difference_to_an_explanation(squared):
    assert explained_by(squared, "`return (x-step)**2` -> `return ((step  -  x)) ** 2`").is_good


def test_an_explanation_of_nothing_is_stale(squared):
    trial = explained_by(squared, "`x - step` -> `step - x`", "`x - step` -> `x + step`")
    assert trial.stale == ("explanation_1",)
    assert not trial.is_good
    sentence = "77.f: the cell `equivalent` explains explanation_1, but no such mutant passes"
    assert sentence in report([], [trial])


def test_the_report_tells_who_survived_and_with_what_right(squared):
    text = report([], [squared])
    assert f"  77.f: It is squared.\n    {TURNED}\n" in text
    assert "Mutant kill rate: 100 %" in text
    assert "this mutant passed" not in text
    trial = explained_by(squared)
    text = report([], [trial])
    assert f"77.f: this mutant passed (operands swapped): {TURNED}" in text
    assert f"({trial.tried - 1} of the {trial.tried} that are wrong)" in text
    assert "97 % are wanted in each" in text
    assert not is_good([], [trial])
