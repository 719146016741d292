"""The lab as a whole: the same twice to the last bit, and a report that says what it computed."""

import json
import re
from math import inf, nan

import pytest
import torch

from attn_course.evaluation.ablation import Ablation
from attn_course.evaluation.paired_comparison import Paired
from attn_course.explanation.bench import LabSettings
from attn_course.explanation.lab import run_lab
from attn_course.explanation.report import LabReport, Measured

SMALL = LabSettings(
    seeds=(0, 1),
    steps=25,
    later_steps=3,
    batch_size=16,
    examples=11,
    permutations=3,
    adversaries=2,
    adversary_steps=3,
    penalties=(0.0, 0.1),
    hidden=5,
)


@pytest.fixture(scope="module")
def report():
    return run_lab(SMALL)


def test_two_runs_are_equal_bit_for_bit(report):
    torch.rand(3)  # whatever else draws random numbers
    threads = torch.get_num_threads()
    state = torch.random.get_rng_state()
    again = run_lab(SMALL)
    assert json.dumps(again.as_dict()) == json.dumps(report.as_dict())
    assert again.text() == report.text()
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.random.get_rng_state(), state)


def test_another_seed_gives_other_numbers(report):
    from dataclasses import replace

    other = run_lab(replace(SMALL, seeds=(0, 7)))
    for name, numbers in report.measured.items():
        one, two = (r.measured[name]["permutation_tvd"].values for r in (report, other))
        assert one[0] == two[0]
        assert one[1] != two[1]
        assert len(numbers["seed_jsd"].values) == 1


def test_every_number_is_in_its_range(report):
    for numbers in report.measured.values():
        for test, measured in numbers.items():
            lowest = -1 if test.startswith("tau") else 0
            for value in measured.values:
                assert lowest - 1e-6 <= value <= 1 + 1e-6, test


def test_both_tables_have_a_column_for_each_task_and_a_row_for_each_test(report):
    first, second = report.jain_and_wallace(), report.wiegreffe_and_pinter()
    assert first[0] == second[0] == ("", "needed", "not needed")
    assert len(first) == 1 + 9
    assert len(second) == 1 + 2 + 1 + 2 * 4 + 2 * 2
    for row in (*first[1:], *second[1:]):
        assert len(row) == 3
        assert re.fullmatch(r"-?\d\.\d{3}( ± \d\.\d{3})?|–", row[1]), row


def test_text_and_html_hold_the_same_cells(report):
    text, html = report.text(), report._repr_html_()
    assert html.count("<table>") == 2
    for row in (*report.jain_and_wallace(), *report.wiegreffe_and_pinter()):
        for cell in row:
            assert cell in text
            assert cell.replace("'", "&#x27;") in html


# --- the conclusion follows the numbers -------------------------------------------------------

TESTS = ("tau_gradient", "tau_omission", "permutation_tvd", "uniform_tvd")
TESTS = (*TESTS, "adversarial_jsd", "relative_jsd", "consistent_jsd")
IMPOSED = ("imposed_linear equal", "imposed_linear base", "imposed_linear adversary")


def made_up(needed, not_needed, **changed):
    """A report in which every test has the same values, but for those `changed` where needed."""
    measured = {
        "needed": {test: Measured(needed) for test in (*TESTS, *IMPOSED)} | changed,
        "not needed": {test: Measured(not_needed) for test in TESTS},
    }
    paired = Paired((0.9, 0.9), (0.5, 0.4))
    baseline = Ablation(paired, (0, 1), (3, 3), ("with", "without"), "accuracy")
    return LabReport(measured, {"needed": baseline, "not needed": baseline})


def test_what_is_far_apart_is_called_different_and_the_rest_is_not():
    report = made_up((0.5, 0.6), (0.5, 0.6), uniform_tvd=Measured((0.9, 0.91)))
    gain, apart, alike, *_ = report.conclusion()
    assert "learned ones gain 0.450 and 0.450" in gain
    assert apart == (
        "Clearly different on the two tasks: "
        "TVD under equal weights (0.905 ± 0.007 against 0.550 ± 0.071)."
    )
    assert "TVD under permuted weights (0.550 ± 0.071 against 0.550 ± 0.071)" in alike
    nothing = made_up((0.5, 0.6), (0.5, 0.6)).conclusion()[1]
    assert nothing == "Clearly different on the two tasks: nothing."


def test_the_sentence_on_other_explanations_depends_on_whether_there_are_any():
    assert "one explanation of several" in " ".join(made_up((0.5, 0.6), (0.5, 0.6)).conclusion())
    none = made_up((0.01, 0.02), (0.5, 0.6)).conclusion()
    assert "No quite different weights were found" in " ".join(none)
    assert "do not establish which inputs matter" in none[-1]


def test_measured_numbers_say_what_they_can():
    assert str(Measured((0.5, 0.7))) == "0.600 ± 0.141"
    assert str(Measured((0.5,))) == "0.500"
    assert str(Measured(())) == "–"
    assert str(Measured((nan, nan))) == "–"
    assert not Measured((0.5,)).differs_from(Measured((9.0,)))  # one seed shows nothing
    assert Measured((0.5, 0.5)).differs_from(Measured((0.6, 0.6)))
    assert not Measured((inf, 1.0)).differs_from(Measured((0.6, 0.6)))
