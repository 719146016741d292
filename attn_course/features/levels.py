r"""Levels: from words down to characters, or from words up to the document."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from attn_course._arrays import shape
from attn_course.activations import Activation
from attn_course.alignment import softmax
from attn_course.attention import Align
from attn_course.features._inputs import Input, look, make_inputs, summarise, widths
from attn_course.learned_scores import NoQueryScore, make_score


class AttentionViaAttention(nn.Module):
    r"""$c^{(w)} = \mathrm{att}(q, F^{(w)})$, $c^{(c)} = \mathrm{att}([q; c^{(w)}], F^{(c)})$.

    Two levels that are both given, attended to top-down (Zhao & Zhang, 2018): queries
    `(..., q, d_q)` look at the words, then queries and what they found there look at the
    characters. The second look goes over **all** characters, not only those of the words chosen
    first: the words make the query richer, they don't narrow the keys.

    The output is $\mathrm{concat}(c^{(w)}, c^{(c)})$, `(..., q, d_v_words + d_v_characters)`; the
    weights are `a_w` `(..., q, n_w)` and `a_c` `(..., q, n_c)`.

    - `d_f`: widths of words, characters. `d_k`, `d_v`: widths of keys and values, or None for the
      features themselves.
    - `score`: the one of the characters takes queries of width `d_q + d_v_words`. The survey leaves
      it open; here additive.
    - Parameters (additive): $d_w (d_q + d_{kw} + 2) + d_w (d_q + d_{vw} + d_{kc} + 2)$. Cost:
      $n_w + n_c$ scores a query, the second look waiting for the first.

    >>> layer = AttentionViaAttention(d_q=2, d_f=(3, 5))
    >>> output, weights = layer(torch.ones(1, 2), torch.ones(7, 3), torch.ones(11, 5))
    >>> tuple(output.shape), tuple(weights["a_c"].shape)
    ((1, 8), (1, 11))
    """

    def __init__(
        self,
        d_q: int,
        d_f: Sequence[int],
        d_w: int | None = None,
        score: str = "additive",
        act: Activation = "tanh",
        align: Align = softmax,
        d_k: Sequence[int] | None = None,
        d_v: Sequence[int] | None = None,
    ) -> None:
        super().__init__()
        words, characters = make_inputs(("words", "characters"), d_f, d_k, d_v)
        self.words, self.characters = words, characters
        self.d_out = words.d_v + characters.d_v
        self.align = align
        self.score_w = make_score(score, d_q, words.d_k, d_w, act)
        self.score_c = make_score(score, d_q + words.d_v, characters.d_k, d_w, act)

    def forward(
        self,
        queries: Tensor,
        words: Tensor,
        characters: Tensor,
        word_mask: Tensor | None = None,
        character_mask: Tensor | None = None,
        need_weights: bool = True,
    ) -> tuple[Tensor, dict[str, Tensor] | None]:
        """Return the output and the weights `a_w`, `a_c`."""
        at_words = self.words(words, word_mask)
        at_characters = self.characters(characters, character_mask)
        c_w, a_w = look(queries, at_words, self.score_w, self.align)  # (..., q, d_v_words)
        richer = torch.cat([queries.expand(*c_w.shape[:-1], queries.shape[-1]), c_w], dim=-1)
        c_c, a_c = look(richer, at_characters, self.score_c, self.align)
        output = torch.cat([c_w.expand(*c_c.shape[:-1], c_w.shape[-1]), c_c], dim=-1)
        return output, {"a_w": a_w, "a_c": a_c} if need_weights else None


class HierarchicalAttention(nn.Module):
    r"""$c^{(s)} = \mathrm{att}_S(F^{(s)})$ of each sentence, $c^{(D)} = \mathrm{att}_D(C)$ of all.

    Two levels, bottom-up (Yang et al., 2016): the words of a sentence become one vector, the
    sentences become one vector, the document. Neither level has a query from outside:
    $e = w^\top \mathrm{act}(W k + b)$, survey (33). All sentences share $\mathrm{att}_S$.

    Words are `(..., s, n, d_f)`, their mask `(..., s, n)`. A sentence without a word is padding and
    is left out of the document. The output is `(..., d_v_document)`; the weights are `a_S`
    `(..., s, n)` and `a_D` `(..., s)`.

    - `sentence_encoder`: a module called with the sentences `(..., s, d)` and their mask `(..., s)`
      (or None) that returns sentences `(..., s, d_s)`; the paper has a bidirectional GRU there,
      and one over the words, which comes before this layer. What it does with padding is its
      own affair: padded sentences arrive as 0 and are ignored afterwards. Give its width as `d_s`.
    - `d_w`, `d_k`, `d_v`: widths at the two levels (sentence, document), or None: then keys and
      values are the features, and `d_w` is the width of the keys.
    - Parameters: $d_w d_k + 2 d_w$ a level. Cost: linear in the number of words.

    >>> layer = HierarchicalAttention(d_f=3)
    >>> document, weights = layer(torch.ones(2, 7, 3))
    >>> tuple(document.shape), tuple(weights["a_S"].shape), tuple(weights["a_D"].shape)
    ((3,), (2, 7), (2,))
    """

    def __init__(
        self,
        d_f: int,
        d_w: Sequence[int] | None = None,
        sentence_encoder: nn.Module | None = None,
        d_s: int | None = None,
        act: Activation = "tanh",
        align: Align = softmax,
        d_k: Sequence[int] | None = None,
        d_v: Sequence[int] | None = None,
    ) -> None:
        super().__init__()
        levels = ("sentence", "document")
        (d_w_S, d_w_D), (d_k_S, d_k_D), (d_v_S, d_v_D) = (
            widths("d_w", d_w, levels),
            widths("d_k", d_k, levels),
            widths("d_v", d_v, levels),
        )
        if d_s is not None and sentence_encoder is None:
            raise ValueError(
                f"d_s = {d_s} is the width of what sentence_encoder returns, but there is none. "
                "Give the encoder, or leave d_s out."
            )
        self.words = Input("words", d_f, d_k_S, d_v_S)
        self.sentence_encoder = sentence_encoder
        self.sentences = Input("sentences", d_s or self.words.d_v, d_k_D, d_v_D)
        self.d_out = self.sentences.d_v
        self.align = align
        self.score_S = NoQueryScore(self.words.d_k, d_w_S or self.words.d_k, act)
        self.score_D = NoQueryScore(self.sentences.d_k, d_w_D or self.sentences.d_k, act)

    def forward(
        self, words: Tensor, mask: Tensor | None = None, need_weights: bool = True
    ) -> tuple[Tensor, dict[str, Tensor] | None]:
        """Return the document and the weights `a_S`, `a_D`."""
        if words.ndim < 3:
            raise ValueError(
                f"words must be (..., s, n, d_f): sentences of words, but came as {shape(words)}. "
                "For a single sentence write words[None]."
            )
        at_words = self.words(words, mask)
        e_S = self.score_S(at_words.keys)  # (..., s, 1, n)
        sentences, a_S = summarise(at_words, e_S, self.align)  # (..., s, d_v)
        # A sentence is real when a word of it is.
        sentence_mask = None if at_words.mask is None else at_words.mask.any(-1)  # (..., s)
        if self.sentence_encoder is not None:
            sentences = self.sentence_encoder(sentences, sentence_mask)
        at_sentences = self.sentences(sentences, sentence_mask)
        e_D = self.score_D(at_sentences.keys)  # (..., 1, s)
        document, a_D = summarise(at_sentences, e_D, self.align)  # (..., d_v_document)
        return document, {"a_S": a_S, "a_D": a_D} if need_weights else None
