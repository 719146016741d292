"""`attn-course translate`: trained once, kept as weights alone, and clear about what it can't."""

import io
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from attn_course.cli import main
from attn_course.tasks.dates import BahdanauDates
from attn_course.tasks.dates.material import source_signs
from attn_course.tasks.dates.translator import (
    Translation,
    Translator,
    TranslatorProblem,
    keep,
    kept_translator,
    readable,
    trained_translator,
)
from attn_course.tasks.training import seeded

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def untrained():
    with seeded(0):
        return Translator(BahdanauDates().model())


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the working folder of a learner."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def trainings(monkeypatch, folder):
    """Return a list that grows with every training, which has three steps here."""
    monkeypatch.setattr(BahdanauDates, "tested_on", 20)
    begun = []

    def short(progress):
        begun.append(progress)
        return trained_translator(steps=3)

    monkeypatch.setattr("attn_course.tasks.dates.command.trained_translator", short)
    return begun


@pytest.fixture
def run(capsys):
    """Return a function that runs the command and returns its exit code and what it printed."""

    def run_command(*words):
        code = main(["translate", *words])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run_command


def same_day(translator, text, language):
    """Write a date that exists, wherever this model would have written nonsense."""
    weights = torch.full((10, 1 + len(text)), 1 / (1 + len(text)))
    return Translation(text, language, "2024-03-05", weights)


# --- the file ----------------------------------------------------------------------------------


def test_what_is_kept_translates_as_before(untrained, folder):
    keep(untrained, folder / "model.pt")
    again = kept_translator(folder / "model.pt")
    for text, language in (("March 5, 2024", "en"), ("5. März 2024", "de")):
        before, after = untrained.translate(text, language), again.translate(text, language)
        assert before.iso == after.iso
        torch.testing.assert_close(before.weights, after.weights, rtol=0, atol=0)


class Boom:
    def __reduce__(self):
        return os.mkdir, ("executed",)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"my diary\n", id="text"),
        pytest.param(pickle.dumps(Boom()), id="code"),
        pytest.param({"weights": torch.zeros(3)}, id="other weights"),
        pytest.param(
            {
                "kind": "attn-course date translator, 1",
                "signs": list(source_signs()),
                "weights": {"W_a": torch.zeros(2, 2)},
            },
            id="wrong shapes",
        ),
    ],
)
def test_a_file_with_something_else_is_neither_executed_nor_overwritten(
    content, folder, trainings, run
):
    path = folder / "mine"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        torch.save(content, path)
    before = path.read_bytes()
    for more in ((), ("--fresh",)):
        code, out, err = run("5/3/24", "--language", "en", "--model", "mine", *more)
        assert (code, out) == (1, "")
        assert "mine is not a date translator of this course" in err
    assert path.read_bytes() == before
    assert not trainings
    assert not (folder / "executed").exists()


def test_weights_for_other_characters_are_replaced_on_demand_only(folder, trainings, run):
    content = {"kind": "attn-course date translator, 1", "signs": ["", "a"], "weights": {}}
    torch.save(content, folder / "old.pt")
    code, _out, err = run("5/3/24", "--language", "en", "--model", "old.pt")
    assert code == 1
    assert "Train it anew with --fresh" in err
    run("5/3/24", "--language", "en", "--model", "old.pt", "--fresh")
    assert trainings == [True]
    assert kept_translator(folder / "old.pt")


def test_a_place_that_can_not_be_written_is_named_before_any_training(folder, trainings, run):
    (folder / "file").write_text("in the way")
    code, _out, err = run("5/3/24", "--language", "en", "--model", "file/model.pt")
    assert code == 1
    assert "file/model.pt" in err
    assert not trainings


# --- the command -------------------------------------------------------------------------------


def test_it_trains_once_and_keeps_the_weights_in_the_working_folder(
    folder, trainings, run, monkeypatch
):
    monkeypatch.setattr(Translator, "translate", same_day)
    code, out, err = run("March 5, 2024", "--language", "en")
    assert (code, out) == (0, "2024-03-05\n")
    assert "Training a translator" in err
    assert "of held-out dates exactly right" in err
    assert [path.name for path in (folder / ".attn-course").iterdir()] == ["date_translator.pt"]
    code, out, err = run("Mar 5, 2024", "3/5/24", "--language", "EN")
    assert (code, out, err) == (0, "2024-03-05\n2024-03-05\n", "")
    assert trainings == [True]  # with a progress bar
    run("3/5/24", "--language", "en", "--fresh")
    assert len(trainings) == 2


def test_without_a_date_lines_are_read_and_a_bad_one_does_not_end_it(
    folder, untrained, run, monkeypatch
):
    keep(untrained, folder / "model.pt")
    monkeypatch.setattr(sys, "stdin", io.StringIO("3/5/24\n\n3♥5\n3/6/24\n"))
    code, out, err = run("--language", "en", "--model", "model.pt")
    assert code == 1
    assert len(out.splitlines()) == 2
    assert "'3♥5' has characters that occur in none of the dates" in err
    assert "♥" in err


def test_a_day_that_there_is_not_is_shown_and_doubted(folder, untrained, run, monkeypatch):
    keep(untrained, folder / "model.pt")

    def thirtieth_of_february(_self, text, language):
        return Translation(text, language, "2024-02-30", torch.zeros(10, 1 + len(text)))

    monkeypatch.setattr(Translator, "translate", thirtieth_of_february)
    code, out, err = run("Feb 29, 2024", "--language", "en", "--model", "model.pt")
    assert (code, out) == (1, "2024-02-30\n")
    assert "There is no day 2024-02-30" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["3/5/24"], "Say in which language the dates are written"),
        (["3/5/24", "--language", "ep"], "has not learned the language 'ep'; there are: cs, da,"),
        (["3/5/24", "--language", "jpn"], "has not learned the language 'jpn'"),
    ],
)
def test_without_a_language_that_it_knows_nothing_is_trained(words, said, trainings, run):
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert said in err
    assert not trainings


@pytest.mark.parametrize("text", ["", "  ", "5 ☃ 24"])
def test_a_date_that_can_not_be_read_is_refused_before_any_training(text, trainings, run):
    code, out, _err = run("3/5/24", text, "--language", "en")
    assert (code, out) == (1, "")
    assert not trainings


def test_without_babel_the_command_says_what_to_install():
    code = (
        "import sys; sys.modules['babel'] = None; from attn_course.cli import main;"
        "raise SystemExit(main(['translate', '3/5/24', '--language', 'en']))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert ran.returncode == 1
    assert ran.stderr.strip().endswith("pip install 'attn-course[dates]'")
    assert "Traceback" not in ran.stderr


# --- what is read and shown --------------------------------------------------------------------


def test_accents_and_spaces_are_read_as_people_type_them():
    assert readable("  5. Ma\u0308rz\u00a02024\n") == "5. März 2024"
    with pytest.raises(TranslatorProblem, match="the text is empty"):
        readable(" ")


def test_the_language_is_read_first(untrained):
    numbers = {sign: number for number, sign in enumerate(source_signs())}
    source = torch.tensor([[numbers["de"], *(numbers[sign] for sign in "5.3.24")]])
    _words, weights = untrained.model.greedy(source, 11, 11, 10)
    found = untrained.translate("5.3.24", "de")
    torch.testing.assert_close(found.weights, weights[0, : len(found.iso)])
    assert not torch.allclose(found.weights[0], untrained.translate("5.3.24", "fr").weights[0])


def test_each_digit_shows_the_characters_that_it_looked_at():
    text = "5 Mai 24"
    weights = torch.zeros(10, 9)
    weights[range(4), [0, 0, 7, 8]] = 1.0  # the century comes from nowhere, hence the language
    weights[5:7, 3:6] = 1 / 3
    weights[8, 1] = weights[8, 2] = 0.5
    weights[9, 1] = 1.0
    shown = Translation(text, "de", "2024-05-05", weights).looked_at().splitlines()
    assert shown == [
        "    5 Mai 24",
        "  2 ········  (the language)",
        "  0 ········  (the language)",
        "  2 ······2·",
        "  4 ·······4",
        "  0 ··Mai···",
        "  5 ··Mai···",
        "  0 5␣······",
        "  5 5·······",
    ]
