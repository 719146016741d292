"""The rung is found by trying, and every rung is attacked before it is trusted."""

import os
import platform
import sys

import pytest

from attn_course.grading import isolation_trial
from attn_course.grading.isolation import Rung
from attn_course.grading.isolation_trial import NoSandbox, attacks_that_succeed, find_rung
from attn_course.grading.launch import InfrastructureFault
from attn_course.grading.sandbox import Sandbox
from attn_course.inside import landlock
from attn_course.inside.limits import NAMESPACES, Barriers, Limits
from tests.grading.available_rungs import SANDBOXES, run_as_nobody, rung_or_skip, why_not
from tests.grading.in_a_sandbox import value_of

EVERY_ATTACK = {
    *("read", "write", "other_process", "connect", "fork", "execute", "signal", "trace", "memory")
}


@pytest.mark.parametrize("letter", SANDBOXES)
def test_no_attack_succeeds_in_a_sandbox(letter):
    assert attacks_that_succeed(rung_or_skip(letter)) == []


def test_every_attack_succeeds_where_there_is_no_sandbox():
    # Not the reference: it is not even there.
    assert set(attacks_that_succeed(Rung("E"))) == EVERY_ATTACK


WITHOUT = {
    "landlock": (Barriers(landlock=False), "read"),
    "seccomp": (Barriers(seccomp=False), "fork"),
    "memory": (Barriers(resources=("cpu",)), "memory"),
}


@pytest.mark.parametrize(
    ("letter", "wall"),
    [
        *(("D", "landlock"), ("D", "seccomp"), ("D", "memory"), ("C", "landlock")),
        *(("C", "seccomp"), ("B", "seccomp"), ("A", "seccomp"), ("A", "memory")),
    ],
)
def test_with_a_wall_away_an_attack_succeeds(letter, wall):
    barriers, harm = WITHOUT[wall]
    assert harm in attacks_that_succeed(rung_or_skip(letter), barriers)


def test_the_network_is_cut_off_twice():
    rung = rung_or_skip("A")
    same_network = tuple(kind for kind in NAMESPACES if kind != "net")
    assert "connect" not in attacks_that_succeed(rung, Barriers(namespaces=same_network))
    assert "connect" not in attacks_that_succeed(rung, Barriers(seccomp=False, landlock=False))
    open_network = Barriers(namespaces=same_network, seccomp=False, landlock=False)
    assert "connect" in attacks_that_succeed(rung, open_network)


def test_the_rungs_hold_for_a_user_without_privileges_too():
    program = """
import sys
from attn_course.grading.isolation import Rung
from attn_course.grading.isolation_trial import _why_not, attacks_that_succeed
import os
assert os.geteuid() != 0
for letter in "ABCD":
    print(letter, _why_not(letter) or "holds")
print("E", *attacks_that_succeed(Rung("E")))
"""
    done = run_as_nobody(program)
    assert done.returncode == 0, done.stderr
    lines = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert set(lines["E"].split()) == EVERY_ATTACK
    assert lines["D"] == "holds"
    if os.geteuid() == 0 and not why_not("A"):
        assert lines == {"A": "holds", "B": "holds", "C": "holds"} | lines


def given_reasons(monkeypatch, **reasons):
    monkeypatch.setattr(isolation_trial, "_why_not", lambda letter: reasons.get(letter, ""))


def test_the_strongest_rung_is_taken(monkeypatch):
    given_reasons(monkeypatch)
    rung = find_rung("auto")
    assert rung.letter == "A"
    assert rung.is_sandbox
    assert rung.why == f"Isolation: rung A ({rung.means})."


@pytest.mark.parametrize("letter", "BCDE")
def test_a_weaker_rung_says_why_no_stronger_one(monkeypatch, letter):
    stronger = "ABCDE"[: "ABCDE".index(letter)]
    given_reasons(monkeypatch, **{one: f"no {one} here" for one in stronger})
    rung = find_rung("auto")
    assert rung.letter == letter
    assert rung.is_sandbox == (letter != "E")
    assert all(f"{one}: no {one} here" in rung.why for one in stronger)
    assert "\n" not in rung.why


@pytest.mark.parametrize("letter", SANDBOXES)
def test_the_line_says_where_other_files_can_be_seen_though_not_opened(monkeypatch, letter):
    given_reasons(monkeypatch, **dict.fromkeys("ABCD"[: "ABCD".index(letter)], "not here"))
    line = find_rung("auto").why
    sentence = (
        "Without bubblewrap a submission can find out which files there are on this computer, how "
        "large and how old (stat), and enter folders (chdir), though it can open none of them."
    )
    assert line.endswith(sentence) == (letter in "CD")


# What Landlock lets through: it refuses to open a file or to list a folder, and no more.
LOOKS = """
def f(secret, folder):
    import os
    seen = []
    for name, attempt in (
        ("stat", lambda: os.stat(secret).st_size),
        ("chdir", lambda: os.chdir(folder)),
        ("list", lambda: os.listdir(folder)),
        ("open", lambda: open(secret).read()),
    ):
        try:
            attempt()
            seen.append(name)
        except OSError:
            pass
    return seen
"""


@pytest.mark.parametrize("letter", SANDBOXES)
def test_other_files_can_be_seen_just_where_the_line_says_so(letter, tmp_path):
    rung = rung_or_skip(letter)
    secret = tmp_path / "secret"
    secret.write_text("a secret")
    for folder in (tmp_path, *tmp_path.parents):
        if os.stat(folder).st_uid == os.geteuid() and "pytest" in str(folder):
            os.chmod(folder, 0o755)  # only the sandbox may prevent it
    with Sandbox(rung, Limits(), is_warm=False) as sandbox:
        seen = value_of(sandbox, LOOKS, str(secret), str(tmp_path))
    assert seen == ([] if rung.has_bubblewrap else ["stat", "chdir"])


def test_strict_wants_namespaces_or_nothing(monkeypatch):
    given_reasons(monkeypatch, A="refused", B="refused")
    assert find_rung("strict").letter == "C"
    given_reasons(monkeypatch, A="refused", B="refused", C="refused")
    with pytest.raises(NoSandbox, match="C: refused"):
        find_rung("strict")


def test_none_is_no_sandbox_and_says_so():
    rung = find_rung("none")
    assert (rung.letter, rung.is_sandbox) == ("E", False)
    assert "NOT a sandbox" in rung.why


def test_a_rung_that_does_not_start_is_passed_over_with_its_reason(monkeypatch):
    def refuse(_rung):
        raise InfrastructureFault("bwrap: no permission")

    monkeypatch.setattr(isolation_trial, "attacks_that_succeed", refuse)
    assert "no permission" in isolation_trial._why_not("A") or not sys.platform.startswith("linux")


def test_a_rung_that_an_attack_passes_is_passed_over_with_its_name(monkeypatch):
    monkeypatch.setattr(isolation_trial, "attacks_that_succeed", lambda _rung: ["read"])
    assert "read" in isolation_trial._why_not("A") or not sys.platform.startswith("linux")


@pytest.mark.parametrize(
    ("target", "name", "value", "reason"),
    [
        (sys, "platform", "darwin", "Linux"),
        (platform, "machine", lambda: "riscv64", "machine"),
        (landlock, "version", lambda: 0, "Landlock"),
    ],
)
def test_another_system_has_no_sandbox(monkeypatch, target, name, value, reason):
    monkeypatch.setattr(target, name, value)
    rung = find_rung("auto")
    assert rung.letter == "E"
    assert reason in rung.why
