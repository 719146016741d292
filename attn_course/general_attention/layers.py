r"""The layers of the Transformer: attention and a small network, each added and normalised."""

from torch import Tensor, nn

from attn_course._arrays import require_choice
from attn_course.alignment import softmax
from attn_course.attention import Align
from attn_course.attention.mask_policy import pair_mask, without_unseen
from attn_course.queries import MultiHeadAttention, refine
from attn_course.scale import KeyValueCache

NORMS = ("post", "pre")


class AddAndNorm(nn.Module):
    r"""$\mathrm{LN}(x + f(x))$ (post) or $x + f(\mathrm{LN}(x))$ (pre), $f$ being a sublayer.

    The paper normalises after the sum, survey (37). Before the sublayer, the way through the
    sums stays free, and deep stacks train without a warm-up. Call `before`, the sublayer, `after`.
    """

    def __init__(self, d: int, norm: str, dropout: float) -> None:
        super().__init__()
        require_choice("norm", norm, NORMS)
        self.is_post = norm == "post"
        self.normalise = nn.LayerNorm(d)
        self.dropout = nn.Dropout(dropout)

    def before(self, x: Tensor) -> Tensor:
        """Return what the sublayer takes."""
        return x if self.is_post else self.normalise(x)

    def after(self, x: Tensor, output: Tensor) -> Tensor:
        """Return the sum with what the sublayer made."""
        output = self.dropout(output)
        return refine(x, output, self.normalise) if self.is_post else x + output


def feed_forward(d: int, d_ff: int) -> nn.Sequential:
    r"""$\max(0, x W_1 + b_1) W_2 + b_2$, for each position by itself."""
    return nn.Sequential(nn.Linear(d, d_ff), nn.ReLU(inplace=True), nn.Linear(d_ff, d))


class EncoderLayer(nn.Module):
    r"""Self-attention, then a network for each position: `(..., n, d)` to `(..., n, d)`.

    Parameters: $4d^2 + 2 d\,d_{ff}$ and biases, $12 d^2$ for $d_{ff} = 4d$. FLOPs:
    $24 n d^2 + 4 n^2 d$. Weights are `(..., heads, n, n)`. `score` and `align` are those of
    `MultiHeadAttention`, and so are the masks: `mask` broadcasts to `(..., n, n)`, `key_mask`
    `(..., n)` is True where there is a feature, `causal` hides the features that follow.
    """

    def __init__(
        self,
        d: int,
        heads: int,
        d_ff: int,
        norm: str = "post",
        dropout: float = 0.0,
        *,
        score: str = "scaled_dot",
        align: Align | str = softmax,
    ) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(d, heads, score=score, align=align)
        self.feed_forward = feed_forward(d, d_ff)
        self.around_attention = AddAndNorm(d, norm, dropout)
        self.around_feed_forward = AddAndNorm(d, norm, dropout)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        need_weights: bool = True,
        *,
        key_mask: Tensor | None = None,
        causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Return the refined features and the weights."""
        x = _whole_where_unseen(x, mask, key_mask)
        h = self.around_attention.before(x)
        contexts, weights = self.attention(
            h, h, h, mask, need_weights, key_mask=key_mask, causal=causal
        )
        x = self.around_attention.after(x, contexts)
        h = self.around_feed_forward.before(x)
        return self.around_feed_forward.after(x, self.feed_forward(h)), weights


class LayerCache:
    """What a decoder layer need not compute again: projected keys and values, in heads."""

    def __init__(self, memory: tuple[Tensor, Tensor]) -> None:
        self.past = KeyValueCache()  # of the words so far, one more with each step
        self.memory = memory  # of the source, the same in every step


class DecoderLayer(nn.Module):
    r"""Self-attention, attention to the source, a network: `(..., m, d)` to `(..., m, d)`.

    The second attention has queries from the decoder, keys and values from `memory`
    `(..., n, d)`. Both have `score` and `align`. Of the words so far the layer sees what `mask`
    `(..., m, m)`, `key_mask` `(..., m)` and `causal` allow; of the memory what `memory_mask`
    `(..., m, n)` and `memory_key_mask` `(..., n)` allow. Give `causal=True`, or a causal `mask`.
    The weights are a dict: `decoder` `(..., heads, m, m)`, `cross` `(..., heads, m, n)`.
    """

    def __init__(
        self,
        d: int,
        heads: int,
        d_ff: int,
        norm: str = "post",
        dropout: float = 0.0,
        *,
        score: str = "scaled_dot",
        align: Align | str = softmax,
    ) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(d, heads, score=score, align=align)
        self.cross_attention = MultiHeadAttention(d, heads, score=score, align=align)
        self.feed_forward = feed_forward(d, d_ff)
        self.around_attention = AddAndNorm(d, norm, dropout)
        self.around_cross_attention = AddAndNorm(d, norm, dropout)
        self.around_feed_forward = AddAndNorm(d, norm, dropout)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        need_weights: bool = True,
        *,
        key_mask: Tensor | None = None,
        causal: bool = False,
        memory_key_mask: Tensor | None = None,
    ) -> tuple[Tensor, dict[str, Tensor | None]]:
        """Return the refined features and the weights."""
        x = _whole_where_unseen(x, mask, key_mask)
        h = self.around_attention.before(x)
        contexts, weights = self.attention(
            h, h, h, mask, need_weights, key_mask=key_mask, causal=causal
        )
        x = self.around_attention.after(x, contexts)
        h = self.around_cross_attention.before(x)
        contexts, cross = self.cross_attention(
            h, memory, memory, memory_mask, need_weights, key_mask=memory_key_mask
        )
        x = self.around_cross_attention.after(x, contexts)
        h = self.around_feed_forward.before(x)
        x = self.around_feed_forward.after(x, self.feed_forward(h))
        return x, {"decoder": weights, "cross": cross}

    def start(self, memory: Tensor) -> LayerCache:
        """Return the cache for decoding with this memory."""
        return LayerCache(_keys_and_values(self.cross_attention, memory))

    def step(
        self, x: Tensor, cache: LayerCache, mask: Tensor, memory_mask: Tensor | None = None
    ) -> tuple[Tensor, dict[str, Tensor | None]]:
        """Do what `forward` does for the new positions `x` alone, `(..., new, d)`.

        The old ones are in the cache, to which the new ones are added. `mask` broadcasts to
        `(..., new, all)`.
        """
        h = self.around_attention.before(x)
        keys, values = cache.past.append(*_keys_and_values(self.attention, h))
        contexts, weights = _with_projected(self.attention, h, keys, values, mask)
        x = self.around_attention.after(x, contexts)
        h = self.around_cross_attention.before(x)
        contexts, cross = _with_projected(self.cross_attention, h, *cache.memory, memory_mask)
        x = self.around_cross_attention.after(x, contexts)
        h = self.around_feed_forward.before(x)
        x = self.around_feed_forward.after(x, self.feed_forward(h))
        return x, {"decoder": weights, "cross": cross}


def _whole_where_unseen(x: Tensor, mask: Tensor | None, key_mask: Tensor | None) -> Tensor:
    """Return the features, broken numbers that no query may see replaced by 0.

    They would reach the gradients of the network and of the normalisation, which know no mask.
    """
    return without_unseen(x, pair_mask(mask, key_mask, False, x, x))


def _keys_and_values(attention: MultiHeadAttention, x: Tensor) -> tuple[Tensor, Tensor]:
    return attention.split(attention.W_K(x)), attention.split(attention.W_V(x))


def _with_projected(
    attention: MultiHeadAttention, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """Do what `attention` does, with keys and values `(..., heads, k, d_head)` made before."""
    return attention.attend_in_heads(attention.split(attention.W_q(x)), keys, values, mask)
