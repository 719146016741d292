"""Hostile notebooks: none gets a point, reads, writes, or is noticed by the next one.

Each attack is graded on every rung that can be had, as root and as a user without privileges, and
each succeeds in its control. `pytest -s` prints a table of them all.
"""

import json
import os
import subprocess
import sys

import pytest

from attn_course.grading.isolation import Rung
from attn_course.grading.sandbox import Sandbox
from attn_course.inside.limits import Limits
from tests import what_changed
from tests.grading.attacks import naive_grader
from tests.grading.attacks.all_attacks import ATTACKS, FAMILIES, SAME_ON_EVERY_RUNG
from tests.grading.attacks.assault import (
    ROOT,
    World,
    faults_of,
    harm_with_a_wall_away,
    notebook,
)
from tests.grading.attacks.trusting_reader import trusting_reader
from tests.grading.available_rungs import DEMANDED, SANDBOXES, run_as_nobody, rung_or_skip
from tests.grading.in_a_sandbox import cells

LIMITS = Limits(
    call_seconds=1, submission_seconds=3, memory_mb=200, processes=16, file_mb=4, message_mb=1
)
PATIENT = Limits(call_seconds=60, submission_seconds=90, memory_mb=1000, file_mb=4)  # controls

CONTROLS = {attack.control: None for attack in ATTACKS.values() if not attack.control.naive}
CHANGED = what_changed.to_test("attacks on lower rungs", what_changed.attacks())
table: dict[str, dict[str, str]] = {name: {} for name in ATTACKS}


@pytest.fixture(scope="module", autouse=True)
def _print_table():
    yield
    columns = ["control", *SANDBOXES, "A as nobody", "D as nobody"]
    print(f"\n{'family':12}{'attack':58}{'barrier':28}" + "".join(f"{c:13}" for c in columns))
    for family, attacks in FAMILIES.items():
        for attack in attacks:
            found = (f"{table[attack.name].get(column, '–'):13}" for column in columns)
            print(f"{family:12}{attack.name:58}{attack.control.barrier:28}" + "".join(found))


@pytest.fixture(scope="module")
def world():
    with World() as made:
        yield made


@pytest.fixture(scope="module")
def sandboxes():
    """One warm sandbox at a time: attacks come sorted by rung."""
    made = {}

    def on(letter):
        if letter not in made:
            for other in made.values():
                other.close()
            made.clear()
            made[letter] = Sandbox(rung_or_skip(letter), LIMITS)
        return made[letter]

    yield on
    for other in made.values():
        other.close()


def test_there_are_many_attacks_and_each_has_a_name_of_its_own():
    assert len(ATTACKS) == sum(map(len, FAMILIES.values())) >= 60


@pytest.mark.parametrize(
    ("letter", "name"),
    [
        (letter, name)
        for letter in SANDBOXES
        for name in ATTACKS
        if letter in DEMANDED or (name in CHANGED and name not in SAME_ON_EVERY_RUNG)
    ],
)
def test_an_attack_earns_nothing_and_does_no_harm(sandboxes, world, letter, name):
    faults = faults_of(ATTACKS[name], sandboxes(letter), world, is_thorough=letter in DEMANDED)
    table[name][letter] = "harm" if faults else "stopped"
    assert faults == []


@pytest.mark.parametrize("letter", DEMANDED)
def test_the_attacks_do_no_harm_to_a_user_without_privileges(letter):
    rung_or_skip(letter)
    program = f"from tests.grading.test_attacks import print_faults; print_faults({letter!r})"
    ran = run_as_nobody(program)
    assert ran.returncode == 0, ran.stderr
    faults = json.loads(ran.stdout.splitlines()[-1])
    for name in ATTACKS:
        table[name][f"{letter} as nobody"] = "harm" if faults[name] else "stopped"
    assert {name: found for name, found in faults.items() if found} == {}


def print_faults(letter):
    """Print what should not have happened, for each attack, as the user that we are."""
    assert os.geteuid() != 0
    with World() as world, Sandbox(Rung(letter), LIMITS) as sandbox:
        found = {name: faults_of(ATTACKS[name], sandbox, world, False) for name in ATTACKS}
    print(json.dumps(found))


@pytest.mark.parametrize("control", CONTROLS, ids=lambda control: control.barrier)
def test_with_its_wall_away_an_attack_succeeds(world, control):
    if control.needs_root and os.geteuid() != 0:
        pytest.skip("the kernel refuses these to all but root")
    attacks = [attack for attack in ATTACKS.values() if attack.control == control]
    rung = Rung("E") if control.rung == "E" else rung_or_skip(control.rung)
    failed = []
    is_warm = any("torch" in attack.cell for attack in attacks)
    with Sandbox(rung, PATIENT, control.barriers, is_warm) as sandbox:
        for attack in attacks:
            if control.is_trusting:
                with trusting_reader():
                    harm = harm_with_a_wall_away(attack, sandbox, world)
            else:
                harm = harm_with_a_wall_away(attack, sandbox, world)
            table[attack.name]["control"] = "succeeds" if harm else "FAILS"
            if not harm:
                failed.append(attack.name)
    assert failed == []


def test_against_a_naive_grader_an_attack_succeeds(world):
    attacks = {
        attack.name: (
            attack.control.naive,
            [cell.source for cell in cells(*notebook(world, **{attack.attacked: attack.cell}))],
            [cell.source for cell in cells(*notebook(world, squares=attack.then))],
        )
        for attack in ATTACKS.values()
        if attack.control.naive
    }
    given = {"attacks": attacks, "target": str(world.target), "out": str(world.folder / "out")}
    ran = subprocess.run(
        [sys.executable, naive_grader.__file__],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=300,
        cwd=world.folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
    )
    world.restore()
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout.splitlines()[-1])
    for name in attacks:
        table[name]["control"] = "succeeds" if found[name] else "FAILS"
    assert [name for name in attacks if not found[name]] == []


def test_a_right_answer_passes_the_naive_grader_too_and_a_wrong_one_does_not():
    ways = [*naive_grader.WAYS, "looks at the text", "global verdict", "afterwards"]
    right, wrong = "def squares(x):\n    return x * x", "def squares(x):\n    return x + x"
    for way in set(ways) - {"pickle", "answer", "torch"}:
        assert naive_grader.graded(way, [right], [])
        try:
            passed = naive_grader.graded(way, [wrong], [])
        except AssertionError:
            passed = False
        assert not passed, way
