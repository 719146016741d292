"""On a phone a figure is another picture: panels in a column, letters that can be read.

A cell that shows a figure puts out the narrow picture beside the wide one, because this extension
asks for it (attn_course/figures/phone.py draws it). The page has both in a `<picture>`, and the
browser loads the one that fits. Paper gets the wide one. `data-letters` says how high the smallest
letters are, as a part of the picture's width: so a test can find letters that are too small, and
scroll_boxes.js the pictures that have to scroll.
"""

import base64
import os
import struct
from pathlib import Path

from docutils import nodes
from myst_nb.core.render import load_mime_renders
from sphinx.util.osutil import relative_uri

from attn_course.figures.phone import MIME, WANTED

PHONE = "screen and (max-width: 500px)"


def setup(app):
    """Connect the handlers below to Sphinx, and let myst-nb know what cells put out for phones."""
    plugins = load_mime_renders()  # one list for the whole build, else made of entry points
    if ForPhones not in plugins:
        plugins.append(ForPhones)
    app.connect("config-inited", _ask_for_narrow_figures)
    app.connect("doctree-read", _pair_figures, priority=900)  # after pictures are collected
    app.connect("doctree-resolved", _offer_narrow_figures)


class ForPhones:
    """Keep what a cell puts out for phones in the page, beside the wide picture."""

    mime_priority_overrides = ()

    @staticmethod
    def handle_mime(renderer, data, inline):
        """Return a node that says nothing, with the content; or None for all else."""
        return [nodes.comment(shown=data.content)] if data.mime_type == MIME else None


def _ask_for_narrow_figures(app, config):
    os.environ[WANTED] = "1"  # the kernels that execute pages inherit it


def _pair_figures(app, doctree):
    """Note in each picture of a cell how high its letters are, and where its narrow form is."""
    for bundle in list(doctree.findall(_is_bundle)):
        outputs = {output["mime_type"]: output for output in bundle.children}
        if MIME not in outputs:
            continue
        bundle.remove(outputs[MIME])
        shown = outputs[MIME][0]["shown"]
        for picture in outputs.get("image/png", nodes.container()).findall(nodes.image):
            _note(picture, shown, Path(app.srcdir, picture["uri"]))


def _is_bundle(node):
    return isinstance(node, nodes.container) and node.get("nb_element") == "mime_bundle"


def _note(picture, shown, wide):
    picture["letters"] = shown["letters"] / width_of(wide.read_bytes())
    if shown["phone"] is not None:
        content = base64.b64decode(shown["phone"])
        file = wide.with_name(f"{wide.stem}-phone.png")
        file.write_bytes(content)
        picture["phone"] = str(file)
        picture["phone_letters"] = shown["phone_letters"] / width_of(content)


def width_of(png):
    """Return the width of a PNG picture in pixels."""
    return struct.unpack(">I", png[16:20])[0]


def _offer_narrow_figures(app, doctree, docname):
    if app.builder.format != "html":
        return
    for picture in list(doctree.findall(nodes.image)):
        if "letters" not in picture:
            continue
        start = f'<picture data-letters="{picture["letters"]:.5f}">'
        if "phone" in picture:
            start += _source(app.builder, docname, picture)
        at = picture.parent.index(picture)
        picture.parent.insert(at + 1, nodes.raw("", "</picture>", format="html"))
        picture.parent.insert(at, nodes.raw("", start, format="html"))


def _source(builder, docname, picture):
    """Return the element that names the narrow picture, which is copied beside the others."""
    file = Path(picture["phone"])
    folder = Path(builder.outdir, builder.imagedir)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file.name).write_bytes(file.read_bytes())
    address = relative_uri(builder.get_target_uri(docname), f"{builder.imagedir}/{file.name}")
    letters = f'data-letters="{picture["phone_letters"]:.5f}"'
    return f'<source media="{PHONE}" srcset="{address}" {letters}>'
