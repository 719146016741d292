"""Brackets in Python source: which type has a hidden closing bracket, and which one opened it?

`lines.txt` has the lines, `freeze` made that file, `lines` reads it and finds the matching
brackets, `models` has everything that is compared; `Brackets` is the task.
"""

from attn_course.tasks.brackets.task import Brackets

__all__ = ["Brackets"]
