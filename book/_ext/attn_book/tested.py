"""`{tested-mechanisms}`: a table of what holds each mechanism to account, read from the tests.

For every mechanism of the taxonomy that is in the package: the loops it agrees with, the other
libraries it agrees with, and the numbered properties that are tested. Nothing is kept by hand: a
test counts for a mechanism when it stands in the test file of the mechanism's module and it, or
what it uses of its own file, names the mechanism.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from docutils import nodes

import attn_course
from attn_book.taxonomy import Leaf, TaxonomyDirective, _all_leaves, is_in_package
from attn_course.translate import _

TESTS = Path(__file__).parents[3] / "tests"
DEFINITIONS = "attn_course.definitions"
PROPERTY = re.compile(r"_p(\d)_(\d+)(?=_)")

# What a test that has an opinion from outside mentions, and whose opinion that is.
OPINIONS = {
    "scaled_dot_product_attention": "PyTorch",
    "MultiheadAttention": "PyTorch",
    "TransformerEncoderLayer": "PyTorch",
    "TransformerDecoderLayer": "PyTorch",
    "multi_margin_loss": "PyTorch",
    "bilinear": "PyTorch",
    "GRU": "PyTorch",
    "entmax": "entmax",
    "rbf_kernel": "scikit-learn",
    "euclidean_distances": "scikit-learn",
    "GATConv": "PyTorch Geometric",
    "GATv2Conv": "PyTorch Geometric",
    "BLEU": "sacrebleu",
    "nltk_bleu": "NLTK",
    "single_meteor_score": "NLTK",
    "nltk_error_rate": "NLTK",
    "MLE": "NLTK",
    "jiwer": "jiwer",
    "structural_similarity": "scikit-image",
    "peak_signal_noise_ratio": "scikit-image",
    "jaccard_score": "scikit-learn",
    "metrics": "scikit-learn",
    "kendalltau": "SciPy",
    "spearmanr": "SciPy",
}


@dataclass(frozen=True)
class Test:
    """One test: its file, its name, all names it comes to use, and the definitions among them."""

    file: str  # without `test_` and `.py`
    name: str
    mentions: frozenset[str]
    definitions: frozenset[str]

    @property
    def properties(self) -> set[tuple[int, int]]:
        """The numbered properties in the test's name, such as P2.7."""
        return {(int(a), int(b)) for a, b in PROPERTY.findall(self.name)}

    @property
    def opinions(self) -> set[str]:
        """The libraries that it compares with."""
        return {OPINIONS[name] for name in self.mentions & OPINIONS.keys()}


def read_tests(folder: Path = TESTS) -> list[Test]:
    """Return every test of the package's modules."""
    return [test for path in _files(folder) for test in _tests_of(path)]


def _files(folder: Path) -> list[Path]:
    """Return the test files of modules: one each, and a folder where a chapter has many."""
    return sorted([*folder.glob("test_*.py"), *folder.glob("evaluation/test_*.py")])


def _tests_of(path: Path) -> Iterator[Test]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    loops = _definition_aliases(tree)
    own = {name: node for node in tree.body for name in _defined(node)}
    for node in tree.body:
        if not (isinstance(node, ast.FunctionDef) and node.name.startswith("test_")):
            continue
        parts = _with_helpers(node, own)
        mentions = {name for part in parts for name in _names_in(part)}
        definitions = {name for part in parts for name in _definitions_in(part, loops)}
        yield Test(
            path.stem.removeprefix("test_"), node.name, frozenset(mentions), frozenset(definitions)
        )


def _definition_aliases(tree: ast.Module) -> dict[str, str]:
    """Return what the file calls the modules of definitions, with their names."""
    aliases = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == DEFINITIONS:
            aliases |= {alias.asname or alias.name: alias.name for alias in node.names}
    return aliases


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return []


def _with_helpers(test: ast.stmt, own: dict[str, ast.stmt]) -> list[ast.stmt]:
    """Return a test and everything of its own file that it uses, however indirectly."""
    parts, pending = [], [test]
    while pending:
        part = pending.pop()
        if part not in parts:
            parts.append(part)
            pending += [own[name] for name in sorted(_names_in(part) & own.keys())]
    return parts


def _names_in(node: ast.AST) -> set[str]:
    names = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            names.add(part.id)
        elif isinstance(part, ast.Attribute):
            names.add(part.attr)
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            names.add(part.value)  # a choice given by name, such as "sparsemax"
    return names


def _definitions_in(node: ast.AST, aliases: dict[str, str]) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and part.attr.islower():
            module = aliases.get(ast.unparse(part.value))
            if module is not None:
                yield f"{module}.{part.attr}"


class TestedMechanisms(TaxonomyDirective):
    """`{tested-mechanisms}`: one row for each mechanism that is in the package."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        for path in _files(TESTS):
            self.env.note_dependency(str(path))
        self.note_package()
        tests = read_tests()
        rows = [(_("Mechanism"), _("Loops it agrees with"), _("Other libraries"), _("Properties"))]
        rows += table_rows(list(_all_leaves(self.taxonomy())), tests)
        cells = "\n".join("* - " + "\n  - ".join(row) for row in rows)
        return self.parsed(
            f"```{{list-table}}\n:header-rows: 1\n:class: tested-mechanisms\n\n{cells}\n```"
        )


def table_rows(leaves: list[Leaf], tests: list[Test]) -> list[tuple[str, ...]]:
    """Return a row for each mechanism that is in the package."""
    there = [leaf for leaf in leaves if _is_there(leaf)]
    names = {_snake(name) for leaf in there for name in leaf.names}
    return [_row(leaf, tests, names - {_snake(name) for name in leaf.names}) for leaf in there]


def _is_there(leaf: Leaf) -> bool:
    return any(is_in_package(name) for name in leaf.names)


def evidence(leaf: Leaf, tests: list[Test]) -> list[Test]:
    """Return the tests of the leaf's own modules that name one of its public names."""
    found = []
    for dotted in filter(is_in_package, leaf.names):
        module, name = dotted.split(".")[1], dotted.rpartition(".")[2]
        found += [test for test in tests if _is_about(test, module) and name in test.mentions]
    return found


def _is_about(test: Test, module: str) -> bool:
    """Tell whether a test file belongs to a module: by its name, or by that of a file in it."""
    package = Path(attn_course.__file__).parent / module
    of_a_part = (package / f"{test.file}.py").is_file()
    return test.file == module or test.file.startswith(f"{module}_") or of_a_part


def _loops(leaf: Leaf, found: list[Test], others: set[str]) -> list[str]:
    """Return the definitions of the leaf's own: those of its name, else those of nobody's name."""
    modules = {name.split(".")[1] for name in leaf.names}
    used = {d for test in found for d in test.definitions if d.split(".")[0] in modules}
    named: set[str] = set()
    for name in map(_snake, leaf.names):
        exactly = {d for d in used if d.split(".")[1] == name}
        named |= exactly or {d for d in used if _alike(d.split(".")[1], name)}
    rest = {d for d in used if not any(_alike(d.split(".")[1], name) for name in others)}
    return sorted(named or rest)


def _snake(dotted: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", dotted.rpartition(".")[2]).lower()


def _alike(definition: str, name: str) -> bool:
    """Tell whether a definition is a mechanism's by its name: `parallel`, ParallelCoAttention."""
    longer, shorter = sorted((definition, name), key=len, reverse=True)
    return longer == shorter or longer.startswith(f"{shorter}_") or longer.endswith(f"_{shorter}")


def _row(leaf: Leaf, tests: list[Test], others: set[str]) -> tuple[str, ...]:
    found = evidence(leaf, tests)
    opinions = sorted({opinion for test in found for opinion in test.opinions})
    numbers = sorted({number for test in found for number in test.properties})
    return (
        f"{{ref}}`{leaf.title} <{leaf.label}>`",
        ", ".join(f"`{name}`" for name in _loops(leaf, found, others)) or "–",
        ", ".join(opinions) or "–",
        ", ".join(_ranges(numbers)) or "–",
    )


def _ranges(numbers: list[tuple[int, int]]) -> Iterator[str]:
    """Write runs of properties as one: P0.1–P0.7."""
    while numbers:
        (chapter, first), *_rest = numbers
        run = 1
        while (chapter, first + run) in numbers:
            run += 1
        last = f"P{chapter}.{first + run - 1}"
        yield last if run == 1 else f"P{chapter}.{first}" + (", " if run == 2 else "–") + last
        numbers = numbers[run:]


def setup(app):
    """Add the directive."""
    app.add_directive("tested-mechanisms", TestedMechanisms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
