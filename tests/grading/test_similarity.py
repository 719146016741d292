"""Learners who look alike: copies in disguise are found, and those who worked alone are not."""

import inspect
import re
import textwrap
from itertools import combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attn_course.grading import fingerprints, similarity
from attn_course.grading.fingerprints import GRAM, PASSAGE, grams, prints
from attn_course.grading.intake import cells_of
from attn_course.grading.similarity import (
    FEW_SHARED,
    LEAST_SHARED,
    compare,
    given_code,
    handed_out,
    pairs,
)
from attn_course.inside.notebook import Cell
from attn_course.practice.exercises import chapters
from benchmarks.grader.handwriting import disguised, rewritten
from benchmarks.grader.synthetic_course import Mix, make_course

STEMS = ["01_nadaraya_watson", "03_alignment", "05b_rotatory", "06d_multi_head", "06f_capsules"]
HARMLESS = Mix(broken=0, hostile=0, missing=0)
LONG = """
def weights_of(scores, mask):
    hidden = np.where(mask, scores, -np.inf)
    largest = hidden.max(axis=-1, keepdims=True)
    shifted = np.exp(hidden - largest)
    total = shifted.sum(axis=-1, keepdims=True)
    return np.where(total > 0, shifted / total, 0.0)
"""


def hashes(source):
    return [one.hash for one in grams(source)]


# --- fingerprints ----------------------------------------------------------------------------


def test_names_comments_layout_and_docstrings_do_not_count():
    other = '''
def gewichte(punkte, maske):  # meine Lösung
    """Weights of a row."""
    a = np.where(maske, punkte, -np.inf)
    b = a.max(axis=-1,
              keepdims=True)

    c = np.exp(a - b)
    d = c.sum(axis=-1, keepdims=True)   # the sum
    return np.where(d > 0, c / d, 0.0)
'''
    assert hashes(other) == hashes(LONG) != []


@pytest.mark.parametrize(
    ("before", "after"),
    [("axis=-1", "axis=-2"), ("max", "min"), ("shifted / total", "shifted * total")],
)
def test_what_code_does_counts(before, after):
    assert hashes(LONG.replace(before, after)) != hashes(LONG)


def test_an_attribute_of_self_is_a_name_of_ones_own_and_one_of_a_library_is_not():
    code = "def forward(self, x):\n    y = self.{} (x)\n    return x.{} (y) + y * (y - x) / y"
    assert hashes(code.format("project", "softmax")) == hashes(code.format("q_proj", "softmax"))
    assert hashes(code.format("project", "softmax")) != hashes(code.format("project", "sigmoid"))


def test_code_with_fewer_tokens_than_a_gram_has_no_fingerprint():
    assert prints("x = a + b") == []
    assert prints("") == []


@pytest.mark.parametrize("code", ["def f(:\n  (", "x = 'open", "\x00\x01", "  x\n y", "%%bash\nls"])
def test_broken_code_stops_nothing(code):
    assert isinstance(prints(code + LONG), list)


def test_lines_of_ipython_are_passed_over():
    assert hashes("%matplotlib inline\n!pip install x\n" + LONG) == hashes(LONG)


@given(st.lists(st.integers(0, 3), max_size=60), st.integers(0, 2**32))
def test_a_passage_in_two_texts_is_found_wherever_it_is(words, seed):
    rng = Random(seed)
    # Four words and signs each: not one more than the shortest passage that must be found.
    passage = " ".join(f"z.m{rng.randrange(4)} +" for _place in range(PASSAGE // 4))
    before = " * ".join(f"y.n{word}" for word in words) or "0"
    texts = [f"x = {before} + {passage} 7", f"{passage} y"]
    found = [{one.hash for one in prints(text)} for text in texts]
    assert found[0] & found[1]


def test_winnowing_keeps_a_part_of_the_hashes_and_says_their_lines():
    kept = prints(LONG)
    assert 0 < len(kept) < len(grams(LONG))
    assert {one.hash for one in kept} <= set(hashes(LONG))
    assert all(2 <= one.first <= one.last <= 7 for one in kept)
    assert GRAM < PASSAGE


# --- pairs -----------------------------------------------------------------------------------


def cells(*sources):
    return tuple(Cell(number, "code", source) for number, source in enumerate(sources, start=1))


def found_in(notebooks, given=()):
    return [pair.learners for pair in pairs([compare("90_x", notebooks, given)])]


def long_answers(seed, count=4, lines=12):
    """Return functions that only this seed writes."""
    return [f"def f{n}(x):\n{_lines(f'{seed} {n}', lines)}" for n in range(count)]


def _lines(seed, count):
    rng = Random(seed)
    names = ("exp", "log", "sum", "mean", "max", "tanh", "abs", "sort")
    return "\n".join(
        f"    x = x.{rng.choice(names)}(axis={rng.randrange(1000)}) {rng.choice('+-*/')} x"
        for _line in range(count)
    )


def test_a_copy_with_other_names_comments_and_order_is_found():
    one = long_answers(1)
    copy = [re.sub(r"\bx\b", "hidden", text) + "  # mine" for text in reversed(one)]
    notebooks = {"ann": cells(*one), "bob": cells(*copy), "cy": cells(*long_answers(2))}
    (pair,) = pairs([compare("90_x", notebooks, ())])
    assert (pair.learners, pair.share) == (("ann", "bob"), 1.0)
    (match, count), *_others = pair.overlaps[0].cells()
    assert count >= 5
    assert match[0] + match[1] == 5  # the first cell is the last of the other


def test_the_code_that_was_handed_out_does_not_count():
    stub = "\n".join(long_answers(1, count=8))
    notebooks = {"ann": cells(stub), "bob": cells(stub)}
    assert found_in(notebooks) == [("ann", "bob")]
    assert found_in(notebooks, [stub]) == []


def test_what_many_share_does_not_count_and_a_few_are_found():
    shared = cells(*long_answers(1))
    for many, expected in ((similarity.commonest(20), 6), (similarity.commonest(20) + 1, 0)):
        notebooks = {f"l{n:02d}": cells(*long_answers(10 + n)) for n in range(20 - many)}
        notebooks |= {f"z{n}": shared for n in range(many)}
        assert len(found_in(notebooks)) == expected


def test_short_answers_that_are_the_same_make_no_pair():
    right = "def softmax(x):\n    e = np.exp(x - x.max())\n    return e / e.sum()"
    assert len(prints(right)) < LEAST_SHARED
    assert found_in({"ann": cells(right), "bob": cells(right)}) == []


def test_copies_of_little_in_every_chapter_add_up():
    chapters_ = []
    for number in range(5):
        text = long_answers(number, count=1, lines=5)[0]
        notebooks = {"ann": cells(text), "bob": cells(text), "cy": cells(*long_answers(9))}
        chapters_.append(compare(f"9{number}_x", notebooks, ()))
    assert [pairs([one]) for one in chapters_] == [[]] * 5
    (pair,) = pairs(chapters_)
    assert (pair.learners, len(pair.overlaps)) == (("ann", "bob"), 5)


def test_little_code_is_enough_if_it_is_nearly_all_there_is_in_two_chapters():
    short = [long_answers(number, count=1, lines=4)[0] for number in (1, 2)]
    other = long_answers(9)

    chapters_ = [
        compare(f"9{n}_x", {"ann": cells(text), "bob": cells(text), "cy": cells(*other)}, ())
        for n, text in enumerate(short)
    ]
    (pair,) = pairs(chapters_)
    assert pair.learners == ("ann", "bob")
    assert FEW_SHARED <= pair.shared < LEAST_SHARED
    (longer,) = long_answers(1, count=1, lines=7)
    notebooks = {"ann": cells(longer), "bob": cells(longer)}
    alone = compare("90_x", notebooks, ())
    assert FEW_SHARED <= len(alone.overlap(("ann", "bob")).shared) < LEAST_SHARED
    assert pairs([alone]) == []


def test_little_code_is_not_enough_if_both_have_much_more():
    shared, learners = long_answers(1, count=2, lines=4), ("ann", "bob")
    chapters_ = [
        compare(f"9{n}_x", {who: cells(text, *long_answers(f"{who} {n}")) for who in learners}, ())
        for n, text in enumerate(shared)
    ]
    found = [len(chapter.overlap(("ann", "bob")).shared) for chapter in chapters_]
    assert FEW_SHARED <= sum(found) < LEAST_SHARED
    assert pairs(chapters_) == []


# --- the course ------------------------------------------------------------------------------


def read(planted, stem):
    return {
        one: cells_of(one, (planted.folder / one / f"{stem}.ipynb").read_bytes())
        for one in planted.kinds
    }


def copied(planted):
    """Return who has the same code: who copied, from whom, and who copied from the same."""
    together = {}
    for learner, source, _stem in planted.copies:
        together.setdefault(source, {source}).add(learner)
    return {two for group in together.values() for two in combinations(sorted(group), 2)}


@pytest.mark.parametrize("seed", [1, 2])
def test_planted_copies_are_found_and_no_others(tmp_path, seed):
    planted = make_course(tmp_path, 30, seed, STEMS, HARMLESS)
    compared = [compare(stem, read(planted, stem), given_code(stem)) for stem in STEMS]
    assert {pair.learners for pair in pairs(compared)} == copied(planted) != set()


def variants_of(exercise):
    """Return the sources of all right answers that the course knows."""
    functions = map(inspect.unwrap, exercise.definition.variants.values())
    return [exercise.solution.answer, *(textwrap.dedent(inspect.getsource(f)) for f in functions)]


@pytest.mark.parametrize("number", ["01", "02", "03", "06b", "08a"])
def test_right_answers_by_other_ways_are_independent(number):
    """The n-th learner writes the n-th way; nothing but the handed-out cells is taken out."""
    chapter = chapters()[number]
    ways = {one.name: variants_of(one) for one in chapter.exercises.values()}
    count = max(map(len, ways.values()))
    notebooks = {
        f"l{n:02d}": cells(*(way[n] for way in ways.values() if n < len(way))) for n in range(count)
    }
    assert len(notebooks) >= 3
    assert found_in(notebooks, handed_out(chapter.stem)) == []


def test_the_same_solution_in_other_hands_is_independent_and_in_disguise_is_not():
    chapter = chapters()["03"]
    answers = [one.solution.answer for one in chapter.exercises.values()]
    hands = {
        f"l{n:02d}": cells(*(rewritten(text, Random(f"{n} {text}")) for text in answers))
        for n in range(12)
    }
    given = given_code(chapter.stem)
    assert found_in(hands, given) == []
    copy = cells(*(disguised(cell.source, Random(5)) for cell in reversed(hands["l03"])))
    assert found_in({**hands, "zoe": copy}, given) == [("l03", "zoe")]


def test_of_a_chapter_of_ones_own_nothing_is_known():
    assert given_code("90_project") == []


def test_a_huge_cell_is_read_in_part(monkeypatch):
    monkeypatch.setattr(fingerprints, "_LONGEST", len(LONG))
    assert hashes(LONG + LONG) == hashes(LONG)
