"""The construction kit explorer in Python (in a browser: tests/browser)."""

import json
import re
from contextlib import contextmanager
from itertools import product

import pytest
import torch
import traitlets

from attn_course.figures.explorers import ConstructionKitExplorer, page, still
from attn_course.figures.explorers.construction_kit import HALF_WIDTH, STEPS
from attn_course.general_attention import Attention
from attn_course.general_attention.choices import ALIGNS, DIMENSIONS, QUERIES, Choices
from attn_course.general_attention.combinations import RULES, refuse_nonsense
from attn_course.learned_scores import SCORE_NAMES
from tests.stills import numbers_in, still_of

# --- the figure against the package, over all combinations ---------------------------------------

AXES = list(product(SCORE_NAMES, ALIGNS, DIMENSIONS, QUERIES))
# Heads, hops, capsules; features, queries, width. Sizes that differ tell n, q and d apart, and
# eight heads leave one number for each, so that d and the size of a head differ most.
COUNTS = [(1, 1, 0), (3, 1, 0), (8, 1, 0), (1, 3, 0), (4, 6, 0), (1, 1, 5)]
NONSENSE = [(2, 1, 3), (1, 2, 3), (2, 2, 3)]
SIZES = [(7, 3, 24), (5, 10, 8)]
SINGLE = Choices("scaled_dot", "softmax", "single", "self", 1, 1, 0)


def names_of(choices, sizes):
    names = ("score", "align", "dimension", "query", "heads", "hops", "capsules", "n", "q", "d")
    return dict(zip(names, (*choices, *sizes), strict=True))


ALL = [
    *(names_of((*axes, *counts), sizes) for axes, counts, sizes in product(AXES, COUNTS, SIZES)),
    *(names_of((*axes, *counts), SIZES[0]) for axes, counts in product(AXES, NONSENSE)),
]


@contextmanager
def figures():
    """Yield a function of states that returns report and tables of each, from one engine."""
    racer = pytest.importorskip("py_mini_racer")
    explorer = ConstructionKitExplorer()
    module = page.module_text(explorer.name).replace("export default ", "return ", 1)
    engine = racer.MiniRacer()
    try:
        engine.eval(f"const explorer = (() => {{\n{module}\n}})();")
        engine.eval(f"const start = {json.dumps(explorer.state())};")

        def draw(states):
            moved = json.dumps(states)
            drawn = engine.eval(
                f"JSON.stringify({moved}.map(moved => "
                "explorer.still({ ...start, ...moved })[2].slice(-2)))"
            )
            return ["".join(map(still.markup, parts)) for parts in json.loads(str(drawn))]

        yield draw
    finally:
        engine.close()


def by_package(state):
    """Return the layer without numbers, or the sentence that says why there is none."""
    arguments = {name: state[name] for name in vars(SINGLE)}
    d_q = state["d"] if state["query"] == "basic" else None
    try:
        with torch.device("meta"):
            return Attention(state["d"], **arguments, d_q=d_q, half_width=HALF_WIDTH)
    except ValueError as error:
        return str(error)


def wrong(state, markup):
    """Return what a figure says differently from the package."""
    layer, report = by_package(state), re.search(r"<output.*</output>", markup)[0]
    if isinstance(layer, str):
        return [] if layer in report and not numbers_in(markup) else [layer]
    cost, numbers = layer.report(state["n"], state["q"]), numbers_in(markup)
    faults = [
        f"{what} {numbers.get(what)} instead of {number}"
        for what, number in cost._asdict().items()
        if numbers.get(what) != [number]
    ]
    for what, part in zip(cost, ("parameter", "flops_part", "memory_part"), strict=True):
        if sum(numbers.get(part, [])) != what:
            faults.append(f"the parts {part} don't add up to {what}")
    name = layer.name()
    said = f"Model: <b>{name}</b>" if name else "No model of the survey's table: yours."
    return faults if said in report else [*faults, said]


def test_every_combination_says_what_the_package_says():
    made = 0
    with figures() as draw:
        for first in range(0, len(ALL), 500):
            states = ALL[first : first + 500]
            for state, markup in zip(states, draw(states), strict=True):
                assert wrong(state, markup) == [], state
                made += bool(numbers_in(markup))
    assert 1000 < made < len(ALL) - 1000  # both kinds were there


def test_every_rule_is_met_and_every_kind_of_layer_is_made():
    """Else the test above would compare less than it seems to."""
    met, kinds = set(), set()
    for state in ALL:
        choices = Choices(**{name: state[name] for name in vars(SINGLE)})
        met.add(next((i for i, rule in enumerate(RULES) if rule.applies(choices)), None))
        kinds.add(choices.multiplicity)
    assert met == {None, *range(len(RULES))}
    assert kinds == {"singular", "heads", "hops", "heads and hops", "capsules"}


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"heads": 8, "n": 1000, "d": 512},
        {"heads": 8, "hops": 6, "score": "additive", "n": 1000, "d": 512},
        {"heads": 1, "score": "additive", "dimension": "multi", "n": 1000, "d": 512},
        {"heads": 1, "query": "basic", "score": "general", "hops": 6, "q": 100, "d": 512},
    ],
    ids=str,
)
def test_large_sizes_are_counted_to_the_last_digit(state):
    explorer = ConstructionKitExplorer(**state)
    numbers = numbers_in(still_of(explorer))
    assert [numbers[what] for what in explorer.cost._fields] == [[part] for part in explorer.cost]


def test_the_comparison_sees_one_parameter_too_many():
    state = names_of((*AXES[0], 1, 1, 0), (7, 3, 24))
    with figures() as draw:
        (markup,) = draw([state])
    assert wrong(state, markup) == []
    (parameters,) = numbers_in(markup)["parameters"]
    assert wrong(state, markup.replace(f'"{parameters:.0f}"', f'"{parameters + 1:.0f}"', 1)) != []


# --- what refuses, and what is too uneven to share -----------------------------------------------


@pytest.mark.parametrize("heads", STEPS["heads"][1:])
@pytest.mark.parametrize("d", STEPS["d"])
def test_heads_that_cannot_share_the_width_say_so(heads, d):
    explorer = ConstructionKitExplorer(heads=heads, d=d)
    assert (explorer.refusal is None) == (d % heads == 0)
    if explorer.refusal:
        assert f"{heads} heads can't share a width of {d} equally." in explorer.refusal
        assert explorer.refusal in still_of(explorer)


def test_a_refused_combination_has_the_sentence_in_place_of_numbers():
    explorer = ConstructionKitExplorer("dot", query="removed", heads=1)
    with pytest.raises(ValueError, match="query='removed' with score='dot'") as refused:
        refuse_nonsense(Choices("dot", "softmax", "single", "removed", 1, 1, 0))
    assert explorer.refusal == str(refused.value)
    assert (explorer.cost, explorer.model) == (None, None)
    drawn = still_of(explorer)
    assert f"<b>No such layer: </b>{explorer.refusal}" in drawn
    assert not numbers_in(drawn)
    with pytest.raises(ValueError, match="makes no sense"):
        _ = explorer.layer


def test_what_clashes_is_outlined():
    drawn = still_of(ConstructionKitExplorer("dot", query="removed", heads=1))
    assert re.findall(r'<rect class="(stage[^"]*clash)"', drawn) == [
        "stage absent clash",
        "stage clash",
    ]
    assert "clash" not in still_of(ConstructionKitExplorer())


# --- what it draws -------------------------------------------------------------------------------


def texts(drawn):
    """Return the lines of the picture without their markup."""
    picture = re.search(r"<svg.*?</svg>", drawn)[0]
    return [
        re.sub(r"<[^>]*>", "", text) for text in re.findall(r"<text[^>]*>(.*?)</text>", picture)
    ]


MANY = [{}, {"heads": 4}, {"hops": 3}, {"heads": 4, "hops": 3}, {"capsules": 5}]
BUILT = [
    explorer
    for query, dimension, counts in product(QUERIES, DIMENSIONS, MANY)
    for explorer in [
        ConstructionKitExplorer(
            "additive", query=query, dimension=dimension, **{"heads": 1} | counts, n=7, q=3, d=8
        )
    ]
    if explorer.refusal is None
]


@pytest.mark.parametrize("explorer", BUILT, ids=repr)
def test_the_shapes_on_the_arrows_are_those_of_the_layer(explorer):
    lines = texts(still_of(explorer))
    layer = explorer.layer
    contexts, weights = layer(torch.ones(7, 8), torch.ones(3, 8))
    first = weights[0] if isinstance(weights, list) else weights  # every hop has the same shape

    def shape(tensor):
        return " × ".join(map(str, tensor.shape))

    assert {f"e  {shape(first)}", f"a  {shape(first)}"} <= set(lines)
    assert lines[-1] == f"c  {shape(contexts)}"
    assert lines.count("7 × 8" if explorer.heads == 1 else "4 × 7 × 2") >= 2  # keys and values
    q = {"self": 7, "learned": explorer.capsules or 1, "basic": 3, "removed": None}[explorer.query]
    asked = {"hops": "1 × 16", "heads": f"4 × {q} × 2", "heads and hops": "4 × 7 × 2"}
    if q:
        assert asked.get(layer.choices.multiplicity, f"{q} × 8") in lines


def test_a_letter_in_a_word_is_no_symbol():
    drawn = still_of(ConstructionKitExplorer("additive", query="basic", heads=1, hops=2))
    assert ">2 hops: each with a new query and context</tspan>" in drawn


def test_every_formula_is_shown_for_its_choice():
    for score in SCORE_NAMES:
        drawn = texts(still_of(ConstructionKitExplorer(score, query="basic", heads=1)))
        formula = ConstructionKitExplorer().formulas["score"][score]
        plain = formula.replace("{q}", "q").replace("_", "")
        assert f"el = {plain}" in drawn
    hops = texts(still_of(ConstructionKitExplorer("general", query="basic", heads=1, hops=2)))
    assert "el = klᵀ W [q; c]" in hops


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"heads": 1, "score": "additive", "query": "basic"},
        {"heads": 1, "score": "additive", "align": "local_predictive", "query": "basic", "d": 24},
        {"heads": 1, "score": "dot", "query": "learned", "capsules": 3, "align": "reinforced"},
        {"heads": 4, "hops": 3, "d": 64},
        {"heads": 1, "score": "additive", "query": "removed", "dimension": "multi"},
    ],
    ids=str,
)
def test_the_code_that_it_shows_makes_the_same_layer(state):
    explorer = ConstructionKitExplorer(**state)
    (code,) = re.findall(r"<code>(Attention\(.*?\))</code>", still_of(explorer))
    layer = eval(code, {"Attention": Attention})
    assert layer.report(explorer.n, explorer.q) == explorer.cost
    assert layer.name() == explorer.model
    assert vars(layer.choices) == vars(explorer.layer.choices)


# --- the question, and what it cannot show -------------------------------------------------------


def test_the_answer_to_the_question_is_true():
    two, eight = (ConstructionKitExplorer(heads=heads) for heads in (2, 8))
    assert two.cost.parameters == eight.cost.parameters
    assert two.cost.flops == eight.cost.flops
    assert eight.cost.memory - two.cost.memory == (8 - 2) * two.n * two.n
    two, eight = (ConstructionKitExplorer("additive", heads=heads).cost for heads in (2, 8))
    assert two.parameters > eight.parameters
    assert two.flops > eight.flops
    assert two.memory < eight.memory


def test_what_it_starts_with_has_a_name():
    assert ConstructionKitExplorer().model == "Vaswani 2017"


def test_all_models_that_made_the_choices_are_named():
    explorer = ConstructionKitExplorer("additive", query="basic", heads=1)
    assert "<b>Bahdanau 2015</b> (also: Luong 2015, Xu 2015)" in still_of(explorer)


def test_no_table_of_all_combinations_is_sent():
    fixed = {
        name: ConstructionKitExplorer().state()[name] for name in ConstructionKitExplorer().fixed
    }
    assert len(json.dumps(fixed)) < 20_000


@pytest.mark.parametrize(
    ("trait", "value"),
    [
        ("score", "sum"),
        ("align", "max"),
        ("query", "specialised"),
        ("heads", 9),
        ("n", 4),
        ("d", 0),
    ],
)
def test_what_it_cannot_show_is_refused(trait, value):
    with pytest.raises(traitlets.TraitError):
        setattr(ConstructionKitExplorer(), trait, value)
