"""German number words become digits: a translation whose alignment crosses.

`words` composes them and knows which letters say which digit, `material` makes tensors of them,
`Numerals` is the task.
"""

from attn_course.tasks.numerals.task import Numerals

__all__ = ["Numerals"]
