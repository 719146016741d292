"""The taxonomy in the book: the clickable map, the index of mechanisms, the stub sections.

All are made from `book/taxonomy.yml`, so they can't disagree:

- `{taxonomy-map}`            draws the map; each leaf is a link to its section
- `{mechanism-index} ASPECT`  lists the mechanisms of one aspect in tables
- `{mechanism-stub} LABEL`    stands in for a section that is not written yet

- `{package-names}`           lists the public names, module by module

All but the map write MyST Markdown and have it parsed, like an author would.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import yaml
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.errors import ExtensionError
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

import attn_course
from attn_book.taxonomy_svg import draw_map
from attn_course.translate import _

logger = logging.getLogger(__name__)

FILE = "taxonomy.yml"
PACKAGE = "attn_course"
FORMULA_PARTS = re.compile(r",\s*\\q?quad\s*")


def setup(app):
    """Add the directives, and resolve the map's links once every label is known."""
    app.setup_extension("attn_book.drawing")
    app.add_node(taxonomy_map)
    app.add_directive("taxonomy-map", TaxonomyMap)
    app.add_directive("mechanism-index", MechanismIndex)
    app.add_directive("mechanism-stub", MechanismStub)
    app.add_directive("package-names", PackageNames)
    app.connect("env-updated", _pages_to_write_again)
    app.connect("doctree-resolved", _draw_maps)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


# ---- The file ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Leaf:
    """A mechanism; the fields are explained at the top of taxonomy.yml."""

    label: str
    title: str
    question: str
    formula: str
    shapes: str
    names: tuple[str, ...]
    status: str
    chapter: str
    equations: str = ""
    short: str = ""
    sources: tuple[str, ...] = ()

    @property
    def written(self) -> bool:
        """Whether the section is there, and not only its stub."""
        return self.status == "written"


@dataclass(frozen=True)
class SubAspect:
    """An axis of the taxonomy."""

    title: str
    leaves: tuple[Leaf, ...]


@dataclass(frozen=True)
class Aspect:
    """A major aspect: a panel of the map."""

    title: str
    in_survey: bool
    sub_aspects: tuple[SubAspect, ...]

    def leaves(self) -> Iterator[Leaf]:
        """Yield every mechanism of the aspect."""
        for sub_aspect in self.sub_aspects:
            yield from sub_aspect.leaves


def load(path: Path) -> list[Aspect]:
    """Read the taxonomy; a field that is missing, unknown or wrong is an error with its place."""
    aspects = []
    for aspect in yaml.safe_load(path.read_text(encoding="utf-8"))["aspects"]:
        sub_aspects = tuple(
            SubAspect(sub["title"], tuple(_leaf(raw, sub["chapter"]) for raw in sub["leaves"]))
            for sub in aspect["sub_aspects"]
        )
        aspects.append(Aspect(aspect["title"], aspect["in_survey"], sub_aspects))
    return aspects


def _leaf(raw: dict, chapter: str) -> Leaf:
    lists = {name: tuple(raw.get(name, ())) for name in ("names", "sources")}
    fields = {"chapter": chapter, **raw, **lists}
    try:
        leaf = Leaf(**fields)
    except TypeError as error:
        raise ExtensionError(f"{FILE}, leaf {raw.get('label')!r}: {error}") from None
    if leaf.status not in ("written", "stub"):
        raise ExtensionError(f"{FILE}, leaf {leaf.label!r}: status must be `written` or `stub`")
    return leaf


def is_in_package(name: str) -> bool:
    """Tell whether a dotted name, of a module or of something in one, can be imported."""
    module, _dot, attribute = name.rpartition(".")
    try:
        import_module(name)
    except ModuleNotFoundError:
        return module != PACKAGE and is_in_package(module) and _has(module, attribute)
    return True


def _has(module: str, attribute: str) -> bool:
    return hasattr(import_module(module), attribute)


# ---- The directives ------------------------------------------------------------------------


class taxonomy_map(nodes.General, nodes.Element):  # noqa: N801, docutils names nodes like this
    """Where a map will be drawn."""


class TaxonomyDirective(SphinxDirective):
    """What the directives share: the file, noted as a source of the page."""

    def taxonomy(self) -> list[Aspect]:
        """Return the taxonomy."""
        path = _file_of(self.env)
        self.env.note_dependency(str(path))
        return load(path)

    def note_package(self) -> None:
        """Note the package as a source of the page."""
        for file in sorted(Path(attn_course.__file__).parent.rglob("*.py")):
            self.env.note_dependency(str(file))

    def parsed(self, markdown: str) -> list[nodes.Node]:
        """Return the nodes of a piece of Markdown."""
        box = nodes.Element()
        lines = StringList(markdown.splitlines(), source=self.get_source_info()[0])
        self.state.nested_parse(lines, self.content_offset, box)
        return box.children


class TaxonomyMap(TaxonomyDirective):
    """`{taxonomy-map}`: one link for every mechanism."""

    def run(self) -> list[nodes.Node]:
        """Leave a place for the map: the links are known later."""
        self.taxonomy()
        place = taxonomy_map()
        self.set_source_info(place)
        return [place]


class MechanismIndex(TaxonomyDirective):
    """`{mechanism-index} ASPECT`: a table for every sub-aspect."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return the tables."""
        wanted = self.arguments[0]
        for aspect in self.taxonomy():
            if aspect.title == wanted:
                return self.parsed("\n\n".join(_table(sub) for sub in aspect.sub_aspects))
        raise self.error(f"{FILE} has no aspect {wanted!r}")


class MechanismStub(TaxonomyDirective):
    """`{mechanism-stub} LABEL`: formula, shapes and module of a section yet to be written."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the stand-in."""
        for aspect in self.taxonomy():
            for sub_aspect in aspect.sub_aspects:
                for leaf in sub_aspect.leaves:
                    if leaf.label == self.arguments[0]:
                        return self.parsed(_stub(aspect, sub_aspect, leaf))
        raise self.error(f"{FILE} has no leaf {self.arguments[0]!r}")


class PackageNames(TaxonomyDirective):
    """`{package-names}`: what can be imported from where."""

    def run(self) -> list[nodes.Node]:
        """Return a list of modules, each with its names."""
        leaves = sorted(_all_leaves(self.taxonomy()), key=lambda leaf: leaf.chapter)
        modules = _by_module(name for leaf in leaves for name in leaf.names)
        return self.parsed("\n\n".join(_module(*item) for item in modules.items()))


def _by_module(dotted_names: Iterable[str]) -> dict[str, list[str]]:
    """Return the names of each module, without doubles."""
    modules: dict[str, list[str]] = {}
    for dotted in dotted_names:
        module, _dot, name = dotted.rpartition(".")
        names = modules.setdefault(module, [])
        if name not in names:
            names.append(name)
    return modules


def _places(dotted_names: Iterable[str]) -> str:
    places = []
    for module, names in _by_module(dotted_names).items():
        where = f"`{module.removeprefix(PACKAGE + '.')}`"
        # Links to the reference; a name that it does not have is an error of the strict build.
        listed = ", ".join(f"{{py:obj}}`{name} <{module}.{name}>`" for name in names)
        places.append(_("{names} in {module}").format(names=listed, module=where))
    return "; ".join(places)


def _module(module: str, names: list[str]) -> str:
    return f"`{module}`\n: " + ", ".join(f"`{name}`" for name in names)


def _all_leaves(aspects: list[Aspect]) -> Iterator[Leaf]:
    for aspect in aspects:
        yield from aspect.leaves()


def _table(sub_aspect: SubAspect) -> str:
    rows = [(_("Mechanism, question, formula"), _("Survey"), _("Package"))]
    for leaf in sub_aspect.leaves:
        cited = f" {{cite}}`{','.join(leaf.sources)}`" if leaf.sources else ""
        mechanism = f"{{ref}}`{leaf.title} <{leaf.label}>`: {leaf.question}{cited}"
        # The parts of a formula as formulas of their own, so that a line may break between them.
        formula = ", ".join(f"${part}$" for part in FORMULA_PARTS.split(leaf.formula))
        rows.append((f"{mechanism}\n\n    {formula}", leaf.equations or "–", _places(leaf.names)))
    cells = "\n".join("* - " + "\n  - ".join(row) for row in rows)
    return (
        f"```{{rubric}} {sub_aspect.title}\n```\n\n"
        f"```{{list-table}}\n:header-rows: 1\n:class: mechanism-index\n\n{cells}\n```"
    )


def _stub(aspect: Aspect, sub_aspect: SubAspect, leaf: Leaf) -> str:
    facts = [
        (_("Where it stands"), f"{aspect.title} › {sub_aspect.title}"),
        (_("Shapes"), leaf.shapes),
        (_("In the survey"), leaf.equations or _("no numbered equation")),
        (_("In the package"), ", ".join(f"`{name}`" for name in leaf.names)),
    ]
    if leaf.sources:
        facts.append((_("Source"), f"{{cite:t}}`{','.join(leaf.sources)}`"))
    listed = "\n".join(f"- {name}: {value}" for name, value in facts)
    not_yet = _("The code is there; this section is not written yet.")
    lines = " \\\\\n".join(FORMULA_PARTS.split(leaf.formula))  # one below the other fit a phone
    formula = f"$$\n\\begin{{gathered}}\n{lines}\n\\end{{gathered}}\n$$"
    return f"{leaf.question}\n\n{formula}\n\n{listed}\n\n*{not_yet}*"


# ---- The map's links -----------------------------------------------------------------------


def _pages_to_write_again(app, env):
    """A label may have moved to another page: the links of an unchanged map then change."""
    file = _file_of(env)
    return [page for page, sources in env.dependencies.items() if _mentions(env, sources, file)]


def _mentions(env, sources, file):
    return any((Path(env.srcdir) / source).resolve() == file for source in sources)


def _file_of(env) -> Path:
    return (Path(env.srcdir) / FILE).resolve()


def _draw_maps(app, doctree, page):
    for place in list(doctree.findall(taxonomy_map)):
        aspects = load(_file_of(app.env))
        addresses = {
            leaf.label: _address(app, page, leaf.label, place) for leaf in _all_leaves(aspects)
        }
        place.replace_self(nodes.raw("", draw_map(aspects, addresses), format="html"))


def _address(app, page, label, place):
    """Return the relative link to a label, or warn with file and line."""
    labels = app.env.get_domain("std").anonlabels
    if label not in labels:
        message = "the taxonomy names the section %r, but no page has that label"
        logger.warning(message, label, location=place, type="taxonomy")
        return "#"
    target_page, anchor = labels[label]
    address = f"{app.builder.get_relative_uri(page, target_page)}#{anchor}"
    # One page for the whole book (singlehtml): the page's own anchor gives way to the label's.
    return "#" + address.rpartition("#")[2] if address.count("#") > 1 else address
