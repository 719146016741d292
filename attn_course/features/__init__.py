r"""Feature-related attention: several inputs, several levels, several representations.  (chapter 5)

- two inputs that attend to each other: `AlternatingCoAttention`, `InteractiveCoAttention` (coarse:
  a summary of one input is the query for the other), `ParallelCoAttention` (fine: all vectors of
  one meet all vectors of the other), `MultiGrainedCoAttention` (both)
- a target between two contexts: `RotatoryAttention`
- levels: `AttentionViaAttention` (from words down to characters), `HierarchicalAttention` (from
  words up to sentences and the document)
- several embeddings of one word: `MetaEmbedding`

Every layer takes features `(..., n, d_f)` with one mask an input, `(..., n)`, True where there is
a feature, and returns one vector for the whole input, with the weights behind it. The weights
carry the survey's names: `a_1` over the features of input 1, and so on. An input that is padding
throughout gets weights 0 and context 0.
"""

from attn_course.features.alternating import AlternatingCoAttention
from attn_course.features.interactive import InteractiveCoAttention
from attn_course.features.levels import AttentionViaAttention, HierarchicalAttention
from attn_course.features.meta_embedding import MetaEmbedding
from attn_course.features.multi_grained import MultiGrainedCoAttention
from attn_course.features.parallel import ParallelCoAttention
from attn_course.features.rotatory import RotatoryAttention

__all__ = [
    "AlternatingCoAttention",
    "AttentionViaAttention",
    "HierarchicalAttention",
    "InteractiveCoAttention",
    "MetaEmbedding",
    "MultiGrainedCoAttention",
    "ParallelCoAttention",
    "RotatoryAttention",
]
