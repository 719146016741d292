"""The scales and the verdicts of the benchmarks; no test measures time."""

import pytest
import torch

from benchmarks import cache, multi_head, positions, transformer
from benchmarks.measure import Line, memory, random, straight_line


def test_memory_is_counted_to_the_byte_and_freed_memory_is_given_back():
    def run():
        first = torch.empty(1000)  # 4,000 bytes
        del first
        second = torch.empty(3000)  # 12,000 bytes
        return second[:10].clone()  # 40 bytes

    assert memory(run) == (12_040, 12_000)


def test_memory_inside_an_operation_is_seen():
    x = torch.ones(100, 100)
    softmax = memory(lambda: torch.softmax(x.mT, dim=-1))  # copies before it begins
    assert softmax.peak >= 2 * x.nbytes


def test_a_straight_line_is_told_from_a_parabola():
    sizes = (1000, 2000, 4000, 8000)
    assert straight_line("", sizes, [7 * n + 10**6 for n in sizes]).value == pytest.approx(0)
    assert straight_line("", sizes, [7 * n for n in sizes]).kept
    assert not straight_line("", sizes, [n * n for n in sizes]).kept


def test_a_line_says_whether_its_bound_is_kept():
    assert "pass" in str(Line("time", 1.0, 1.2))
    assert "FAIL" in str(Line("time", 1.3, 1.2))
    assert Line("time", 99.0).kept  # for information only


def test_a_missed_bound_comes_with_its_reason_and_a_kept_one_without():
    why = "the peer is one loop, ours are six."
    assert str(Line("time", 1.3, 1.2, why=why)).endswith(f"why: {why}")
    assert why not in str(Line("time", 1.0, 1.2, why=why))
    assert "why" not in str(Line("time", 1.3, 1.2))


# --- like is compared with like ------------------------------------------------------------------


@pytest.mark.parametrize("masks", multi_head.MASKS)
def test_the_layers_that_are_compared_compute_the_same(masks):
    ours, theirs = multi_head.twins(32, masks)
    x = random(multi_head.BATCH, 32, multi_head.D)
    torch.testing.assert_close(ours(x), theirs(x))


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
@pytest.mark.parametrize("padded", [False, True])
def test_the_transformers_that_are_compared_compute_the_same(padded):
    ours, theirs = transformer.twins()
    source, target, real = transformer.words(32)
    mask = real if padded else None
    logits, _ = ours(source, target, mask, need_weights=False)
    torch.testing.assert_close(logits, theirs(source, target, mask))


def test_rotation_and_complex_numbers_compute_the_same():
    x = random(positions.BATCH, positions.HEADS, 32, positions.D)
    torch.testing.assert_close(
        positions.rotate(x), positions.by_complex_numbers(x), atol=1e-4, rtol=0
    )


@pytest.mark.parametrize("kv_heads", cache.KV_HEADS)
def test_steps_and_texts_with_and_without_a_cache_compute_the_same(kv_heads):
    arrays = cache.step(kv_heads, n=13)
    theirs = cache.with_repeated_keys(*arrays)
    torch.testing.assert_close(cache.grouped_query_attention(*arrays)[0], theirs)
    words, matrices = random(5, cache.HEADS * cache.D), cache.projections(kv_heads)
    with_cache, again = cache.with_cache(words, matrices), cache.again(words, matrices)
    torch.testing.assert_close(with_cache, again, atol=1e-5, rtol=0)
