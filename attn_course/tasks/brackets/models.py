"""What predicts the type of a hidden bracket: self-attention, a rule, and readers without it.

Every model gets kinds of token `(batch, n)` and which of them are real, and returns logits
`(batch, n, 3)`, one row per position, with the weights of its layers.
"""

import torch
from torch import Tensor, nn

from attn_course.general_attention.layers import feed_forward
from attn_course.queries import SelfAttention, refine
from attn_course.tasks.brackets.lines import CLOSERS, LONGEST, OPENERS
from attn_course.tasks.parts import UniformScore

TYPES = len(CLOSERS)
Maps = dict[str, Tensor]


class BracketLayer(nn.Module):
    """Self-attention to what came before, then a small network, each added and normalised."""

    def __init__(self, d: int, is_uniform: bool) -> None:
        super().__init__()
        self.attention = SelfAttention(d)
        if is_uniform:
            self.attention.score = UniformScore()
            # Without a score there is nothing to learn about queries and keys.
            self.attention.W_Q = self.attention.W_K = nn.Identity()  # type: ignore[assignment]
        self.network = feed_forward(d, 2 * d)
        self.after_attention, self.after_network = nn.LayerNorm(d), nn.LayerNorm(d)

    def forward(self, features: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return refined features and weights `(batch, n, n)`."""
        contexts, weights = self.attention(features, key_mask=mask, causal=True)
        features = refine(features, contexts, self.after_attention)
        return refine(features, self.network(features), self.after_network), weights


class BracketModel(nn.Module):
    """Two layers of self-attention, and a linear output at every position.

    With `is_uniform` all earlier tokens have the same weight, and nothing else changes.
    """

    def __init__(self, kinds: int, d: int = 32, is_uniform: bool = False) -> None:
        super().__init__()
        self.embedding = nn.Embedding(kinds, d)
        self.position = nn.Parameter(0.3 * torch.randn(LONGEST, d))  # kinds matter more at first
        self.layers = nn.ModuleList(BracketLayer(d, is_uniform) for _ in range(2))
        self.output = nn.Linear(d, TYPES)

    def forward(self, tokens: Tensor, mask: Tensor) -> tuple[Tensor, Maps]:
        """Return the logits, and the weights of both layers."""
        positions = self.position[: tokens.shape[-1]]
        features = self.embedding(tokens) + positions
        weights = {}
        for number, layer in enumerate(self.layers, start=1):
            features, weights[f"layer {number}"] = layer(features, mask)
        return self.output(features), weights


class NearestOpener(nn.Module):
    """The rule without parameters: a closer has the type of the last opener before it."""

    openers: Tensor

    def __init__(self, kinds: tuple[str, ...]) -> None:
        super().__init__()
        self.register_buffer("openers", torch.tensor([kinds.index(opener) for opener in OPENERS]))

    def forward(self, tokens: Tensor, mask: Tensor) -> tuple[Tensor, Maps]:
        """Return 1 for the type, and all the weight for that opener, in the map of layer 2."""
        n = tokens.shape[-1]
        is_opener = (tokens[..., None] == self.openers).float()  # (batch, n, 3)
        place = is_opener.any(-1) * torch.arange(n)
        nearest = place.cummax(dim=-1).values  # (batch, n)
        predictions = is_opener.gather(1, nearest[..., None].expand(-1, -1, TYPES))
        return predictions, {"layer 2": nn.functional.one_hot(nearest, n).float()}


class WindowReader(nn.Module):
    """Two hidden layers over the last few tokens, concatenated: no attention."""

    def __init__(self, kinds: int, window: int = 12, d: int = 16, hidden: int = 80) -> None:
        super().__init__()
        self.window = window
        self.embedding = nn.Embedding(kinds, d)
        self.output = nn.Sequential(
            *(nn.Linear(window * d, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU()),
            nn.Linear(hidden, TYPES),
        )

    def forward(self, tokens: Tensor, mask: Tensor) -> tuple[Tensor, None]:
        """Return the logits; tokens before the line are padding."""
        before = nn.functional.pad(tokens, (self.window - 1, 0))
        windows = before.unfold(-1, self.window, 1)  # (batch, n, window)
        return self.output(self.embedding(windows).flatten(-2)), None


class RecurrentReader(nn.Module):
    """A GRU from left to right and a linear output: no attention."""

    def __init__(self, kinds: int, d: int = 32, hidden: int = 64) -> None:
        super().__init__()
        self.embedding = nn.Embedding(kinds, d)
        self.recurrent = nn.GRU(d, hidden, batch_first=True)
        self.output = nn.Linear(hidden, TYPES)

    def forward(self, tokens: Tensor, mask: Tensor) -> tuple[Tensor, None]:
        """Return the logits."""
        states, _last = self.recurrent(self.embedding(tokens))
        return self.output(states), None
