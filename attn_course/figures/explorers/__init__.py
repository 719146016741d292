"""Explorers: figures that move, in Jupyter with Python behind them, and in the book without.

Each is a Python class, the widget, and a JavaScript module of the same name that computes and
draws. A module returns plain data. The browser makes elements of it; the book's build makes the
still picture of it (`still`). "Add an explorer" in CONTRIBUTING.md says how to write one.

The state of a figure can be linked: `page.html#softmax?temperature=2&mask=1,1,0,1,1,1` sets the
first softmax explorer of a page, `#softmax-2?...` the second. Lists have commas, true and false
are 1 and 0, and what a link does not name is as at the start.

The JavaScript that all modules share: `kit.js` makes data, `elements.js` elements of it,
`controls.js` sliders and choices, `hands.js` follows a mouse or finger, `links.js` reads and
writes links, `stage.js` puts all together, and `boot.js` starts the figures of a page.

Read next: `explorer`, the base class; `page`, what a page needs as well.
"""

from importlib import import_module
from typing import Any

# Loaded when asked for: the book's build reads `page` alone and needs no widget library.
_HOMES = {
    "AffinityExplorer": "affinity",
    "AskExplorer": "ask",
    "CoattentionExplorer": "coattention",
    "ConstructionKitExplorer": "construction_kit",
    "CorruptionsExplorer": "corruptions",
    "HardSoftExplorer": "hard_soft",
    "HeadsExplorer": "heads",
    "LinksAndWeightsExplorer": "links_and_weights",
    "LocalAlignmentExplorer": "local_alignment",
    "MultiDimensionalExplorer": "multi_dimensional",
    "NadarayaWatsonExplorer": "nadaraya_watson",
    "OnlineSoftmaxExplorer": "online_softmax",
    "RankingExplorer": "ranking",
    "ScoresExplorer": "scores",
    "SelfAttentionExplorer": "self_attention",
    "SoftmaxExplorer": "softmax",
    "TranslationExplorer": "translation",
}
__all__ = [
    "AffinityExplorer",
    "AskExplorer",
    "CoattentionExplorer",
    "ConstructionKitExplorer",
    "CorruptionsExplorer",
    "HardSoftExplorer",
    "HeadsExplorer",
    "LinksAndWeightsExplorer",
    "LocalAlignmentExplorer",
    "MultiDimensionalExplorer",
    "NadarayaWatsonExplorer",
    "OnlineSoftmaxExplorer",
    "RankingExplorer",
    "ScoresExplorer",
    "SelfAttentionExplorer",
    "SoftmaxExplorer",
    "TranslationExplorer",
]


def __getattr__(name: str) -> Any:
    """Load an explorer when it is first asked for."""
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
