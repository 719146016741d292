"""Importing the package: quick, and nothing heavy before it is asked for."""

import subprocess
import sys

import pytest

import attn_course


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
    for name in attn_course.__all__:
        assert getattr(attn_course, name).__name__ == f"attn_course.{name}"


def test_a_name_that_does_not_exist_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'attentoin'"):
        attn_course.attentoin  # noqa: B018  reading it is the test
