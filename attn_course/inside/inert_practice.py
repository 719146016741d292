"""`attn_course.practice` as a submission sees it inside the sandbox: every call does nothing.

A notebook imports `practice` and calls `practice.check`. Inside, there is no reference to check
against, so this file replaces the real module there. It has every public name of it.
"""

from typing import Any

__all__ = ["CELLS_MUST_PASS", "NotPassed", "check", "overview", "play", "summary"]


class NotPassed(AssertionError):  # noqa: N818  (as the real one)
    """Never raised here."""


CELLS_MUST_PASS = "ATTN_COURSE_CELLS_MUST_PASS"


def check(*_arguments: Any, **_keywords: Any) -> None:
    """Do nothing."""


def overview(*_arguments: Any, **_keywords: Any) -> None:
    """Do nothing."""


def summary(*_arguments: Any, **_keywords: Any) -> None:
    """Do nothing."""


def play(*_arguments: Any, **_keywords: Any) -> None:
    """Do nothing."""
