"""The plan: what the grader tells a worker about the walls it shall build, as plain values."""

from dataclasses import asdict, dataclass
from typing import Any

from attn_course.inside.limits import Limits


@dataclass(frozen=True)
class Plan:
    """How a worker confines itself and each of its children."""

    limits: Limits
    locked: bool  # False on rung E alone: no sandbox
    namespaces: tuple[str, ...]  # new ones for each child; none where they can't be had
    landlock: bool
    seccomp: bool
    resources: tuple[str, ...]
    more_syscalls: tuple[int, ...]
    readable: tuple[str, ...]
    hidden_modules: tuple[str, ...]  # which are there and can't be read
    scratch: str  # the folder where a child may write, if it has a file system of its own
    user: int  # who the submissions run as
    drops_early: bool  # started as root inside bubblewrap: be that user before anything else
    is_warm: bool  # load NumPy, PyTorch and matplotlib before the first child

    def to_plain(self) -> dict[str, Any]:
        """Return the plan as plain values."""
        return asdict(self)

    @staticmethod
    def from_plain(values: dict[str, Any]) -> "Plan":
        """Return the plan that `to_plain` wrote."""
        return Plan(**values | {"limits": Limits(**values["limits"])})
