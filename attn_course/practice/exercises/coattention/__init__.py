"""The exercises of page 05a: a summary, alternating and interactive co-attention, lost tokens."""
