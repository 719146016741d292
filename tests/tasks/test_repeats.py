"""Repeats: what follows every earlier copy is right, and a head that is removed adds nothing."""

import pytest
import torch

from attn_course.tasks.readers import parameters
from attn_course.tasks.repeats import (
    Repeats,
    after_copies,
    induction_score,
    previous_token_score,
    without_head,
)
from attn_course.tasks.training import evaluate, seeded, train

task = Repeats()
task.tested_on = 50  # no figure is reported here
NUMBER = 101


def drawn(number=NUMBER, split="test"):
    return task.examples(split, number, task.rng(split))


def built(arm="two layers", seed=0):
    with seeded(seed):
        return task.arms[arm].build()


def period_of(text):
    """Return after how many tokens the first one comes again."""
    return text.index(text[0], 1)


def test_a_period_has_distinct_tokens_and_is_repeated_to_the_end():
    examples, periods = drawn(400), set()
    for row in range(400):
        text = examples.inputs["tokens"][row].tolist()
        whole = [*text, examples.targets[row, -1].item()]
        assert whole[1:] == examples.targets[row].tolist()
        p = period_of(text)
        assert len(set(text[:p])) == p
        assert all(whole[i] == whole[i % p] for i in range(task.n + 1))
        periods.add(p)
    assert periods == set(range(8, 17))


def test_the_right_positions_are_right_after_every_earlier_copy_and_say_what_comes_next():
    examples = drawn()
    copies = 0
    for row in range(NUMBER):
        text, follow = examples.inputs["tokens"][row].tolist(), examples.targets[row].tolist()
        p = period_of(text)
        for i in range(task.n):
            found = examples.right["induction"][row, i].nonzero()[:, 0].tolist()
            assert found == [j for j in range(1, i + 1) if text[j - 1] == text[i]]
            assert len(found) == i // p
            assert all(text[j] == follow[i] for j in found)
            copies = max(copies, len(found))
    assert copies == 3  # of a period of eight


def test_only_repeated_tokens_are_scored():
    examples = drawn()
    perfect = torch.nn.functional.one_hot(examples.targets, task.tokens).float()
    assert task.score(perfect, examples) == 1.0
    first_round = ~examples.right["induction"].any(dim=-1)
    blank_there = perfect.masked_fill(first_round[..., None], 0.0)
    assert task.score(blank_there, examples) == 1.0
    blank_elsewhere = perfect.masked_fill(~first_round[..., None], 0.0)
    assert task.score(blank_elsewhere, examples) < 0.1  # all say token 0


def test_an_induction_head_looks_after_the_copy_and_not_at_it():
    tokens = torch.tensor([[3, 1, 4, 3, 1, 4, 3]])
    after = after_copies(tokens)[0]
    assert after[6].nonzero()[:, 0].tolist() == [1, 4]
    assert after[3].nonzero()[:, 0].tolist() == [1]
    assert not after[:3].any()
    at_the_copy = torch.zeros(1, 7, 7)
    after_the_copy = torch.zeros(1, 7, 7)
    for i in range(7):
        at_the_copy[0, i, i - 3 if i >= 3 else i] = 1
        after_the_copy[0, i, i - 2 if i >= 3 else i] = 1
    assert induction_score(at_the_copy, tokens) == 0
    assert induction_score(after_the_copy, tokens) == 1


def test_a_score_counts_every_copy():
    tokens = torch.tensor([3, 1, 4, 3, 1, 4, 3])
    shared = torch.eye(7)
    shared[3:6] = 0
    shared[[3, 4, 5], [1, 2, 3]] = 1
    shared[6] = torch.tensor([0, 0.25, 0, 0, 0.75, 0, 0])
    assert induction_score(shared, tokens) == 1


def test_the_previous_token_is_one_before_the_present_one():
    weights = torch.zeros(2, 5, 5)
    weights[:, 0, 0] = 1
    weights[:, range(1, 5), range(4)] = 1
    weights[1, 4] = torch.eye(5)[1]
    assert previous_token_score(weights) == pytest.approx(7 / 8)
    assert previous_token_score(weights, within=4) == 1
    assert previous_token_score(weights.mT) == 0  # the next token is another one


@pytest.mark.parametrize("arm", list(task.arms))
def test_nobody_sees_what_follows(arm):
    model, examples = built(arm), drawn(5)
    changed = examples.inputs["tokens"].clone()
    changed[:, 9:] = (changed[:, 9:] + 1) % task.tokens
    with torch.no_grad():
        before, after = model(**examples.inputs)[0], model(changed)[0]
    torch.testing.assert_close(before[:, :9], after[:, :9])
    assert not torch.allclose(before[:, 9:], after[:, 9:])


def test_a_head_set_to_zero_adds_nothing_and_leaves_the_trained_model_alone():
    model, tokens = built(), drawn(5).inputs["tokens"]
    with torch.no_grad():
        whole, _maps = model(tokens)
        shorter, _maps = without_head(model, layer=1)(tokens)
        first, _weights = model.layers[0](model.embedding(tokens) + model.positions(task.n))
        torch.testing.assert_close(shorter, model.output(model.norm(first)))
        torch.testing.assert_close(model(tokens)[0], whole, rtol=0, atol=0)
    assert not torch.allclose(shorter, whole)


def test_a_uniform_head_shares_its_weight_among_all_tokens_so_far():
    model, tokens = built(), drawn(5).inputs["tokens"]
    with torch.no_grad():
        _logits, (first, second) = without_head(model, layer=0, how="uniform")(tokens)
    wanted = torch.ones(task.n, task.n).tril() / torch.arange(1, task.n + 1)[:, None]
    torch.testing.assert_close(first, wanted.expand(5, -1, -1))
    assert not torch.allclose(second, wanted)


def test_a_head_that_is_not_there_or_a_way_unknown_is_refused():
    with pytest.raises(ValueError, match="layer must be from 0 to 1, but is 2"):
        without_head(built(), layer=2)
    with pytest.raises(ValueError, match="how must be one of zero, uniform"):
        without_head(built(), layer=0, how="mean")


def test_rivals_have_as_many_parameters_as_their_names_say():
    two = parameters(built())
    assert parameters(built("one layer")) < two
    for name in ("one wide layer", "GRU"):
        assert two <= parameters(built(name)) < 1.1 * two
    assert 4 * two <= parameters(built("GRU, 4 × parameters")) < 4.2 * two


def test_two_layers_learn_it_and_need_both_heads():
    trained = train(task, "two layers", learning_rate=1e-2, steps=150)
    examples = drawn()
    scores = {
        (layer, how): evaluate(task, without_head(trained.model, layer, how), examples).score
        for layer in (0, 1)
        for how in ("zero", "uniform")
    }
    assert evaluate(task, trained.model, examples).score > 0.8
    assert max(scores.values()) < 0.5
    with torch.no_grad():
        _logits, (first, second) = trained.model(**examples.inputs)
    assert previous_token_score(first, within=8) > 0.6
    assert induction_score(second, examples.inputs["tokens"]) > 0.8
