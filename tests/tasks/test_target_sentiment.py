"""Target sentiment: one opinion about the target, one of the other sort about something else."""

import pytest
import torch

from attn_course.tasks.target_sentiment import NO_TARGET, OPINIONS, TargetSentiment
from attn_course.tasks.training import train

TASK = TargetSentiment()
EXAMPLES = TASK.examples("test", 300, TASK.rng("test"))


def sentence(i):
    """Return target, left and right words of one sentence as plain pairs, without padding."""
    parts = []
    for name in ("target", "left", "right"):
        words, mask = EXAMPLES.inputs[name][i].tolist(), EXAMPLES.inputs[f"{name}_mask"][i]
        parts.append([tuple(word) for word, real in zip(words, mask.tolist(), strict=True) if real])
    return parts


def test_exactly_one_opinion_is_about_a_thing_of_the_target_and_gives_the_answer():
    for i in range(len(EXAMPLES)):
        target, left, right = sentence(i)
        colour_of = dict(target)
        opinions = [word for word in left + right if word[0] != NO_TARGET]
        about_target = [word for word in opinions if word[0] in colour_of]
        assert len(opinions) == 2
        assert len(about_target) == 1
        thing, opinion = about_target[0]
        assert EXAMPLES.targets[i].tolist() == [opinion, colour_of[thing]]


def test_the_other_opinion_is_of_the_opposite_sort_with_a_strength_of_its_own():
    seen = set()
    for i in range(len(EXAMPLES)):
        target, left, right = sentence(i)
        things = [thing for thing, _colour in target]
        (other,) = [o for t, o in left + right if t != NO_TARGET and t not in things]
        said = EXAMPLES.targets[i, 0].item()
        half = len(OPINIONS) // 2
        assert (other < half) != (said < half)
        seen.add((said, other))
    assert len(seen) == 8  # each opinion with both strengths of the other sort


def test_the_right_attention_is_found_by_reading_the_sentence():
    for i in range(len(EXAMPLES)):
        target, left, right = sentence(i)
        things = [thing for thing, _colour in target]
        for side, words in (("l", left), ("r", right)):
            wanted = [thing in things for thing, _opinion in words]
            found = EXAMPLES.right[f"a_{side}"][i, 0, : len(words)].tolist()
            assert found == wanted
            meant = {thing for thing, _opinion in words} & set(things)
            back = EXAMPLES.right[f"a_{side}t"][i, 0].tolist()
            assert back == [thing in meant for thing in things]


def test_some_contexts_are_empty_and_none_is_both():
    lengths = torch.stack([EXAMPLES.inputs[f"{side}_mask"].sum(-1) for side in ("left", "right")])
    assert (lengths == 0).any(dim=1).all()
    assert lengths.sum(dim=0).min() >= 2


BACK = {"score_lt", "score_rt"}


@pytest.mark.parametrize(
    ("arm", "ablation", "gone"),
    [
        ("rotatory", "without the way back", BACK),
        ("rotatory, tanh", "without the way back, tanh", BACK),
        ("rotatory", "uniform", BACK | {"score_l", "score_r"}),
    ],
)
def test_an_ablation_lacks_the_parameters_of_its_scores_and_nothing_else(arm, ablation, gone):
    whole = {name for name, _p in TASK.arms[arm].build().named_parameters()}
    ablated = {name for name, _p in TASK.arms[ablation].build().named_parameters()}
    of_a_score = {"W", "b"} if "tanh" in arm else {"W"}
    assert whole - ablated == {f"attention.{name}.{p}" for name in gone for p in of_a_score}
    assert ablated <= whole


def test_each_comparison_is_of_arms_with_the_same_score():
    for comparison in TASK.comparisons:
        if comparison.ablation != "uniform":  # it scores nothing
            assert ("tanh" in comparison.mechanism) == ("tanh" in comparison.ablation)


def test_without_the_way_back_the_target_is_averaged():
    with torch.no_grad():
        model = TASK.arms["without the way back"].build()
        _p, weights = model(**EXAMPLES[:5].inputs)
    torch.testing.assert_close(weights[0]["a_lt"], torch.full((5, 3), 1 / 3))


def test_a_few_steps_find_the_sort_of_the_opinion():
    losses = train(TASK, "rotatory", steps=60, learning_rate=1e-2).losses
    assert losses[-1] < 0.85 * losses[0]


def test_opinion_and_colour_are_judged_one_by_one_and_together():
    examples = EXAMPLES[:4]
    logits = torch.zeros(4, 12)
    for i, (opinion, colour) in enumerate(examples.targets.tolist()):
        logits[i, opinion] = 1.0
        logits[i, 4 + (colour if i < 3 else (colour + 1) % 8)] = 1.0
    assert TASK.parts_right(logits, examples).double().mean(dim=0).tolist() == [1.0, 0.75]
    assert TASK.score(logits, examples) == 0.75
