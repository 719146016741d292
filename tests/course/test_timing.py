"""The build knows how long pages take."""

from attn_book.timing import as_lines, overruns


def test_the_longest_page_comes_first_and_the_sum_last():
    lines = as_lines({"short": 1.0, "long": 20.0})
    assert [line.split() for line in lines[1:]] == [
        ["20.0", "s", "long"],
        ["1.0", "s", "short"],
        ["21.0", "s", "in", "all"],
    ]


def test_a_page_within_its_budget_is_no_overrun():
    assert overruns({"page": 30.0}) == []


def test_a_page_over_its_budget_is_told_and_fails_only_at_twice_that():
    (told,) = overruns({"page": 31.0, "other": 5.0})
    assert told.sentence.startswith("the page page takes 31 s to execute, but its budget is 30 s")
    assert not told.is_too_long
    (told,) = overruns({"page": 61.0})
    assert told.is_too_long


def test_the_whole_book_has_a_budget_too():
    (told,) = overruns({f"page {number}": 29.0 for number in range(21)})
    assert told.sentence.startswith("the book takes 609 s")
    assert not told.is_too_long
    (told,) = overruns({f"page {number}": 29.0 for number in range(42)})
    assert told.is_too_long
