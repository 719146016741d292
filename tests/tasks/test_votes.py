"""Votes and bids: the members alone decide, and the selector learns by policy gradient."""

from collections import Counter

import numpy as np
import pytest
import torch

from attn_course.tasks.bids import Bids
from attn_course.tasks.training import seeded, train
from attn_course.tasks.vote_counter import ChosenSubset
from attn_course.tasks.votes import KINDS, MEMBERS, PRICE, Votes, subset_f1

NUMBER = 60
both = pytest.mark.parametrize("task", [Votes(), Bids()], ids=["votes", "bids"])


def drawn(task, split="train", number=NUMBER):
    return task.examples(split, number, task.rng(split))


def members_of(examples, place):
    """Return the members' tokens by reading kinds one by one, and their positions."""
    tokens = examples.inputs["tokens"][place].tolist()
    there = examples.inputs["mask"][place].tolist()
    places = [l for l, token in enumerate(tokens) if there[l] and 1.0 in token[:MEMBERS]]
    return [tokens[l][KINDS:] for l in places], places


@both
@pytest.mark.parametrize("split", ["train", "test"])
def test_right_are_the_three_to_five_members_and_nobody_else(task, split):
    examples = drawn(task, split)
    for place in range(NUMBER):
        _votes, places = members_of(examples, place)
        assert 3 <= len(places) <= 5
        assert examples.right["weights"][place, 0].nonzero()[:, 0].tolist() == places


def test_the_answer_has_more_than_half_of_the_members_votes():
    examples = drawn(Votes())
    for place in range(NUMBER):
        votes, _places = members_of(examples, place)
        (winner, count), *_rest = Counter(vote.index(1.0) for vote in votes).most_common()
        assert winner == examples.targets[place, 0]
        assert count > len(votes) / 2


def test_the_answer_is_the_mean_of_the_members_bids():
    examples = drawn(Bids())
    for place in range(NUMBER):
        bids, _places = members_of(examples, place)
        mean = sum(bid for (bid,) in bids) / len(bids)
        assert mean == pytest.approx(examples.targets[place, 0].item(), abs=1e-5)


def test_the_crowd_favours_the_winner_as_often_as_anybody():
    task = Votes()
    examples = drawn(task, number=3000)
    crowd = examples.allowed["weights"][:, 0] & ~examples.right["weights"][:, 0]
    votes = examples.inputs["tokens"][..., KINDS:].argmax(-1)
    agrees = (votes == examples.targets)[crowd].double().mean().item()
    assert agrees == pytest.approx(1 / 6, abs=0.02)


@both
def test_padding_is_empty_and_sizes_are_those_of_the_split(task):
    for split, (fewest, most) in (("train", (8, 16)), ("test", task.tested_sizes)):
        examples = drawn(task, split)
        sizes = examples.inputs["mask"].sum(-1)
        assert fewest <= sizes.min() <= sizes.max() <= most
        assert (examples.inputs["tokens"][~examples.inputs["mask"]] == 0).all()
    assert Bids.tested_sizes[0] > 50 * Bids.trained_sizes[1]


@both
def test_arms_differ_in_scores_and_selection_alone(task):
    shared = {"output.weight", "output.bias"}
    for name in (name for name in task.arms if "pooling" not in name):
        model = task.arms[name].build()
        own = {n for n, _p in model.named_parameters()} - shared
        wanted = {"reinforced": "subset.", "soft": "score.", "sparsemax": "score."}.get(name)
        assert all(n.startswith(wanted) for n in own) if wanted else not own


def test_all_that_is_selected_weighs_the_same():
    task = Votes()
    examples = drawn(task)
    with seeded(0):
        model = task.arms["reinforced"].build()
        _predictions, weights = model(**examples.inputs)
    for row in weights[:, 0].tolist():
        kept = [weight for weight in row if weight > 0]
        assert kept == pytest.approx([1 / len(kept)] * len(kept))


def test_a_test_keeps_what_is_likelier_kept_and_a_training_draws():
    with seeded(0):
        subset = ChosenSubset(5, 7, None)
        features = torch.randn(3, 11, 5)
        mask = torch.arange(11) < torch.tensor([[11], [4], [7]])
        draws = [subset.bound_to(features, features, mask[:, None]) for _ in range(2)]
        decisions = [subset.eval().bound_to(features, features, mask[:, None]) for _ in range(2)]
    assert (draws[0].keywords["selection"] != draws[1].keywords["selection"]).any()
    first, second = (align.keywords["selection"] for align in decisions)
    assert (first == second).all()
    assert not first[~mask].any()


@both
def test_the_policy_gradient_is_the_reward_above_the_baseline(task):
    examples = drawn(task)
    with seeded(0):
        model = task.reinforced()
    model.baseline.fill_(-0.7)
    with seeded(1):
        predictions, weights = model(**examples.inputs)
    with seeded(1):  # the same draws
        loss = task.policy_gradient(model, examples)
    (found,) = torch.autograd.grad(loss, model.subset.log_probability)
    for place in range(NUMBER):
        cost = task.cost(predictions[place : place + 1], examples[place : place + 1]).item()
        kept = sum(weight > 0 for weight in weights[place, 0].tolist())
        size = sum(examples.inputs["mask"][place].tolist())
        reward = -cost - PRICE * kept / size
        assert found[place].item() == pytest.approx(-(reward + 0.7) / NUMBER, abs=1e-6)
    assert model.baseline != -0.7


def test_reinforced_finds_members_within_a_short_training():
    found = train(Votes(), "reinforced", steps=150, learning_rate=2e-2, split="validation").test
    assert found.attention_score > found.uniform_score + 0.1


def test_f1_counts_what_has_weight_and_what_should():
    examples = drawn(Votes())
    right, allowed = examples.right["weights"], examples.allowed["weights"]
    assert subset_f1(right, examples) == 1
    assert subset_f1(allowed & ~right, examples) == 0
    size, members = allowed.sum(-1).double(), right.sum(-1).double()
    wanted = (2 * members / (size + members)).mean().item()
    assert Votes().uniform_scores(examples)["weights"] == pytest.approx(wanted)


def test_a_bid_counts_as_right_when_it_is_near():
    task = Bids()
    examples = drawn(task, number=4)
    off = torch.tensor([0.0, 0.04, -0.04, 0.06])
    assert task.score((examples.targets[:, 0] + off)[:, None, None], examples) == 0.75


@both
def test_words_tell_kind_and_vote(task):
    examples = drawn(task)
    _queries, keys = task.words(examples, 0)["weights"]
    members = [key[0] in "ab" for key in keys]
    real = examples.inputs["mask"][0].tolist()
    assert list(np.logical_and(members, real)) == examples.right["weights"][0, 0].tolist()
