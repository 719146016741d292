"""`attn_course.practice` as a submission sees it inside the sandbox: every call does nothing.

A notebook imports `practice` and calls `practice.check`. Inside, there is no reference to check
against, so this file stands there in place of the real one.
"""

from typing import Any

__all__ = ["check", "overview", "play"]


def check(*_arguments: Any, **_keywords: Any) -> None:
    """Do nothing."""


def overview(*_arguments: Any, **_keywords: Any) -> None:
    """Do nothing."""


def play(*_arguments: Any, **_keywords: Any) -> None:
    """Do nothing."""
