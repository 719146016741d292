"""The survey's table of models, and the names of what the construction kit makes."""

import importlib

import pytest

import attn_course
from attn_course.general_attention import MODELS, Attention, find_models
from tests.general_attention.sizes import D_F


@pytest.mark.parametrize(
    ("name", "choices"),
    [
        ("Bahdanau 2015", dict(score="additive", d_q=3)),
        ("Luong 2015", dict(score="dot", d_q=D_F)),
        ("Luong 2015", dict(score="general", d_q=3)),
        ("Luong 2015", dict(score="dot", align="local_predictive", d_q=D_F, half_width=2)),
        ("Luong 2015", dict(score="general", align="local_monotonic", d_q=3, half_width=2)),
        ("Xu 2015", dict(score="additive", align="hard", d_q=3)),
        ("Vaswani 2017", dict(query="self", heads=2, d_k=3)),
        ("Vaswani 2017", dict(query="self", heads=2, hops=2, d_k=3)),
        ("Vaswani 2017", dict(query="basic", heads=2, d_q=4)),
        ("Shen 2018 (DiSAN)", dict(score="additive", dimension="multi", query="self")),
        ("Shen 2018 (DiSAN)", dict(score="additive", dimension="multi", query="removed")),
        ("Wang 2018 (RNN-Capsule)", dict(score="dot", query="learned", capsules=2)),
        (None, dict(score="cosine", d_q=D_F)),
        (None, dict(score="scaled_dot", query="self")),  # one head is not Vaswani's
        (None, dict(score="additive", query="self", heads=2, d_k=3)),
        (None, dict(score="additive", align="sparsemax", d_q=3)),
        (None, dict(score="dot", query="learned")),
        (None, dict(score="additive", query="removed")),  # one level of HAN, but not HAN
        (None, dict(score="activated_general", d_q=3, hops=2)),  # LCR-Rot-hop has three inputs
    ],
)
def test_the_kit_names_the_model_it_makes(name, choices):
    assert Attention(D_F, **choices).name() == name


def test_the_table_is_that_of_the_survey():
    rows = {model.name: model.describe() for model in MODELS}
    assert len(rows) == 10
    assert rows["Bahdanau 2015"] == dict(
        score="additive", align="global", dimension="single", query="basic",
        multiplicity="singular", features="singular", levels="single", representations="single",
    )  # fmt: skip
    assert rows["Luong 2015"]["align"] == "global, local"
    assert rows["Vaswani 2017"]["query"] == "self-attentive, basic"
    assert rows["Wallaart & Frasincar 2019"]["score"] == "activated general"
    assert rows["Wang 2018 (RNN-Capsule)"]["multiplicity"] == "capsule-based"
    only = {
        ("levels", "hierarchical"): ["Lu 2016", "Yang 2016 (HAN)"],
        ("representations", "multi"): ["Kiela 2018"],
        ("features", "rotatory"): ["Wallaart & Frasincar 2019"],
        ("dimension", "multi"): ["Shen 2018 (DiSAN)"],
        ("align", "hard"): ["Xu 2015"],
        ("query", "specialised"): ["Lu 2016", "Wallaart & Frasincar 2019"],
        ("score", "scaled multiplicative"): ["Vaswani 2017"],
    }
    for (axis, choice), names in only.items():
        assert [model.name for model in find_models(**{axis: choice})] == names
    with pytest.raises(ValueError, match="an axis is one of score, align, dimension"):
        find_models(scoring="additive")


def thing(dotted):
    module, name = dotted.rsplit(".", 1)
    return getattr(importlib.import_module(f"{attn_course.__name__}.{module}"), name)


def test_every_axis_is_listed_and_what_is_made_elsewhere_exists():
    axes = Attention.axes()
    assert set(axes) == {
        "features", "levels", "representations",
        "score", "align", "dimension", "query", "multiplicity",
    }  # fmt: skip
    for axis in ("features", "levels", "representations"):
        for choice, where in axes[axis].items():
            assert where == "this kit" or isinstance(thing(where), type), choice
    for axis, choices in axes.items():
        for model in MODELS:
            assert set(getattr(model, axis)) <= set(choices), (model.name, axis)
    assert all(isinstance(thing(model.made_by), type) for model in MODELS)
