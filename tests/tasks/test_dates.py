"""Dates: Babel writes the same, every written digit has its link, and arms differ in one place."""

from datetime import date, timedelta

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from babel.dates import format_date, get_month_names
from torch.nn.functional import one_hot, pad

from attn_course.tasks.dates import BahdanauDates, TransformerDates
from attn_course.tasks.dates.bahdanau import gold
from attn_course.tasks.dates.gold import gold_links
from attn_course.tasks.dates.material import (
    ISO_SIGNS,
    START,
    TARGET_SIGNS,
    days_of,
    material,
    source_signs,
)
from attn_course.tasks.dates.rendering import (
    FIRST_DAY,
    FORMS,
    LAST_DAY,
    LENGTHS,
    LOCALES,
    alphabet,
    written,
)
from attn_course.tasks.task import SPLITS, Examples
from attn_course.tasks.training import seeded, train

NUMBER = 29
HYPHENS = (4, 7)
TASKS = (BahdanauDates(), TransformerDates())
for each in TASKS:
    each.tested_on = 50  # what a test trains for a few steps need not be measured well
every_task = pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
every_arm = pytest.mark.parametrize(
    ("task", "arm"), [pytest.param(t, a, id=f"{t.name}-{a}") for t in TASKS for a in t.arms]
)


def some_days(number, seed=0):
    total = (LAST_DAY - FIRST_DAY).days + 1
    chosen = np.random.default_rng(seed).choice(total, number, replace=False)
    return [FIRST_DAY + timedelta(days=int(day)) for day in chosen]


def some_dates(number):
    return [(day, *form, written(day, *form)) for day in some_days(number) for form in FORMS]


def drawn(task, number=NUMBER, split="test"):
    return task.examples(split, number, task.rng(split))


def built(task, arm, seed=0):
    with seeded(seed):
        return task.arms[arm].build()


def shown(source, places):
    return "".join(source.signs[place] for place in places)


# --- rendering ---------------------------------------------------------------------------------


def test_there_are_eighteen_languages_in_four_lengths():
    assert len(LOCALES) == len(set(LOCALES)) == 18
    assert len(LENGTHS) == 4


def test_dates_are_written_as_babel_writes_them():
    compared = 0
    for day, locale, length, source in some_dates(80):
        assert source.text == format_date(day, length, locale)
        assert source.signs[0] == locale
        compared += 1
    assert compared == 5760


def test_the_places_of_the_fields_hold_day_month_and_year():
    for day, locale, _length, source in some_dates(40):
        year = shown(source, source.fields["year"])
        assert year in (str(day.year), f"{day.year % 100:02}")
        assert int(shown(source, source.fields["day"])) == day.day
        month = shown(source, source.fields["month"])
        names = {
            get_month_names(width, context, locale)[day.month]
            for width in ("abbreviated", "wide")
            for context in ("format", "stand-alone")
        }
        assert month in names | {str(day.month), f"{day.month:02}"}


def test_the_alphabet_has_every_sign_and_no_other():
    seen = {sign for *_form, source in some_dates(400) for sign in source.signs}
    assert seen == set(alphabet())
    assert len(alphabet()) == len(set(alphabet()))


# --- the gold alignment ------------------------------------------------------------------------


def test_every_written_digit_has_one_sure_link_to_the_same_digit():
    for day, _locale, _length, source in some_dates(40):
        sure, _possible = gold_links(source)
        iso = day.isoformat()
        assert all(iso[target] == source.signs[place] for target, place in sure)
        digits = [place for place, sign in enumerate(source.signs) if sign in "0123456789"]
        assert sorted(place for _target, place in sure) == digits
        assert len({target for target, _place in sure}) == len(sure)


def test_possible_links_fill_the_field_and_hyphens_have_none():
    for _day, _locale, _length, source in some_dates(10):
        sure, possible = gold_links(source)
        assert sure <= possible
        for target in range(10):
            field = "year" if target < 4 else "month" if target < 7 else "day"
            wanted = set() if target in HYPHENS else set(source.fields[field])
            assert {place for row, place in possible if row == target} == wanted


@pytest.mark.parametrize(
    ("day", "form", "unsure"),
    [
        pytest.param(date(2024, 3, 5), ("es", "short"), {0, 1, 5, 8}, id="5/3/24"),
        pytest.param(date(2024, 3, 5), ("de", "medium"), set(), id="05.03.2024"),
        pytest.param(date(2024, 3, 5), ("en", "long"), {5, 6, 8}, id="March 5, 2024"),
        pytest.param(date(1999, 12, 31), ("en", "short"), {0, 1}, id="12/31/99"),
        pytest.param(date(2024, 3, 25), ("vi", "long"), {5}, id="25 tháng 3, 2024"),
    ],
)
def test_padding_zeros_centuries_and_names_of_months_have_no_sure_link(day, form, unsure):
    sure, _possible = gold_links(written(day, *form))
    assert set(range(10)) - {target for target, _place in sure} - set(HYPHENS) == unsure


# --- material and examples ---------------------------------------------------------------------


def test_every_day_belongs_to_one_split():
    days = np.concatenate([days_of(split) for split in SPLITS])
    np.testing.assert_array_equal(np.sort(days), np.arange((LAST_DAY - FIRST_DAY).days + 1))


def test_no_written_date_of_one_split_is_in_another():
    iso, texts = {}, {}
    for split in SPLITS:
        rows = material(split)
        iso[split] = {tuple(row) for row in rows.iso.tolist()}
        texts[split] = {tuple(s for s in row if s) for row in rows.source.tolist()}
    for one, other in (("train", "validation"), ("train", "test"), ("validation", "test")):
        assert not iso[one] & iso[other]
        assert not texts[one] & texts[other]


@pytest.mark.parametrize("split", SPLITS)
def test_an_example_is_a_date_as_babel_writes_it_with_the_links_of_its_form(split):
    task, known = TASKS[0], source_signs()
    examples = drawn(task, 100, split)
    for i in range(100):
        day = date.fromisoformat("".join(ISO_SIGNS[s] for s in examples.targets[i].tolist()))
        n = int(examples.inputs["source_mask"][i].sum())
        locale, *text = [known[s] for s in examples.inputs["source"][i, :n].tolist()]
        lengths = [one for one in LENGTHS if format_date(day, one, locale) == "".join(text)]
        assert lengths
        sure, possible = gold_links(written(day, locale, lengths[0]))
        for name, links in (("sure", sure), ("possible", possible)):
            assert set(map(tuple, examples.right[name][i].nonzero().tolist())) == links
        assert not examples.inputs["source"][i, n:].any()


def test_a_model_sees_the_signs_before_each_and_a_start_sign_first():
    examples = drawn(TASKS[0])
    assert (examples.inputs["target"][:, 0] == START).all()
    torch.testing.assert_close(examples.inputs["target"][:, 1:], examples.targets[:, :-1])
    assert (examples.targets != START).all()


def test_examples_are_as_long_as_the_longest_and_none_comes_twice():
    examples = drawn(TASKS[0], len(material("test")))
    assert examples.inputs["source_mask"].any(dim=0).all()
    found = {tuple(row) for row in examples.targets.tolist()}
    assert found == {tuple(row) for row in material("test").iso.tolist()}


# --- how models are scored ---------------------------------------------------------------------


@every_task
def test_exact_match_is_what_greedy_decoding_says(task):
    examples = drawn(task)
    model = built(task, next(iter(task.arms))).eval()
    writer = getattr(model, "transformer", model)
    source, mask = examples.inputs["source"], examples.inputs["source_mask"]
    with torch.no_grad():
        said, _weights = writer.greedy(source, START, START, 10, mask)
        said = pad(said, (0, 10 - said.shape[-1]), value=START)
        # If what it says were right, it should score 1; with one other sign each, 0.
        inputs = examples.inputs | {"target": pad(said[:, :-1], (1, 0), value=START)}
        logits, _weights = model(**inputs)
    spoken = ~(said == START).any(dim=-1)  # after a start sign `greedy` has stopped
    agreed = Examples(inputs, said, examples.right)[spoken]
    assert len(agreed)
    assert task.score(logits[spoken], agreed) == 1.0
    others = said.clone()
    others[:, 3] = (others[:, 3] + 1) % 10
    assert task.score(logits[spoken], Examples(inputs, others, examples.right)[spoken]) == 0.0


def test_one_wrong_digit_spoils_a_date():
    task = TASKS[0]
    examples = drawn(task, 4)
    logits = one_hot(examples.targets, TARGET_SIGNS).double()
    assert task.score(logits, examples) == 1.0
    logits[0, 9] = logits[0, 9].roll(1)
    assert task.score(logits, examples) == 0.75


def test_gold_weights_make_no_error_and_looking_at_the_language_only_errors():
    task = TASKS[0]
    examples = drawn(task)
    weights = gold(examples).double()
    weights[:, HYPHENS, 0] = 1.0  # whatever a hyphen looks at
    assert task.attention_scores(weights, examples) == {"links": 0.0}
    at_language = torch.zeros_like(weights)
    at_language[..., 0] = 1.0
    assert task.attention_scores(at_language, examples) == {"links": 1.0}


def test_the_baseline_is_the_mean_error_of_links_drawn_by_lot():
    task = TASKS[0]
    examples = drawn(task, 200)
    rng = np.random.default_rng(0)
    shape = examples.right["sure"].shape
    errors = [
        task.attention_scores(torch.from_numpy(rng.random(shape)), examples)["links"]
        for _ in range(10)
    ]
    spread = np.std(errors, ddof=1) / np.sqrt(len(errors))
    assert abs(np.mean(errors) - task.uniform_scores(examples)["links"]) < 4 * spread < 0.02


# --- arms --------------------------------------------------------------------------------------


@every_task
def test_arms_begin_with_the_same_parameters(task):
    alike = [arm for arm in task.arms if "×" not in arm]  # a larger reader has other sizes
    first, *others = [built(task, arm).state_dict() for arm in alike]
    for other in others:
        assert list(other) == list(first)
        for name, parameter in other.items():
            torch.testing.assert_close(parameter, first[name], rtol=0, atol=0)


@pytest.mark.parametrize(
    ("task", "arm"), [(TASKS[0], "uniform context"), (TASKS[1], "uniform cross-attention")]
)
def test_the_ablation_looks_at_every_sign_alike(task, arm):
    examples = drawn(task)
    with torch.no_grad():
        _logits, weights = built(task, arm)(**examples.inputs)
    mask = examples.inputs["source_mask"].double()
    wanted = (mask / mask.sum(dim=-1, keepdim=True))[:, None, :].expand_as(weights)
    torch.testing.assert_close(weights.double(), wanted, rtol=0, atol=1e-6)


@every_arm
def test_weights_add_up_to_one_and_padding_gets_none(task, arm):
    examples = drawn(task)
    with torch.no_grad():
        logits, weights = built(task, arm)(**examples.inputs)
    assert logits.shape == (NUMBER, 10, TARGET_SIGNS)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(NUMBER, 10))
    hidden = ~examples.allowed["possible"]
    assert hidden.any()
    assert not weights[hidden].any()


def test_supervision_adds_what_the_weights_lack_of_the_gold_ones():
    task = TASKS[0]
    examples = drawn(task)
    model = built(task, "supervised")
    _logits, weights = model(**examples.inputs)
    lacking = []
    for i, row in np.ndindex(NUMBER, 10):
        sure, possible = (examples.right[name][i, row] for name in ("sure", "possible"))
        marked = sure if sure.any() else possible
        if marked.any():
            lacking.append(-weights[i, row][marked].double().log().mean().item())
    added = task.supervised_loss(model, examples) - task.loss(model, examples)
    assert added.item() == pytest.approx(np.mean(lacking), rel=1e-4)


@every_arm
def test_a_few_steps_lower_the_loss(task, arm):
    losses = train(task, arm, steps=12).losses
    assert np.mean(losses[-3:]) < 0.9 * losses[0]


# --- the figure --------------------------------------------------------------------------------


def test_the_figure_has_a_map_a_model_and_a_label_a_sign_without_padding():
    task = TASKS[0]
    trained = train(task, "Bahdanau", steps=1)
    figure = task.figure(trained, place=3)
    example = task.held_out()[3:4]
    n = int(example.inputs["source_mask"].sum())
    maps = [ax for ax in figure.axes if ax.get_images()]
    assert [ax.get_title() for ax in maps][1:] == ["Bahdanau"]
    for ax in maps:
        assert len(ax.get_xticklabels()) == n
        assert ax.get_xticklabels()[0].get_text() in LOCALES
        iso = "".join(label.get_text() for label in ax.get_yticklabels())
        assert date.fromisoformat(iso)
    figure.canvas.draw()  # a sign that the font lacks would warn
    plt.close(figure)
