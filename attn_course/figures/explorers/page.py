"""What a page needs to bring explorers to life without a kernel: style, modules, boot script.

The book's Sphinx extension uses this too, so the module needs the standard library only.
"""

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

HOME = Path(__file__).parent
# What all modules are made of, each file after those that it imports.
KIT = [HOME / f"{part}.js" for part in ("kit", "elements", "controls", "hands", "links", "stage")]
STYLE = HOME / "explorer.css"
BOOT = HOME / "boot.js"

# Everything between the two is code, the same for every figure of its kind. The book cuts it out
# of outputs that may lie in a cache for months, and puts today's code on the page once.
CODE_BEGINS = "<!-- explorer code -->"
CODE_ENDS = "<!-- end of explorer code -->"

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./\w+\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=function|const)", re.MULTILINE)
_HOST = re.compile(r'data-explorer="(\w+)"')
# A figure as `host` wrote it: what is shown at first, and the values.
_FIGURE = re.compile(
    r'<div data-explorer="(?P<name>\w+)">.*?'
    r'<script type="application/json" data-explorer-values>(?P<values>.*?)</script></div>',
    re.DOTALL,
)
_CODE = re.compile(re.escape(CODE_BEGINS) + ".*?" + re.escape(CODE_ENDS), re.DOTALL)


def module_file(name: str) -> Path:
    """Return the file of the JavaScript module of the explorer `name`."""
    return HOME / f"{name}.js"


def module_text(name: str) -> str:
    """Return the module as one text: a page from a folder can't import a second file.

    The kit is in a function of its own, so that a module may use the kit's other names itself.
    """
    module = module_file(name).read_text(encoding="utf-8")
    names = ", ".join(imported.strip() for imported in _IMPORT.findall(module))
    if not names:
        return module
    kit = "\n".join(_EXPORT.sub("", _without_imports(part)) for part in KIT)
    own = _IMPORT.sub("", module)
    return f"const {{ {names} }} = (() => {{\n{kit}\nreturn {{ {names} }};\n}})();\n\n{own}"


def _without_imports(file: Path) -> str:
    return _IMPORT.sub("", file.read_text(encoding="utf-8"))


def style_text() -> str:
    """Return the style sheet that all explorers share."""
    return STYLE.read_text(encoding="utf-8")


def files(names: Iterable[str]) -> list[Path]:
    """Return every file that `code` reads for these explorers."""
    return [*KIT, STYLE, BOOT, *(module_file(name) for name in names)]


def code(names: Iterable[str]) -> str:
    """Return the HTML that a page with these explorers needs once."""
    modules = "\n".join(
        f'<script type="application/json" data-explorer-module="{name}">'
        f"{script_json(module_text(name))}</script>"
        for name in names
    )
    boot = BOOT.read_text(encoding="utf-8")
    return (
        f"{CODE_BEGINS}\n<style>\n{style_text()}</style>\n{modules}\n"
        f"<script>\n{boot}</script>\n{CODE_ENDS}"
    )


def without_code(html: str) -> str:
    """Return `html` without any code of explorers; the figures themselves stay."""
    return _CODE.sub("", html)


def host(name: str, values: object, shown: str) -> str:
    """Return the HTML of one figure: its values, and the markup that is `shown` until it moves."""
    script = '<script type="application/json" data-explorer-values>'
    return f'<div data-explorer="{name}">{shown}{script}{script_json(values)}</script></div>'


def redrawn(html: str, draw: Callable[[str, dict[str, Any]], str]) -> str:
    """Return `html` in which each figure shows what `draw` makes of its name and its values."""

    def redraw(figure: re.Match[str]) -> str:
        name, values = figure["name"], json.loads(figure["values"])
        return host(name, values, draw(name, values))

    return _FIGURE.sub(redraw, html)


def values_in(html: str) -> list[tuple[str, dict[str, Any]]]:
    """Return name and values of each explorer in `html`, in order."""
    return [(figure["name"], json.loads(figure["values"])) for figure in _FIGURE.finditer(html)]


def explorers_in(html: str) -> list[str]:
    """Return the names of the explorers in `html`, in order."""
    return _HOST.findall(html)


def script_json(value: object) -> str:
    r"""Return JSON that can stand in a `<script>`: no `</script>` and no `<!--` in it.

    >>> script_json("</script>")
    '"\\u003c/script>"'
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=False).replace("<", r"\u003c")
