"""Corruptions of a sentence, and the table of how metrics react to them."""

from html.parser import HTMLParser

import numpy as np
import pytest

from attn_course import evaluation
from attn_course.evaluation.corruptions import (
    Corruption,
    bigram_fluency,
    dropped,
    label_metrics,
    picture_metrics,
    reactions,
    repeated,
    replaced,
    swapped,
    text_metrics,
    truncated,
    weight_metrics,
)

WORDS = ("the", "small", "cat", "drinks")


@pytest.mark.parametrize(
    ("corrupted", "wanted"),
    [
        (swapped(WORDS, 0), "small the cat drinks"),
        (swapped(WORDS, 2), "the small drinks cat"),
        (swapped(WORDS, 3, 0), "drinks small cat the"),
        (dropped(WORDS, 3), "the small cat"),
        (repeated(WORDS, 3), "the small cat drinks drinks"),
        (replaced(WORDS, 1, "big"), "the big cat drinks"),
        (truncated(WORDS, 2), "the small"),
        (truncated(WORDS, 0), ""),
        (truncated(WORDS, 4), "the small cat drinks"),
    ],
)
def test_a_corruption_changes_what_it_says(corrupted, wanted):
    assert corrupted == wanted.split()


def test_the_sentence_itself_stays_as_it_is():
    words = list(WORDS)
    for corrupt in (swapped, dropped, repeated, truncated):
        corrupt(words, 1)
    replaced(words, 1, "big")
    assert words == list(WORDS)


@pytest.mark.parametrize("corrupt", [swapped, dropped, repeated])
@pytest.mark.parametrize("position", [-1, 4])
def test_a_position_outside_the_sentence_is_refused(corrupt, position):
    with pytest.raises(ValueError, match=f"none at position {position}"):
        corrupt(WORDS, position)


def test_the_last_word_has_no_neighbour_to_be_swapped_with():
    with pytest.raises(ValueError, match="none at position 4"):
        swapped(WORDS, 3)


@pytest.mark.parametrize("length", [-1, 5])
def test_a_length_outside_the_sentence_is_refused(length):
    with pytest.raises(ValueError, match=f"from 0 to 4, but is {length}"):
        truncated(WORDS, length)


def test_a_string_is_no_sentence():
    with pytest.raises(ValueError, match="must be a list of words"):
        dropped("the cat", 1)


# --- metrics of one answer ----------------------------------------------------------------------


def test_the_metrics_of_a_sentence_are_the_packages():
    said = ["we", "do", "not", "stop", "the", "old", "cars"]
    heard = ["we", "do", "stop", "the", "old", "car", "now"]
    found = {name: metric(heard) for name, metric in text_metrics(said).items()}
    assert found == {
        "BLEU": float(evaluation.sentence_bleu(heard, [said])),
        "METEOR": float(evaluation.meteor(heard, [said])),
        "1 − WER": 1 - evaluation.word_error_rate([said], [heard]),
        "1 − PER": 1 - evaluation.position_independent_error_rate([said], [heard]),
        "exact match": 0,
    }
    exact = text_metrics(said, stem=lambda word: word)["METEOR"](heard)
    assert exact < found["METEOR"]
    assert text_metrics(tuple(said))["exact match"](said) == 1


def test_fluency_is_the_perplexity_of_counts_with_one_added():
    fluency = bigram_fluency([["a", "b"], ["a", "b"], ["b"]])
    # After a start: a twice, b once of 3; after a: b twice of 2; after b: three ends of 3. Next
    # may come a, b, the end, or an unknown word.
    known = 4
    p = (2 + 1) / (3 + known), (2 + 1) / (2 + known), (3 + 1) / (3 + known)
    assert fluency(["a", "b"]) == pytest.approx((p[0] * p[1] * p[2]) ** (1 / 3))
    unknown = 1 / (3 + known), 1 / known
    assert fluency(["c"]) == pytest.approx((unknown[0] * unknown[1]) ** (1 / 2))


def test_the_metrics_of_a_picture_are_the_packages():
    image, other = np.random.default_rng(0).uniform(size=(2, 16, 13))
    metrics = picture_metrics(image, data_range=2)
    assert metrics["PSNR"](other) == evaluation.psnr(image, other, data_range=2)
    assert metrics["SSIM"](other) == evaluation.ssim(image, other, data_range=2)


def test_a_class_that_is_never_predicted_still_counts():
    truth, said = [0, 0, 1, 2], [0, 0, 1, 1]
    found = {name: metric(said) for name, metric in label_metrics(truth).items()}
    assert found == pytest.approx(
        {"accuracy": 3 / 4, "micro-F1": 3 / 4, "macro-F1": (1 + 2 / 3 + 0) / 3}
    )


def test_the_metrics_of_weights_are_the_packages():
    people = np.array([[0.7, 0.2, 0.1], [0.3, 0.5, 0.2]])
    right = np.array([[True, False, False], [False, True, True]])
    weights = np.array([[0.5, 0.1, 0.4], [0.6, 0.3, 0.1]])
    found = {name: metric(weights) for name, metric in weight_metrics(people, right).items()}
    # Links (0, 0) and (1, 0); gold are (0, 0), (1, 1) and (1, 2), so F1 is 2 · 1 / (2 + 3).
    assert found == pytest.approx(
        {"1 − AER": 2 / 5, "correctness": (0.5 + 0.4) / 2, "rank correlation": (0.5 + 0.5) / 2}
    )


# --- the table ----------------------------------------------------------------------------------


def table():
    """Four metrics of a number, of which 8 is the sound one."""
    return reactions(
        {
            "itself": float,
            "parity": lambda n: 2.0 - n % 2,
            "fewer": lambda n: 16 / n,
            "large": lambda n: 1000.0 + n,
        },
        8,
        [
            Corruption("half", 4, shown="<4>"),
            Corruption("odd", 9, is_harmless=True),
            Corruption("ten", 10, is_harmless=True),
        ],
    )


def test_a_change_is_relative_to_the_sound_score():
    found = table()
    assert found.sound.tolist() == [8, 2, 2, 1008]
    assert found.scores.tolist()[0] == [4, 2, 4, 1004]
    assert found.change("half", "itself") == -0.5
    assert found.change("half", "fewer") == 1
    assert found.change("odd", "parity") == -0.5
    assert found.blind("half") == found.blind("ten") == ["parity"]
    assert found.blind("odd") == []


def test_no_reaction_is_blindness_only_where_a_metric_should_react():
    _head, half, odd, ten = table().cells
    assert half == ("half", "yes", "−50 %", "blind", "+100 %", "−0.4 %")
    assert odd == ("odd", "no", "+12 %", "−50 %", "−11 %", "+0.1 %")
    assert ten == ("ten", "no", "+25 %", "0 %", "−20 %", "+0.2 %")


def test_the_text_has_a_line_for_each_corruption():
    lines = str(table()).splitlines()
    head = "corruption should react itself parity fewer large"
    assert " ".join(lines[0].split()) == head
    assert [line.split()[0] for line in lines[1:]] == ["half", "odd", "ten"]
    assert repr(table()) == str(table())


class Reader(HTMLParser):
    """Reads the tags and styles of a table."""

    def __init__(self):
        super().__init__()
        self.tags, self.styles, self.text = [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag == "td":
            self.styles.append(dict(attributes).get("style", ""))

    def handle_data(self, data):
        self.text.append(data)


def test_the_html_is_shaded_by_the_drop_and_marks_the_blind():
    reader = Reader()
    reader.feed(table()._repr_html_())
    assert (reader.tags.count("tr"), reader.tags.count("td"), reader.tags.count("b")) == (4, 15, 1)
    shades = [style.split(",")[-1] for style in reader.styles[1:5]]  # of the first row
    assert shades == ["0.250)", "0.000)", "0.000)", "0.002)"]
    assert "<4>" in reader.text  # it was escaped
    assert reader.text.count("blind") == 1


def test_a_sound_answer_without_a_score_is_refused():
    with pytest.raises(ValueError, match=r"finite and above 0.*'itself': 0.0"):
        reactions({"itself": float}, 0, [Corruption("one", 1)])
    with pytest.raises(ValueError, match="finite"):
        reactions({"endless": lambda _n: float("inf")}, 0, [Corruption("one", 1)])


@pytest.mark.parametrize(("metrics", "corrupted"), [({}, [Corruption("one", 1)]), ({"x": len}, [])])
def test_an_empty_table_is_refused(metrics, corrupted):
    with pytest.raises(ValueError, match="nothing to compare"):
        reactions(metrics, 1, corrupted)
