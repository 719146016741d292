"""The formulas on arrays do without PyTorch; layers are loaded when they are first named."""

import importlib
import subprocess
import sys
from inspect import getmembers, isfunction
from pathlib import Path

import numpy as np
import pytest
import torch

import attn_course
from attn_course import attention, nadaraya_watson, positions
from tests.formulas_on_arrays import answers

ROOT = Path(__file__).parents[1]
HIDE = "import sys; sys.modules['torch'] = None"  # from then on importing it is an error
ASK = """
import sys
import numpy as np
from tests.formulas_on_arrays import answers
np.savez(sys.argv[1], **answers())
"""


def run(code, *arguments):
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_numpy_gets_the_same_numbers_where_there_is_no_pytorch(tmp_path):
    run(HIDE + ASK, tmp_path / "answers.npz")
    without, with_it = np.load(tmp_path / "answers.npz"), answers()
    assert set(without) == set(with_it)
    for name in with_it:
        np.testing.assert_array_equal(without[name], with_it[name], err_msg=name)


def test_numpy_arrays_never_make_a_formula_load_pytorch(tmp_path):
    run(ASK + "assert 'torch' not in sys.modules", tmp_path / "answers.npz")


HOMES = ["alignment", "attention", "dimensionality", "nadaraya_watson", "positions", "scoring"]


@pytest.mark.parametrize("home", HOMES)
def test_every_function_on_arrays_can_be_imported_where_there_is_no_pytorch(home):
    module = importlib.import_module(f"attn_course.{home}")
    functions = [
        name
        for name, function in getmembers(module, isfunction)
        if function.__module__.startswith(module.__name__) and not name.startswith("_")
    ]
    at_the_top = [name for name in functions if attn_course._HOMES.get(name) == home]
    assert at_the_top
    run(f"{HIDE}; from attn_course.{home} import {', '.join(functions)}")
    run(f"{HIDE}; from attn_course import {', '.join(at_the_top)}")


@pytest.mark.parametrize("package", [attention, nadaraya_watson, positions])
def test_layers_can_be_had_from_the_package_of_their_formulas(package):
    layers = [name for name in dir(package) if isinstance(getattr(package, name), type)]
    assert layers
    for name in layers:
        assert issubclass(getattr(package, name), torch.nn.Module)
    with pytest.raises(AttributeError, match="no attribute 'TaskModle'"):
        package.TaskModle  # noqa: B018  reading it is the test
