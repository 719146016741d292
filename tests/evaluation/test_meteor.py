"""METEOR against NLTK, and its links against all that are possible."""

import re
from itertools import combinations, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer
from nltk.translate.meteor_score import single_meteor_score

from attn_course.definitions import evaluation as definition
from attn_course.evaluation.meteor import meteor
from attn_course.evaluation.meteor_links import count_chunks, count_crossings, link_words, porter

words = str.split

CAT = words("the cat sat on the mat")
STEMS = words("cat sit mat run jump walk dog bird fish tree")


def sentences(letters, longest):
    return st.lists(st.sampled_from(letters), min_size=1, max_size=longest)


class NoSynonyms:
    """Stands in for WordNet, whose data is not at hand."""

    def synsets(self, word):
        return []


def by_nltk(candidate, reference):
    # alpha, beta and gamma of 2007 with which the formula is the one of 2005
    return single_meteor_score(
        reference, candidate, wordnet=NoSynonyms(), alpha=0.9, beta=3.0, gamma=0.5
    )


def as_it_is(word):
    return word


def fewest(candidate, reference):
    """Return crossings and chunks of the best alignment, found by trying all of them."""
    per_word = []
    for word in set(candidate) & set(reference):
        tokens = [i for i, w in enumerate(candidate) if w == word]
        places = [j for j, w in enumerate(reference) if w == word]
        m = min(len(tokens), len(places))
        per_word.append(
            [
                list(zip(chosen, order, strict=True))
                for chosen in combinations(tokens, m)
                for order in permutations(places, m)
            ]
        )
    alignments = [[]]
    for ways in per_word:
        alignments = [links + way for links in alignments for way in ways]
    return min((definition.crossings(links), definition.chunks(links)) for links in alignments)


@given(candidate=sentences("abcd", 7), reference=sentences("abcd", 7))
@settings(max_examples=150)
def test_no_alignment_has_fewer_crossings_nor_as_few_in_fewer_chunks(candidate, reference):
    links, is_exact = link_words(candidate, reference, stem=as_it_is)
    assert is_exact
    assert (count_crossings(links), count_chunks(links)) == fewest(candidate, reference)


@given(candidate=sentences("abcdef", 23), reference=sentences("abcdef", 23))
def test_as_many_words_are_linked_as_can_be_and_each_at_most_once(candidate, reference):
    links, _ = link_words(candidate, reference, stem=as_it_is)
    assert all(candidate[i] == reference[j] for i, j in links)
    assert len({i for i, _ in links}) == len({j for _, j in links}) == len(links)
    assert len(links) == sum(min(candidate.count(w), reference.count(w)) for w in set(candidate))


@pytest.mark.agrees("evaluation.count_crossings", "definitions.evaluation.crossings")
@pytest.mark.agrees("evaluation.count_chunks", "definitions.evaluation.chunks")
@given(links=st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=11))
def test_crossings_and_chunks_agree_with_their_definitions_in_loops(links):
    one_to_one = list({i: (i, j) for i, j in {j: (i, j) for i, j in links}.values()}.values())
    assert count_crossings(one_to_one) == definition.crossings(one_to_one)
    assert count_chunks(one_to_one) == definition.chunks(one_to_one)


def test_a_search_that_was_cut_says_so_and_still_links_all_it_can():
    candidate, reference = list("abcd" * 3), list("badc" * 5)
    links, is_exact = link_words(candidate, reference, stem=as_it_is, most_states=0)
    assert not is_exact
    assert len(links) == 12
    best, is_exact = link_words(candidate, reference, stem=as_it_is)
    assert is_exact
    assert count_crossings(best) <= count_crossings(links)


@pytest.mark.agrees("evaluation.meteor", "NLTK")
@given(
    candidate=st.lists(st.sampled_from(STEMS), min_size=1, unique=True),
    reference=st.lists(st.sampled_from(STEMS), min_size=1, unique=True),
    ending=st.sampled_from(["", "s", "ing"]),
)
def test_meteor_agrees_with_nltk_where_no_word_repeats(candidate, reference, ending):
    candidate = [word + ending for word in candidate]
    assert meteor(candidate, [reference]).score == pytest.approx(by_nltk(candidate, reference))


def test_nltk_links_a_repeated_word_from_the_end_and_so_sees_a_crossing_too_many():
    candidate, reference = ["the", "cat"], words("the cat saw the dog")
    ours = meteor(candidate, [reference])
    assert (ours.links, ours.crossings, ours.chunks) == (((0, 0), (1, 1)), 0, 1)
    f = 10 * 1 * 0.4 / (0.4 + 9)
    assert ours.score == pytest.approx(f * (1 - 0.5 * (1 / 2) ** 3))
    assert by_nltk(candidate, reference) == pytest.approx(f * (1 - 0.5 * (2 / 2) ** 3))


def test_porter_and_nltk_stem_common_words_alike():
    stemmer = PorterStemmer(mode=PorterStemmer.ORIGINAL_ALGORITHM)
    for word in words("cats running flies happily relational hopping agreed national"):
        assert porter()(word) == stemmer.stem(word)


@given(sentence=sentences(STEMS, 17))
def test_an_identical_sentence_scores_not_quite_1(sentence):
    assert meteor(sentence, [sentence]).score == pytest.approx(1 - 0.5 / len(sentence) ** 3)


def test_a_score_is_the_product_that_it_shows():
    result = meteor(words("the cat sat down on the mat"), [CAT])
    assert (len(result.links), result.chunks) == (6, 2)
    assert (result.precision, result.recall) == (6 / 7, 1)
    assert result.f_mean == pytest.approx(10 * 6 / 7 / (1 + 9 * 6 / 7))
    assert result.penalty == pytest.approx(0.5 * (2 / 6) ** 3)
    assert float(result) == result.score == result.f_mean * (1 - result.penalty)


def test_recall_weighs_nine_times_as_much_as_precision():
    short, long = meteor(CAT[:3], [CAT]), meteor([*CAT, *"abcdef"], [CAT])
    assert short.f_mean == pytest.approx(10 * 1 * 0.5 / (0.5 + 9))
    assert long.f_mean == pytest.approx(10 * 0.5 * 1 / (1 + 4.5))


def test_a_stem_is_matched_only_where_no_exact_match_takes_the_word():
    links, _ = link_words(["cats", "cat"], ["cat", "cats"])
    assert links == [(0, 1), (1, 0)]
    links, _ = link_words(["cats", "sat"], ["cat", "sat"])
    assert links == [(0, 0), (1, 1)]
    assert link_words(["cats"], ["cat"], stem=as_it_is) == ([], True)


def test_links_by_stem_cross_as_few_of_the_exact_ones_as_they_can():
    links, _ = link_words(words("runs home"), words("run home running"))
    assert links == [(0, 0), (1, 1)]
    links, _ = link_words(words("home runs"), words("run home running"))
    assert links == [(0, 1), (1, 2)]


def test_of_several_references_the_best_counts():
    result = meteor(CAT, [["a", "dog"], CAT, CAT[:5]])
    assert result.reference == 1
    assert result.score == meteor(CAT, [CAT]).score


def test_no_match_scores_0():
    assert meteor(["dog"], [CAT]).score == meteor([], [CAT]).score == 0.0


def test_where_meteor_misleads_the_opposite_beats_the_same_said_in_another_order():
    reference = words("the dog bit the old man in the park")
    opposite = meteor(words("the old man bit the dog in the park"), [reference])
    same = meteor(words("in the park the dog bit the old man"), [reference])
    assert opposite.score > 0.9 > 0.8 > same.score
    # Two blocks changed places: 2 chunks, but more crossings than the 7 chunks that are taken.
    blocks = [(i, (i + 6) % 9) for i in range(9)]
    assert (count_chunks(blocks), count_crossings(blocks)) == (2, 18)
    assert (same.chunks, same.crossings) == (7, 16)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: meteor("the cat", [CAT]), "candidate must be a list of words"),
        (lambda: meteor(CAT, []), "references needs at least one sentence"),
        (lambda: meteor(CAT, [[]]), "references[0] has no words"),
        (lambda: meteor(CAT, CAT), "For a single reference write [reference]"),
    ],
)
def test_a_bad_input_gets_a_sentence_that_helps(call, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        call()


def test_porter_and_nltk_own_stemmer_differ_where_the_docstring_says():
    assert (porter()("dying"), PorterStemmer().stem("dying")) == ("dy", "die")
    assert 'dying" becomes "die"' in meteor.__doc__
