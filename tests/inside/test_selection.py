"""Which statements are an answer: found by name, run in any order, with nothing else run."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attn_course.inside.notebook import Cell
from attn_course.inside.selection import answers_from, defined_names, select, without_magics


def cells_of(*sources):
    return [Cell(number, "code", source) for number, source in enumerate(sources, start=1)]


def chosen(names, *sources):
    return [part.source for part in select(cells_of(*sources), names).statements]


def value_of(name, *sources):
    space = {}
    exec(select(cells_of(*sources), [name]).source, space)
    return space[name]


def sentences(name, *sources):
    return [problem.sentence for problem in select(cells_of(*sources), [name]).problems]


@pytest.fixture
def write(tmp_path):
    def write_cells(*sources):
        cells = [
            {"cell_type": "code", "id": f"c{n}", "metadata": {}, "outputs": [], "source": source}
            for n, source in enumerate(sources)
        ]
        path = tmp_path / "01_answers.ipynb"
        path.write_text(
            json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
        )
        return path

    return write_cells


# What is selected


def test_a_function_comes_with_its_imports_constants_and_helpers_alone():
    kept = chosen(
        ["f"],
        "import math\nimport os",
        "SCALE = 3\nOTHER = 4",
        "def helper(x):\n    return SCALE * x",
        "def f(x):\n    return math.floor(helper(x))",
        "def g(x):\n    return OTHER * x",
    )
    assert kept == [
        "import math",
        "SCALE = 3",
        "def helper(x):\n    return SCALE * x",
        "def f(x):\n    return math.floor(helper(x))",
    ]


def test_checks_plots_prints_and_training_are_left_out():
    kept = chosen(
        ["f"],
        "import matplotlib.pyplot as plt\nfrom attn_course import practice",
        "def f(x):\n    return x\n\npractice.check('01.f', f)\nprint(f(3))",
        "for w in range(3):\n    plt.plot(f(w))\nplt.show()",
        "fig, ax = plt.subplots()\nax.set_title('f')\nax.plot(f(1))",
        "losses = []\nfor step in range(10**9):\n    losses.append(f(step))",
    )
    assert kept == ["def f(x):\n    return x"]


def test_a_local_variable_is_no_dependence():
    kept = chosen(
        ["f"],
        "weights = 1 / 0",
        "def f(weights):\n    total = sum(weights)\n    return [total for total in weights]",
    )
    assert len(kept) == 1


def test_a_value_comes_with_the_steps_that_made_it():
    assert (
        value_of(
            "total", "items = []", "for i in range(4):\n    items.append(i)", "total = sum(items)"
        )
        == 6
    )


def test_a_change_after_the_use_does_not_count_for_it():
    assert value_of("first", "items = [1]", "first = list(items)", "items.append(2)") == [1]


def test_a_value_that_a_training_loop_changes_through_another_name_is_trained():
    steps = (
        "class Optimiser:\n    def __init__(self, state):\n        self.state = state\n"
        "    def step(self):\n        self.state['w'] += 1",
        "state = {'w': 0}\noptimiser = Optimiser(state)\nfor _ in range(3):\n    optimiser.step()\n"
        "w = state['w']",
    )
    assert value_of("w", *steps) == 3


def test_a_setting_of_a_library_is_always_made():
    kept = chosen(["f"], "import random\nrandom.seed(0)", "def f():\n    return random.random()")
    assert "random.seed(0)" in kept
    first = value_of("f", "import random\nrandom.seed(0)", "def f():\n    return random.random()")()
    assert first == random.Random(0).random()


def test_decorators_and_wrapping_by_a_second_assignment_come_along():
    twice = "def twice(f):\n    return lambda x: f(f(x))"
    assert value_of("g", twice, "@twice\ndef g(x):\n    return x + 1")(0) == 2
    assert value_of("g", twice, "def g(x):\n    return x + 1", "g = twice(g)")(0) == 2


def test_a_star_import_and_a_future_import_are_kept_and_the_future_comes_first():
    kept = chosen(
        ["f"], "from math import *", "from __future__ import annotations", "def f(): return pi"
    )
    assert kept[0].startswith("from __future__")
    assert "from math import *" in kept


@given(order=st.permutations(range(6)))
def test_the_order_of_cells_does_not_matter(order):
    sources = [
        "import math",
        "BASE = 2",
        "class Parent:\n    base = BASE",
        "class Child(Parent):\n    def power(self, x):\n        return math.pow(self.base, x)",
        "def answer(x):\n    return helper(x)",
        "def helper(x):\n    return Child().power(x)",
    ]
    assert value_of("answer", *[sources[place] for place in order])(3) == 8


def test_functions_that_call_each_other_are_both_kept():
    even = "def even(n):\n    return n == 0 or odd(n - 1)"
    odd = "def odd(n):\n    return n != 0 and even(n - 1)"
    assert value_of("even", odd, even)(4) is True


def test_a_long_chain_of_steps_does_not_exhaust_the_stack():
    steps = ["x = 0"] + ["x = x + 1"] * 3000
    assert value_of("x", "\n".join(steps)) == 3000


# Twice, never, broken


def test_the_latest_definition_wins_and_the_duplicate_is_reported():
    sources = ("def f():\n    return 1", "def f():\n    return 2")
    assert value_of("f", *sources)() == 2
    (sentence,) = sentences("f", *sources)
    assert sentence == "`f` is defined in cells 1 and 2; the one in cell 2 (“def f():”) counts."


def test_an_untouched_stub_further_down_does_not_undo_an_answer():
    stub = "def f():\n    '''Say 1.'''\n    raise NotImplementedError('…')"
    assert value_of("f", "def f():\n    return 1", stub)() == 1
    assert value_of("count", "count = 3", "count = None  # your answer") == 3


def test_a_variable_that_a_plot_uses_again_keeps_its_first_meaning():
    assert value_of("f", "x = 1", "def f():\n    return x", "x = 99")() == 1


def test_a_missing_name_is_reported():
    assert sentences("f", "x = 1") == ["No cell defines `f`."]


def test_a_cell_with_a_syntax_error_costs_only_the_exercises_that_need_it():
    sources = ("def f(x:\n    return x", "def g(x):\n    return x", "def h(x):\n    return f(x)")
    assert sentences("g", *sources) == []
    for name in ("f", "h"):
        (sentence,) = sentences(name, *sources)
        assert sentence.startswith("Cell 1 (“def f(x:”) is not valid Python, so `f` in it")
    assert value_of("g", *sources)(5) == 5


@pytest.mark.parametrize(
    "source", ["return 3", "x = 1\nawait x", "f(\0)", "(" * 5000, "\ud800 = 1"]
)
def test_code_that_no_compiler_takes_is_a_broken_cell_and_no_crash(source):
    assert value_of("f", source, "def f():\n    return 1")() == 1


@given(sources=st.lists(st.text(alphabet="fx=1()[]:%!? \n\\'\"#@def", max_size=40), max_size=4))
def test_any_text_in_cells_is_read_without_a_crash(sources):
    selection = select(cells_of(*sources), ["f", "x"])
    assert set(selection.needs) == {"f", "x"}


def test_the_names_of_a_cell_are_known_even_where_it_is_broken():
    assert defined_names(Cell(1, "code", "a, b = 1, 2\nimport c.d as e")) == {"a", "b", "e"}
    assert defined_names(Cell(1, "code", "class A:\n  x = \ny = 3 +")) == {"A", "y"}


# IPython's own lines


@pytest.mark.parametrize(
    "line",
    [
        "%matplotlib inline",
        "!touch marker",
        "?print",
        "print?",
        "%time f = 1",
        "!echo \\\n  more words",
    ],
)
def test_lines_for_ipython_are_taken_out(line):
    assert value_of("f", f"{line}\ndef f():\n    return 1")() == 1
    assert value_of("f", f"def f():\n    return 1\n{line}")() == 1


def test_a_magic_inside_a_block_leaves_the_block_valid():
    assert value_of("f", "def f():\n    %time\n    return 1")() == 1
    assert value_of("x", "x = 1\nif x:\n    !ls") == 1


def test_what_the_shell_would_return_is_none():
    assert value_of("files", "files = !ls") is None


def test_the_body_of_a_timing_magic_is_python_and_that_of_a_shell_magic_is_not():
    assert value_of("f", "%%time\ndef f():\n    return 1")() == 1
    assert sentences("f", "%%bash\nf=1") == ["No cell defines `f`."]


def test_a_percent_sign_in_brackets_or_text_is_no_magic():
    source = 'x = (7\n% 4)\ny = """\n%matplotlib\n!ls\n"""'
    assert without_magics(source) == source


# Running them


def test_answers_come_as_values_and_nothing_is_printed(write, capsys):
    path = write("import math", "print('hello')\ndef f(x):\n    return math.sqrt(x)", "n = 3")
    answers = answers_from(path, ["f", "n"])
    assert answers.values["f"](9) == 3
    assert answers.values["n"] == 3
    assert answers.problems == ()
    assert capsys.readouterr().out == ""


def test_an_exception_in_one_cell_costs_only_what_depends_on_it(write):
    path = write("BAD = 1 / 0", "n = BAD + 1", "def g():\n    return 2", "raise SystemExit")
    answers = answers_from(path, ["n", "g"])
    assert set(answers.values) == {"g"}
    assert answers.problems_of("g") == []
    assert (
        "Cell 1 (“BAD = 1 / 0”) raised ZeroDivisionError: division by zero"
        in answers.problems_of("n")
    )


def test_a_name_that_no_cell_defines_is_told_from_one_whose_cell_is_broken_or_raises(write):
    path = write("def f(x:", "n = 1 / 0", "m = n", "def g():\n    return 2")
    answers = answers_from(path, ["f", "n", "m", "g", "h", "k"])
    assert set(answers.values) == {"g"}
    assert answers.undefined == {"h", "k"}
    assert answers.problems_of("h") == ["No cell defines `h`."]
    assert all(answers.problems_of(name) for name in "fnmhk")
    assert answers_from(path, ["g"]).undefined == frozenset()


@pytest.mark.parametrize(
    ("definition", "told"),
    [
        ("class Stop(BaseException): pass", "Stop: now"),
        ("from asyncio import CancelledError as Stop", "CancelledError: now"),
        ("class Stop(Exception):\n    def __str__(self): return 1 / 0", "Stop:"),
        ("Stop = type('S' * 10**4, (Exception,), {})", "S" * 200 + ": now"),
    ],
)
def test_an_exception_of_any_kind_costs_only_what_depends_on_it(write, definition, told):
    path = write(f"{definition}\ndef stop():\n    raise Stop('now')\nn = stop()", "m = 2")
    answers = answers_from(path, ["n", "m"])
    assert answers.values == {"m": 2}
    assert answers.problems_of("n")[0].rstrip().endswith(f"raised {told}")


def test_whoever_presses_control_c_is_obeyed(write):
    with pytest.raises(KeyboardInterrupt):
        answers_from(write("def stop():\n    raise KeyboardInterrupt\nn = stop()"), ["n"])


def test_leaving_python_in_a_needed_cell_is_only_a_problem(write):
    answers = answers_from(write("import sys\nn = sys.exit(3)"), ["n"])
    assert answers.values == {}
    assert "SystemExit" in answers.problems_of("n")[0]


def test_a_fault_in_an_answer_is_quoted_with_the_learners_own_line(write):
    from attn_course.inside.submission import LocalSubmission

    answers = answers_from(write("x = 1", "def f(a):\n    b = a\n    return b / 0"), ["f"])
    response = LocalSubmission(answers.values).request(
        "call", {"name": "f", "args": (1,), "kwargs": {}}
    )
    assert response["raised"]["line"] == "return b / 0"


def test_annotations_from_the_future_hold_for_later_cells(write):
    path = write(
        "from __future__ import annotations", "def f(x: NotThere) -> Neither:\n    return x"
    )
    assert answers_from(path, ["f"]).values["f"](2) == 2


def test_the_shell_is_never_run(write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = write(
        "!touch marker\n%system touch marker\nx = !touch marker\nn = 1", "%%bash\ntouch marker"
    )
    assert answers_from(path, ["n", "x"]).values == {"n": 1, "x": None}
    assert not (tmp_path / "marker").exists()
