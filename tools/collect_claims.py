"""Write book/claims.json: what the tests show, collected from their marks.

`@pytest.mark.agrees("queries.MultiHeadAttention", "PyTorch")` says that the test compares a public
name of the package with a peer: a library, or loops such as `definitions.queries.multi_head`.
`@pytest.mark.proves("P5.9")` says that it shows a property of book/properties.yml. The marks are
read from the source, because importing every test file would take ten times as long.

    python tools/collect_claims.py           writes the file
    python tools/collect_claims.py --check   fails if the file is not what the marks say
"""

import argparse
import ast
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "book" / "claims.json"
MARKS = ("agrees", "proves")
LOOPS = "definitions."
# A misspelt library would be another row of the page.
LIBRARIES = (
    "NLTK",
    "PyTorch",
    "PyTorch Geometric",
    "SciPy",
    "entmax",
    "jiwer",
    "sacrebleu",
    "scikit-image",
    "scikit-learn",
)


class Claims:
    """The marks of tests, by what they claim."""

    def __init__(self) -> None:
        self.agrees: dict[str, dict[str, set[str]]] = {}
        self.proves: dict[str, set[str]] = {}
        self.problems: list[str] = []

    def read(self, file: str, source: str) -> None:
        """Add the marks of a test file."""
        try:
            tree = ast.parse(source, file)
        except SyntaxError as error:
            self.problems.append(f"{file}: this is not Python: {error}. Correct it.")
            return
        on_tests = set()
        for test in tree.body:
            if isinstance(test, ast.FunctionDef) and test.name.startswith("test_"):
                for mark in filter(_is_claim, test.decorator_list):
                    on_tests.add(mark)
                    self.add(f"{file}::{test.name}", mark)
        for node in ast.walk(tree):
            if _is_claim(node) and node not in on_tests:
                self.problems.append(
                    f"{file}, line {node.lineno}: a claim must be a decorator of a test function "
                    "at the top level of the file. Move the mark there."
                )

    def add(self, test: str, mark: ast.Call) -> None:
        """Add what one mark claims."""
        try:
            words = [ast.literal_eval(word) for word in mark.args]
        except ValueError:
            self.problems.append(f"{test}: a claim is read without being run. Write plain strings.")
            return
        (self.agree if mark.func.attr == "agrees" else self.prove)(test, *words)

    def agree(self, test: str, name: str = "", *peers: str) -> None:
        if not peers:
            self.problems.append(f"{test}: agrees wants a public name and at least one peer.")
        for peer in peers:
            if peer not in LIBRARIES and not peer.startswith(LOOPS):
                self.problems.append(
                    f"{test}: {name} can agree with loops, {LOOPS}<module>.<name>, or with one of "
                    f"{', '.join(LIBRARIES)}, but the peer is {peer!r}. "
                    "Correct it, or add the library to tools/collect_claims.py."
                )
            self.agrees.setdefault(name, {}).setdefault(peer, set()).add(test)

    def prove(self, test: str, *properties: str) -> None:
        if len(properties) != 1:
            self.problems.append(f"{test}: proves wants one property, such as 'P5.9'.")
        for number in properties:
            self.proves.setdefault(number, set()).add(test)


def _is_claim(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in MARKS
        and ast.unparse(node.func.value) == "pytest.mark"
    )


def collect(files: Iterable[Path]) -> Claims:
    """Return what the tests in `files` claim."""
    claims = Claims()
    for file in files:
        name = file.relative_to(ROOT).as_posix()
        claims.read(name, file.read_text(encoding="utf-8"))
    return claims


def as_text(claims: Claims) -> str:
    """Return the claims as JSON, in an order that does not depend on the order of collection."""
    agrees = {
        name: {peer: sorted(tests) for peer, tests in sorted(peers.items())}
        for name, peers in sorted(claims.agrees.items())
    }
    proves = {
        number: sorted(tests)
        for number, tests in sorted(claims.proves.items(), key=lambda pair: _by_number(pair[0]))
    }
    return json.dumps({"agrees": agrees, "proves": proves}, indent=1) + "\n"


def _by_number(number: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", number)]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, fail if it is stale")
    check = parser.parse_args(arguments).check
    claims = collect(sorted((ROOT / "tests").rglob("test_*.py")))
    if claims.problems:
        print("claims: " + "\n".join(claims.problems), file=sys.stderr)
        return 1
    text = as_text(claims)
    if not check:
        TARGET.write_text(text, encoding="utf-8")
    elif not TARGET.is_file() or TARGET.read_text(encoding="utf-8") != text:
        print(
            "claims: book/claims.json is not what the marks of the tests say. "
            "Run `make claims` and commit the file.",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
