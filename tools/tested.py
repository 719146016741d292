"""Write book/tested.json: what the tests show, collected from their marks.

`@pytest.mark.agrees("queries.MultiHeadAttention", "PyTorch")` says that the test compares a public
name of the package with a peer: a library, or loops such as `definitions.queries.multi_head`.
`@pytest.mark.proves("P5.9")` says that it shows a property of book/properties.yml. No test runs
for this: pytest collects the files that have such a mark.

    python tools/tested.py           writes the file
    python tools/tested.py --check   fails if the file is not what the marks say
"""

import argparse
import json
import re
import sys
from collections.abc import Iterable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "book" / "tested.json"
MARK = re.compile(r"pytest\.mark\.(agrees|proves)\(")
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
    """A plugin of pytest that remembers the marks of every test it collects."""

    def __init__(self) -> None:
        self.agrees: dict[str, dict[str, set[str]]] = {}
        self.proves: dict[str, set[str]] = {}
        self.problems: list[str] = []

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            test = item.nodeid.partition("[")[0]  # all parameters of a test are one test
            for mark in item.iter_markers("agrees"):
                self.agree(test, *mark.args)
            for mark in item.iter_markers("proves"):
                self.prove(test, *mark.args)

    def agree(self, test: str, name: str = "", *peers: str) -> None:
        if not peers:
            self.problems.append(f"{test}: agrees wants a public name and at least one peer.")
        for peer in peers:
            if peer not in LIBRARIES and not peer.startswith(LOOPS):
                self.problems.append(
                    f"{test}: {name} can agree with loops, {LOOPS}<module>.<name>, or with one of "
                    f"{', '.join(LIBRARIES)}, but the peer is {peer!r}. "
                    "Correct it, or add the library to tools/tested.py."
                )
            self.agrees.setdefault(name, {}).setdefault(peer, set()).add(test)

    def prove(self, test: str, *properties: str) -> None:
        if len(properties) != 1:
            self.problems.append(f"{test}: proves wants one property, such as 'P5.9'.")
        for number in properties:
            self.proves.setdefault(number, set()).add(test)


def collect(files: Iterable[Path]) -> Claims:
    """Return what the tests in `files` claim."""
    claims = Claims()
    options = ["--collect-only", "-q", "-p", "no:cacheprovider", f"--rootdir={ROOT}"]
    said = StringIO()
    with redirect_stdout(said):  # it lists every test
        code = pytest.main([*options, *map(str, files)], plugins=[claims])
    if code != pytest.ExitCode.OK:
        claims.problems.append(
            f"pytest can't collect the tests (exit code {code}):\n{said.getvalue()}"
        )
    return claims


def marked_files(folder: Path = ROOT / "tests") -> list[Path]:
    """Return the test files with a mark: to collect only these is quicker."""
    files = sorted(folder.rglob("test_*.py"))
    return [file for file in files if MARK.search(file.read_text(encoding="utf-8"))]


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
    claims = collect(marked_files())
    if claims.problems:
        print("tested: " + "\n".join(claims.problems), file=sys.stderr)
        return 1
    text = as_text(claims)
    if not check:
        TARGET.write_text(text, encoding="utf-8")
    elif not TARGET.is_file() or TARGET.read_text(encoding="utf-8") != text:
        print(
            "tested: book/tested.json is not what the marks of the tests say. "
            "Run `make tested` and commit the file.",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
