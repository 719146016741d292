"""`Transformer` without weights against `nn.Transformer` in `eval`, two layers of width 256.

PyTorch's has neither words nor positions, so the peer adds embeddings, a table of positions and
the output layer. Both normalise before each sublayer, have the same parameters and the same
masks, and compute the same logits.
"""

from collections.abc import Iterator
from math import sqrt

import torch
from torch import Tensor, nn

from attn_course.general_attention import Transformer
from attn_course.positions import sinusoidal_positions
from attn_course.queries import MultiHeadAttention
from benchmarks.measure import Line, compare_times

BATCH, WORDS, D, HEADS, LAYERS, D_FF = 8, 1000, 256, 8, 2, 1024
LENGTHS = (32, 128)
BOUND = 1.1


class Peer(nn.Module):
    """PyTorch's encoder and decoder on embedded words."""

    def __init__(self) -> None:
        super().__init__()
        self.source_embedding, self.target_embedding = (
            nn.Embedding(WORDS, D),
            nn.Embedding(WORDS, D),
        )
        self.positions = sinusoidal_positions(max(LENGTHS), D, like=torch.ones(1))
        self.stacks = nn.Transformer(
            D, HEADS, LAYERS, LAYERS, D_FF, dropout=0.0, batch_first=True, norm_first=True
        )
        self.logits = nn.Linear(D, WORDS)

    def forward(self, source: Tensor, target: Tensor, source_mask: Tensor | None = None) -> Tensor:
        """Return logits `(batch, m, words)`; `source_mask` is True where there is a word."""
        n, m = source.shape[-1], target.shape[-1]
        padding = None if source_mask is None else ~source_mask
        features = self.stacks(
            sqrt(D) * self.source_embedding(source) + self.positions[:n],
            sqrt(D) * self.target_embedding(target) + self.positions[:m],
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(m),
            tgt_is_causal=True,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
        )
        return self.logits(features)


def twins() -> tuple[Transformer, Peer]:
    """Return our model and the peer, in `eval`, with the same parameters."""
    torch.manual_seed(0)
    theirs = Peer()
    ours = Transformer(WORDS, WORDS, D, HEADS, LAYERS, D_FF, norm="pre")
    for name in ("source_embedding", "target_embedding", "logits"):
        _copy(getattr(theirs, name), getattr(ours, name))
    encoder, decoder = theirs.stacks.encoder, theirs.stacks.decoder
    _copy(encoder.norm, ours.encoder_norm)
    _copy(decoder.norm, ours.decoder_norm)
    for their_layer, our_layer in zip(encoder.layers, ours.encoder, strict=True):
        our_layer.attention = MultiHeadAttention.from_torch(their_layer.self_attn)
        _copy_rest(their_layer, our_layer, ("around_attention", "around_feed_forward"))
    for their_layer, our_layer in zip(decoder.layers, ours.decoder, strict=True):
        our_layer.attention = MultiHeadAttention.from_torch(their_layer.self_attn)
        our_layer.cross_attention = MultiHeadAttention.from_torch(their_layer.multihead_attn)
        around = ("around_attention", "around_cross_attention", "around_feed_forward")
        _copy_rest(their_layer, our_layer, around)
    return ours.eval(), theirs.eval()


def words(n: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return sources, targets, and a mask that leaves half of the shortest source."""
    generator = torch.Generator().manual_seed(n)
    source, target = torch.randint(WORDS, (2, BATCH, n), generator=generator)
    lengths = torch.linspace(n // 2, n, BATCH).long()
    return source, target, torch.arange(n) < lengths[:, None]


@torch.no_grad()
def run(repeats: int) -> Iterator[Line]:
    """Yield the times of a forward pass, with and without padded sources."""
    ours, theirs = twins()
    for n in LENGTHS:
        source, target, real = words(n)
        for name, mask in {"no padding": None, "padded sources": real}.items():
            yield compare_times(
                f"Transformer, n = {n}, {name}: time / nn.Transformer",
                lambda given=(source, target, mask): ours(*given, need_weights=False),
                lambda given=(source, target, mask): theirs(*given),
                BOUND,
                min(repeats, 7),
            )


def _copy(theirs: nn.Module, ours: nn.Module) -> None:
    ours.load_state_dict(theirs.state_dict())


def _copy_rest(theirs: nn.Module, ours: nn.Module, around: tuple[str, ...]) -> None:
    _copy(theirs.linear1, ours.feed_forward[0])
    _copy(theirs.linear2, ours.feed_forward[2])
    for i, name in enumerate(around, start=1):
        _copy(getattr(theirs, f"norm{i}"), getattr(ours, name).normalise)
