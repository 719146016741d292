"""Pictures: plots that stand still; those that move are in `figures.explorers`.

The libraries that draw are loaded by the name that needs them, not by importing the package.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "PALETTE": "plots",
    "heat_map": "plots",
    "highlight": "overlays",
    "over_image": "overlays",
    "use_style": "plots",
}
__all__ = ["PALETTE", "heat_map", "highlight", "over_image", "use_style"]


def __getattr__(name: str) -> Any:
    """Load a picture when it is first asked for."""
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
