"""Write what README.md and CONTRIBUTING.md say about the code from the code itself.

    python tools/write_tables.py            write it between the marks
    python tools/write_tables.py --check    write nothing; fail where it is not up to date

A mark is a line `<!-- generated: KIND WORDS -->`, and the text ends at `<!-- end -->`:

- `modules FOLDER`  a table of the modules in a folder, with the first sentence of each
- `layers`          who may use whom, from the contract in pyproject.toml
- `selftest`        what `attn-course selftest` printed, as `make selftest` kept it
"""

import ast
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = ("README.md", "CONTRIBUTING.md")
BLOCK = re.compile(
    r"(?P<mark><!-- generated: (?P<kind>\w+) ?(?P<words>[^>]*?) -->\n).*?(?P<end><!-- end -->)",
    flags=re.DOTALL,
)
CHAPTER = re.compile(r"\s*\(chapter (\d+)\)\.?")


def main(arguments):
    stale = [name for name in FILES if renewed(text_of(name)) != text_of(name)]
    if "--check" in arguments:
        if stale:
            sys.exit(f"{' and '.join(stale)}: tables are not up to date: run `make exercises`.")
        print("The tables of README.md and CONTRIBUTING.md agree with the code.")
        return
    for name in stale:
        (ROOT / name).write_text(renewed(text_of(name)), encoding="utf-8")
        print(f"written   {name}")


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def renewed(text):
    """Return a text with everything between marks as the code has it today."""

    def block(found):
        lines = KINDS[found["kind"]](*found["words"].split())
        return found["mark"] + "\n" + "\n".join(lines) + "\n\n" + found["end"]

    return BLOCK.sub(block, text)


def modules(folder):
    """Return the table of a folder's modules: those of chapters in their order, then the others."""
    paths = [*(ROOT / folder).glob("*.py"), *(ROOT / folder).glob("*/__init__.py")]
    rows = sorted(row(path) for path in paths if path != ROOT / folder / "__init__.py")
    inside = "" if folder == "attn_course" else f" of `{Path(folder).name}/`"
    yield f"| module{inside} | what it is for |"
    yield "|---|---|"
    for chapter, name, sentence in rows:
        about = f"chapter {chapter}: " if chapter < LAST else ""
        yield f"| `{name}` | {about}{sentence} |"


LAST = 99  # the chapter of what belongs to none


def row(path):
    """Return chapter, name and first sentence of a module."""
    name = f"{path.parent.name}/" if path.name == "__init__.py" else path.name
    first = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n\n")[0]
    chapter = CHAPTER.search(first)
    sentence = re.split(r"(?<=[.?!])\s", CHAPTER.sub("", " ".join(first.split())))[0]
    return int(chapter[1]) if chapter else LAST, name, sentence.rstrip(".")


def layers():
    """Return the layers of the package, highest first."""
    contracts = tomllib.loads(text_of("pyproject.toml"))["tool"]["importlinter"]["contracts"]
    (order,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    yield "```text"
    yield from (layer.replace(" | ", ", ").replace(" : ", ", ") for layer in order)
    yield "```"


def selftest():
    """Return the beginning and the end of what `attn-course selftest` printed last."""
    table, *_explained, rates = text_of("book/_data/selftest.txt").rstrip("\n").split("\n\n")
    yield from ("```text", "$ attn-course selftest", *table.split("\n")[:3], "…")
    yield from (*rates.split("\n"), "```")


KINDS = {"modules": modules, "layers": layers, "selftest": selftest}

if __name__ == "__main__":
    main(sys.argv[1:])
