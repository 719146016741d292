"""The rehearsal of a whole course: every claim holds, and a difference that is planted shows."""

import re
import sys

import pytest

from benchmarks.grader import rehearsal
from benchmarks.grader.claim import Claim, table
from benchmarks.grader.synthetic_course import Mix, make_course

# Dask has a run of its own in test_dask_engine.py; here it would cost as much as all the rest.
WORDS = ["--learners", "12", "--stems", "06f", "08b", "--notebooks-each", "0", "--no-dask"]


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rehearsal") / "class"
    return folder, rehearsal.main([*WORDS, "--keep", str(folder)])


def test_every_claim_holds_on_a_small_class(played, capsys):
    folder, code = played
    assert code == 0
    assert rehearsal.main([*WORDS, "--keep", str(folder)]) == 0
    said = capsys.readouterr().out
    assert "grade again: done before" in said  # nothing is graded twice
    assert said.count("holds  ") == 13
    assert "FAILS" not in said


# By a part of the claim: a file that the claim rests on, and what is changed in it.
BREAKS = {
    "has a result": ("before/grades.csv", r"^carla\.abara,08b_error_rates,.*\n", ""),
    "missing from a chapter": ("steps/collect.txt", r"^Missing from 06f.*\n", ""),
    "was not handed in": ("before/grades.csv", ",nothing handed in,", ",graded,"),
    "what the policy says": ("before/grades.csv", r"0 min,0,", "0 min,1,"),
    "can't be read is blank": ("before/grades.csv", ",unreadable,", ",graded,"),
    "no hostile notebook": ("before/grades.csv", r"^([^,]*,[^,]*,)[^,]*,(\d+),", r"\1\2,\2,"),
    "get their name": ("before/results.json", '"verdict": "passed"', '"verdict": "failed"'),
    "ranks the planted": ("results/report/mistakes.csv", r"^(?!exercise,).*\n", ""),
    "planted copies": ("results/report/alike.csv", r"^(?!learner,).*\n", ""),
    "merged = one run": ("merged/canvas.csv", "Points Possible", "Possible Points"),
    "override survives": ("results/grades.csv", r",[\w.]+: Points set by", ",Points set by"),
    "whose points changed": ("results/changes.csv", r"^(?!graded,).*\n", ""),
    "comment is shown": ("results/results.json", "again on Monday", "again on Tuesday"),
}


@pytest.mark.parametrize("claim", BREAKS)
def test_a_planted_difference_fails_its_claim(played, claim, capsys):
    folder, _code = played
    name, pattern, other = BREAKS[claim]
    file = folder / name
    kept = file.read_bytes()
    changed, count = re.subn(pattern, other, kept.decode(), flags=re.MULTILINE)
    assert count, "nothing was broken"
    file.write_bytes(changed.encode())
    try:
        code = rehearsal.main([*WORDS, "--keep", str(folder)])
    finally:
        file.write_bytes(kept)
    assert code == 1
    assert any(
        line.startswith("FAILS") and claim in line for line in capsys.readouterr().out.splitlines()
    )


def test_a_folder_of_another_rehearsal_is_refused(played, capsys):
    folder, _code = played
    with pytest.raises(SystemExit):
        rehearsal.main(["--learners", "13", "--keep", str(folder)])
    assert "has another rehearsal in it" in capsys.readouterr().err


def test_a_step_that_fails_ends_it_with_what_was_said(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(rehearsal, "PROGRAM", [sys.executable, "-c", "import sys; sys.exit('no')"])
    assert rehearsal.main([*WORDS, "--keep", str(tmp_path)]) == 1
    assert "collect: exit code 1\nno" in capsys.readouterr().err


def test_a_claim_that_was_never_tried_does_not_hold():
    assert "FAILS       0  nothing" in table([Claim("nothing", 0, ())])
    assert "… and 2 more" in table([Claim("much", 12, tuple(map(str, range(12))))])


def test_learners_with_few_notebooks_leave_no_chapter_out(tmp_path):
    stems = ["01_nadaraya_watson", "06f_capsules", "08b_error_rates"]
    mix = Mix(missing=0, absent=0.1)
    planted = make_course(tmp_path, 10, 1, stems, mix, each=1)
    handed_in = {one: {path.stem for path in (tmp_path / one).glob("*")} for one in planted.kinds}
    assert set().union(*handed_in.values()) == set(stems)
    assert {len(some) for some in handed_in.values()} == {0, 1}
    assert [one for one in handed_in if not handed_in[one]] == [
        one for one, kind in planted.kinds.items() if kind == "absent"
    ]
    assert all(stem in handed_in[source] for _one, source, stem in planted.copies)
    assert planted.copies
