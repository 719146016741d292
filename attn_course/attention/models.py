"""The models of the survey as layers of PyTorch: attention, output, and all four together."""

import torch
from torch import Tensor, nn

from attn_course.alignment import softmax
from attn_course.attention.context import Align, Score, attend, find_align
from attn_course.attention.mask_policy import mapped_for
from attn_course.scoring import scaled_dot


class AttentionModel(nn.Module):
    r"""$K = W_K F$, $V = W_V F$ (survey (1)), then `attend`.

    Features `(..., n, d_f)` and queries `(..., q, d_q)` give contexts `(..., q, d_v)` and weights
    `(..., q, n)`. A width of None leaves that map out: the features themselves are the keys, or
    the values. `score` may be an `nn.Module` with parameters of its own.
    """

    def __init__(
        self,
        d_f: int,
        d_k: int | None = None,
        d_v: int | None = None,
        score: Score = scaled_dot,
        align: Align | str = softmax,
    ) -> None:
        super().__init__()
        self.key_map = nn.Identity() if d_k is None else nn.Linear(d_f, d_k, bias=False)
        self.value_map = nn.Identity() if d_v is None else nn.Linear(d_f, d_v, bias=False)
        self.d_v = d_f if d_v is None else d_v
        self.score = score
        self.align = find_align(align)

    def forward(
        self, features: Tensor, queries: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return contexts and weights."""
        # (..., n, d_f) -> (..., n, d_k) and (..., n, d_v)
        keys, values = mapped_for(mask, features, self.key_map, self.value_map)
        return attend(queries, keys, values, self.score, self.align, mask)


class SoftmaxOutput(nn.Module):
    r"""$\hat y = \mathrm{softmax}(W_c c + b_c)$, survey (5): contexts `(..., d_v)` to classes.

    Train on `logits` with a cross-entropy that takes logits: it is the same model, and stable.
    """

    def __init__(self, d_v: int, d_y: int) -> None:
        super().__init__()
        self.logits = nn.Linear(d_v, d_y)

    def forward(self, contexts: Tensor) -> Tensor:
        """Return the probability of each class."""
        return torch.softmax(self.logits(contexts), dim=-1)


class TaskModel(nn.Module):
    """The four models of the survey: features and query, then attention, then output.

    - `feature_model` turns inputs into features `(..., n, d_f)`.
    - `query_model` turns its own inputs into queries `(..., q, d_q)`; where it is asked without
      inputs (a learned query, a query made from the features) it receives the features.
    - `attention` takes features, queries and a mask; returns contexts and weights.
    - `output_model` turns contexts `(..., q, d_v)` into predictions.

    Returns predictions and weights: the weights are part of the answer in this course.
    """

    def __init__(
        self,
        feature_model: nn.Module,
        query_model: nn.Module,
        attention: nn.Module,
        output_model: nn.Module,
    ) -> None:
        super().__init__()
        self.feature_model = feature_model
        self.query_model = query_model
        self.attention = attention
        self.output_model = output_model

    def contexts(
        self, inputs: Tensor, query_inputs: Tensor | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return contexts and weights, before the output model."""
        features = self.feature_model(inputs)
        queries = self.query_model(features if query_inputs is None else query_inputs)
        contexts, weights = self.attention(features, queries, mask)
        return contexts, weights

    def forward(
        self, inputs: Tensor, query_inputs: Tensor | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return predictions and weights."""
        contexts, weights = self.contexts(inputs, query_inputs, mask)
        return self.output_model(contexts), weights
