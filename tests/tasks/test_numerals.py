"""Numerals: words as Germans write them, letters that say each digit, and a bottleneck."""

import re

import matplotlib.pyplot as plt
import pytest
import torch
from torch.nn.functional import one_hot

from attn_course.tasks.aligned_translation import exact
from attn_course.tasks.numerals import Numerals
from attn_course.tasks.numerals.bottleneck import (
    ByDigits,
    bottleneck_figure,
    exact_by_digits,
    letters_by_digits,
    main,
    measured,
    numbers_by_digits,
    stated_bottleneck,
)
from attn_course.tasks.numerals.material import (
    DIGITS,
    SOURCE_SIGNS,
    START,
    STOP,
    TARGET_SIGNS,
    material,
    numbers_of,
)
from attn_course.tasks.numerals.words import LARGEST, spelled
from attn_course.tasks.readers import parameters
from attn_course.tasks.seed_dots import rows_of
from attn_course.tasks.task import IGNORED, SPLITS
from attn_course.tasks.training import seeded

task = Numerals()
task.tested_on = 50  # no figure is reported here
NUMBER = 103
SOME = [*range(1, 1300), *range(1300, LARGEST, 1009), LARGEST]


def drawn(number=NUMBER, split="test"):
    return task.examples(split, number, task.rng(split))


def said(number):
    """Return for each digit the letters that say it."""
    text, places = spelled(number)
    return [text[letters.start : letters.stop] for letters in places]


# --- words -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1, "eins"),
        (10, "zehn"),
        (11, "elf"),
        (12, "zwölf"),
        (16, "sechzehn"),
        (17, "siebzehn"),
        (18, "achtzehn"),
        (20, "zwanzig"),
        (21, "einundzwanzig"),
        (30, "dreißig"),
        (47, "siebenundvierzig"),
        (66, "sechsundsechzig"),
        (77, "siebenundsiebzig"),
        (100, "einhundert"),
        (101, "einhunderteins"),
        (116, "einhundertsechzehn"),
        (1000, "eintausend"),
        (1001, "eintausendeins"),
        (2011, "zweitausendelf"),
        (21_000, "einundzwanzigtausend"),
        (101_000, "einhunderteintausend"),
        (110_030, "einhundertzehntausenddreißig"),
        (347_512, "dreihundertsiebenundvierzigtausendfünfhundertzwölf"),
    ],
)
def test_numbers_are_written_as_germans_write_them(number, text):
    assert spelled(number).text == text


# Another way round: words are read, from the longest to the shortest, and their values added.
READ = {
    **{"eins": 1, "ein": 1, "zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6, "sieben": 7},
    **{"acht": 8, "neun": 9, "zehn": 10, "elf": 11, "zwölf": 12, "sechzehn": 16, "siebzehn": 17},
    **{"dreizehn": 13, "vierzehn": 14, "fünfzehn": 15, "achtzehn": 18, "neunzehn": 19},
    **{"zwanzig": 20, "dreißig": 30, "vierzig": 40, "fünfzig": 50, "sechzig": 60, "siebzig": 70},
    **{"achtzig": 80, "neunzig": 90, "und": 0, "hundert": 100, "tausend": 1000},
}
WORD = re.compile("|".join(sorted(READ, key=len, reverse=True)))


def value_of(text):
    thousands, group = 0, 0
    for word in WORD.findall(text):
        if word == "tausend":
            thousands, group = 1000 * group, 0
        elif word == "hundert":
            group *= 100
        else:
            group += READ[word]
    return thousands + group


def test_the_words_can_be_read_back_and_leave_no_letter_over():
    for number in SOME:
        text = spelled(number).text
        assert value_of(text) == number
        assert "".join(WORD.findall(text)) == text


def test_eins_is_the_last_word_or_it_is_ein():
    for number in SOME:
        assert spelled(number).text.count("eins") == (number % 100 == 1)


def test_numbers_out_of_range_are_refused():
    for number in (0, -3, 1_000_000):
        with pytest.raises(ValueError, match=f"number must be from 1 to 999999, but is {number}"):
            spelled(number)


# --- the gold alignment ------------------------------------------------------------------------

SAYS = {
    **{"0": {""}, "1": {"ein", "eins", "zehn", "elf", "zwölf"}},
    **{"2": {"zwei", "zwanzig", "zwölf"}},
    **{"3": {"drei", "dreißig"}, "4": {"vier", "vierzig"}, "5": {"fünf", "fünfzig"}},
    **{"6": {"sechs", "sechzig", "sech"}, "7": {"sieben", "siebzig", "sieb"}},
    **{"8": {"acht", "achtzig"}, "9": {"neun", "neunzig"}},
}


def test_every_digit_but_zero_is_linked_to_a_word_that_says_it():
    for number in SOME:
        for digit, word in zip(str(number), said(number), strict=True):
            assert word in SAYS[digit], number


def test_what_no_digit_is_linked_to_is_a_word_without_a_value():
    for number in SOME:
        text, places = spelled(number)
        linked = {letter for letters in places for letter in letters}
        left = "".join("|" if at in linked else letter for at, letter in enumerate(text))
        assert re.fullmatch(r"(\||und|hundert|tausend)+", left), number


def test_units_come_before_tens_so_links_cross():
    crossing = 0
    for number in range(21, 100):
        tens, units = spelled(number).places
        if number % 10:
            assert units.stop == tens.start - len("und")
            crossing += 1
        else:
            assert not units
    assert crossing == 72
    assert said(47_047) == ["vierzig", "sieben", "", "vierzig", "sieben"]


def test_elf_and_zwölf_say_two_digits_and_teens_one_each():
    assert said(111) == ["ein", "elf", "elf"]
    assert said(12) == ["zwölf", "zwölf"]
    assert said(17) == ["zehn", "sieb"]
    assert said(10) == ["zehn", ""]


# --- examples ----------------------------------------------------------------------------------


def test_every_number_belongs_to_one_split():
    for digits in DIGITS[:4]:
        shared = [number for split in SPLITS for number in numbers_of(split, digits).tolist()]
        assert sorted(shared) == list(range(10 ** (digits - 1), 10**digits))


def test_no_number_of_one_split_is_in_another():
    kept = {split: material(split) for split in SPLITS}
    for one, other in (("train", "validation"), ("train", "test"), ("validation", "test")):
        assert not set(kept[one].numbers.tolist()) & set(kept[other].numbers.tolist())
        texts = [
            {tuple(filter(None, row)) for row in kept[s].source.tolist()} for s in (one, other)
        ]
        assert not texts[0] & texts[1]


@pytest.mark.parametrize("split", SPLITS)
def test_an_example_is_a_number_in_words_with_its_digits_and_links(split):
    examples = drawn(split=split)
    for i in range(NUMBER):
        digits = [sign for sign in examples.targets[i].tolist() if sign != IGNORED]
        assert digits.pop() == STOP
        text, places = spelled(int("".join(map(str, digits))))
        n = int(examples.inputs["source_mask"][i].sum())
        read = [SOURCE_SIGNS[sign] for sign in examples.inputs["source"][i].tolist()]
        assert "".join(read) == text
        assert n == len(text)
        links = set(map(tuple, examples.right["possible"][i].nonzero().tolist()))
        assert links == {(t, at) for t, letters in enumerate(places) for at in letters}
        before = examples.inputs["target"][i].tolist()
        assert before[: len(digits) + 1] == [START, *digits]


def test_short_and_long_numbers_are_equally_frequent():
    counts = (drawn(2000, "train").targets != IGNORED).sum(dim=-1) - 1
    shares = [(counts == digits).double().mean().item() for digits in DIGITS]
    assert sum(shares) == pytest.approx(1)
    assert shares == pytest.approx([0.2] * 5, abs=0.03)


def test_all_letters_are_known_and_no_other():
    letters = {letter for number in SOME for letter in spelled(number).text}
    assert sorted(letters) == sorted(SOURCE_SIGNS[1:])


# --- how models are scored ---------------------------------------------------------------------


def perfect(examples):
    return one_hot(examples.targets.clamp(min=0), TARGET_SIGNS).float()


def test_one_wrong_sign_spoils_a_number_and_what_follows_its_stop_counts_for_nothing():
    examples = drawn()
    assert task.score(perfect(examples), examples) == 1.0
    ignored = examples.targets == IGNORED
    elsewhere = perfect(examples)
    elsewhere[ignored] = torch.eye(TARGET_SIGNS)[7]
    assert exact(elsewhere, examples).all()
    no_stop = perfect(examples)
    no_stop[examples.targets == STOP] = torch.eye(TARGET_SIGNS)[0]
    assert task.score(no_stop, examples) == 0.0


def test_gold_weights_have_no_alignment_error_and_zeros_are_not_counted():
    examples = drawn()
    right = examples.right["possible"].double()
    assert task.attention_scores(right, examples) == {"links": 0.0}
    zeros = ~examples.right["possible"].any(dim=-1, keepdim=True)
    blamed_for_zeros = torch.where(zeros, torch.eye(right.shape[-1])[3].double(), right)
    assert task.attention_scores(blamed_for_zeros, examples) == {"links": 0.0}
    monotone = torch.eye(right.shape[-1])[: right.shape[-2]].expand(NUMBER, -1, -1)
    assert task.attention_scores(monotone, examples)["links"] > 0.5
    assert 0.7 < task.uniform_scores(examples)["links"] < 0.9


def test_the_ablation_weighs_all_letters_alike_and_has_the_same_parameters():
    examples = drawn(5)
    models = {}
    for name, arm in task.arms.items():
        with seeded(0):
            models[name] = arm.build()
    with torch.no_grad():
        _logits, weights = models["uniform context"](**examples.inputs)
    mask = examples.inputs["source_mask"][:, None]
    wanted = mask / mask.sum(dim=-1, keepdim=True)
    torch.testing.assert_close(weights, wanted.expand_as(weights))
    sizes = {name: parameters(model) for name, model in models.items()}
    assert sizes["uniform context"] == sizes["Bahdanau"]
    four_times = 4 * sizes["Bahdanau"]
    assert four_times <= sizes["fixed vector, 4 × parameters"] < 1.1 * four_times


def test_the_figure_leaves_padding_out():
    figure = task.figure(place=0)
    example = task.held_out()[:1]
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == task.words(example, 0)["possible"][0][: len(labels)]
    assert labels[-1] == "stop"
    plt.close(figure)


# --- the bottleneck ----------------------------------------------------------------------------


class Oracle(torch.nn.Module):
    """Knows every number of at most three digits, and says 0 to all others."""

    def forward(self, source, target, source_mask):
        digits = target.roll(-1, dims=-1)
        digits[:, -1] = STOP
        known = (digits < 10).sum(dim=-1) <= 3
        signs = torch.where(known[:, None], digits, 0)
        return one_hot(signs, TARGET_SIGNS).float(), None


def test_the_share_is_of_all_held_out_numbers_with_so_many_digits():
    assert exact_by_digits(Oracle()) == {2: 1.0, 3: 1.0, 4: 0.0, 5: 0.0, 6: 0.0}
    assert numbers_by_digits() == {2: 18, 3: 180, 4: 300, 5: 300, 6: 300}
    letters = list(letters_by_digits().values())
    assert letters == sorted(letters)


def test_a_short_training_can_be_measured_again():
    once, again = (measured("Bahdanau", seed=3, steps=4) for _ in range(2))
    assert once == again
    assert (once.arm, once.seed, len(once.exact)) == ("Bahdanau", 3, 5)


def test_the_stated_shares_are_those_of_the_trainings_in_the_table():
    stated = {(one.arm, one.seed): one.exact for one in stated_bottleneck()}
    compared = 0
    for row in rows_of("numerals"):
        for arm, scores in (
            (row.mechanism, row.mechanism_scores),
            (row.ablation, row.ablation_scores),
        ):
            for seed, score in zip(row.seeds, scores, strict=True):
                # The table tests 1,000 draws, equally many of every length.
                assert sum(stated[arm, seed]) / 5 == pytest.approx(score, abs=0.04), (arm, seed)
                compared += 1
    assert compared == 20


def test_the_command_writes_what_is_read_back(tmp_path, monkeypatch):
    path = tmp_path / "bottleneck.json"
    numbers = tuple(0.25 * place for place in range(5))
    monkeypatch.setattr(
        "attn_course.tasks.numerals.bottleneck.measured",
        lambda arm, seed: ByDigits(arm, seed, numbers),
    )
    monkeypatch.setattr("attn_course.tasks.numerals.bottleneck._KEPT", path)
    threads = torch.get_num_threads()
    main(path)
    torch.set_num_threads(threads)
    found = stated_bottleneck()
    assert [one.seed for one in found] == [0, 1, 2, 3, 4] * 3
    assert {one.arm for one in found} == set(task.arms)
    assert {one.exact for one in found} == {numbers}


def test_the_bottleneck_is_drawn_with_a_line_per_arm():
    found = [ByDigits(arm, seed, (0.5,) * 5) for arm in ("one", "other") for seed in range(3)]
    figure = bottleneck_figure(found)
    assert [line.get_label() for line in figure.axes[0].lines] == ["one", "other"]
    plt.close(figure)
