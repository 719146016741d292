"""Importing the package: quick, and nothing heavy before it is asked for."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from torch import nn

import attn_course

MODULES = set(attn_course.__all__) - set(attn_course._HOMES)


def loaded_after(statement: str) -> set[str]:
    code = f"{statement}\nimport sys; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(out.stdout.split())


@pytest.mark.parametrize("heavy", ["torch", "matplotlib", "ipywidgets", "numpy"])
def test_importing_the_package_loads_nothing_heavy(heavy):
    assert heavy not in loaded_after("import attn_course")


@pytest.mark.parametrize("module", ["scoring", "alignment", "definitions", "practice", "cli"])
def test_what_only_handles_arrays_does_not_load_pytorch(module):
    assert "torch" not in loaded_after(f"import attn_course.{module}")


def test_every_module_named_in_the_package_can_be_had():
    for name in MODULES:
        assert getattr(attn_course, name).__name__ == f"attn_course.{name}"


def test_a_name_that_does_not_exist_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'attentoin'"):
        attn_course.attentoin  # noqa: B018  reading it is the test


# --- names at the top --------------------------------------------------------------------------


def test_a_name_at_the_top_is_the_one_of_its_module():
    assert {"attend", "Attention", "MultiHeadAttention", "Transformer"} <= set(attn_course._HOMES)
    for name, home in attn_course._HOMES.items():
        assert getattr(attn_course, name) is getattr(getattr(attn_course, home), name)
        assert name in attn_course.__all__
        assert name in dir(attn_course)


def test_every_layer_of_the_course_has_a_name_at_the_top():
    for home in ("attention", "features", "queries", "general_attention", "graphs"):
        for name, thing in vars(getattr(attn_course, home)).items():
            if isinstance(thing, type) and issubclass(thing, nn.Module) and name[0] != "_":
                assert attn_course._HOMES[name] == home


def test_a_type_checker_sees_the_names_that_are_loaded_on_demand():
    tree = ast.parse(Path(attn_course.__file__).read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    assert ast.unparse(block.test) == "TYPE_CHECKING"
    seen = {
        alias.name: statement.module.removeprefix("attn_course.")
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    assert seen == attn_course._HOMES


@pytest.mark.parametrize("home", ["alignment", "attention", "dimensionality", "scoring"])
def test_a_formula_at_the_top_does_not_load_pytorch(home):
    names = [name for name, its in attn_course._HOMES.items() if its == home and name[0].islower()]
    assert names
    assert "torch" not in loaded_after(f"from attn_course import {', '.join(names)}")
