"""The translation explorer in Python (in a browser: tests/browser)."""

import numpy as np
import pytest
import torch
import traitlets

from attn_course.evaluation.correctness import correctness_by_row
from attn_course.figures.explorers import TranslationExplorer
from attn_course.figures.explorers.translation import Translation
from tests.stills import exactly, numbers_in, still_of

STATES = [{"example": e, "step": s} for e, steps in ((1, 2), (2, 3), (3, 4)) for s in (1, steps)]

# Three signs of five letters: one with a sure link, one with none, one that looks elsewhere.
WEIGHTS = np.array(
    [[0.1, 0.5, 0.2, 0.1, 0.1], [0.2, 0.2, 0.3, 0.2, 0.1], [0.15, 0.15, 0.4, 0.2, 0.1]]
)
POSSIBLE = np.array([[0, 1, 1, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 1, 1]], dtype=bool)
SURE = np.array([[0, 1, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 1, 0]], dtype=bool)


def small(**changes):
    parts = {"weights": WEIGHTS, "possible": POSSIBLE, "sure": SURE} | changes
    return Translation(**({"source": "abcde", "target": "123"} | parts))


def expected(explorer):
    shares = explorer.correctness
    possible = np.array(explorer.examples[explorer.example - 1]["possible"])
    chances = correctness_by_row(np.ones(possible.shape), possible)
    return {
        "weight": exactly(explorer.weights[explorer.step - 1].tolist()),
        "letter": (explorer.weights.argmax(axis=-1) + 1).tolist(),
        "share": exactly(shares[~np.isnan(shares)].tolist()),
        "chance": exactly(chances[~np.isnan(chances)].tolist()),
        "uniform": exactly([explorer.uniform_correctness]),
        "mean": exactly([explorer.mean_correctness]),
        "aer": exactly([explorer.error_rate]),
    }


@pytest.mark.parametrize("state", STATES, ids=str)
def test_the_still_figure_shows_the_packages_numbers(state):
    explorer = TranslationExplorer(**state)
    assert numbers_in(still_of(explorer)) == expected(explorer)


@pytest.mark.parametrize("step", [1, 2, 3])
def test_so_it_does_with_sure_links(step):
    explorer = TranslationExplorer([small()], step=step)
    assert numbers_in(still_of(explorer)) == expected(explorer)


def test_the_numbers_are_those_of_a_calculation_by_hand():
    explorer = TranslationExplorer([small()])
    assert explorer.links == {(0, 1), (2, 2)}  # the second sign has no gold link, so none counts
    # Drawn 2, sure 2; one of those drawn is sure, the same one is possible.
    assert explorer.error_rate == 1 - (1 + 1) / (2 + 2)
    np.testing.assert_allclose(explorer.correctness, [0.7, np.nan, 0.3])
    assert explorer.mean_correctness == pytest.approx(0.5)
    assert explorer.uniform_correctness == pytest.approx(2 / 5)


def test_without_sure_links_the_error_rate_is_the_share_of_links_that_miss():
    explorer = TranslationExplorer([small(sure=None)])
    assert explorer.error_rate == 0.5


def test_of_equal_weights_the_first_is_the_link():
    equal = np.full_like(WEIGHTS, 0.2)
    explorer = TranslationExplorer([small(weights=equal)])
    assert explorer.links == {(0, 0), (2, 0)}
    assert numbers_in(still_of(explorer))["letter"] == [1, 1, 1]


# --- its own examples ---------------------------------------------------------------------------


def test_the_made_up_weights_say_so():
    assert "Made-up weights: no model computed them." in still_of(TranslationExplorer())
    given = still_of(TranslationExplorer([small()]))
    assert "Made-up" not in given
    told = still_of(TranslationExplorer([small()], origin="Trained for 300 steps."))
    assert "Trained for 300 steps." in told


def gold_places(explorer):
    """Return for each sign its gold letters."""
    shown = explorer.examples[explorer.example - 1]
    return [
        "".join(letter for letter, there in zip(shown["source"], row, strict=True) if there)
        for row in shown["possible"]
    ]


def test_the_gold_letters_say_the_digits():
    places = [gold_places(TranslationExplorer(example=example)) for example in (1, 2, 3)]
    assert places[0] == ["vierzig", "sieben"]
    assert places[1] == ["fünf", "", "sieben"]
    assert places[2] == ["drei", "vier", "zehn", "sech"]


def test_the_answer_to_the_question_is_true():
    """Two links cross where the later sign is said by earlier letters."""
    shown = TranslationExplorer(example=3).examples[2]
    assert "".join(shown["target"]) == "3416"
    first = np.array(shown["possible"]).argmax(axis=-1)
    crossing = {(i, j) for i in range(4) for j in range(i + 1, 4) if first[j] < first[i]}
    assert crossing == {(2, 3)}


def test_every_row_of_made_up_weights_adds_up_to_one():
    for example in (1, 2, 3):
        np.testing.assert_allclose(TranslationExplorer(example=example).weights.sum(axis=-1), 1)


# --- what it says -------------------------------------------------------------------------------


def report_of(explorer):
    still = still_of(explorer)
    text = still[still.index('<output class="report">') : still.index("</output>")]
    return text.replace("<b>", "").replace("</b>", "")


def test_the_report_names_the_letter_and_judges_the_link():
    first, last = (report_of(TranslationExplorer([small()], step=step)) for step in (1, 3))
    assert "Largest weight: 0.50, letter 2, b: a gold link." in first
    assert "Weight on gold letters: 0.70 (equal weights: 0.40)." in first
    assert "Largest weight: 0.40, letter 3, c: no gold link." in last
    assert "Weight on gold letters: 0.30 (equal weights: 0.40)." in last
    for report in (first, last):
        assert "All steps: weight on gold letters 0.50 (equal weights: 0.40)," in report
        assert "alignment error rate (AER) 0.50." in report


def test_a_sign_that_no_letter_says_is_not_judged():
    report = report_of(TranslationExplorer([small()], step=2))
    assert "Largest weight: 0.30, letter 3, c." in report
    assert "No letter says this sign" in report
    assert "gold link" not in report


# --- steps that are not written yet -------------------------------------------------------------


@pytest.mark.parametrize("step", [1, 2, 3])
def test_later_steps_are_not_shown(step):
    still = still_of(TranslationExplorer([small()], step=step))
    picture = still[still.index("<svg") : still.index("</svg>")]
    assert picture.count(">?</text>") == 3 - step
    cells = [part for part in picture.split("<rect ") if part.startswith('class="cell weight"')]
    assert len(cells) == 15
    unseen = [cell for cell in cells if 'fill-opacity="0"' in cell]
    assert unseen == cells[5 * step :]
    # One outline for each run of gold letters that is written, and one in the row of letters.
    runs = [1, 0, 1]
    assert picture.count('class="correct"') == sum(runs[:step]) + runs[step - 1]
    assert picture.count('class="certain"') == [1, 1, 2][step - 1]


def test_it_starts_when_all_is_written():
    assert [TranslationExplorer(example=example).step for example in (1, 2, 3)] == [2, 3, 4]


# --- what goes in -------------------------------------------------------------------------------


def test_padding_is_left_out():
    padded = np.pad(WEIGHTS, ((0, 2), (0, 3)))
    gold = np.pad(POSSIBLE, ((0, 2), (0, 3)))
    letters, signs = [*"abcde", "", "", ""], [*"123", "", ""]
    explorer = TranslationExplorer([Translation(letters, signs, padded, gold)])
    assert explorer.examples == TranslationExplorer([small(sure=None)]).examples


def test_tensors_go_in_as_well():
    tensors = {
        name: torch.from_numpy(array)
        for name, array in (("weights", WEIGHTS), ("possible", POSSIBLE), ("sure", SURE))
    }
    assert TranslationExplorer([small(**tensors)]).examples == (
        TranslationExplorer([small()]).examples
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weights": WEIGHTS.T}, r"weights must have a row for each target sign.*\(3, 5\)"),
        ({"possible": POSSIBLE[:2]}, "possible must have a row"),
        ({"sure": SURE[:, :4]}, "sure must have a row"),
        ({"weights": -WEIGHTS}, "at least 0"),
        ({"weights": WEIGHTS * np.nan}, "at least 0"),
        ({"weights": WEIGHTS * [[1], [0], [1]]}, "one above 0"),
        ({"sure": ~POSSIBLE}, "every sure link possible"),
        ({"possible": POSSIBLE.astype(int)}, "must be boolean"),
        ({"possible": POSSIBLE & False, "sure": None}, "no link is possible"),
    ],
)
def test_a_translation_that_makes_no_sense_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        TranslationExplorer([small(**changes)])


def test_without_a_translation_there_is_nothing_to_show():
    with pytest.raises(ValueError, match="at least one translation"):
        TranslationExplorer([])


def test_a_page_brings_its_own_question():
    explorer = TranslationExplorer(question="Where?", answer="There.")
    assert "Where?</summary><p>There.</p>" in still_of(explorer)
    with pytest.raises(ValueError, match="give both"):
        TranslationExplorer(question="Where?")


@pytest.mark.parametrize(("trait", "value"), [("example", 4), ("example", 0), ("step", 3)])
def test_what_it_cannot_show_is_refused(trait, value):
    with pytest.raises(traitlets.TraitError):
        setattr(TranslationExplorer(), trait, value)
    with pytest.raises(traitlets.TraitError):
        TranslationExplorer(**{trait: value})


def test_a_shorter_example_keeps_the_step_in_reach():
    explorer = TranslationExplorer(example=3, step=4)
    explorer.example = 1
    assert explorer.step == 2
