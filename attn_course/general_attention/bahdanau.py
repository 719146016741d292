r"""Translation by aligning: the model attention began with.  (chapter 7)"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attn_course._arrays import shape
from attn_course.attention import attend
from attn_course.general_attention.gated_update import GatedUpdate
from attn_course.learned_scores import uniform


class Source(NamedTuple):
    """A sentence as the decoder reads it."""

    h: Tensor  # (batch, T_x, 2n), 0 at padding
    U_a_h: Tensor  # (batch, T_x, n'), the part of the score that is the same in every step
    mask: Tensor  # (batch, 1, T_x)
    s_0: Tensor  # (batch, n)


class BahdanauSeq2Seq(nn.Module):
    r"""$e_{ij} = v_a^\top \tanh(W_a s_{i-1} + U_a h_j)$, $c_i = \sum_j \alpha_{ij} h_j$,
    $s_i = f(s_{i-1}, y_{i-1}, c_i)$ (Bahdanau et al., 2015).

    The encoder is a bidirectional GRU, $h_j = [\overrightarrow h_j; \overleftarrow h_j]$; the
    decoder starts from $s_0 = \tanh(W_s \overleftarrow h_1)$. In the survey's terms: additive,
    global, single-dimensional; a basic query, the state *before* the word is chosen; keys and
    values both $h_j$. $f$ is `GatedUpdate`. The output layer is the paper's, a maxout:
    $t_i = \max$ over pairs of $U_o s_i + V_o E y_{i-1} + C_o c_i$, then logits $W_o t_i$.

    Source `(batch, T_x)` and target `(batch, T_y)` are word numbers; the target holds the words
    *before* each step, beginning with a start sign (teacher forcing). Returns logits
    `(batch, T_y, target_words)` and the alignments $\alpha$ `(batch, T_y, T_x)`. `source_mask`
    `(batch, T_x)` is True where there is a word; padding comes after the words.

    Widths: `d_e` of the embeddings, `n` of a state, `d_w` ($n'$) of the score (default `n`),
    `d_o` of the maxout (default `n`). Cost of the alignments: $2 \cdot 2n \cdot n' T_x$ FLOPs a
    sentence for $U_a h_j$, then $2 n n' + 3 n' T_x + 4 n T_x$ a step.
    """

    def __init__(
        self,
        source_words: int,
        target_words: int,
        d_e: int,
        n: int,
        d_w: int | None = None,
        d_o: int | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        d_w, d_o = d_w or n, d_o or n
        self.source_embedding = nn.Embedding(source_words, d_e)
        self.target_embedding = nn.Embedding(target_words, d_e)
        self.encoder = nn.GRU(d_e, n, batch_first=True, bidirectional=True)
        self.W_s = nn.Parameter(uniform(n, n, fan_in=n))
        self.W_a = nn.Parameter(uniform(d_w, n, fan_in=n))
        self.U_a = nn.Parameter(uniform(d_w, 2 * n, fan_in=2 * n))
        self.v_a = nn.Parameter(uniform(1, d_w, fan_in=d_w)[0])
        self.update = GatedUpdate(n, d_e, 2 * n)
        self.U_o = nn.Parameter(uniform(2 * d_o, n, fan_in=n))
        self.V_o = nn.Parameter(uniform(2 * d_o, d_e, fan_in=d_e))
        self.C_o = nn.Parameter(uniform(2 * d_o, 2 * n, fan_in=2 * n))
        self.W_o = nn.Linear(d_o, target_words, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        source: Tensor,
        target: Tensor,
        source_mask: Tensor | None = None,
        need_weights: bool = True,
    ) -> tuple[Tensor, Tensor | None]:
        """Return logits `(batch, T_y, target_words)` and alignments `(batch, T_y, T_x)`."""
        encoded = self.encode(source, source_mask)
        state, all_logits, all_weights = encoded.s_0, [], []
        for i in range(target.shape[-1]):
            state, logits, weights = self.step(state, target[:, i], encoded)
            all_logits.append(logits)
            all_weights.append(weights)
        alignments = torch.stack(all_weights, dim=1) if need_weights else None
        return torch.stack(all_logits, dim=1), alignments

    def encode(self, source: Tensor, mask: Tensor | None = None) -> Source:
        """Return what the decoder needs of the source, computed once."""
        real = torch.ones_like(source, dtype=torch.bool) if mask is None else mask
        _require_right_padding(real, source)
        words = self.dropout(self.source_embedding(source))  # (batch, T_x, d_e)
        # Packed, the backward GRU begins at the last word, not at the padding. It can't pack a
        # sentence of no words, so that one is read as one word and its states set to 0.
        lengths = real.sum(dim=-1).clamp(min=1).cpu()
        packed = pack_padded_sequence(words, lengths, batch_first=True, enforce_sorted=False)
        states, _ = self.encoder(packed)
        h, _ = pad_packed_sequence(states, batch_first=True, total_length=source.shape[-1])
        h = h.masked_fill(~real[..., None], 0.0)
        first_backward = h[:, 0].chunk(2, dim=-1)[1]  # the backward GRU ends at the first word
        s_0 = torch.tanh(first_backward @ self.W_s.mT)
        return Source(h, h @ self.U_a.mT, real[:, None, :], s_0)

    def step(
        self, state: Tensor, previous: Tensor, source: Source
    ) -> tuple[Tensor, Tensor, Tensor]:
        r"""Return $s_i$ `(batch, n)`, logits of $y_i$, and $\alpha_i$ `(batch, T_x)`.

        From $s_{i-1}$ `(batch, n)`, the word $y_{i-1}$ `(batch,)` and the source.
        """
        context, weights = attend(
            state[:, None], source.U_a_h, source.h, self._score, mask=source.mask
        )
        c, y = context[:, 0], self.dropout(self.target_embedding(previous))
        state = self.update(state, y, c)
        pairs = state @ self.U_o.mT + y @ self.V_o.mT + c @ self.C_o.mT  # (batch, 2 d_o)
        t = pairs.unflatten(-1, (-1, 2)).amax(dim=-1)  # (batch, d_o)
        return state, self.W_o(t), weights[:, 0]

    @torch.no_grad()
    def greedy(
        self,
        source: Tensor,
        start: int,
        stop: int,
        steps: int,
        source_mask: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return words `(batch, at most steps)`, the likeliest each time, and their alignments.

        Ends when all sentences said `stop`; after its `stop` a sentence says `stop` again. A
        model with dropout belongs into `eval()` first.
        """
        if steps < 1:
            raise ValueError(f"steps must be at least 1, but is {steps}.")
        encoded = self.encode(source, source_mask)
        state, word = encoded.s_0, source.new_full(source.shape[:1], start)
        stopped = torch.zeros_like(word, dtype=torch.bool)
        said: list[Tensor] = []
        all_weights: list[Tensor] = []
        while len(said) < steps and not stopped.all():
            state, logits, weights = self.step(state, word, encoded)
            word = logits.argmax(dim=-1).masked_fill(stopped, stop)
            stopped = stopped | (word == stop)
            said.append(word)
            all_weights.append(weights)
        return torch.stack(said, dim=1), torch.stack(all_weights, dim=1)

    def _score(self, states: Tensor, U_a_h: Tensor) -> Tensor:
        """Return scores `(batch, 1, T_x)`: the additive score, its half of the keys made before."""
        hidden = torch.tanh((states @ self.W_a.mT)[..., :, None, :] + U_a_h[..., None, :, :])
        return hidden @ self.v_a  # (batch, 1, T_x, n') -> (batch, 1, T_x)


def _require_right_padding(real: Tensor, source: Tensor) -> None:
    if source.ndim != 2 or real.dtype != torch.bool or real.shape != source.shape:
        raise ValueError(
            "source must be (batch, T_x) with a boolean source_mask of the same shape, but they "
            f"are {shape(source)} and {real.dtype} {shape(real)}."
        )
    if (real[:, 1:] & ~real[:, :-1]).any():
        raise ValueError(
            "padding must come after the words, but source_mask has a True behind a False. "
            "Move the padding to the end of each sentence."
        )
