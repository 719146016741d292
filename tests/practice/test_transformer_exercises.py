"""What is special to the exercises of page 07d; what holds for all is in `tests/course`."""

from functools import cache, partial
from itertools import pairwise
from math import log

import numpy as np
import pytest
import torch

from attn_course.general_attention import Transformer
from attn_course.practice.compare import ABSOLUTE, RELATIVE
from attn_course.practice.exercises import chapters, compiled
from attn_course.practice.results import Verdict
from tests.practice import drawn_cases

chapter = chapters()["07d"]
SEEDS = range(20)
PAD, START, STOP = 0, 1, 2


reference = partial(drawn_cases.reference, chapter)
groups_of = partial(drawn_cases.groups_of, chapter)
drawn = partial(drawn_cases.drawn, chapter)


def cell_of(beginning):
    """Return the code cell of the learner's notebook in which this text occurs."""
    cells = compiled(chapter.stem)["notebook"]["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    return next(source for source in sources if beginning in source)


@cache
def definitions():
    """Return what the first cell of the notebook defines."""
    names = {}
    text = cell_of("class TinyTransformer").split("# The table shows")[0]
    exec(text.replace("from attn_course import practice", ""), names)
    return names


# The examples that the tasks work out by hand, with the numbers printed there.


def test_the_example_of_the_masks_is_right():
    masks = reference("decoder_masks")(np.array([[True, False]]), np.array([[True, True, False]]))
    encoder, decoder, cross = (mask.astype(int)[0, 0].tolist() for mask in masks)
    assert encoder == [[1, 0], [1, 0]]
    assert decoder == [[1, 0, 0], [1, 1, 0], [1, 1, 0]]
    assert cross == [[1, 0], [1, 0], [1, 0]]


def solution_of(name):
    """Return the answer that the course gives itself."""
    return chapter.exercises[name].variants["the_solution"]


def a_step(output, target):
    """Return the arguments of one step with seven target words."""
    tables = {"source": (5, 2), "target": (8, 2), "positions": (5, 2)}
    parameters = {name: torch.full(size, 0.5) for name, size in tables.items()}
    target = torch.tensor([[target]])
    return parameters | {"output": output}, torch.tensor([[[3, 4, 0]]]), target, 0.1


def test_the_example_of_equal_probabilities_is_right():
    losses, _after = reference("training_step")(*a_step(torch.zeros(7, 2), [5, 3, STOP, PAD]))
    assert losses == pytest.approx([log(7)])
    assert round(log(7), 4) == 1.9459


def test_the_example_of_the_shift_is_right():
    """What the decoder reads shows in which rows of its table move, and in no others."""
    output = torch.arange(16.0).reshape(8, 2) / 10
    arguments = a_step(output, [7, 5, STOP, PAD])
    for answer in (reference("training_step"), solution_of("training_step")):
        _losses, after = answer(*arguments)
        moved = (after["target"] != arguments[0]["target"]).any(dim=1)
        assert moved.nonzero().flatten().tolist() == [START, 5, 7]  # no loss reads the stop sign


def test_the_example_of_the_cache_is_right():
    one = np.ones((1, 1))
    found = reference("cached_step")(
        np.array([[0.0], [1.0]]), 0 * one, 4 * one, log(3) * one, one, 8 * one
    )
    contexts, keys, values = (part[:, 0] for part in found)
    np.testing.assert_allclose(contexts, [2.0, 5.6])
    np.testing.assert_allclose(keys, [0, 0, 1])
    np.testing.assert_allclose(values, [4, 0, 8])


def test_the_example_of_the_leak_is_right():
    inputs, targets, mask = reference("find_the_leak")(np.array([[4, 6, 9]]))
    assert inputs.tolist() == [[4, 6]]
    assert targets.tolist() == [[6, 9]]
    assert mask.tolist() == [[True, False], [True, True]]


def test_the_example_of_the_induction_score_is_right():
    weights = np.array([[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0.1, 0.7, 0.2, 0], [0.2, 0.3, 0.3, 0.2]])
    assert reference("induction_score")(weights, np.array([3, 8, 3, 3])) == pytest.approx(0.6)


# What the tasks say about the mechanisms.


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("answer", [reference("cached_step"), solution_of("cached_step")])
def test_every_split_into_chunks_gives_the_same_contexts_and_cache(answer, seed):
    rng = np.random.default_rng(seed)
    x, *matrices = (rng.normal(size=size) for size in ((7, 3), (2, 3), (2, 3), (5, 3)))
    empty = np.zeros((0, 2)), np.zeros((0, 5))
    whole = answer(x, *empty, *matrices)
    ends = np.sort(rng.choice(np.arange(1, 7), size=rng.integers(1, 7), replace=False))
    contexts, cache = [], empty
    for start, end in pairwise([0, *ends, 7]):
        found, *cache = answer(x[start:end], *cache, *matrices)
        contexts.append(found)
    for part, expected in zip((np.concatenate(contexts), *cache), whole, strict=True):
        np.testing.assert_allclose(part, expected)


def test_the_masks_are_those_of_the_transformer_of_the_package():
    """Its weights are 0 exactly where the masks are False, padding in the queries included."""
    source = np.array([[True, True, False], [True, True, True]])
    target = np.array([[True, True, True, False, False], [True, True, True, True, False]])
    torch.manual_seed(0)
    model = Transformer(7, 7, d=4, heads=2, layers=1, d_ff=5)
    words = (torch.as_tensor(3 * mask) for mask in (source, target))
    _logits, (weights,) = model(*words, torch.as_tensor(source), torch.as_tensor(target))
    masks = reference("decoder_masks")(source, target)
    for name, mask in zip(("encoder", "decoder", "cross"), masks, strict=True):
        seen = (weights[name] > 0).numpy()
        np.testing.assert_array_equal(seen, np.broadcast_to(mask, seen.shape))


def test_the_small_model_of_the_notebook_hides_later_words_and_padding():
    torch.manual_seed(0)
    sizes = {"source": (5, 3), "target": (7, 3), "positions": (5, 3), "output": (7, 3)}
    model = definitions()["TinyTransformer"]({n: torch.randn(size) for n, size in sizes.items()})
    source, inputs = torch.tensor([[3, 4, PAD]]), torch.tensor([[START, 5, 6, 3, 4]])
    logits = model(source, inputs)
    later = inputs.clone()
    later[0, 3:] = 6
    torch.testing.assert_close(model(source, later)[:, :3], logits[:, :3])
    torch.testing.assert_close(model(source[:, :2], inputs), logits)
    assert not torch.allclose(model(source, later)[:, 3:], logits[:, 3:])


@pytest.mark.parametrize("seed", SEEDS)
def test_there_are_as_many_keys_after_copies_as_queries_with_copies(seed):
    """The reason that the source gives for a mutant that passes."""
    words = np.random.default_rng(seed).integers(3, size=11)
    after = np.tri(11, dtype=bool)
    after[:, 0] = False
    after[:, 1:] &= words[:, None] == words[:-1]
    assert after.any(axis=0).sum() == after.any(axis=1).sum() > 0


# The stub that learners get to correct, and the picture that shows what is wrong with it.


@cache
def leak():
    """Return the function as handed out."""
    names = dict(definitions())
    exec(cell_of("def find_the_leak"), names)
    return names["find_the_leak"]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_leak_as_handed_out_is_recognised(seed):
    exercise = chapter.exercises["find_the_leak"]
    result = exercise.check(exercise.local(leak()), seed=seed)
    assert result.verdict is Verdict.FAILED
    assert result.mistake.name == "as_handed_out"


def final_accuracy(prepare, monkeypatch):
    """Return the mean accuracy of the last steps of the curve that the notebook draws."""
    names = dict(definitions())
    exec(cell_of("def draw_learning_curve"), names)
    monkeypatch.setattr(names["plt"], "show", lambda: None)
    names["draw_learning_curve"](prepare)
    line = names["plt"].gcf().axes[0].lines[0].get_ydata()
    names["plt"].close()
    return np.mean(line[-30:])


def test_the_curve_is_too_good_until_both_leaks_are_closed(monkeypatch):
    right = reference("find_the_leak")
    assert final_accuracy(right, monkeypatch) == pytest.approx(0.8, abs=0.02)
    mistakes = {known.name: known.answer for known in chapter.exercises["find_the_leak"].mistakes}
    for one_leak in ("targets_still_the_inputs", "mask_still_the_upper_triangle"):
        assert final_accuracy(mistakes[one_leak], monkeypatch) > 0.9
    assert final_accuracy(leak(), monkeypatch) > 0.9


# The cases are never blind.


@pytest.mark.parametrize("seed", SEEDS)
def test_every_group_of_masks_has_other_lengths_for_source_and_target_and_both_padded(seed):
    for group in groups_of("decoder_masks", seed):
        assert all(source.shape[1] != target.shape[1] for source, target in _arguments(group))
        assert any(not source.all() and not target.all() for source, target in _arguments(group))


@pytest.mark.parametrize("seed", SEEDS)
def test_every_group_of_steps_has_padding_and_sentences_of_different_lengths(seed):
    for group in groups_of("training_step", seed):
        for _parameters, sources, targets, _rate in _arguments(group):
            assert (sources == PAD).any()
            assert (targets == PAD).any()
            assert ((targets != PAD).sum(dim=-1).unique(dim=-1)).numel() > 1
    first, several = groups_of("training_step", seed)
    assert all(len(case.args[1]) == 1 for case in first)
    assert all(len(case.args[1]) > 1 for case in several)  # else no gradient can add up


@pytest.mark.parametrize("seed", SEEDS)
def test_single_precision_is_enough_for_the_steps(seed):
    """Larger steps would amplify what is rounded, and right answers would be refused."""
    variant = chapter.exercises["training_step"].variants["flattened"]
    for case in drawn("training_step", seed):
        (_losses, one), (_same, other) = (
            answer(*case.args) for answer in (reference("training_step"), variant)
        )
        for name, table in one.items():
            torch.testing.assert_close(other[name], table, rtol=RELATIVE / 5, atol=ABSOLUTE / 5)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_group_of_cached_steps_has_a_chunk_after_a_cache(seed):
    """No cache, or one new word alone, hides a triangle that begins at the top left, or no mask."""
    for group in groups_of("cached_step", seed):
        assert any(len(x) > 1 and len(keys) > 1 for x, keys, *_rest in _arguments(group))


@pytest.mark.parametrize("seed", SEEDS)
def test_no_two_words_of_a_leaking_text_are_equal(seed):
    for (words,) in _arguments(drawn("find_the_leak", seed)):
        assert len(np.unique(words)) == words.size


@pytest.mark.parametrize("seed", SEEDS)
def test_every_group_of_scores_has_a_word_with_several_copies_and_one_after_its_copy(seed):
    for group in groups_of("induction_score", seed):
        texts = [row for _w, words in _arguments(group) for row in np.atleast_2d(words)]
        rows = [row for text in texts for row in text.reshape(-1, text.shape[-1])]
        assert any(np.unique(row, return_counts=True)[1].max() > 2 for row in rows)
        assert any((row[1:] == row[:-1]).any() for row in rows)


@pytest.mark.parametrize("seed", SEEDS)
def test_some_queries_with_copies_pay_no_attention_to_what_follows_them(seed):
    """Else it would make no difference whether queries are counted by words or by weights."""
    one_text, a_batch, _without = groups_of("induction_score", seed)
    for weights, words in _arguments([one_text[-1], a_batch[-1]]):
        texts = zip(weights.reshape(-1, *weights.shape[-2:]), np.atleast_2d(words), strict=True)
        for rows, text in texts:
            found = [
                rows[i, 1 : i + 1][text[:i] == text[i]]
                for i in range(len(text))
                if text[i] in text[:i]
            ]
            assert any(not of_query.any() for of_query in found)
            assert any(of_query.any() for of_query in found)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_weights_are_causal_and_sum_to_one(seed):
    for weights, _words in _arguments(drawn("induction_score", seed)):
        assert not np.triu(weights, 1).any()
        np.testing.assert_allclose(weights.sum(axis=-1), 1)


def _arguments(cases):
    return [case.args for case in cases]
