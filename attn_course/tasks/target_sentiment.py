"""Target sentiment: what is said of the target, while something else is praised or blamed?

A sentence has a target in its middle, here three things with a colour each, and words to its left
and right. One of these is an opinion about one thing of the target. Another is an opinion about
a thing that is not meant, and of the opposite sort: praise where the target is blamed. The rest
says nothing. A model must predict the opinion (one of four) and the colour of the thing that the
opinion is about. So the target must find the opinion, and the opinion must find its thing in the
target.

The distractor reveals whether the right opinion is praise or blame, but not how strong it is, and
the colour is one of eight: with two values each, a weight alone could encode the answer.
"""

from functools import partial
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from attn_course.features import RotatoryAttention
from attn_course.tasks.apart_readers import apart_arms, apart_comparisons
from attn_course.tasks.parts import UniformScore
from attn_course.tasks.readers import (
    Seen,
    all_pairs,
    one_hot,
    reader_arms,
    reader_comparisons,
)
from attn_course.tasks.task import Arm, Comparison, Examples, Split, Task, Weights, as_tensor

THINGS = ("screen", "battery", "keyboard", "case", "price", "sound")
COLOURS = ("black", "white", "grey", "red", "green", "blue", "yellow", "brown")
OPINIONS = ("awful", "poor", "good", "superb")  # the first half blames, the second praises
NO_TARGET = len(THINGS)  # the thing that a word without an opinion is about
MAPS = ("a_l", "a_r", "a_lt", "a_rt")


class SentimentModel(nn.Module):
    """Embeddings, rotatory attention, and a linear output for opinion and colour.

    All of it but the attention is linear, so that nothing else can do the selecting.
    """

    def __init__(self, attention: RotatoryAttention, d: int) -> None:
        super().__init__()
        self.things = nn.Embedding(len(THINGS) + 1, d)  # the same for target and contexts
        self.colours = nn.Embedding(len(COLOURS), d)
        self.opinions = nn.Embedding(len(OPINIONS), d)
        self.attention = attention
        self.output = nn.Linear(attention.d_out, len(OPINIONS) + len(COLOURS))

    def forward(
        self,
        target: Tensor,
        left: Tensor,
        right: Tensor,
        target_mask: Tensor,
        left_mask: Tensor,
        right_mask: Tensor,
    ) -> tuple[Tensor, list[dict[str, Tensor]]]:
        """Return logits `(batch, 4 + 8)` and the weights of each hop."""
        r, weights = self.attention(
            self.things(target[..., 0]) + self.colours(target[..., 1]),
            self._context(left),
            self._context(right),
            *(target_mask, left_mask, right_mask),
        )
        return self.output(r), weights

    def _context(self, words: Tensor) -> Tensor:
        things, opinions = words[..., 0], words[..., 1]
        says_something = (things != NO_TARGET)[..., None]
        return self.things(things) + self.opinions(opinions) * says_something


class TargetSentiment(Task):
    """What is said of the target, and of which of its things?"""

    name = "target_sentiment"
    question = "What is said of one of the target's things, and which colour has that thing?"
    claim = (
        "The way back from the opinion to the target finds the colour; half a rotation does not. A "
        "reader without attention that sees every pair of a thing and a word does even better, and "
        "one that pools target and contexts apart fails."
    )
    reader_settings: ClassVar = {"mean": ("deep", (2e-2, 6e-3)), "max": ("deep", (2e-3, 2e-3))}
    apart_rates = (2e-3, 2e-3)
    metric = "opinion and colour both right"
    learning_rates = (1.5e-3, 5e-3, 1.5e-2)
    steps = 800
    n_target, n_context, d = 3, 6, 32

    def examples(self, split: Split, number: int, rng: np.random.Generator) -> Examples:
        """Return sentences of two to twelve context words; a context may be empty."""
        n = self.n_context
        n_left = rng.integers(n + 1, size=number)
        n_right = rng.integers(np.maximum(2 - n_left, 0), n + 1)  # room for two opinions
        lengths = np.stack([n_left, n_right], axis=-1)  # (number, 2)
        is_word = np.arange(n) < lengths[..., None]  # (number, 2, n)

        things = rng.permuted(np.tile(np.arange(len(THINGS)), (number, 1)), axis=1)
        in_target, outside = things[:, : self.n_target], things[:, self.n_target]
        colours = rng.integers(len(COLOURS), size=(number, self.n_target))
        meant = rng.integers(self.n_target, size=number)
        rows = np.arange(number)

        said = rng.integers(len(OPINIONS), size=number)
        strength = rng.integers(2, size=number)
        opposite = np.where(said < 2, 2, 0) + strength
        # The two words of a sentence with the largest random numbers are the two opinions.
        order = np.argsort(np.where(is_word, rng.random(is_word.shape), -1).reshape(number, -1))
        here, elsewhere = order[:, -1], order[:, -2]
        words = np.zeros((number, 2 * n, 2), dtype=np.int64)
        words[..., 0] = NO_TARGET
        words[rows, here] = np.stack([in_target[rows, meant], said], axis=-1)
        words[rows, elsewhere] = np.stack([outside, opposite], axis=-1)
        sides = words.reshape(number, 2, n, 2)

        finds = (np.arange(2 * n) == here[:, None]).reshape(number, 2, n)  # the opinion
        side = finds.any(axis=-1)  # (number, 2): the context that contains it
        thing = (np.arange(self.n_target) == meant[:, None])[:, None] & side[..., None]
        maps = (finds[:, 0], finds[:, 1], thing[:, 0], thing[:, 1])
        real = np.ones((number, self.n_target), dtype=bool)
        masks = (is_word[:, 0], is_word[:, 1], real, real)
        return Examples(
            inputs={
                "target": as_tensor(np.stack([in_target, colours], axis=-1)),
                "left": as_tensor(sides[:, 0]),
                "right": as_tensor(sides[:, 1]),
                "target_mask": as_tensor(real),
                "left_mask": as_tensor(is_word[:, 0]),
                "right_mask": as_tensor(is_word[:, 1]),
            },
            targets=as_tensor(np.stack([said, colours[rows, meant]], axis=-1)),
            right={name: as_tensor(m)[:, None] for name, m in zip(MAPS, maps, strict=True)},
            allowed={name: as_tensor(m)[:, None] for name, m in zip(MAPS, masks, strict=True)},
        )

    def loss(self, model: nn.Module, examples: Examples) -> Tensor:
        """Return the sum of the cross-entropies of opinion and colour."""
        predictions, _weights = model(**examples.inputs)
        opinion, colour = predictions[:, : len(OPINIONS)], predictions[:, len(OPINIONS) :]
        return functional.cross_entropy(opinion, examples.targets[:, 0]) + functional.cross_entropy(
            colour, examples.targets[:, 1]
        )

    def score(self, predictions: Tensor, examples: Examples) -> float:
        """Return the share of sentences with both answers right."""
        return self.parts_right(predictions, examples).all(dim=-1).double().mean().item()

    def parts_right(self, predictions: Tensor, examples: Examples) -> Tensor:
        """Return `(batch, 2)`: whether the opinion is right, and whether the colour is."""
        opinion = predictions[:, : len(OPINIONS)].argmax(dim=-1)
        colour = predictions[:, len(OPINIONS) :].argmax(dim=-1)
        return torch.stack([opinion, colour], dim=-1) == examples.targets

    def named_weights(self, weights: Weights) -> dict[str, Tensor]:
        """Return the four maps of the last rotation, each with its one query."""
        assert isinstance(weights, list)  # one entry per hop
        return {name: weights[-1][name][:, None] for name in MAPS}

    def words(self, examples: Examples, place: int) -> dict[str, tuple[list[str], list[str]]]:
        """Return the words of the sentence as a reader would say them."""
        target = [f"{COLOURS[c]} {THINGS[t]}" for t, c in examples.inputs["target"][place].tolist()]
        left, right = (
            [_said(*word) if real else "" for word, real in zip(words, mask, strict=True)]
            for words, mask in (
                (examples.inputs[side][place].tolist(), examples.inputs[f"{side}_mask"][place])
                for side in ("left", "right")
            )
        )
        return {
            "a_l": (["the target asks the left"], left),
            "a_r": (["the target asks the right"], right),
            "a_lt": (["the left asks the target"], target),
            "a_rt": (["the right asks the target"], target),
        }

    def model(
        self, hops: int = 1, score: str = "general", uniform: tuple[str, ...] = ()
    ) -> SentimentModel:
        """Return the model; the scores named in `uniform` are replaced by equal weights."""
        attention = RotatoryAttention((self.d,) * 3, hops=hops, score=score)
        for name in uniform:
            setattr(attention, name, UniformScore())
        return SentimentModel(attention, self.d)

    @property
    def arms(self) -> dict[str, Arm]:
        """One rotation, two, half a one, none; `tanh` has the papers' score, the others general."""
        back = ("score_lt", "score_rt")
        with_tanh = partial(self.model, score="activated_general")
        return {
            "rotatory": Arm(self.model, 1.5e-3),
            "rotatory, tanh": Arm(with_tanh, 5e-3),
            "rotatory, 2 hops": Arm(partial(self.model, hops=2), 1.5e-3),
            "without the way back": Arm(partial(self.model, uniform=back), 1.5e-3),
            "without the way back, tanh": Arm(partial(with_tanh, uniform=back), 1.5e-3),
            "uniform": Arm(partial(self.model, uniform=("score_l", "score_r", *back)), 5e-3),
            **reader_arms(self, self.model, self.see),
            **apart_arms(self, self.model, self.see_apart, self.apart_rates),
        }

    def see(self, **inputs: Tensor) -> Seen:
        """Return every pair of a thing of the target and a word of the contexts."""
        things, said = self.see_apart(**inputs)
        assert things.mask is not None
        assert said.mask is not None
        both = things.mask[:, :, None] & said.mask[:, None, :]
        return Seen(all_pairs(things.tokens, said.tokens), mask=both.flatten(1))

    def see_apart(
        self,
        target: Tensor,
        left: Tensor,
        right: Tensor,
        target_mask: Tensor,
        left_mask: Tensor,
        right_mask: Tensor,
    ) -> tuple[Seen, Seen]:
        """Return the things of the target, and the words of both contexts."""
        things = one_hot(target, (len(THINGS) + 1, len(COLOURS)))
        said = one_hot(torch.cat([left, right], dim=1), (len(THINGS) + 1, len(OPINIONS)))
        there = torch.cat([left_mask, right_mask], dim=1)
        return Seen(things, mask=target_mask), Seen(said, mask=there)

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """The whole rotation against half of it and against none; a second hop against one."""
        return (
            Comparison("rotatory", "without the way back"),
            Comparison("rotatory", "uniform"),
            Comparison("rotatory, tanh", "without the way back, tanh"),
            Comparison(
                "rotatory, 2 hops",
                "rotatory",
                note="A second rotation has nothing left to find, since one already finds both "
                "opinion and thing; some of its seeds train a little worse.",
            ),
            *reader_comparisons("rotatory"),
            *apart_comparisons("rotatory"),
        )


def _said(thing: int, opinion: int) -> str:
    return "–" if thing == NO_TARGET else f"{OPINIONS[opinion]} {THINGS[thing]}"
