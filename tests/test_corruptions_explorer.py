"""The corruptions explorer in Python (in a browser: tests/browser)."""

import pytest
import traitlets

from attn_course.evaluation import count_chunks, link_words
from attn_course.figures.explorers import CorruptionsExplorer
from attn_course.figures.explorers.corruptions import (
    CORRUPTIONS,
    DIFFERENT,
    METRICS,
    REFERENCE,
    SIMILAR,
    scores_of,
)
from tests.stills import exactly, numbers_in, still_of

# Every state that a reader can reach.
STATES = [
    (corruption, position)
    for corruption in CORRUPTIONS
    for position in range(1, 9 - (corruption in ("swap", "truncate")))
]


def expected(explorer):
    sound = scores_of(list(REFERENCE))
    numbers = {name: exactly([score]) for name, score in explorer.scores.items()}
    numbers["sound"] = exactly([sound[name] for name in METRICS])
    numbers["change"] = exactly([explorer.changes[name] for name in METRICS])
    return numbers


@pytest.mark.parametrize(("corruption", "position"), STATES)
def test_the_still_figure_shows_the_packages_numbers(corruption, position):
    explorer = CorruptionsExplorer(corruption, position)
    assert numbers_in(still_of(explorer)) == expected(explorer)


def test_what_the_corruptions_do():
    hypotheses = {one: " ".join(CorruptionsExplorer(one, 5).hypothesis) for one in CORRUPTIONS}
    assert hypotheses == {
        "none": "the small cat does not drink warm milk",
        "swap": "the small cat does drink not warm milk",
        "drop": "the small cat does drink warm milk",
        "repeat": "the small cat does not not drink warm milk",
        "similar": "the small cat does never drink warm milk",
        "different": "the small cat does now drink warm milk",
        "truncate": "the small cat does not",
    }
    assert not set(REFERENCE) & set(SIMILAR) & set(DIFFERENT)
    assert len(set(REFERENCE)) == len(REFERENCE) == len(SIMILAR) == len(DIFFERENT)


# --- what the page and the answers say ----------------------------------------------------------


def test_the_answer_to_the_question_is_true():
    """No metric can tell the loss of "not" from the loss of "does"."""
    assert (REFERENCE[3], REFERENCE[4]) == ("does", "not")
    does, no = (CorruptionsExplorer("drop", position) for position in (4, 5))
    assert does.scores == pytest.approx(no.scores)
    assert all(change < 0 for change in no.changes.values())


@pytest.mark.parametrize("position", range(1, 9))
def test_a_similar_word_scores_as_one_that_changes_the_meaning(position):
    similar, different = (CorruptionsExplorer(one, position) for one in ("similar", "different"))
    assert similar.scores == pytest.approx(different.scores)


@pytest.mark.parametrize("position", range(1, 8))
def test_only_the_position_independent_rate_is_blind_to_a_swap(position):
    changes = CorruptionsExplorer("swap", position).changes
    assert [name for name, change in changes.items() if change == 0] == ["per"]


def test_meteor_gives_the_reference_itself_less_than_1():
    assert CorruptionsExplorer("none").scores["meteor"] == pytest.approx(1 - 0.5 / 8**3)
    assert set(CorruptionsExplorer("none").changes.values()) == {0}


def test_meteor_of_a_repeated_word_is_that_of_the_best_linking():
    # Which of two equal words is linked changes the chunks only at the ends of the sentence.
    for position, chunks in ((1, 1), (4, 2), (8, 1)):
        hypothesis = CorruptionsExplorer("repeat", position).hypothesis
        links, _is_exact = link_words(hypothesis, list(REFERENCE), stem=lambda word: word)
        assert count_chunks(links) == chunks


# --- what it says -------------------------------------------------------------------------------


def report_of(explorer):
    still = still_of(explorer)
    text = still[still.index('<output class="report">') : still.index("</output>")]
    return text.replace("<b>", "").replace("</b>", "")


@pytest.mark.parametrize(
    ("corruption", "sentence"),
    [
        ("none", "Nothing is changed."),
        ("swap", "“not” and “drink” have changed places."),
        ("drop", "“not” is missing."),
        ("repeat", "“not” appears twice."),
        ("similar", "“never” replaces “not” and means nearly the same."),
        ("different", "“now” replaces “not” and changes the meaning."),
        ("truncate", "The sentence ends after “not”."),
    ],
)
def test_the_report_says_what_changed(corruption, sentence):
    assert sentence in report_of(CorruptionsExplorer(corruption, 5))


def test_the_report_names_who_is_blind():
    assert "Blind to it: 1 − PER." in report_of(CorruptionsExplorer("swap", 2))
    every = report_of(CorruptionsExplorer("drop", 5))
    assert "Every metric reacts." in every
    assert "Blind" not in every
    assert "Blind" not in report_of(CorruptionsExplorer("none"))


def test_the_report_names_the_largest_and_the_smallest_drop():
    explorer = CorruptionsExplorer("drop", 5)
    report = report_of(explorer)
    assert f"Largest drop: BLEU, −{-100 * explorer.changes['bleu']:.0f} %." in report
    assert f"Smallest drop: METEOR, −{-100 * explorer.changes['meteor']:.0f} %." in report


@pytest.mark.parametrize(("corruption", "position"), STATES)
def test_the_picture_shows_both_sentences_and_marks_the_blind(corruption, position):
    explorer = CorruptionsExplorer(corruption, position)
    still = still_of(explorer)
    drawing = still[still.index("<svg") : still.index("</svg>")]
    for word in REFERENCE:
        times = 1 + explorer.hypothesis.count(word)
        assert drawing.count(f">{word}</text>") == times
    unmoved = sum(change == 0 for change in explorer.changes.values())
    assert drawing.count(" blind</text>") == (0 if corruption == "none" else unmoved)
    assert drawing.count('class="bar score"') == drawing.count('class="hollow"') == len(METRICS)


# --- what goes in -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("corruption", "position"), [("swap", 8), ("truncate", 8), ("drop", 9), ("drop", 0)]
)
def test_a_word_that_is_not_there_is_refused(corruption, position):
    with pytest.raises(traitlets.TraitError):
        CorruptionsExplorer(corruption, position)


def test_what_it_cannot_show_is_refused():
    explorer = CorruptionsExplorer()
    with pytest.raises(traitlets.TraitError):
        explorer.corruption = "translate"
    with pytest.raises(traitlets.TraitError):
        explorer.position = 8  # the last word has no next one to be swapped with


def test_another_corruption_keeps_the_position_in_reach():
    explorer = CorruptionsExplorer("drop", 8)
    explorer.corruption = "swap"
    assert explorer.position == 7
