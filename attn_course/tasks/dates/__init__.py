"""Dates written by people in many languages become ISO dates: translation with a known alignment.

`rendering` writes dates as CLDR says they are written, `gold` says which character determines
which digit, `material` makes tensors of them; `BahdanauDates` and `TransformerDates` are the tasks.
"""

from attn_course.tasks.dates.bahdanau import BahdanauDates
from attn_course.tasks.dates.transformer import TransformerDates

__all__ = ["BahdanauDates", "TransformerDates"]
