"""attn_course: every attention mechanism of the course, readable, batched, masked, tested.

A chapter of the book is a module here (`attn_course.nadaraya_watson`, `attn_course.scoring`, …).
Importing the package alone is quick: a module is loaded when you first name it, and only the
modules that train something load PyTorch.

>>> import attn_course
>>> attn_course.scoring.__name__
'attn_course.scoring'
"""

from importlib import import_module
from typing import Any

__all__ = [
    "activations",
    "alignment",
    "attention",
    "definitions",
    "dimensionality",
    "evaluation",
    "features",
    "figures",
    "general_attention",
    "graphs",
    "learned_scores",
    "nadaraya_watson",
    "practice",
    "queries",
    "running_example",
    "scale",
    "scoring",
    "tasks",
]


def __getattr__(name: str) -> Any:
    """Load a module of the package, or look up its version, when it is first asked for."""
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    if name == "__version__":
        return _version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("attn-course")
    except PackageNotFoundError:  # a checkout that was never installed
        return "0+unknown"
