"""The one door for every sentence a learner sees: `_("…")` looks it up in the reader's language.

Catalogues live in `attn_course/locale/<language>/LC_MESSAGES/attn_course.mo`. Where there is
none, the English sentence is shown. Sentences with numbers are written with named fields,
`_("{got} of {total} done").format(got=…, total=…)`, so that a translator can reorder them.
"""

import gettext
from pathlib import Path

_LOCALE = Path(__file__).with_name("locale")


def _(sentence: str) -> str:
    """Return `sentence` in the language of the environment (LANGUAGE, LC_ALL, LANG)."""
    return _catalogue.gettext(sentence)


_catalogue = gettext.translation("attn_course", localedir=_LOCALE, fallback=True)
