"""The drawing of the taxonomy map: one SVG panel for each aspect.

The panels form a grid, three in a row on a wide screen and one below the other on a phone
(book/_static/taxonomy.css), so that nothing is drawn twice and nothing overflows.
Inside a panel a spine leads to the sub-aspects, and from each of them to its leaves.
"""

from html import escape

from attn_course.translate import _

WIDTH = 214
HEAD = 32  # height of the aspect's box
STEP = 34  # from a row to a sub-aspect below it
ROW = 28  # from a leaf to the next
CHIP = 23  # height of a leaf
SPINE, AXIS = 9, 22  # x of the aspect's line, of a sub-aspect's name
TWIG, LEAVES = 26, 37  # x of a sub-aspect's line, of its leaves


def draw_map(aspects, addresses) -> str:
    """Return the map as HTML; `addresses` says where the link of each label leads."""
    panels = "\n".join(_panel(aspect, addresses) for aspect in aspects)
    label = escape(_("Map of the mechanisms: every leaf leads to its section"), quote=True)
    return f'<div class="taxonomy-map" role="group" aria-label="{label}">\n{panels}\n</div>'


def _panel(aspect, addresses) -> str:
    y = HEAD
    parts = []
    for sub_aspect in aspect.sub_aspects:
        y += STEP
        branch = y - 5
        parts.append(_line(f"M{SPINE} {HEAD}V{branch - 6}q0 6 6 6h4"))
        parts.append(
            f'<text class="taxonomy-axis" x="{AXIS}" y="{y}">{escape(sub_aspect.title)}</text>'
        )
        top = y + 6
        y += 9
        for leaf in sub_aspect.leaves:
            middle = y + CHIP / 2
            parts.append(_line(f"M{TWIG} {top}V{middle - 5}q0 5 5 5h6"))
            parts.append(_link(leaf, y, addresses[leaf.label]))
            y += ROW
        y -= ROW - CHIP
    height = y + 4
    head = (
        f'<rect class="taxonomy-head" width="{WIDTH}" height="{HEAD}" rx="6"/>'
        f'<text class="taxonomy-aspect" x="10" y="21">{escape(aspect.title)}</text>'
    )
    name = escape(aspect.title, quote=True)
    kind = "survey" if aspect.in_survey else "added"
    body = "\n".join(parts)
    return (
        f'<svg class="taxonomy-panel taxonomy-{kind}" viewBox="-1 0 {WIDTH + 2} {height}" '
        f'role="group" aria-label="{name}">\n{head}\n{body}\n</svg>'
    )


def _link(leaf, y, address) -> str:
    state = "written" if leaf.written else "stub"
    note = "" if leaf.written else " " + _("(not written yet)")
    shown = leaf.short or leaf.title
    # The title is what a pointer shows and a screen reader says; it begins with what is seen.
    return (
        f'<a class="taxonomy-leaf taxonomy-{state}" href="{escape(address, quote=True)}">'
        f"<title>{escape(f'{shown}: {leaf.question}{note}')}</title>"
        f'<rect x="{LEAVES}" y="{y}" width="{WIDTH - LEAVES}" height="{CHIP}" rx="5"/>'
        f'<text x="{LEAVES + 7}" y="{y + 16}">{escape(shown)}</text></a>'
    )


def _line(path) -> str:
    return f'<path class="taxonomy-line" d="{path}"/>'
