"""Every numbered property has a test of its name, and every mechanism something to answer to."""

from pathlib import Path

import pytest
from attn_book.taxonomy import load
from attn_book.tested import evidence, read_tests, table_rows

ROOT = Path(__file__).parents[2]
TESTS = read_tests()
LEAVES = [leaf for aspect in load(ROOT / "book" / "taxonomy.yml") for leaf in aspect.leaves()]
# How many properties the chapters have; in this numbering evaluation is chapter 6.
PROPERTIES = {0: 7, 1: 8, 2: 15, 3: 4, 4: 29, 5: 27, 6: 5, 7: 5, 8: 3, 9: 8}


@pytest.mark.parametrize(
    ("chapter", "number"), [(c, n) for c, count in PROPERTIES.items() for n in range(1, count + 1)]
)
def test_every_numbered_property_has_a_test_of_its_name(chapter, number):
    assert any((chapter, number) in test.properties for test in TESTS)


def test_every_mechanism_in_the_package_is_named_by_a_test_of_its_module():
    modules = ("scoring", "alignment", "dimensionality", "features", "queries", "nadaraya_watson")
    for leaf in LEAVES:
        of_evaluation = "evaluation" in leaf.names[0] and "explanation" not in leaf.names[0]
        if leaf.names[0].split(".")[1] in modules or of_evaluation:
            assert evidence(leaf, TESTS), leaf.label


def test_the_table_tells_what_holds_a_mechanism_to_account():
    rows = {row[0]: row[1:] for row in table_rows(LEAVES, TESTS)}
    multi_head = rows["{ref}`Multi-head attention <queries-multi-head>`"]
    assert multi_head[0] == "`queries.multi_head`"
    assert multi_head[1] == "PyTorch"
    assert multi_head[2] == "P5.9–P5.15"
    (links,) = [row for name, row in rows.items() if "evaluation-aer" in name]
    assert links[1:] == ("NLTK", "P6.1, P6.2")
