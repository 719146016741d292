r"""Attention at scale: the same contexts from less memory, or fewer numbers.  (chapter 10)

Exact, without the `(q, k)` weights in memory:

- `online_softmax` averages in one pass over blocks of keys
- `blockwise_attention` does so for blocks of queries: memory grows with n, not with n²
- `KeyValueCache` keeps keys and values while a text is written word by word

Other models, made to be cheaper:

- `grouped_query_attention` lets several heads share keys and values
- `linear_attention` replaces the softmax, so that keys and values can be summed up beforehand;
  `LinearState` is that sum, for writing word by word

Order is a matter of positions, see `alignment.causal_mask`. Without positions, the queries are the
last of the keys everywhere: all of one text, or its newest words after a cache.

Blocks are written in place and sums kept in single precision: this chapter is PyTorch's alone.
"""

from attn_course.scale.blockwise import blockwise_attention, online_softmax
from attn_course.scale.cache import KeyValueCache
from attn_course.scale.grouped_queries import grouped_query_attention
from attn_course.scale.linear import LinearState, linear_attention

__all__ = [
    "KeyValueCache",
    "LinearState",
    "blockwise_attention",
    "grouped_query_attention",
    "linear_attention",
    "online_softmax",
]
