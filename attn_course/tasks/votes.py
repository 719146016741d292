r"""Votes: a meeting where everybody raises a hand, and only the members' hands count.

A token is a person: a kind, and the candidate voted for. Three to five of them are members, and
most of these vote for the answer; the others are a crowd with a favourite of its own, whom chance
may have made the same. Which kinds are members is what a model has to find out.

Reinforced alignment draws a subset of the tokens, all of which get the same weight here: the
selection is the only weighting. It is trained by policy gradient, with the reward
$\log p(y) - \lambda \cdot$ (share of tokens kept).

Soft attention does as well here, though no weight of it is ever 0. `bids` shows where that matters.

Tokens are fixed vectors, a one-hot kind and the vote, and the output is linear, so that only the
weights can distinguish members from the crowd.
"""

from typing import ClassVar

import numpy as np
from torch import Tensor, nn
from torch.nn import functional

from attn_course.alignment import softmax
from attn_course.attention import Align
from attn_course.general_attention.aligners import LearnedSubset
from attn_course.learned_scores import NoQueryScore
from attn_course.tasks.parts import UniformKeyScore
from attn_course.tasks.readers import Seen, reader_arms, reader_comparisons
from attn_course.tasks.task import Arm, Comparison, Examples, Split, Task, Weights, as_tensor
from attn_course.tasks.vote_counter import ChosenSubset, RandomSubset, VoteCounter

KINDS, MEMBERS = 8, 2  # kinds 0 and 1 are members
CANDIDATES = 6
HIDDEN = 16
PRICE = 0.3  # lambda: what it costs to keep all tokens
RANDOM_SHARE = 0.3  # about as many as there are members


class Votes(Task):
    """Whom did most members vote for?"""

    name = "votes"
    question = "Whom did most members vote for, in a crowd that votes as well?"
    claim = (
        "Reinforced keeps the members and nothing else. No accuracy is gained over soft attention "
        "or over a reader that pools by the mean, since who has most votes is a sum over tokens. "
        "`bids` asks for a mean, and needs exact zeros."
    )
    reader_settings: ClassVar = {
        "mean": ("plain", (6e-3, 6e-3)),
        "max": ("deep", (6e-3, 6e-3)),
    }
    reader_tried: ClassVar[tuple[float, ...]] = (6e-3,)
    attention_metric = "F1 of the tokens with any weight"
    learning_rates = (2e-3, 6e-3, 2e-2)
    steps = 800
    trained_sizes = tested_sizes = (8, 16)  # how many tokens at least and at most
    width, answers = KINDS + CANDIDATES, CANDIDATES

    def examples(self, split: Split, number: int, rng: np.random.Generator) -> Examples:
        """Return meetings, padded, with the tokens in random order."""
        fewest, most = self.trained_sizes if split == "train" else self.tested_sizes
        there = np.arange(most) < rng.integers(fewest, most + 1, size=(number, 1))
        # A rank for each person, in random order; the first few are the members.
        rank = np.where(there, rng.random((number, most)), 2).argsort(-1).argsort(-1)
        members = rng.integers(3, 6, size=(number, 1))
        is_member = rank < members
        member_kind = rng.integers(MEMBERS, size=(number, most))
        other_kind = rng.integers(MEMBERS, KINDS, size=(number, most))
        kinds = np.eye(KINDS)[np.where(is_member, member_kind, other_kind)]
        votes, answer = self.votes(rank, members, rng)
        tokens = np.concatenate([kinds, votes], axis=-1) * there[..., None]
        return Examples(
            inputs={"tokens": as_tensor(tokens), "mask": as_tensor(there)},
            targets=as_tensor(answer),
            right={"weights": as_tensor(is_member)[:, None, :]},
            allowed={"weights": as_tensor(there)[:, None, :]},
        )

    def votes(
        self, rank: np.ndarray, members: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return what everybody votes for, `(number, n, 6)`, and who wins, `(number, 1)`."""
        winner = rng.integers(CANDIDATES, size=members.shape)
        loser = (winner + rng.integers(1, CANDIDATES, size=rank.shape)) % CANDIDATES
        of_members = np.where(rank <= members // 2, winner, loser)  # more than half of them
        favourite = rng.integers(CANDIDATES, size=members.shape)
        anybody = rng.integers(CANDIDATES, size=rank.shape)
        of_crowd = np.where(rng.random(rank.shape) < 0.5, favourite, anybody)
        return np.eye(CANDIDATES)[np.where(rank < members, of_members, of_crowd)], winner

    def cost(self, predictions: Tensor, examples: Examples) -> Tensor:
        """Return what each example costs, `(batch,)`: here $-\\log p(y)$."""
        return functional.cross_entropy(predictions[:, 0], examples.targets[:, 0], reduction="none")

    def loss(self, model: nn.Module, examples: Examples) -> Tensor:
        """Return the mean cost."""
        predictions, _weights = model(**examples.inputs)
        return self.cost(predictions, examples).mean()

    def policy_gradient(self, model: nn.Module, examples: Examples) -> Tensor:
        r"""Return the mean cost, which teaches the selector too.

        Its gradient there is $-(R - b) \nabla \log p(z)$.

        The baseline is the moving average $b \leftarrow 0.9\,b + 0.1\,R$.
        """
        assert isinstance(model, VoteCounter)
        assert isinstance(model.subset, LearnedSubset)
        predictions, weights = model(**examples.inputs)
        cost = self.cost(predictions, examples)
        kept = (weights[:, 0] > 0).sum(-1) / examples.inputs["mask"].sum(-1)
        rewards = -cost.detach() - PRICE * kept
        log_probability = model.subset.log_probability
        assert log_probability is not None
        policy = ((rewards - model.baseline) * log_probability).mean()
        model.baseline.mul_(0.9).add_(0.1 * rewards.mean())
        return cost.mean() - policy

    def scored(self, align: Align) -> VoteCounter:
        """Return the model that weighs tokens by learned scores."""
        return VoteCounter(self.width, self.answers, NoQueryScore(self.width, HIDDEN), align)

    def chosen(self, subset: nn.Module) -> VoteCounter:
        """Return the model that chooses tokens and weighs all of those equally."""
        return VoteCounter(self.width, self.answers, UniformKeyScore(), subset=subset)

    @property
    def arms(self) -> dict[str, Arm]:
        """A learned subset and a random one; learned scores; and nothing."""
        return {
            "reinforced": Arm(self.reinforced, 2e-3, self.policy_gradient),
            "random subset": Arm(lambda: self.chosen(RandomSubset(RANDOM_SHARE)), 2e-3),
            "soft": Arm(lambda: self.scored(softmax), 2e-3),
            "uniform": Arm(self.uniform, 2e-2, attends=False),
            **reader_arms(self, self.reinforced, self.see),
        }

    def see(self, tokens: Tensor, mask: Tensor) -> Seen:
        """Return the meeting as a reader without attention sees it."""
        return Seen(tokens, mask=mask)

    def reinforced(self) -> VoteCounter:
        """Return the model with the selector."""
        return self.chosen(ChosenSubset(self.width, HIDDEN, None))

    def uniform(self) -> VoteCounter:
        """Return the model that weighs all tokens equally."""
        return VoteCounter(self.width, self.answers, UniformKeyScore())

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """The learned subset against none, a blind one, and soft weights."""
        return (
            Comparison("reinforced", "uniform"),
            Comparison("reinforced", "random subset"),
            Comparison(
                "reinforced",
                "soft",
                "ties with soft, whose small weights on strangers don't change who has most votes; "
                "the gain is in sparsity: reinforced keeps the members alone, soft keeps all",
            ),
            *reader_comparisons("reinforced"),
        )

    def attention_scores(self, weights: Weights, examples: Examples) -> dict[str, float]:
        """Return the F1 of the tokens that got weight, as members."""
        return {"weights": subset_f1(self.named_weights(weights)["weights"] > 0, examples)}

    def uniform_scores(self, examples: Examples) -> dict[str, float]:
        """Return the F1 of keeping all tokens."""
        return {"weights": subset_f1(examples.allowed["weights"], examples)}

    def words(self, examples: Examples, place: int) -> dict[str, tuple[list[str], list[str]]]:
        """Return everybody's kind (a and b are members) and vote."""
        tokens = examples.inputs["tokens"][place]
        kinds = ["abcdefgh"[kind] for kind in tokens[:, :KINDS].argmax(-1).tolist()]
        votes = [self.vote_of(token) for token in tokens]
        said = [f"{kind}: {vote}" for kind, vote in zip(kinds, votes, strict=True)]
        return {"weights": (["?"], said)}

    def vote_of(self, token: Tensor) -> str:
        """Return the number of the candidate."""
        return str(1 + int(token[KINDS:].argmax()))


def subset_f1(kept: Tensor, examples: Examples) -> float:
    r"""Return $2 |A \cap G| / (|A| + |G|)$, the mean over examples."""
    right = examples.right["weights"]
    both = (kept & right).sum(-1)
    return (2 * both / (kept.sum(-1) + right.sum(-1))).double().mean().item()
