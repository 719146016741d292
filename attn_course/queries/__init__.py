"""Query-related attention: where the queries come from, and how many serve one prediction.

(chapter 6)

- type: `SelfAttentivePooling` and `SelfAttention` make their queries from the features alone;
  `refine` puts the contexts back into the features
- multiplicity: `MultiHeadAttention` asks several queries side by side, `MultiHopAttention` one
  after the other, `CapsuleAttention` one for each class
"""

from attn_course.queries.capsule import CapsuleAttention
from attn_course.queries.multi_head import MultiHeadAttention
from attn_course.queries.multi_hop import MultiHopAttention, memory_hops
from attn_course.queries.self_attention import SelfAttention, SelfAttentivePooling, refine

__all__ = [
    "CapsuleAttention",
    "MultiHeadAttention",
    "MultiHopAttention",
    "SelfAttention",
    "SelfAttentivePooling",
    "memory_hops",
    "refine",
]
