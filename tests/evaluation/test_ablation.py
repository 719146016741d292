"""`ablate`: the same seeds and sizes for both arms, and a table that says what it can't."""

import numpy as np
import pytest
import torch
from torch import nn

from attn_course.alignment import softmax
from attn_course.attention import AttentionModel, TaskModel
from attn_course.evaluation.ablation import ablate, uniform_weights
from attn_course.learned_scores import make_score

D, N, CLASSES = 5, 7, 3


def lookup_model():
    """Keys are the first D numbers of a feature, values one-hot classes behind them."""
    return TaskModel(
        feature_model=nn.Identity(),
        query_model=nn.Identity(),
        attention=AttentionModel(D + CLASSES, score=make_score("general", D, D + CLASSES)),
        output_model=nn.Linear(D + CLASSES, CLASSES),
    )


def draw(seed, number):
    rng = torch.Generator().manual_seed(seed)
    keys = torch.randn(number, N, D, generator=rng)
    classes = torch.randint(CLASSES, (number, N), generator=rng)
    wanted = torch.randint(N, (number,), generator=rng)
    rows = torch.arange(number)
    features = torch.cat([keys, nn.functional.one_hot(classes, CLASSES).float()], dim=-1)
    return features, 3 * keys[rows, wanted][:, None], classes[rows, wanted]


def train_and_score(model, seed):
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-2)
    for step in range(60):
        features, queries, classes = draw(1000 * seed + step, 64)
        loss = nn.functional.cross_entropy(model(features, queries)[0][:, 0], classes)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    features, queries, classes = draw(10**6, 300)
    with torch.no_grad():
        return (model(features, queries)[0][:, 0].argmax(-1) == classes).double().mean().item()


def test_attention_beats_the_unweighted_mean_on_a_lookup():
    result = ablate(lookup_model, {"attention.align": uniform_weights}, train_and_score, range(3))
    assert result.parameters[0] == result.parameters[1] == D * (D + CLASSES) + 27
    assert result.mean_difference > 0.2
    assert min(result.paired.ones) > max(result.paired.others)
    again = ablate(lookup_model, {"attention.align": uniform_weights}, train_and_score, range(3))
    assert again == result


def test_both_arms_start_from_the_same_numbers_and_random_state():
    seen = []

    def look(model, seed):
        seen.append((seed, model[0].weight.detach().clone(), torch.rand(1)))
        return 0.0

    def factory():
        return nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 5))

    replace = {"1": nn.Linear(3, 5)}
    outside = torch.random.get_rng_state()
    ablate(factory, replace, look, seeds=[3, 11])
    assert torch.equal(torch.random.get_rng_state(), outside)
    for (seed, start, noise), (same_seed, same_start, same_noise) in (seen[:2], seen[2:]):
        assert seed == same_seed
        assert torch.equal(start, same_start)
        assert torch.equal(noise, same_noise)
    assert not torch.equal(seen[0][1], seen[2][1])


def test_a_part_that_is_put_in_is_fresh_for_every_seed():
    part = nn.Linear(2, 3)
    before = part.weight.detach().clone()
    starts = []

    def spoil(model, seed):
        with torch.no_grad():
            start = model[0].weight.abs().max().item()
            starts.append(start)
            model[0].weight.fill_(99.0)
        return start

    result = ablate(lambda: nn.Sequential(nn.Linear(2, 3)), {"0": part}, spoil, seeds=[0, 1])
    assert max(result.paired.others) < 1
    assert torch.equal(part.weight, before)
    assert len(set(starts)) == 4  # each seed draws the part anew, and not as the factory's


def test_a_part_whose_parameters_can_not_be_drawn_anew_is_refused():
    class Bare(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(9))

    with pytest.raises(ValueError, match="Bare has no reset_parameters"):
        ablate(lambda: nn.Sequential(nn.Linear(2, 3)), {"0": Bare()}, lambda *_: 0.0)


def test_a_function_can_take_the_place_of_a_layer():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.align = nn.Softmax(dim=-1)

    def score(model, _seed):
        return float(model.align(torch.tensor([[0.0, 9.0]]))[0, 0])

    result = ablate(Model, {"align": uniform_weights}, score, seeds=[0])
    assert result.paired.others == (0.5,)
    assert result.paired.ones[0] < 0.01


def test_a_function_can_replace_too():
    def narrow(model):
        model.hidden = 1.0
        return model

    result = ablate(
        lambda: nn.Linear(2, 3), narrow, lambda model, _: getattr(model, "hidden", 0.0), seeds=[0]
    )
    assert result.paired.differences == (-1.0,)


def test_different_sizes_are_refused_unless_allowed():
    def factory():
        return nn.Sequential(nn.Linear(9, 10))  # 100 parameters

    smaller = {"0": nn.Linear(9, 9)}  # 90
    with pytest.raises(ValueError, match="100 and 90 parameters"):
        ablate(factory, smaller, lambda *_: 0.0)
    with pytest.raises(ValueError, match="100 and 90 parameters"):
        ablate(factory, smaller, lambda *_: 0.0, match=0.05)
    for match in (0.1, "report"):
        result = ablate(factory, smaller, lambda *_: 0.0, match=match)
        assert result.parameters == (100, 90)
        assert "90" in result.text()
    with pytest.raises(ValueError, match="match must be 'equal'"):
        ablate(factory, smaller, lambda *_: 0.0, match="equals")


def scored(ones, others, **options):
    """An ablation whose scores are known."""
    scores = iter([score for pair in zip(ones, others, strict=True) for score in pair])
    return ablate(
        lambda: nn.Linear(2, 3), lambda m: m, lambda *_: next(scores), range(len(ones)), **options
    )


def test_the_table_states_means_spread_tests_and_what_the_seeds_can_show():
    result = scored([0.9, 0.8, 1.0, 0.9, 0.9], [0.3, 0.2, 0.2, 0.3, 0.5], metric="accuracy")
    text = result.text()
    assert text.splitlines()[1].split() == ["mechanism", "0.9", "0.07071", "9"]
    assert text.splitlines()[3].split()[:2] == ["difference", "0.6"]
    assert "accuracy over 5 seeds" in text
    assert "p = 0.062 (not below 0.062 with 5 seeds)" in text
    assert str(result) == text


def test_one_seed_says_that_it_tests_nothing():
    text = scored([1.0], [0.5]).text()
    assert "One seed: there is no spread, and nothing can be tested." in text
    assert "nan" not in text
    assert "p =" not in text


def test_a_training_that_diverged_is_said():
    text = scored([1.0, float("nan")], [0.5, 0.5]).text()
    assert "Some scores are not finite numbers" in text
    assert "p =" not in text


def test_no_spread_is_said():
    text = scored([1.0, 1.0, 1.0], [0.5, 0.5, 0.5]).text()
    assert "Every seed gives the same difference" in text
    assert "sign-flip test: p = 0.25" in text
    assert "t-test" not in text  # there is no spread, so it has nothing to say
    assert "nan" not in text
    assert "inf" not in text


def test_html_is_a_table_and_escapes_names():
    html = scored([1.0, 0.9], [0.5, 0.6], names=("<with>", "without"))._repr_html_()
    assert html.startswith("<table>")
    assert html.count("<tr>") == 4
    assert "&lt;with&gt;" in html
    assert "<with>" not in html


def test_the_plot_has_a_line_for_each_seed():
    import matplotlib.pyplot as plt

    axes = scored([1.0, 0.9], [0.5, 0.6], metric="accuracy").plot()
    assert [list(line.get_ydata()) for line in axes.lines] == [[0.5, 1.0], [0.6, 0.9]]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["ablation", "mechanism"]
    assert axes.get_ylabel() == "accuracy"
    plt.close(axes.figure)


def test_uniform_weights_are_equal_over_the_mask():
    mask = np.array([[True, True, False], [False, False, False]])
    scores = np.array([[5.0, -5.0, 0.0], [1.0, 2.0, 3.0]])
    np.testing.assert_array_equal(uniform_weights(scores, mask), [[0.5, 0.5, 0], [0, 0, 0]])
    np.testing.assert_array_equal(uniform_weights(scores), softmax(0 * scores))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"replace": {"attention.aligned": None}}, "AttentionModel has no 'aligned'"),
        ({"replace": {"attend.align": None}}, "TaskModel has no 'attend'"),
        ({"replace": lambda model: None}, "replace must return the changed model"),
        ({"seeds": []}, "seeds must be different numbers"),
        ({"seeds": [1, 1]}, "seeds must be different numbers"),
        ({"seeds": 5}, r"write range\(5\)"),
        ({"train_and_score": lambda *_: None}, "must return the score"),
    ],
)
def test_what_does_not_fit_gets_a_sentence(options, sentence):
    replace = {"attention.align": uniform_weights}
    settings = {"replace": replace, "train_and_score": lambda *_: 0.0} | options
    with pytest.raises(ValueError, match=sentence):
        ablate(lookup_model, **settings)
