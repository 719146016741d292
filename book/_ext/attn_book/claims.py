"""What is tested, from what the tests say themselves: `{tested-mechanisms}`, `{tested-properties}`.

Two files are the source: `claims.json`, which `tools/collect_claims.py` collects from the marks of
the tests, and `properties.yml`, which has a sentence for each property.

- `{tested-mechanisms}`  the loops and the libraries each mechanism agrees with, and its properties
- `{tested-properties}`  every property, with the tests that show it
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml
from docutils import nodes
from sphinx.errors import ExtensionError

from attn_book.taxonomy import PACKAGE, Leaf, TaxonomyDirective, _all_leaves
from attn_course.translate import _

CLAIMS, PROPERTIES = "claims.json", "properties.yml"
LOOPS = "definitions."
NUMBER = re.compile(r"P(\d+)\.(\d+)")
EMPTY_CELL = "–"


@dataclass(frozen=True)
class Property:
    """A sentence that is true of some mechanisms, given by their labels in the taxonomy."""

    number: str  # such as P5.9
    of: tuple[str, ...]
    sentence: str

    @property
    def label(self) -> str:
        """The label of its place on the page."""
        return "property-" + self.number.lower().replace(".", "-")

    @property
    def order(self) -> tuple[int, ...]:
        """Subject and number, as numbers."""
        return order(self.number)


def order(number: str) -> tuple[int, ...]:
    """Return subject and number of a property, such as (5, 9) of P5.9."""
    match = NUMBER.fullmatch(number)
    if match is None:
        raise ExtensionError(
            f"{PROPERTIES}: a property has a number such as P5.9, but one has {number!r}"
        )
    return tuple(map(int, match.groups()))


@dataclass(frozen=True)
class Claims:
    """Tests by what they say: public name and peer, or the number of a property."""

    agrees: Mapping[str, Mapping[str, list[str]]]
    proves: Mapping[str, list[str]]


def load_claims(book: Path) -> Claims:
    """Read what the tests say."""
    return Claims(**json.loads((book / CLAIMS).read_text(encoding="utf-8")))


def load_properties(book: Path) -> list[Property]:
    """Read the properties, in the order of their numbers."""
    raw = yaml.safe_load((book / PROPERTIES).read_text(encoding="utf-8"))
    found = [Property(number, tuple(one["of"]), one["sentence"]) for number, one in raw.items()]
    return sorted(found, key=lambda one: one.order)


# ---- The tables ----------------------------------------------------------------------------


def mechanism_rows(
    leaves: list[Leaf], claims: Claims, properties: list[Property]
) -> list[tuple[str, str, str, str]]:
    """Return a row per mechanism, then one per public name that is no mechanism by itself."""
    rows, shown = [], set()
    for leaf in leaves:
        names = [name.removeprefix(f"{PACKAGE}.") for name in leaf.names]
        found = {name: peers for name, peers in claims.agrees.items() if _belongs(name, names)}
        own = [one for one in properties if leaf.label in one.of]
        rows.append(
            (f"{{ref}}`{leaf.title} <{leaf.label}>`", *_agreements(found, names), _refs(own))
        )
        shown |= found.keys()
    for name in sorted(claims.agrees.keys() - shown):
        rows.append((f"`{name}`", *_agreements({name: claims.agrees[name]}, [name]), EMPTY_CELL))
    return rows


def _belongs(claimed: str, names: list[str]) -> bool:
    """Tell whether a claim is about one of the names, or about a method of it."""
    return any(claimed == name or claimed.startswith(f"{name}.") for name in names)


def _agreements(found: Mapping[str, Mapping[str, list[str]]], names: list[str]) -> tuple[str, str]:
    """Return the loops and the libraries; where only a method agrees, the method too."""
    loops, libraries = set(), set()
    for claimed, peers in found.items():
        method = "" if claimed in names else f" (`{claimed.rpartition('.')[2]}`)"
        for peer in peers:
            if peer.startswith(LOOPS):
                loops.add(f"`{peer.removeprefix(LOOPS)}`")
            else:
                libraries.add(peer + method)
    # A library that agrees with the whole needs no method.
    libraries = {one for one in libraries if one.partition(" (`")[0] not in libraries - {one}}
    return ", ".join(sorted(loops)) or EMPTY_CELL, ", ".join(sorted(libraries)) or EMPTY_CELL


def _refs(properties: list[Property]) -> str:
    return ", ".join(f"{{ref}}`{one.number} <{one.label}>`" for one in properties) or EMPTY_CELL


def property_blocks(properties: list[Property], claims: Claims) -> Iterator[str]:
    """Yield, per property, its label, its sentence, and the tests that show it."""
    for one in properties:
        tests = [_test(node) for node in claims.proves.get(one.number, [])]
        lines = "\n".join(f"  - {test}" for test in tests)
        yield f"({one.label})=\n**{one.number}.** {one.sentence}\n\n{lines}"


def _test(node: str) -> str:
    file, name = node.split("::")
    words = name.removeprefix("test_").replace("_", " ")
    return _("{words} (`{file}`)").format(words=words, file=file)


# ---- The directives ------------------------------------------------------------------------


class TestedDirective(TaxonomyDirective):
    """What both directives share: the two files, noted as sources of the page."""

    def sources(self) -> tuple[Claims, list[Property]]:
        """Return what the tests say, and the properties."""
        book = Path(self.env.srcdir)
        for name in (CLAIMS, PROPERTIES):
            self.env.note_dependency(str(book / name))
        return load_claims(book), load_properties(book)


class TestedMechanisms(TestedDirective):
    """`{tested-mechanisms}`: one row per mechanism."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        rows = [(_("Mechanism"), _("Loops it agrees with"), _("Other libraries"), _("Properties"))]
        rows += mechanism_rows(list(_all_leaves(self.taxonomy())), *self.sources())
        cells = "\n".join("* - " + "\n  - ".join(row) for row in rows)
        return self.parsed(
            f"```{{list-table}}\n:header-rows: 1\n:class: tested-mechanisms\n\n{cells}\n```"
        )


class TestedProperties(TestedDirective):
    """`{tested-properties}`: one paragraph per property."""

    def run(self) -> list[nodes.Node]:
        """Return the paragraphs."""
        claims, properties = self.sources()
        return self.parsed("\n\n".join(property_blocks(properties, claims)))


def setup(app):
    """Add the directives."""
    app.add_directive("tested-mechanisms", TestedMechanisms)
    app.add_directive("tested-properties", TestedProperties)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
