r"""Meta-embeddings: several embeddings of one word, weighted by attention."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from attn_course._arrays import require_choice, shape
from attn_course.activations import sigmoid
from attn_course.alignment import softmax
from attn_course.features._inputs import FeatureSet, require_feature_mask, summarise
from attn_course.learned_scores import uniform

WEIGHTINGS = ("softmax", "gate", "uniform")


class MetaEmbedding(nn.Module):
    r"""$x^{(t_i)} = W_{e_i} x^{(e_i)} + b_{e_i}$, $x^{(e)} = \sum_i a_i x^{(t_i)}$: (21)–(22).

    Each of the $E$ embeddings of a word, `(..., d_e_i)`, is mapped to the same width; attention
    without a query, $u^\top x^{(t_i)} + \beta$, says how much each counts (Kiela et al., 2018). The
    weights are normalised over the **types of embedding**, for each word by itself.

    `weighting`:

    - `"softmax"`: the weights of a word add up to 1. Then $\beta$ cancels: its gradient is 0.
    - `"gate"`: $a_i = \sigma(u^\top x^{(t_i)} + \beta)$, each type by itself; here $\beta$ counts.
    - `"uniform"`: $a_i = 1/E$, nothing learned but the maps: what attention is compared with.

    The output is `(..., d_t)`, the weights are `(..., E)`. `mask` `(..., E)` is True where a word
    has an embedding of that type: words missing from one vocabulary take what the others say,
    and a word that has none (padding) becomes 0.

    - `encoder`: a module that turns the mapped embeddings `(..., E, d_t)` into what is scored
      instead of them, `(..., E, d_h)`: the contextualised variant has a small bidirectional LSTM
      over the words of a sentence there. Give its width as `d_h`.
    - Parameters: $\sum_i d_t (d_{e_i} + 1) + d_t + 1$. Cost: $\sum_i 2 d_t d_{e_i}$ FLOPs a word.

    >>> layer = MetaEmbedding(d_e=(3, 5), d_t=7)
    >>> x, weights = layer([torch.ones(11, 3), torch.ones(11, 5)])
    >>> tuple(x.shape), tuple(weights.shape)
    ((11, 7), (11, 2))
    """

    def __init__(
        self,
        d_e: Sequence[int],
        d_t: int,
        weighting: str = "softmax",
        encoder: nn.Module | None = None,
        d_h: int | None = None,
    ) -> None:
        super().__init__()
        require_choice("weighting", weighting, WEIGHTINGS)
        if len(d_e) == 0:
            raise ValueError("d_e must give the width of at least one embedding, but is empty.")
        self.d_e = tuple(d_e)
        self.d_out = d_t
        self.weighting = weighting
        self.encoder = encoder
        self.maps = nn.ModuleList(nn.Linear(d_e_i, d_t) for d_e_i in d_e)  # W_e_i and b_e_i
        if weighting != "uniform":
            d_h = d_t if d_h is None else d_h
            self.u = nn.Parameter(uniform(d_h, fan_in=d_h))
            self.beta = nn.Parameter(torch.zeros(()))

    def forward(
        self,
        embeddings: Sequence[Tensor],
        mask: Tensor | None = None,
        need_weights: bool = True,
    ) -> tuple[Tensor, Tensor | None]:
        """Return the meta-embedding of each word and the weights of its embeddings."""
        self._require_embeddings(embeddings)
        if mask is not None:
            batch = torch.broadcast_shapes(*(x.shape[:-1] for x in embeddings))
            require_feature_mask(mask, (*batch, len(self.d_e)), "embeddings")
            mask = mask.expand(*batch, len(self.d_e))
            present = mask.unbind(-1)  # what is missing must not reach a map, NaN included
            embeddings = [
                x.masked_fill(~there[..., None], 0.0)
                for x, there in zip(embeddings, present, strict=True)
            ]
        mapped = [W_e(x) for W_e, x in zip(self.maps, embeddings, strict=True)]  # each (..., d_t)
        features = torch.stack(torch.broadcast_tensors(*mapped), dim=-2)  # (..., E, d_t)
        states = features if self.encoder is None else self.encoder(features)
        align = gate if self.weighting == "gate" else softmax
        at = FeatureSet(features, states, features, mask)
        x, weights = summarise(at, self._scores(states), align)
        return x, weights if need_weights else None

    def _scores(self, states: Tensor) -> Tensor:
        """Return scores `(..., 1, E)`."""
        if self.weighting == "uniform":
            return states.new_zeros(*states.shape[:-2], 1, states.shape[-2])
        return (states @ self.u + self.beta)[..., None, :]

    def _require_embeddings(self, embeddings: Sequence[Tensor]) -> None:
        came = tuple(x.shape[-1] if x.ndim else 0 for x in embeddings)
        if came != self.d_e:
            shapes = ", ".join(str(shape(x)) for x in embeddings)
            raise ValueError(
                f"embeddings must be {len(self.d_e)} tensors of widths {self.d_e}, in that order, "
                f"but are {shapes}."
            )


def gate(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    r"""$a_l = \sigma(e_l)$: an alignment in which keys don't compete. Masked weights are 0."""
    weights = sigmoid(scores)
    return weights if mask is None else weights.masked_fill(~mask, 0.0)
