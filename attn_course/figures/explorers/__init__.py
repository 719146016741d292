"""Explorers: figures that move, in Jupyter with Python behind them, and in the book without.

Each is a Python class (the widget, and the figure that stands still) and a JavaScript module of
the same name that computes and draws. To add one:

1. `<name>.js` exports `default { render({ model, el }) }`, takes its tools from `kit.js` and its
   sentences from `model.get("words")`.
2. `<name>.py` has a subclass of `explorer.Explorer`: what moves as traits, words, `still()`.
3. Name the class below.
4. `tests/browser/test_<name>_explorer.py` moves it and compares its numbers with the package's;
   what holds for all of them is in `tests/test_every_explorer.py`.

Read next: `explorer`, the base class; `page`, what a page needs besides.
"""

from importlib import import_module
from typing import Any

# Loaded when asked for: the book's build reads `page` alone and needs no widget library.
_HOMES = {
    "HardSoftExplorer": "hard_soft",
    "LocalAlignmentExplorer": "local_alignment",
    "MultiDimensionalExplorer": "multi_dimensional",
    "NadarayaWatsonExplorer": "nadaraya_watson",
    "ScoresExplorer": "scores",
    "SoftmaxExplorer": "softmax",
}
__all__ = [
    "HardSoftExplorer",
    "LocalAlignmentExplorer",
    "MultiDimensionalExplorer",
    "NadarayaWatsonExplorer",
    "ScoresExplorer",
    "SoftmaxExplorer",
]


def __getattr__(name: str) -> Any:
    """Load an explorer when it is first asked for."""
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
