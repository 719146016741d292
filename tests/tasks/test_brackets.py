"""Brackets: real lines, hidden closers, and the opener that belongs to each."""

import numpy as np
import pytest
import torch

from attn_course.tasks.brackets import Brackets
from attn_course.tasks.brackets.freeze import frozen, shortened, statements
from attn_course.tasks.brackets.lines import (
    CLOSERS,
    LONGEST,
    OPENERS,
    as_written,
    frozen_lines,
    kind,
    matches,
)
from attn_course.tasks.brackets.models import BracketModel, NearestOpener, WindowReader
from attn_course.tasks.task import IGNORED
from attn_course.tasks.training import seeded, train

TASK = Brackets()
NUMBER = 60


def drawn(number=NUMBER, split="test"):
    return TASK.examples(split, number, TASK.rng(split))


def matching_openers(tokens):
    """Return each closer with its opener, found by counting what is open from the closer back."""
    found = {}
    for place in (place for place, token in enumerate(tokens) if token in CLOSERS):
        depth, opener = 1, place
        while depth:
            opener -= 1
            depth += (tokens[opener] in CLOSERS) - (tokens[opener] in OPENERS)
        found[place] = opener
    return found


# --- the lines ----------------------------------------------------------------------------------


def test_every_line_is_balanced_short_and_has_two_types_of_bracket():
    for line in frozen_lines().written:
        openers = matching_openers(line)
        assert all(OPENERS.index(line[o]) == CLOSERS.index(line[c]) for c, o in openers.items())
        assert len(openers) == sum(token in OPENERS for token in line)
        assert len(line) <= LONGEST
        assert len(set(line) & set(OPENERS)) > 1


def test_no_two_lines_are_the_same_but_for_names_and_numbers():
    lines = [tuple(map(kind, line)) for line in frozen_lines().written]
    assert len(set(lines)) == len(lines) > 2000


def test_matches_are_found_on_a_stack_as_by_counting():
    for line in frozen_lines().written[::7]:
        found = matches(line)
        assert {place: opener for place, (opener, _nearest) in found.items()} == matching_openers(
            line
        )
        for place, (_opener, nearest) in found.items():
            assert nearest == max(p for p in range(place) if line[p] in OPENERS)


def test_freezing_keeps_one_statement_of_each_kind(tmp_path):
    (tmp_path / "b.py").write_text("other = [f(2)]\nx = g(1)\n")
    (tmp_path / "a.py").write_text(
        'def f(x):\n    """Text."""\n    return {k: [x,  # why\n  "s"]}\n'
    )
    (tmp_path / "c.py").write_text("name = [call(7)]\n")
    note, *lines = frozen(tmp_path).splitlines()
    assert note.startswith("# Frozen")
    assert lines == ['return { k : [ x , "" ] }', "o = [ f ( 2 ) ]"]


@pytest.mark.parametrize("source", ["x = f'{a[0]} and {b}'\n", "x = 'a' + \"(\"\n"])
def test_a_string_is_one_token_whatever_is_in_it(source):
    (tokens,) = statements(source)
    assert tokens[:3] == ["x", "=", '""']
    assert set(tokens) <= {"x", "=", '""', "+"}


@pytest.mark.parametrize(
    "token", ["weights", "_", "__all__", "_2nd", "for", "12", "0.5", "->", '""']
)
def test_a_shorter_name_is_a_token_of_the_same_kind(token):
    assert kind(shortened(token)) == kind(token)
    assert len(shortened(token)) == 1 or kind(token) != "name"


# --- the examples -------------------------------------------------------------------------------


def test_closers_are_hidden_and_everything_else_is_shown():
    examples, kinds = drawn(), frozen_lines().kinds
    for place in range(NUMBER):
        tokens = examples.inputs["tokens"][place]
        line = as_written(tokens.numpy())
        shown = [kinds[token] for token in tokens[: len(line)].tolist()]
        assert shown == ["?" if token in CLOSERS else kind(token) for token in line]
        assert not set(kinds) & set(CLOSERS)
        assert examples.inputs["mask"][place].sum() == len(line)


def test_types_and_the_right_attention_are_those_of_the_line():
    examples = drawn()
    for place in range(NUMBER):
        line = as_written(examples.inputs["tokens"][place].numpy())
        openers = matching_openers(line)
        targets = examples.targets[place].tolist()
        wanted = {closer: CLOSERS.index(line[closer]) for closer in openers}
        assert {n: t for n, t in enumerate(targets) if t != IGNORED} == wanted
        for right in examples.right.values():
            assert right[place].nonzero().tolist() == [[c, o] for c, o in openers.items()]


def test_a_split_has_each_of_its_lines_once_before_any_comes_again():
    lines = {split: len(prints(drawn(2000, split))) for split in ("train", "validation", "test")}
    assert sum(lines.values()) == len(frozen_lines().tokens)
    assert lines["train"] > 3 * lines["test"] > 3 * lines["validation"]
    assert len(prints(drawn(lines["test"]))) == lines["test"] >= TASK.tested_on


def prints(examples):
    return {row.numpy().tobytes() for row in examples.inputs["tokens"]}


# --- the models ---------------------------------------------------------------------------------


def built(build):
    with seeded(0):
        return build()


@pytest.mark.parametrize("arm", TASK.arms)
def test_no_model_sees_what_comes_later(arm):
    model = built(TASK.arms[arm].build).eval()
    tokens, mask = (drawn().inputs[name] for name in ("tokens", "mask"))
    changed = tokens.clone()
    changed[:, 9:] = changed[:, 9:].flip(-1)
    with torch.no_grad():
        before, after = (model(one, torch.ones_like(mask))[0] for one in (tokens, changed))
    torch.testing.assert_close(before[:, :9], after[:, :9])
    assert not torch.allclose(before[:, 9:], after[:, 9:])


def test_the_rule_looks_at_the_last_opener_and_predicts_its_type():
    examples, lines = drawn(), frozen_lines()
    predictions, weights = NearestOpener(lines.kinds)(**examples.inputs)
    for place in range(NUMBER):
        line = as_written(examples.inputs["tokens"][place].numpy())
        for closer, (_opener, nearest) in matches(line).items():
            assert weights["layer 2"][place, closer].nonzero().tolist() == [[nearest]]
            assert predictions[place, closer].argmax() == OPENERS.index(line[nearest])


def test_uniform_attention_has_equal_weights_over_what_came_before():
    examples = drawn()
    model = built(lambda: BracketModel(len(frozen_lines().kinds), is_uniform=True))
    _predictions, weights = model(**examples.inputs)
    for layer in ("layer 1", "layer 2"):
        for place in range(0, NUMBER, 10):
            n = int(examples.inputs["mask"][place].sum())
            found = weights[layer][place, :n, :n]
            wanted = torch.tril(torch.ones(n, n)) / torch.arange(1.0, n + 1)[:, None]
            torch.testing.assert_close(found, wanted)
    names = set(dict(model.named_parameters()))
    assert not any("W_Q" in name or "W_K" in name for name in names)


def test_readers_without_attention_are_no_smaller():
    sizes = {
        name: sum(p.numel() for p in arm.build().parameters()) for name, arm in TASK.arms.items()
    }
    assert min(sizes["window"], sizes["GRU"]) >= sizes["self-attention"] == sizes["supervised"]
    assert sizes["nearest opener"] == 0


def test_a_window_sees_its_own_tokens_alone():
    kinds = len(frozen_lines().kinds)
    model = built(lambda: WindowReader(kinds, window=3))
    tokens = torch.arange(1, 9)[None]
    moved = tokens.clone()
    moved[0, 2] = 30
    with torch.no_grad():
        one, other = (model(t, t > 0)[0][0] for t in (tokens, moved))
    changed = (one != other).any(-1)
    assert changed.tolist() == [False, False, True, True, True, False, False, False]


def test_supervision_adds_the_loss_of_the_weights_and_nothing_else():
    examples = drawn(20, "train")
    model = built(TASK.arms["supervised"].build)
    _predictions, weights = model(**examples.inputs)
    at_openers = weights["layer 2"][examples.right["layer 2"]]
    wanted = TASK.loss(model, examples) - at_openers.log().mean()
    torch.testing.assert_close(TASK.supervised_loss(model, examples), wanted)


def test_a_short_supervised_training_finds_openers():
    found = train(TASK, "supervised", steps=60, split="validation")
    assert found.losses[-1] < 0.7 * found.losses[0]
    assert found.test.attention["layer 2"] > 3 * found.test.uniform["layer 2"]


def test_the_figure_shows_hidden_brackets_beside_the_line():
    examples = drawn(5)
    rows, columns = TASK.words(examples, 2)["layer 2"]
    closers = (examples.targets[2] != IGNORED).numpy()
    assert {rows[place] for place in np.flatnonzero(closers)} <= set(CLOSERS)
    assert [word == "?" for word in columns] == closers.tolist()
