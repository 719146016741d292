r"""The Transformer: features that attend to each other, layer after layer.  (chapter 7)

Reading order, from small to large: `attention.attend` scores, aligns and averages;
`queries.MultiHeadAttention` does so in several heads; `layers` puts sums, normalisation and a small
network around it; `positions` encodes where a word is; `Transformer.forward` below stacks the
layers. Read `start`, `step` and `greedy` last: they compute the same numbers word by word, with the
keys and values of earlier words in a `scale.KeyValueCache`.
"""

from collections.abc import Sequence
from math import sqrt

import torch
from torch import Tensor, nn

from attn_course._arrays import shape
from attn_course.alignment import causal_mask, softmax
from attn_course.attention import Align
from attn_course.general_attention.layers import DecoderLayer, EncoderLayer, LayerCache
from attn_course.positions import positions_of, sinusoidal_positions

LayerWeights = dict[str, Tensor | None]


class Decoding:
    """The state of a decoder that writes word by word."""

    def __init__(self, caches: list[LayerCache], memory_mask: Tensor | None) -> None:
        self.caches = caches
        self.memory_mask = memory_mask  # (..., 1, n)
        self.real: Tensor | None = None  # (..., words so far), False where one is padding


class Transformer(nn.Module):
    r"""Encoder and decoder of `layers` layers each (Vaswani et al., 2017).

    Words `(..., n)` become $\sqrt{d}\,E_w + PE_{pos}$. The encoder's self-attention sees all of the
    source; the decoder's sees the words before, its cross-attention the encoded source. `forward`
    takes the words to be translated, `source` `(..., n)`, and the words so far, `target`
    `(..., m)`, starting with a start sign. It returns logits `(..., m, target_words)`, of the word
    that follows each, and the weights: a list with one dict a layer, `encoder`
    `(..., heads, n, n)`, `decoder` `(..., heads, m, m)`, `cross` `(..., heads, m, n)`.

    - `source_mask`, `target_mask`: `(..., n)`, `(..., m)`, True where there is a word. Padding may
      stand on either side; positions count real words only.
    - `norm`: `"post"`, as in the paper, or `"pre"`, with one more normalisation after each stack.
    - `score`, `align`: by name, of all attention in the model.
    - `positions=False` leaves $PE$ out: then the encoder sees a bag of words.
    - The paper shares one matrix for both embeddings and the output; here they are three.
      Its label smoothing is an argument of `nn.CrossEntropyLoss`; its schedule is `learning_rate`.
    """

    def __init__(
        self,
        source_words: int,
        target_words: int,
        d: int = 512,
        heads: int = 8,
        layers: int = 6,
        d_ff: int = 2048,
        norm: str = "post",
        positions: bool = True,
        dropout: float = 0.0,
        *,
        score: str = "scaled_dot",
        align: Align | str = softmax,
    ) -> None:
        super().__init__()
        if layers < 1:
            raise ValueError(f"layers must be at least 1, but is {layers}.")
        self.d, self.positions = d, positions
        self.source_embedding = nn.Embedding(source_words, d)
        self.target_embedding = nn.Embedding(target_words, d)
        for embedding in (self.source_embedding, self.target_embedding):
            nn.init.normal_(embedding.weight, std=1 / sqrt(d))  # times sqrt(d): as large as PE
        sizes = (d, heads, d_ff, norm, dropout)
        self.encoder = nn.ModuleList(
            EncoderLayer(*sizes, score=score, align=align) for _ in range(layers)
        )
        self.decoder: Sequence[DecoderLayer] = nn.ModuleList(  # type: ignore[assignment]
            DecoderLayer(*sizes, score=score, align=align) for _ in range(layers)
        )
        # With pre-norm the sums leave a stack as they are; with post-norm they are normalised.
        self.encoder_norm = nn.LayerNorm(d) if norm == "pre" else nn.Identity()
        self.decoder_norm = nn.LayerNorm(d) if norm == "pre" else nn.Identity()
        self.dropout = nn.Dropout(dropout)
        self.logits = nn.Linear(d, target_words)

    def forward(
        self,
        source: Tensor,
        target: Tensor,
        source_mask: Tensor | None = None,
        target_mask: Tensor | None = None,
        need_weights: bool = True,
    ) -> tuple[Tensor, list[LayerWeights] | None]:
        """Return logits `(..., m, target_words)` and the weights of each layer."""
        memory, encoder_weights = self.encode(source, source_mask, need_weights)
        x = self._embedded(self.target_embedding, target, _places(target, target_mask))
        weights: list[LayerWeights] = []
        for layer, seen in zip(self.decoder, encoder_weights, strict=True):
            x, layer_weights = layer(
                x,
                memory,
                need_weights=need_weights,
                causal=True,
                key_mask=target_mask,  # padded on the left, the first rows see nothing
                memory_key_mask=source_mask,
            )
            weights.append({"encoder": seen, **layer_weights})
        return self.logits(self.decoder_norm(x)), weights if need_weights else None

    def encode(
        self, source: Tensor, source_mask: Tensor | None = None, need_weights: bool = True
    ) -> tuple[Tensor, list[Tensor | None]]:
        """Return the memory `(..., n, d)` and the encoder's weights, one a layer."""
        x = self._embedded(self.source_embedding, source, _places(source, source_mask))
        all_weights = []
        for layer in self.encoder:
            x, weights = layer(x, need_weights=need_weights, key_mask=source_mask)
            all_weights.append(weights)
        return self.encoder_norm(x), all_weights

    @torch.no_grad()
    def start(self, source: Tensor, source_mask: Tensor | None = None) -> Decoding:
        """Return the state before the first word: the source, encoded and projected once."""
        memory, _ = self.encode(source, source_mask, need_weights=False)
        memory_mask = None if source_mask is None else source_mask[..., None, :]
        return Decoding([layer.start(memory) for layer in self.decoder], memory_mask)

    @torch.no_grad()
    def step(
        self, words: Tensor, state: Decoding, mask: Tensor | None = None
    ) -> tuple[Tensor, list[LayerWeights]]:
        """Return logits and weights for the new `words` `(..., new)` alone, all before kept.

        The same numbers as `forward` gives for them, from one step's work. `mask` `(..., new)` is
        True where there is a word: prompts of different lengths are padded on the left. The
        weights are those of the decoder, `decoder` and `cross`.
        """
        real = _all_real(words) if mask is None else _checked(mask, words)
        state.real = real if state.real is None else torch.cat([state.real, real], dim=-1)
        new, total = words.shape[-1], state.real.shape[-1]
        places = positions_of(state.real)[..., total - new :]
        x = self._embedded(self.target_embedding, words, places)
        visible = causal_mask(new, total, like=words) & state.real[..., None, :]
        all_weights = []
        for layer, cache in zip(self.decoder, state.caches, strict=True):
            x, weights = layer.step(x, cache, visible, state.memory_mask)
            all_weights.append(weights)
        return self.logits(self.decoder_norm(x)), all_weights

    def greedy(
        self,
        source: Tensor,
        start: int,
        stop: int,
        steps: int,
        source_mask: Tensor | None = None,
    ) -> tuple[Tensor, list[dict[str, Tensor]]]:
        """Return words `(..., at most steps)`, the likeliest each time, and the `cross` weights.

        Ends when all sentences said `stop`; after its `stop` a sentence says `stop` again. A
        model with dropout belongs into `eval()` first.
        """
        if steps < 1:
            raise ValueError(f"steps must be at least 1, but is {steps}.")
        state = self.start(source, source_mask)
        words = source.new_full((*source.shape[:-1], 1), start)
        stopped = torch.zeros_like(words, dtype=torch.bool)
        said: list[Tensor] = []
        looks: list[list[Tensor]] = [[] for _ in self.decoder]
        while len(said) < steps and not stopped.all():
            logits, weights = self.step(words, state)
            words = logits.argmax(dim=-1).masked_fill(stopped, stop)  # (..., 1)
            stopped = stopped | (words == stop)
            said.append(words)
            for layer, one in zip(looks, weights, strict=True):
                cross = one["cross"]  # (..., heads, 1, n)
                assert cross is not None  # `step` always returns its weights
                layer.append(cross)
        return torch.cat(said, dim=-1), [{"cross": torch.cat(each, dim=-2)} for each in looks]

    def _embedded(self, embedding: nn.Module, words: Tensor, places: Tensor) -> Tensor:
        x = sqrt(self.d) * embedding(words)  # (..., n, d)
        if self.positions:
            x = x + sinusoidal_positions(places, self.d, like=x)
        return self.dropout(x)


def learning_rate(step: int, d: int, warmup: int = 4000) -> float:
    r"""$d^{-1/2} \min(t^{-1/2},\, t \cdot \mathrm{warmup}^{-3/2})$: up in a line, then slowly down.

    >>> learning_rate(step=100, d=4, warmup=100)
    0.05
    """
    return d**-0.5 * min(step**-0.5, step * warmup**-1.5)


def _places(words: Tensor, mask: Tensor | None) -> Tensor:
    """Return the positions of the words: `(n,)`, or `(..., n)` where the mask shifts them."""
    if mask is None:
        return torch.arange(words.shape[-1], device=words.device)
    return positions_of(_checked(mask, words))


def _all_real(words: Tensor) -> Tensor:
    return torch.ones_like(words, dtype=torch.bool)


def _checked(mask: Tensor, words: Tensor) -> Tensor:
    if mask.dtype != torch.bool or mask.shape != words.shape:
        raise ValueError(
            f"a mask must be boolean, one truth value a word, {shape(words)}, but is {mask.dtype} "
            f"{shape(mask)}. Write True where there is a word."
        )
    return mask
