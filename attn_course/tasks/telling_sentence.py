r"""The telling sentence: a review in which one sentence counts, and in it one word.

A word is an aspect with a grade, such as `room 3`; there is a `verdict` with a grade in every
sentence. One sentence says `overall`: its verdict is the answer.

Both levels are needed, by design. The mean of a sentence's words mixes the grades of all aspects,
and does not say which grade belongs to the verdict, so words need weights. The verdicts of the
other sentences look exactly like the one that counts, so weights on words alone, or one attention
over all words, can't distinguish them: sentences need weights too. These depend on `overall`, so
the weights on words must leave some room for it.

Words are fixed vectors, a one-hot aspect and a one-hot grade, and the output is linear: learned
vectors would silence the words that don't matter, and an encoder, or a deep output, would do the
selecting. Whether other sentences repeat the right grade is random, so "the grade that occurs only
once" is no answer either.
"""

from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from attn_course.features import HierarchicalAttention
from attn_course.tasks.readers import Seen, reader_arms, reader_comparisons
from attn_course.tasks.task import Arm, Comparison, Examples, Split, Task, as_tensor

ASPECTS = ("verdict", "room", "food", "view", "staff", "price")
VERDICT = 0
GRADES = 8
WIDTH = len(ASPECTS) + GRADES + 1  # the last one is "overall"


class NoScore(nn.Module):
    """The ablation of a level: all keys score 0, so its weights are equal."""

    def forward(self, keys: Tensor) -> Tensor:
        """Return scores `(..., 1, k)`."""
        return keys.new_zeros(*keys.shape[:-2], 1, keys.shape[-2])


class ReviewReader(nn.Module):
    """Hierarchical attention and a linear output; either level may be made uniform, or both one."""

    def __init__(self, words: bool = True, sentences: bool = True, flat: bool = False) -> None:
        super().__init__()
        self.attention = HierarchicalAttention(WIDTH, d_w=(32, 32))
        if not words:
            self.attention.score_S = NoScore()  # type: ignore[assignment]
        if not sentences:
            self.attention.score_D = NoScore()  # type: ignore[assignment]
        self.flat = flat
        self.output = nn.Linear(WIDTH, GRADES)

    def forward(self, words: Tensor, mask: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the grades' logits `(batch, 1, 8)` and the weights of words and sentences."""
        if self.flat:
            return self._as_one_sentence(words, mask)
        document, weights = self.attention(words, mask)
        assert weights is not None
        return self.output(document)[:, None], _as_maps(weights["a_S"], weights["a_D"])

    def _as_one_sentence(self, words: Tensor, mask: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        document, weights = self.attention(
            words.flatten(1, 2)[:, None], mask.flatten(1, 2)[:, None]
        )
        assert weights is not None
        a_S = weights["a_S"].reshape(mask.shape)
        return self.output(document)[:, None], _as_maps(a_S, a_S.sum(-1))


def _as_maps(a_S: Tensor, a_D: Tensor) -> dict[str, Tensor]:
    """Return the weights as maps: a row for each sentence, and one row for the document."""
    return {"words": a_S, "sentences": a_D[:, None]}


class TellingSentence(Task):
    """Which grade has the verdict of the sentence that says "overall"?"""

    name = "telling_sentence"
    question = "Which grade has the verdict of the sentence that says overall?"
    claim = (
        "Both levels of attention are needed if everything else is linear. A reader without "
        "attention that sees the mean of its sentence with every word does as well."
    )
    reader_settings: ClassVar = {"mean": ("deep", (2e-2, 6e-3)), "max": ("deep", (2e-3, 2e-3))}
    solved_at = 0.95
    learning_rates = (3e-3, 1e-2, 3e-2)
    steps = 400
    batch_size = 128
    most_sentences, most_words = 6, 8
    fewest_sentences, fewest_words = 4, 5

    def examples(self, split: Split, number: int, rng: np.random.Generator) -> Examples:
        """Return reviews of 4 to 6 sentences of 5 to 8 words, padded."""
        s, n = self.most_sentences, self.most_words
        rows, each = np.arange(number), np.arange(s)
        count = rng.integers(self.fewest_sentences, s + 1, size=number)
        lengths = rng.integers(self.fewest_words, n + 1, size=(number, s))
        is_sentence = each < count[:, None]
        there = (np.arange(n) < lengths[..., None]) & is_sentence[..., None]
        aspects = rng.integers(1, len(ASPECTS), size=(number, s, n))
        grades = rng.integers(GRADES, size=(number, s, n))
        verdict = rng.integers(lengths)  # its place, in every sentence
        aspects[rows[:, None], each, verdict] = VERDICT
        telling = rng.integers(count)
        # "overall" is at another place than the verdict: so many places further, in a circle.
        length, at = lengths[rows, telling], verdict[rows, telling]
        overall = (at + rng.integers(1, length)) % length
        words = np.concatenate([np.eye(len(ASPECTS))[aspects], np.eye(GRADES)[grades]], axis=-1)
        words = np.concatenate([words, np.zeros((number, s, n, 1))], axis=-1)
        words[rows, telling, overall] = np.eye(WIDTH)[-1]
        words *= there[..., None]
        right = np.zeros((number, s, n), dtype=bool)
        right[rows, telling, at] = right[rows, telling, overall] = True
        return Examples(
            inputs={"words": as_tensor(words), "mask": as_tensor(there)},
            targets=as_tensor(grades[rows, telling, at][:, None]),
            # The weights on words do not matter in a sentence that does not count.
            right={
                "words": as_tensor(right),
                "sentences": as_tensor(each == telling[:, None])[:, None, :],
            },
            allowed={"words": as_tensor(there), "sentences": as_tensor(is_sentence)[:, None, :]},
        )

    @property
    def arms(self) -> dict[str, Arm]:
        """Both levels, either one alone, one attention over all words, and none."""
        return {
            "hierarchical": Arm(ReviewReader, 3e-3),
            "words only": Arm(lambda: ReviewReader(sentences=False), 3e-3),
            "sentences only": Arm(lambda: ReviewReader(words=False), 3e-3),
            "flat": Arm(lambda: ReviewReader(flat=True), 1e-2),
            "uniform": Arm(lambda: ReviewReader(words=False, sentences=False), 1e-2, attends=False),
            **reader_arms(self, ReviewReader, self.see),
        }

    def see(self, words: Tensor, mask: Tensor) -> Seen:
        """Return every word together with the mean of the words of its sentence."""
        lengths = mask.sum(dim=-1, keepdim=True).clamp(min=1)[..., None]
        of_sentence = (words.sum(dim=2, keepdim=True) / lengths).expand_as(words)
        tokens = torch.cat([words, of_sentence], dim=-1)
        return Seen(tokens.flatten(1, 2), mask=mask.flatten(1))

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Both levels against each of the simpler ways."""
        simpler = ("words only", "sentences only", "flat", "uniform")
        return (
            *(Comparison("hierarchical", other) for other in simpler),
            *reader_comparisons("hierarchical"),
        )

    def words(self, examples: Examples, place: int) -> dict[str, tuple[list[str], list[str]]]:
        """Return what matters of each sentence; the columns are the places of words."""
        inputs = examples.inputs
        sentences = []
        for sentence, there in zip(inputs["words"][place], inputs["mask"][place], strict=True):
            words = [word_of(word) for word in sentence[there]]
            told = [word for word in words if word == "overall" or word.startswith("verdict")]
            sentences.append(", ".join(sorted(told)))
        places = [str(1 + word) for word in range(inputs["mask"].shape[-1])]
        numbers = [str(1 + sentence) for sentence in range(len(sentences))]
        return {"words": (sentences, places), "sentences": ([""], numbers)}


def word_of(vector: Tensor) -> str:
    """Return the word that a vector means: "room 3", or "overall"."""
    if vector[-1] > 0:
        return "overall"
    aspect, grade = vector[: len(ASPECTS)].argmax(), vector[len(ASPECTS) : -1].argmax()
    return f"{ASPECTS[int(aspect)]} {1 + int(grade)}"
