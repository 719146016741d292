"""Spelling: words choose, characters spell.

"Spell the word tagged 7": each word has a tag and a place in the sentence, each character knows the
place of its word, its position in it and its letter, but not the tag. So the tag leads to a word,
and only what the word says (its place) leads on to characters.
"""

from functools import partial
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from attn_course.features import AttentionViaAttention
from attn_course.tasks.apart_readers import apart_arms
from attn_course.tasks.parts import UniformScore, filled
from attn_course.tasks.readers import Seen, one_hot, reader_arms
from attn_course.tasks.task import IGNORED, Arm, Comparison, Examples, Split, Task, as_tensor
from attn_course.tasks.two_inputs import SummedEmbeddings

LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Speller(nn.Module):
    """Attention-via-attention between embeddings and a linear output, which select nothing.

    A speller that is not shown the words has the same layer, with all words masked.
    """

    def __init__(
        self, tags: int, words: int, longest: int, uniform: str | None = None, d: int = 32
    ) -> None:
        super().__init__()
        self.query_encoder = SummedEmbeddings((tags, longest), d)
        self.word_encoder = SummedEmbeddings((tags, words), d)
        self.character_encoder = SummedEmbeddings((words, longest, len(LETTERS)), d)
        self.attention = AttentionViaAttention(d_q=d, d_f=(d, d), score="general")
        if uniform is not None:
            setattr(self.attention, uniform, UniformScore())
        self.output = nn.Linear(2 * d, len(LETTERS))
        self.sees_words = True

    def forward(
        self,
        asked: Tensor,
        words: Tensor,
        characters: Tensor,
        word_mask: Tensor,
        character_mask: Tensor,
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return a letter for each position asked for, and the weights of both levels."""
        output, weights = self.attention(
            self.query_encoder(asked),
            self.word_encoder(words),
            self.character_encoder(characters),
            word_mask & self.sees_words,
            character_mask,
        )
        return self.output(output), {"words": weights["a_w"], "characters": weights["a_c"]}


class Spelling(Task):
    """Which letters has the word with this tag?"""

    name = "spelling"
    question = "Which letters has the word with this tag, one after the other?"
    claim = "The word level is needed to choose, the character level to spell."
    no_readers = "they are built, but the stated table has not trained them yet"
    reader_settings: ClassVar = {"mean": ("deep", (6e-3, 6e-3)), "max": ("deep", (6e-3, 6e-3))}
    apart_rates = (6e-3, 6e-3)
    learning_rates = (3e-3, 1e-2, 3e-2)
    steps = 800
    batch_size = 64
    words_at_most, longest = 6, 6
    # More tags than words, and two words that have lost their tag: the word level lacks them, their
    # characters are there. Otherwise all words but the right one would be enough (leak 4): spell
    # the word that has none of their tags, from the characters that are at none of their places.
    tags, untagged = 15, 2

    def examples(self, split: Split, number: int, rng: np.random.Generator) -> Examples:
        """Return 4–6 words of 3–6 random letters, and the tag of one of them at each position."""
        n, longest = self.words_at_most, self.longest
        rows = np.arange(number)
        there = filled(rng, number, 4, n)
        tags = rng.random((number, self.tags)).argsort(axis=1)[:, :n]  # no tag twice
        rank = np.where(there, rng.random((number, n)), 2.0).argsort(axis=1).argsort(axis=1)
        tagged = there & (rank >= self.untagged)
        chosen = (rank == self.untagged).argmax(axis=1)
        letters = rng.integers(len(LETTERS), size=(number, n, longest))
        written = filled(rng, number * n, 3, longest).reshape(number, n, longest)
        written &= there[..., None]
        asked_for = written[rows, chosen]  # (number, longest)
        place, position = np.meshgrid(np.arange(n), np.arange(longest), indexing="ij")
        characters = np.stack(np.broadcast_arrays(place, position, letters), axis=-1)
        asked = np.stack(np.broadcast_arrays(tags[rows, chosen, None], np.arange(longest)), axis=-1)
        word = np.arange(n) == chosen[:, None]
        # Position t of the chosen word is right for query t, if there is such a letter.
        same = np.eye(longest, dtype=bool)[:, None] & word[:, None, :, None]
        right = (same & asked_for[:, :, None, None]).reshape(number, longest, n * longest)
        character_mask = written.reshape(number, n * longest)
        return Examples(
            inputs={
                "asked": as_tensor(asked),
                "words": as_tensor(np.stack(np.broadcast_arrays(tags, np.arange(n)), axis=-1)),
                "characters": as_tensor(characters.reshape(number, n * longest, 3)),
                "word_mask": as_tensor(tagged),
                "character_mask": as_tensor(character_mask),
            },
            targets=as_tensor(np.where(asked_for, letters[rows, chosen], IGNORED)),
            right={
                "words": as_tensor(word[:, None] & asked_for[..., None]),
                "characters": as_tensor(right),
            },
            allowed={
                "words": as_tensor(tagged[:, None]),
                "characters": as_tensor(character_mask[:, None]),
            },
        )

    def model(self, uniform: str | None = None, sees_words: bool = True) -> Speller:
        """Return the model, with one of its scores `uniform`, or blind to words."""
        model = Speller(self.tags, self.words_at_most, self.longest, uniform)
        model.sees_words = sees_words
        return model

    @property
    def arms(self) -> dict[str, Arm]:
        """Both levels, and one of them without a choice or left out."""
        return {
            "via words": Arm(self.model, 3e-3),
            "characters only": Arm(partial(self.model, sees_words=False), 1e-2),
            "uniform over words": Arm(partial(self.model, uniform="score_w"), 3e-3),
            "uniform over characters": Arm(partial(self.model, uniform="score_c"), 1e-2),
            **reader_arms(self, self.model, self.see),
            **apart_arms(self, self.model, self.see_apart, self.apart_rates),
        }

    def see(
        self,
        asked: Tensor,
        words: Tensor,
        characters: Tensor,
        word_mask: Tensor,
        character_mask: Tensor,
    ) -> Seen:
        """Return the characters, each with the tag of its word, which no reader has to look up.

        A word without a tag has zeros instead.
        """
        level, letters = self.see_apart(asked, words, characters, word_mask, character_mask)
        tags = level.tokens[..., : self.tags] * word_mask[..., None]
        of_word = tags.gather(1, characters[..., :1].expand(-1, -1, self.tags))
        return Seen(torch.cat([letters.tokens, of_word], dim=-1), letters.questions, character_mask)

    def see_apart(
        self,
        asked: Tensor,
        words: Tensor,
        characters: Tensor,
        word_mask: Tensor,
        character_mask: Tensor,
    ) -> tuple[Seen, Seen]:
        """Return the words, and the characters with the question for each letter."""
        n, longest = self.words_at_most, self.longest
        questions = one_hot(asked, (self.tags, longest))
        letters = one_hot(characters, (n, longest, len(LETTERS)))
        return (
            Seen(one_hot(words, (self.tags, n)), mask=word_mask),
            Seen(letters, questions, character_mask),
        )

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Both levels against each ablation of one."""
        ablations = ("characters only", "uniform over words", "uniform over characters")
        return (*(Comparison("via words", ablation) for ablation in ablations),)

    def words(self, examples: Examples, place: int) -> dict[str, tuple[list[str], list[str]]]:
        """Return tags as numbers, words and characters as they are spelled."""
        one = {name: tensor[place].tolist() for name, tensor in examples.inputs.items()}
        queries = [f"{tag}, {position + 1}" for tag, position in one["asked"]]
        characters = [
            LETTERS[letter] if there else ""
            for (_place, _position, letter), there in zip(
                one["characters"], one["character_mask"], strict=True
            )
        ]
        spelled = [
            "".join(characters[start : start + self.longest])
            for start in range(0, len(characters), self.longest)
        ]
        words = [
            f"{tag} {word}" if word else ""
            for (tag, _place), word in zip(one["words"], spelled, strict=True)
        ]
        return {"words": (queries, words), "characters": (queries, characters)}
