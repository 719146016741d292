r"""General attention: putting it together.  (chapter 7)

- `Attention`: the construction kit. Choose along each axis of the taxonomy, get a layer that
  works, with its parameters, FLOPs and memory, and the name of the published model it is
- `MODELS`, `find_models`: the survey's table of models, one choice for each axis
- `BahdanauSeq2Seq`: the translation model attention began with
- `Transformer`: encoder and decoder made of attention; `EncoderLayer`, `DecoderLayer`
  and `learning_rate` are its parts
"""

from attn_course.general_attention.bahdanau import BahdanauSeq2Seq
from attn_course.general_attention.costs import Cost
from attn_course.general_attention.gated_update import GatedUpdate
from attn_course.general_attention.kit import Attention
from attn_course.general_attention.layers import DecoderLayer, EncoderLayer
from attn_course.general_attention.models import MODELS, Model, find_models
from attn_course.general_attention.transformer import Transformer, learning_rate

__all__ = [
    "MODELS",
    "Attention",
    "BahdanauSeq2Seq",
    "Cost",
    "DecoderLayer",
    "EncoderLayer",
    "GatedUpdate",
    "Model",
    "Transformer",
    "find_models",
    "learning_rate",
]
