"""A shopping list and a shelf: the one common article is found by comparing both."""

import torch

from attn_course.tasks.shopping_list import ShoppingList
from attn_course.tasks.training import seeded, train

TASK = ShoppingList()
EXAMPLES = TASK.examples("test", 300, TASK.rng("test"))


def rows(i, number):
    """Return the pairs of one input, without padding."""
    there = EXAMPLES.inputs[f"mask_{number}"][i]
    return [tuple(row) for row in EXAMPLES.inputs[f"inputs_{number}"][i][there].tolist()]


def test_one_article_is_on_both_and_both_answers_stand_beside_it():
    for i in range(len(EXAMPLES)):
        wanted, placed = rows(i, 1), rows(i, 2)
        both = {article for article, _ in wanted} & {article for article, _ in placed}
        assert len(both) == 1
        assert len(dict(wanted)) == len(wanted)
        assert len(dict(placed)) == len(placed)
        (article,) = both
        assert EXAMPLES.targets[i].tolist() == [dict(wanted)[article], dict(placed)[article]]
        for name, found, most in (("list", wanted, 6), ("shelf", placed, 8)):
            right = [one == article for one, _ in found] + [False] * (most - len(found))
            assert EXAMPLES.right[name][i, 0].tolist() == right


def test_numbers_repeat_and_say_nothing_about_the_article():
    repeated = [len({n for _, n in rows(i, 2)}) < len(rows(i, 2)) for i in range(len(EXAMPLES))]
    assert sum(repeated) > 150
    assert set(EXAMPLES.targets.flatten().tolist()) == set(range(8))


def test_lengths_vary():
    assert set(EXAMPLES.inputs["mask_1"].sum(dim=1).tolist()) == {3, 4, 5, 6}
    assert set(EXAMPLES.inputs["mask_2"].sum(dim=1).tolist()) == {4, 5, 6, 7, 8}


def test_both_answers_must_be_right():
    targets = EXAMPLES.targets[:4]
    answers = torch.nn.functional.one_hot(targets, 8).float()
    assert TASK.score(answers, EXAMPLES[:4]) == 1.0
    answers[0, 0], answers[1, 1] = answers[0, 0].roll(1), answers[1, 1].roll(1)
    assert TASK.score(answers, EXAMPLES[:4]) == 0.5


def test_the_two_one_sided_arms_have_the_parameters_of_the_whole():
    with seeded(0):
        counts = {
            arm: sum(p.numel() for p in TASK.arms[arm].build().parameters())
            for arm in ("alternating", "list asks shelf", "shelf asks list")
        }
    assert len(set(counts.values())) == 1


def test_the_maximum_finds_the_common_article_once_affinity_is_equality():
    # The form that one matrix suits: a line counts if something on the shelf is like it.
    with seeded(0), torch.no_grad():
        model = TASK.arms["parallel, max"].build()
        for encoder in (model.encoder_1, model.encoder_2):
            encoder.embedding.weight.zero_()
            encoder.embedding.weight[:20, :20] = torch.eye(20)
        model.attention.W_A.copy_(torch.eye(32) * 9)
        _answers, weights = model(**EXAMPLES.inputs)
    for name, right in EXAMPLES.right.items():
        assert torch.equal(weights[name].argmax(dim=-1), right.double().argmax(dim=-1))


def test_a_few_steps_lower_the_loss():
    losses = train(TASK, "interactive, general", steps=60, learning_rate=1e-2).losses
    assert losses[-1] < 0.9 * losses[0]
