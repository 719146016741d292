"""The built folder asks no server for anything: it opens from a USB stick.

MathJax comes from the PyPI package sphinx-mathjax-offline at build time. Of its 24 MB the
book needs one file: the variant that draws formulas as SVG, because it needs no fonts
(Firefox refuses to load fonts for pages opened from `file://`), with every TeX extension
inside, because then nothing is fetched later.
"""

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from sphinx.errors import ExtensionError

MATHJAX = "sphinx-mathjax-offline/static/mathjax/tex-svg-full.js"
OWN_SCRIPTS = Path(__file__).parent / "scripts"

# Font Awesome replaces <i> by <svg>; "nest" keeps the <i>, which widgets still refer to.
NEST_ICONS = 'window.FontAwesomeConfig = {autoReplaceSvg: "nest"};'


def setup(app):
    """Connect the handlers below to Sphinx."""
    app.connect("config-inited", _drop_thebe, priority=400)
    app.connect("config-inited", _use_local_files)
    app.connect("builder-inited", _copy_scripts)
    app.connect("html-page-context", _drop_style_of_thebe, priority=900)
    app.connect("build-finished", _drop_source_maps)


def _drop_thebe(app, config):
    """Undo the extension Jupyter Book always loads; it brings addresses and a script error."""
    for event, listeners in app.events.listeners.items():
        app.events.listeners[event] = [
            listener
            for listener in listeners
            if not listener.handler.__module__.startswith("sphinx_thebe")
        ]


def _drop_style_of_thebe(app, pagename, templatename, context, doctree):
    context["css_files"] = [
        style for style in context.get("css_files", []) if "thebe" not in str(style.filename)
    ]


def _drop_source_maps(app, exception):
    """Remove what only developers of the theme read; it is larger than all pages together."""
    if exception or app.builder.format != "html":
        return
    for path in (Path(app.outdir) / "_static").rglob("*.map"):
        path.unlink()


def _use_local_files(app, config):
    config.mathjax_path = "mathjax.js"
    cache = Path(config.nb_execution_cache_path or ".jupyter_cache")
    config.nb_execution_cache_path = str(Path(app.srcdir).parent / cache)
    app.add_js_file(None, body=NEST_ICONS, priority=100)
    for script in sorted(OWN_SCRIPTS.glob("*.js")):
        app.add_js_file(script.name, defer="defer")


def _copy_scripts(app):
    if app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    static.mkdir(parents=True, exist_ok=True)
    (static / "mathjax.js").write_bytes(_mathjax().read_bytes())
    for script in OWN_SCRIPTS.glob("*.js"):
        (static / script.name).write_bytes(script.read_bytes())


def _mathjax():
    try:
        path = Path(distribution("sphinx-mathjax-offline").locate_file(MATHJAX))
    except PackageNotFoundError:
        raise ExtensionError(
            "The book gets MathJax from the package sphinx-mathjax-offline, which is not "
            "installed. `make book` installs it."
        ) from None
    if not path.is_file():
        raise ExtensionError(f"sphinx-mathjax-offline no longer contains {MATHJAX}.")
    return path
