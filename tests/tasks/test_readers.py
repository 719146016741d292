"""Readers without attention: their layers, their sizes, and that every task has them."""

import pytest
import torch
from torch import nn

from attn_course.tasks import all_tasks, find_task, train
from attn_course.tasks.apart_readers import ApartReader, apart_name
from attn_course.tasks.readers import (
    MaxReader,
    MeanReader,
    Seen,
    TokenReader,
    all_pairs,
    one_hot,
    parameters,
    reader_name,
    width_for,
)

BATCH, N, D, D_Q, Q, OUT = 3, 7, 5, 2, 4, 6
READERS = [
    pytest.param(task, comparison, id=f"{task.name}-{comparison.ablation}")
    for task in all_tasks().values()
    for comparison in task.comparisons
    if " pooling" in comparison.ablation or "pooled apart" in comparison.ablation
]


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


def reader(kind, depth="deep", asked=0):
    torch.manual_seed(1)
    return kind(D + asked, OUT, 11, depth=depth)


@pytest.mark.parametrize("depth", ["plain", "deep"])
@pytest.mark.parametrize(
    ("kind", "pool"), [(MeanReader, lambda h: h.mean(0)), (MaxReader, lambda h: h.amax(0))]
)
def test_a_reader_pools_what_it_makes_of_each_token_alone(kind, pool, depth, generator):
    tokens = torch.randn(BATCH, N, D, generator=generator)
    model = reader(kind, depth)
    found = model(Seen(tokens))
    assert found.shape == (BATCH, 1, OUT)
    for row in range(BATCH):
        hidden = torch.stack([model.of_token(token) for token in tokens[row]])
        torch.testing.assert_close(found[row, 0], model.output(pool(hidden)))


@pytest.mark.parametrize("kind", [MeanReader, MaxReader])
def test_padding_changes_nothing_and_order_neither(kind, generator):
    tokens = torch.randn(BATCH, N, D, generator=generator)
    model = reader(kind)
    alone = model(Seen(tokens[:, :4]))
    mask = torch.arange(N) < 4
    padded = model(Seen(tokens, mask=mask.expand(BATCH, N)))
    torch.testing.assert_close(padded, alone)
    per_question = model(Seen(tokens, mask=mask.expand(BATCH, 1, N)))
    torch.testing.assert_close(per_question, alone)
    torch.testing.assert_close(model(Seen(tokens[:, [2, 0, 3, 1]])), alone)


def test_every_token_hears_the_question(generator):
    tokens = torch.randn(BATCH, N, D, generator=generator)
    questions = torch.randn(BATCH, Q, D_Q, generator=generator)
    model = reader(MaxReader, asked=D_Q)
    found = model(Seen(tokens, questions))
    assert found.shape == (BATCH, Q, OUT)
    heard = questions[:, 2, None].expand(BATCH, N, D_Q)
    alone = model(Seen(torch.cat([tokens, heard], dim=-1)))
    torch.testing.assert_close(found[:, 2], alone[:, 0])


def apart_reader(asked=0):
    torch.manual_seed(1)
    return ApartReader((D, D_Q), asked, OUT, 11)


def test_a_reader_that_pools_inputs_apart_sees_one_fixed_vector_of_each(generator):
    first = torch.randn(BATCH, N, D, generator=generator)
    second = torch.randn(BATCH, Q, D_Q, generator=generator)
    model = apart_reader()
    found = model((Seen(first), Seen(second)))
    assert found.shape == (BATCH, 1, OUT)
    for row in range(BATCH):
        hidden = [
            of(tokens[row]) for of, tokens in zip(model.of_token, (first, second), strict=True)
        ]
        fixed = torch.cat([part for h in hidden for part in (h.mean(0), h.amax(0))])
        torch.testing.assert_close(found[row, 0], model.output(fixed))


def test_questions_join_after_the_inputs_are_pooled_apart(generator):
    first = torch.randn(BATCH, N, D, generator=generator)
    second = torch.randn(BATCH, N, D_Q, generator=generator)
    questions = torch.randn(BATCH, Q, 3, generator=generator)
    model = apart_reader(asked=3)
    together = model((Seen(first), Seen(second, questions)))
    assert together.shape == (BATCH, Q, OUT)
    alone = model((Seen(first), Seen(second, questions[:, 2:3])))
    torch.testing.assert_close(together[:, 2], alone[:, 0])
    assert not torch.allclose(together[:, 1], together[:, 2])


def test_padding_changes_nothing_for_inputs_that_are_pooled_apart(generator):
    first = torch.randn(BATCH, N, D, generator=generator)
    second = torch.randn(BATCH, N, D_Q, generator=generator)
    there = (torch.arange(N) < 4).expand(BATCH, N)
    model = apart_reader()
    alone = model((Seen(first[:, :4]), Seen(second)))
    torch.testing.assert_close(model((Seen(first, mask=there), Seen(second))), alone)


@pytest.mark.parametrize("wanted", [1, 100, 4321])
def test_the_width_is_the_smallest_with_as_many_parameters(wanted):
    def build(width):
        return MeanReader(D, OUT, width)

    width = width_for(build, wanted)
    assert parameters(build(width)) >= wanted
    assert width == 1 or parameters(build(width - 1)) < wanted


def test_pairs_are_all_pairs_in_order():
    one, other = torch.arange(6.0).reshape(1, 3, 2), 10 + torch.arange(2.0).reshape(1, 2, 1)
    pairs = all_pairs(one, other)
    assert pairs.shape == (1, 6, 3)
    assert pairs[0].tolist()[1] == [0.0, 1.0, 11.0]
    assert pairs[0].tolist()[2] == [2.0, 3.0, 10.0]


def test_attributes_become_one_hot_vectors_in_a_row():
    assert one_hot(torch.tensor([[1, 0]]), (2, 3)).tolist() == [[0, 1, 1, 0, 0]]


def test_an_unknown_pooling_or_depth_is_told_what_there_is():
    with pytest.raises(ValueError, match=r"pool must be one of mean, max"):
        TokenReader(D, OUT, 3, "sum", "deep")
    with pytest.raises(ValueError, match=r"depth must be one of plain, deep"):
        MeanReader(D, OUT, 3, "shallow")


@pytest.mark.parametrize("task", all_tasks().values(), ids=all_tasks())
def test_every_task_has_readers_of_both_poolings_and_sizes_or_says_why_not(task):
    rivals = {comparison.ablation for comparison in task.comparisons}
    wanted = {reader_name(pool, size) for pool in ("mean", "max") for size in (1, 4)}
    assert bool(task.no_readers) != (wanted <= rivals)
    assert task.claim.endswith((".", "beyond them"))


@pytest.mark.parametrize("name", ["scene_question", "target_sentiment"])
def test_where_one_input_asks_another_a_reader_also_pools_each_apart(name):
    rivals = {comparison.ablation for comparison in find_task(name).comparisons}
    assert {apart_name(1), apart_name(4)} <= rivals


def test_a_reader_of_spelling_sees_beside_each_character_the_tag_of_its_word():
    task = find_task("spelling")
    inputs = task.examples("test", 20, task.rng("test")).inputs
    seen = task.see(**inputs)
    for row in range(20):
        for at, (place, position, letter) in enumerate(inputs["characters"][row].tolist()):
            token = seen.tokens[row, at]
            assert token[place] == token[6 + position] == token[12 + letter] == 1
            wanted = torch.zeros(task.tags)
            if inputs["word_mask"][row, place]:
                wanted[inputs["words"][row, place, 0]] = 1
            torch.testing.assert_close(token[-task.tags :], wanted)


def test_a_reader_of_embeddings_sees_each_set_at_entries_of_its_own():
    task = find_task("uneven_embeddings")
    inputs = task.examples("test", 5, task.rng("test")).inputs
    seen = task.see(**inputs)
    assert seen.tokens.shape == (5, 3, 12 + 16 + 20 + 3)
    start = 0
    for number, size in enumerate((12, 16, 20)):
        own = seen.tokens[:, number, start : start + size]
        torch.testing.assert_close(own, inputs[f"set_{number + 1}"])
        assert torch.count_nonzero(seen.tokens[:, number]) == torch.count_nonzero(own) + 5
        start += size
    torch.testing.assert_close(seen.mask, inputs["known"])


@pytest.mark.parametrize(("task", "comparison"), READERS)
def test_a_reader_predicts_what_the_mechanism_predicts_and_is_as_large(task, comparison):
    times = 1
    if "×" in comparison.ablation:
        times = int(comparison.ablation.split(", ")[1].split(" ")[0])
    rival = task.arms[comparison.ablation]
    model, mechanism = rival.build(), task.arms[comparison.mechanism].build()
    assert not rival.attends
    assert rival.learning_rate in rival.tried
    examples = task.examples("test", 3, task.rng("test"))
    for trains in (True, False):
        model.train(trains)
        with torch.no_grad():
            predictions, weights = model(**examples.inputs)
            wanted, _weights = mechanism(**examples.inputs)
        assert weights is None
        assert predictions.shape == wanted.shape
    sizes = parameters(model), times * parameters(mechanism)
    if comparison.mechanism != "local-m":  # which has fewer parameters than what it is matched to
        assert sizes[0] >= sizes[1]


def test_a_reader_does_without_attention_what_the_old_tasks_ask():
    trained = train(find_task("telling_word"), "max pooling, 4 × parameters", steps=150)
    assert trained.test.score > 0.95
    assert trained.test.attention == {}


def test_a_reader_in_a_test_reads_in_parts_and_finds_the_same(monkeypatch):
    task = find_task("two_facts")
    model = task.arms["mean pooling"].build().eval()
    inputs = task.examples("test", 9, task.rng("test")).inputs
    with torch.no_grad():
        whole, _weights = model(**inputs)
        monkeypatch.setattr("attn_course.tasks.readers._PAIRS_AT_ONCE", 17)
        parts, _weights = model(**inputs)
    torch.testing.assert_close(parts, whole)
    assert isinstance(model, nn.Module)
