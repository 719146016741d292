"""Number the pages of a chapter 5.1, 5.2, …, whatever headings the chapter's first page has.

Sphinx counts the headings of a chapter's first page along with the pages below it, so the first of
these pages would be 5.5 if the first page had four headings. Here the headings of a first page
have no number, and its pages count from 1.
"""

from docutils import nodes

AFTER_SPHINX = 900  # Sphinx numbers the sections at the default priority, 500


def setup(app):
    """Number the pages again once Sphinx has numbered everything."""
    app.connect("env-get-updated", _number_pages, priority=AFTER_SPHINX)


def _number_pages(app, env):
    changed = set()
    for chapter in sorted(env.toctree_includes):
        title = env.toc_secnumbers.get(chapter, {}).get("")
        if title is None or len(title) != 1:
            continue  # the root, or not numbered
        _renumber(env, chapter, lambda old: old if len(old) == 1 else ())
        for place, page in enumerate(env.toctree_includes[chapter], start=1):
            number = (*title, place)
            _renumber(env, page, lambda old, number=number: (*number, *old[len(number) :]))
        changed.update((chapter, *env.toctree_includes[chapter]))
    return sorted(changed)


def _renumber(env, page, new):
    """Replace every number of a page by `new(number)`; an empty one is not shown.

    A heading that is missing from `toc_secnumbers` would get the number of its page.
    """
    numbers = env.toc_secnumbers[page]
    env.toc_secnumbers[page] = {anchor: new(old) for anchor, old in numbers.items()}
    for node in (env.titles[page], *env.tocs[page].findall(nodes.reference)):
        if node.get("secnumber"):
            node["secnumber"] = new(node["secnumber"])
