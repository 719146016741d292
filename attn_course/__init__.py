"""attn_course: every attention mechanism of the course, readable, batched, masked, tested.

A chapter of the book is a module here (`attn_course.nadaraya_watson`, `attn_course.scoring`, …),
and the mechanisms can be imported from the top. Importing the package alone is quick: a module is
loaded when you first name it or one of its mechanisms, and only the modules that train something
load PyTorch.

>>> import attn_course
>>> attn_course.scoring.__name__
'attn_course.scoring'
>>> from attn_course import attend
>>> attend.__module__
'attn_course.attention.context'
"""

from importlib import import_module
from typing import TYPE_CHECKING

__all__ = [
    "GAT",
    "AlternatingCoAttention",
    "Attention",
    "AttentionModel",
    "AttentionViaAttention",
    "BahdanauSeq2Seq",
    "CapsuleAttention",
    "DecoderLayer",
    "EncoderLayer",
    "GATv2",
    "GatedUpdate",
    "HierarchicalAttention",
    "InteractiveCoAttention",
    "KeyValueCache",
    "LearnedPositions",
    "MetaEmbedding",
    "MultiGrainedCoAttention",
    "MultiHeadAttention",
    "MultiHopAttention",
    "NadarayaWatson",
    "ParallelCoAttention",
    "RotatoryAttention",
    "SelfAttention",
    "SelfAttentivePooling",
    "SoftmaxOutput",
    "TaskModel",
    "Transformer",
    "activated_general",
    "activations",
    "additive",
    "alibi_slopes",
    "alignment",
    "attend",
    "attend_multi",
    "attention",
    "biased_general",
    "blockwise_attention",
    "causal_mask",
    "definitions",
    "dimensionality",
    "distance_bias",
    "dot",
    "entmax15",
    "evaluation",
    "features",
    "figures",
    "find_models",
    "general",
    "general_attention",
    "graph_attention",
    "graphs",
    "grouped_query_attention",
    "hard",
    "learned_scores",
    "linear_attention",
    "local_monotonic",
    "local_predictive",
    "make_score",
    "mean_feature",
    "memory_hops",
    "multi_scores",
    "nadaraya_watson",
    "online_softmax",
    "padding_mask",
    "positions",
    "practice",
    "queries",
    "refine",
    "regress",
    "reinforced",
    "rotate",
    "running_example",
    "scale",
    "scaled_dot",
    "scoring",
    "similarity",
    "sinusoidal_positions",
    "sliding_window_mask",
    "softmax",
    "softmax_off_by_one",
    "softmax_with_sink",
    "sparsemax",
    "tasks",
    "window_mask",
]

_NAMES = {
    "alignment": (
        "causal_mask entmax15 hard local_monotonic local_predictive padding_mask reinforced "
        "sliding_window_mask softmax softmax_off_by_one softmax_with_sink sparsemax window_mask"
    ),
    "attention": "AttentionModel SoftmaxOutput TaskModel attend mean_feature",
    "dimensionality": "attend_multi multi_scores",
    "features": (
        "AlternatingCoAttention AttentionViaAttention HierarchicalAttention "
        "InteractiveCoAttention MetaEmbedding MultiGrainedCoAttention ParallelCoAttention "
        "RotatoryAttention"
    ),
    "general_attention": (
        "Attention BahdanauSeq2Seq DecoderLayer EncoderLayer GatedUpdate Transformer find_models"
    ),
    "graphs": "GAT GATv2 graph_attention",
    "learned_scores": "make_score",
    "nadaraya_watson": "NadarayaWatson regress",
    "positions": "LearnedPositions alibi_slopes distance_bias rotate sinusoidal_positions",
    "queries": (
        "CapsuleAttention MultiHeadAttention MultiHopAttention SelfAttention "
        "SelfAttentivePooling memory_hops refine"
    ),
    "scale": (
        "KeyValueCache blockwise_attention grouped_query_attention linear_attention online_softmax"
    ),
    "scoring": "activated_general additive biased_general dot general scaled_dot similarity",
}
# The module of each mechanism that can be imported from the top.
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}

if TYPE_CHECKING:  # at run time `__getattr__` loads a name when it is first asked for
    from attn_course.alignment import (
        causal_mask,
        entmax15,
        hard,
        local_monotonic,
        local_predictive,
        padding_mask,
        reinforced,
        sliding_window_mask,
        softmax,
        softmax_off_by_one,
        softmax_with_sink,
        sparsemax,
        window_mask,
    )
    from attn_course.attention import AttentionModel, SoftmaxOutput, TaskModel, attend, mean_feature
    from attn_course.dimensionality import attend_multi, multi_scores
    from attn_course.features import (
        AlternatingCoAttention,
        AttentionViaAttention,
        HierarchicalAttention,
        InteractiveCoAttention,
        MetaEmbedding,
        MultiGrainedCoAttention,
        ParallelCoAttention,
        RotatoryAttention,
    )
    from attn_course.general_attention import (
        Attention,
        BahdanauSeq2Seq,
        DecoderLayer,
        EncoderLayer,
        GatedUpdate,
        Transformer,
        find_models,
    )
    from attn_course.graphs import GAT, GATv2, graph_attention
    from attn_course.learned_scores import make_score
    from attn_course.nadaraya_watson import NadarayaWatson, regress
    from attn_course.positions import (
        LearnedPositions,
        alibi_slopes,
        distance_bias,
        rotate,
        sinusoidal_positions,
    )
    from attn_course.queries import (
        CapsuleAttention,
        MultiHeadAttention,
        MultiHopAttention,
        SelfAttention,
        SelfAttentivePooling,
        memory_hops,
        refine,
    )
    from attn_course.scale import (
        KeyValueCache,
        blockwise_attention,
        grouped_query_attention,
        linear_attention,
        online_softmax,
    )
    from attn_course.scoring import (
        activated_general,
        additive,
        biased_general,
        dot,
        general,
        scaled_dot,
        similarity,
    )

    __version__: str
else:

    def __getattr__(name):
        if name in _HOMES:
            return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        if name in __all__:
            return import_module(f"{__name__}.{name}")
        if name == "__version__":
            return _version()
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("attn-course")
    except PackageNotFoundError:  # a checkout that was never installed
        return "0+unknown"
