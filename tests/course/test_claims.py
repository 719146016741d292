"""The page "What is tested" says what the marks of tests say, and every mark names what exists."""

import subprocess
import sys
from functools import reduce
from importlib import import_module
from pathlib import Path

import pytest
from attn_book.claims import (
    Claims,
    Property,
    load_claims,
    load_properties,
    mechanism_rows,
    property_blocks,
)
from attn_book.taxonomy import Leaf, load

ROOT = Path(__file__).parents[2]
CLAIMS = load_claims(ROOT / "book")
PROPERTIES = load_properties(ROOT / "book")
LEAVES = [leaf for aspect in load(ROOT / "book" / "taxonomy.yml") for leaf in aspect.leaves()]


def exists(dotted):
    """Tell whether the package has this name: a module and what is in it, or a method of that."""
    module, *parts = dotted.split(".")
    start = import_module(f"attn_course.{module}")
    if module == "definitions":
        start = import_module(f"attn_course.definitions.{parts.pop(0)}")
    try:
        reduce(getattr, parts, start)
    except AttributeError:
        return False
    return True


# --- the files ---------------------------------------------------------------------------------


def run_tool(*arguments, tool=ROOT / "tools" / "collect_claims.py"):
    command = [sys.executable, tool, *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=tool.parents[1])


def test_the_file_is_what_the_marks_of_the_tests_say():
    done = run_tool("--check")
    assert (done.returncode, done.stderr) == (0, "")


def test_every_property_has_a_test_and_every_test_a_property_that_exists():
    assert {one.number for one in PROPERTIES} == set(CLAIMS.proves)


def test_every_property_is_of_mechanisms_that_exist():
    labels = {leaf.label for leaf in LEAVES}
    assert [one.number for one in PROPERTIES if not one.of or not labels.issuperset(one.of)] == []


def test_every_name_that_agrees_and_every_loop_is_in_the_package():
    loops = {peer for peers in CLAIMS.agrees.values() for peer in peers if "definitions." in peer}
    assert [name for name in sorted({*CLAIMS.agrees, *loops}) if not exists(name)] == []


# --- the tool, on a small project --------------------------------------------------------------


@pytest.fixture
def project(tmp_path):
    """Return a function that makes a project with one test file and runs the tool in it."""
    tool = tmp_path / "tools" / "collect_claims.py"
    for folder in ("tools", "tests", "book"):
        (tmp_path / folder).mkdir()
    tool.write_bytes((ROOT / "tools" / "collect_claims.py").read_bytes())

    def run(source, *arguments):
        (tmp_path / "tests" / "test_one.py").write_text("import pytest\n\n" + source)
        return run_tool(*arguments, tool=tool)

    return run


TWO = """
@pytest.mark.proves("P1.2")
@pytest.mark.agrees("scoring.dot", "PyTorch", "definitions.scoring.dot")
@pytest.mark.parametrize("n", [1, 2])
def test_dot(n):
    raise NotImplementedError

def test_without_a_mark():
    raise NotImplementedError
"""


def test_marks_become_the_file_without_a_test_being_run(project, tmp_path):
    done = project(TWO)
    assert (done.returncode, done.stderr) == (0, "")
    test = ["tests/test_one.py::test_dot"]
    wanted = {"scoring.dot": {"PyTorch": test, "definitions.scoring.dot": test}}
    assert load_claims(tmp_path / "book") == Claims(wanted, {"P1.2": test})


def test_a_mark_that_the_file_does_not_have_makes_it_stale(project, tmp_path):
    (tmp_path / "book" / "claims.json").write_text('{"agrees": {}, "proves": {}}')
    done = project(TWO, "--check")
    assert done.returncode == 1
    assert "Run `make claims`" in done.stderr


FAULTY_MARKS = """
@pytest.mark.agrees("scoring.dot", "Pytorch")
@pytest.mark.agrees("scoring.dot")
@pytest.mark.proves()
def test_dot():
    raise NotImplementedError
"""


def test_marks_that_say_nothing_are_refused(project):
    done = project(FAULTY_MARKS)
    assert done.returncode == 1
    assert "but the peer is 'Pytorch'. Correct it, or add the library" in done.stderr
    assert "agrees wants a public name and at least one peer" in done.stderr
    assert "proves wants one property, such as 'P5.9'" in done.stderr


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def test_dot(:", "tests/test_one.py: this is not Python"),
        (TWO.replace("test_dot(n)", "dot(n)"), "line 4: a claim must be a decorator of a test"),
        (TWO.replace('"P1.2"', "LAST"), "test_dot: a claim is read without being run"),
    ],
    ids=["not Python", "not on a test", "not a plain string"],
)
def test_a_claim_that_cannot_be_read_is_not_left_out(project, source, message):
    done = project(source)
    assert done.returncode == 1
    assert message in done.stderr


# --- the page ----------------------------------------------------------------------------------


def leaf(label, *names):
    names = tuple(f"attn_course.{name}" for name in names)
    return Leaf(label, label.title(), "?", "", "", names, "written", "01")


def test_a_mechanism_has_the_agreements_of_its_names_and_methods_and_no_other():
    agrees = {
        "queries.Heads": {"PyTorch": ["t::a"], "definitions.queries.heads": ["t::b"]},
        "queries.Heads.penalty": {"PyTorch": ["t::c"], "SciPy": ["t::c"]},
        "queries.HeadsOfAnother": {"entmax": ["t::d"]},
    }
    properties = [Property("P5.9", ("heads",), "True."), Property("P5.10", ("hops",), "True.")]
    leaves = [leaf("heads", "queries.Heads"), leaf("hops", "queries.hops")]
    assert mechanism_rows(leaves, Claims(agrees, {}), properties) == [
        (
            "{ref}`Heads <heads>`",
            "`queries.heads`",
            "PyTorch, SciPy (`penalty`)",
            "{ref}`P5.9 <property-p5-9>`",
        ),
        ("{ref}`Hops <hops>`", "–", "–", "{ref}`P5.10 <property-p5-10>`"),
        ("`queries.HeadsOfAnother`", "–", "entmax", "–"),
    ]


def test_a_property_is_shown_with_its_sentence_and_its_tests():
    one = Property("P5.9", ("heads",), "One head is plain.")
    (block,) = property_blocks([one], Claims({}, {"P5.9": ["tests/test_q.py::test_one_head"]}))
    assert block == (
        "(property-p5-9)=\n**P5.9.** One head is plain.\n\n  - one head (`tests/test_q.py`)"
    )


def test_multi_grained_co_attention_claims_no_library():
    rows = {row[0]: row[1:] for row in mechanism_rows(LEAVES, CLAIMS, PROPERTIES)}
    loops, libraries, _ = rows["{ref}`Multi-grained co-attention <features-multi-grained>`"]
    assert loops == "`features.interactive`, `features.parallel`"
    assert libraries == "–"
