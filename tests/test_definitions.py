"""The oracle must stay an oracle: plain loops over numbers, in NumPy's name only."""

import ast
from pathlib import Path

import pytest

import attn_course.definitions

FILES = sorted(Path(attn_course.definitions.__file__).parent.glob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_definition_has_no_matrix_product_no_einsum_and_no_broadcasting(path):
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        assert not isinstance(node, ast.MatMult), f"{path.name} uses @"
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "np":
            assert node.attr in {"array", "ndarray"}, f"{path.name}: np.{node.attr}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_definition_imports_nothing_but_the_standard_library_and_numpy(path):
    allowed = {"math", "collections", "numpy", "typing", "attn_course"}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            assert {alias.name.split(".")[0] for alias in node.names} <= allowed
        if isinstance(node, ast.ImportFrom):
            module = node.module or ""
            assert module.split(".")[0] in allowed
            if module.startswith("attn_course"):
                assert module.startswith("attn_course.definitions")
