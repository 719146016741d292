"""How mistakes are written down: a name, its edits, and the message after a colon."""

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attn_course.authoring.edits import Edit
from attn_course.authoring.entries import STUB, VALUE, Entry, Problem, read_entries

FIRST_LINE = 101


def code(text: str) -> str:
    return textwrap.dedent(text).strip("\n")


def entries_in(text: str) -> list[Entry]:
    """Return the entries of a cell that has no problem."""
    entries, problems = read_entries(code(text), FIRST_LINE)
    assert problems == []
    return entries


def edits_in(words: str) -> tuple[Edit, ...]:
    (entry,) = entries_in(f"name: {words}\n: A message.")
    return entry.edits


def problems_in(text: str) -> list[Problem]:
    return read_entries(code(text), FIRST_LINE)[1]


# --- edits -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "edit"),
    [
        ("`a` -> `b`", Edit("replace", "a", "b")),
        ("`a`->`b`", Edit("replace", "a", "b")),
        ("`a` everywhere -> `b`", Edit("replace", "a", "b", everywhere=True)),
        ("`a` -> `b` in `other`", Edit("replace", "a", "b", of="other")),
        (
            "`a` everywhere -> `b` in `other`",
            Edit("replace", "a", "b", everywhere=True, of="other"),
        ),
        ("without `a`", Edit("delete", "a")),
        ("without `a` everywhere", Edit("delete", "a", everywhere=True)),
        ("without `a` in `other`", Edit("delete", "a", of="other")),
        ("insert `b` before `a`", Edit("before", "a", "b")),
        ("insert `b` after `a`", Edit("after", "a", "b")),
        ("insert `b` after `a` in `other`", Edit("after", "a", "b", of="other")),
        ("`f(… , a)` -> `…`", Edit("replace", "f(… , a)", "…")),
        # code that holds an arrow, a comma or the words of an edit
        ("`def f() -> int` -> `def f()`", Edit("replace", "def f() -> int", "def f()")),
        ("`a, b` -> `b, a`", Edit("replace", "a, b", "b, a")),
        ("without `without`", Edit("delete", "without")),
        ("`x in y` -> `x`", Edit("replace", "x in y", "x")),
        # code that holds a backtick, between two of them
        ("`` '`' `` -> `` 'a' ``", Edit("replace", "'`'", "'a'")),
        ("``a`` -> ``b``", Edit("replace", "a", "b")),
        ("without ``a``", Edit("delete", "a")),
    ],
)
def test_every_form_of_an_edit_is_understood(words, edit):
    assert edits_in(words) == (edit,)


def test_edits_follow_one_another_after_commas():
    assert edits_in("`a` -> `b` , without `c`,insert `d` before `e` in `other`") == (
        Edit("replace", "a", "b"),
        Edit("delete", "c"),
        Edit("before", "e", "d", of="other"),
    )


CODE = st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S", "Zs")), min_size=1)
CODE = CODE.map(lambda text: text.replace("`", "'").strip()).filter(bool)
NAMES = st.from_regex(r"[a-z_]+", fullmatch=True)


@st.composite
def written_edits(draw) -> tuple[str, Edit]:
    """Draw an edit and how it is written down."""
    kind = draw(st.sampled_from(["replace", "delete", "before", "after"]))
    old, new = draw(CODE), draw(CODE)
    everywhere = kind in ("replace", "delete") and draw(st.booleans())
    of = draw(st.just("") | NAMES)
    words = {
        "replace": f"`{old}`{' everywhere' * everywhere} -> `{new}`",
        "delete": f"without `{old}`{' everywhere' * everywhere}",
        "before": f"insert `{new}` before `{old}`",
        "after": f"insert `{new}` after `{old}`",
    }[kind]
    edit = Edit(kind, old, "" if kind == "delete" else new, everywhere, of)
    return words + (f" in `{of}`" if of else ""), edit


@given(st.lists(written_edits(), min_size=1, max_size=4))
def test_edits_are_read_as_they_are_written(written):
    words = ", ".join(words for words, _edit in written)
    assert edits_in(words) == tuple(edit for _words, edit in written)


# --- entries ---------------------------------------------------------------------------------


def test_an_entry_has_a_name_its_edits_a_message_and_a_line():
    first, second = entries_in(
        """
        columns: `axis=-1` -> `axis=-2`
        : Your columns sum to 1.

        not_scaled: without `scale *`
        : You forgot the scale.
        """
    )
    assert first == Entry(
        "columns", "Your columns sum to 1.", 101, edits=(Edit("replace", "axis=-1", "axis=-2"),)
    )
    assert (second.name, second.line, second.message) == (
        "not_scaled",
        104,
        "You forgot the scale.",
    )


def test_a_message_may_go_over_several_lines():
    (entry,) = entries_in(
        """
        columns: `axis=-1` -> `axis=-2`
        : Your columns sum to 1.
        It is the rows
          that should: note the axis.
        """
    )
    assert entry.message == "Your columns sum to 1. It is the rows that should: note the axis."


@pytest.mark.parametrize(
    ("written", "message", "section"),
    [
        ("Look there. {ref}`rows`", "Look there.", "rows"),
        ("Look there. {ref}`rows`.", "Look there.", "rows"),
        ("Look there.\n{ref}`rows-and-columns`", "Look there.", "rows-and-columns"),
        ("Look at `rows`.", "Look at `rows`.", ""),
    ],
)
def test_a_message_may_end_in_a_reference_to_a_section(written, message, section):
    (entry,) = entries_in(f"columns: the stub\n: {written}")
    assert (entry.message, entry.section) == (message, section)


def test_two_kinds_of_entries_need_no_edit():
    as_handed_out, value, odd = entries_in(
        """
        as_handed_out: the stub
        : This is as you found it.

        averaged: `[3.5, 1 / 2]`
        : You averaged the positions.

        quoted: `` "`" ``
        : You wrote a backtick.
        """
    )
    assert (as_handed_out.whole, as_handed_out.edits) == (STUB, ())
    assert (value.whole, value.edits[0].new) == (VALUE, "[3.5, 1 / 2]")
    assert (odd.whole, odd.edits[0].new) == (VALUE, '"`"')


def test_an_edit_without_new_code_takes_the_next_code_block():
    (entry, following) = entries_in(
        """
        begins: `a = 1` -> in `other`, `b` -> `c`, insert after `d`, insert before `e`
        : It begins wrongly.

          ```python
          a = 2
          if a:
              a = 3
          ```

          ```
          first

          second
          ```
        ```python
        third
        ```

        other: the stub
        : Another.
        """
    )
    assert entry.edits == (
        Edit("replace", "a = 1", "a = 2\nif a:\n    a = 3", of="other"),
        Edit("replace", "b", "c"),
        Edit("after", "d", "first\n\nsecond"),
        Edit("before", "e", "third"),
    )
    assert entry.message == "It begins wrongly."
    assert (following.name, following.line) == ("other", 119)


def test_a_code_block_belongs_to_the_entry_before_it_and_a_name_may_follow_at_once():
    first, second, third = entries_in(
        """
        first: the stub
        : Message.

        second: `a` ->
        : Message.
        ```python
        b
        ```
        third: `c` -> `d`
        : Message.
        """
    )
    assert (first.edits, second.edits[0].new, third.edits[0].new) == ((), "b", "d")


def test_spaces_at_the_ends_of_lines_do_not_matter():
    text = "first: the stub  \n: Message.  \n   \nsecond: `a` -> `b`  \n: Another.\n \n"
    entries, problems = read_entries(text, FIRST_LINE)
    assert problems == []
    assert [entry.message for entry in entries] == ["Message.", "Another."]
    assert entries[0].whole == STUB


def test_names_are_kept_as_they_are_written_and_in_order():
    names = ["zeros", "a", "Ünïcode", "x_1"]
    text = "\n\n".join(f"{name}: the stub\n: Message." for name in names)
    assert [entry.name for entry in entries_in(text)] == names


def test_an_empty_cell_has_no_entries():
    assert entries_in("") == []


# --- problems --------------------------------------------------------------------------------

NOT_UNDERSTOOD = (
    "the edits of 'a' are not understood: `{words}`. Write `old` -> `new`, without `old`, "
    "insert `new` before `old` (or after), the stub, or one `value`"
)


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        pytest.param(
            "a-b: the stub\n: Message.",
            101,
            "'a-b' can't be a name: use letters, digits and underscores",
            id="a name that Python can't use",
        ),
        pytest.param(
            "1st: the stub\n: Message.",
            101,
            "'1st' can't be a name: use letters, digits and underscores",
            id="a name that begins with a digit",
        ),
        pytest.param(
            "a: the stub\n: Message.\n\na: `b` -> `c`\n: Message.",
            104,
            "'a' is already the name of the entry on line 101",
            id="a name twice",
        ),
        pytest.param(
            "a: the stub\n: Message.\n\nb the stub\n: Another.",
            104,
            "after a blank line `name: …` or a code block must follow, not 'b the stub'",
            id="no colon after a name",
        ),
        pytest.param(
            "b the stub\n: Another.\n\na: the stub\n: Message.",
            101,
            "after a blank line `name: …` or a code block must follow, not 'b the stub'",
            id="no colon after the first name",
        ),
        pytest.param(
            "a: the stub\n: Message.\n\nMore of the message.",
            104,
            "after a blank line `name: …` or a code block must follow, not 'More of the message.'",
            id="a message with a blank line in it",
        ),
        pytest.param(
            "a: the stub\nMessage.",
            102,
            "the message of 'a' must follow here, after a colon: `: …`",
            id="no colon before the message",
        ),
        pytest.param(
            "a: the stub\n:Message.",
            102,
            "the message of 'a' must follow here, after a colon: `: …`",
            id="no space after the colon",
        ),
        pytest.param(
            "a: the stub\n: Message.\nb: the stub\n: Another.",
            104,
            "a second message for 'a': leave a blank line before the next name",
            id="no blank line between entries",
        ),
        pytest.param(
            "a: the stub",
            101,
            "'a' has no message: it follows on the next line, after a colon",
            id="no message",
        ),
        pytest.param(
            "a: the stub\n: {ref}`rows`",
            101,
            "'a' has no message: it follows on the next line, after a colon",
            id="a message that is only a reference",
        ),
        pytest.param(
            "a: the stub\n: See {ref}`rows` for more.",
            101,
            "a reference may only end the message of 'a': {ref}`label`",
            id="a reference inside the message",
        ),
        pytest.param(
            "a: the stub\n: See. {ref}`the rows <rows>`",
            101,
            "a reference may only end the message of 'a': {ref}`label`",
            id="a reference with a text of its own",
        ),
        pytest.param(
            "a: the stub\n: Message.\n\n```python\nx = 1",
            104,
            "this code block is not closed",
            id="a code block without its end",
        ),
        pytest.param(
            "```python\nx = 1\n```\n\na: the stub\n: Message.",
            101,
            "a code block before the first name",
            id="a code block in front",
        ),
        pytest.param(
            "a: `b` ->\n: Message.",
            101,
            "'a' wants a code block after its message: an edit has no new code",
            id="no code for a replacement",
        ),
        pytest.param(
            "a: insert before `b`, `c` ->\n: Message.\n\n```python\nx = 1\n```",
            101,
            "'a' wants a code block after its message: an edit has no new code",
            id="code for one of two edits",
        ),
        *(
            pytest.param(
                f"a: {words}\n: Message.\n\n```python\nx = 1\n```",
                101,
                "no edit of 'a' wants a code block: end one in ->",
                id=f"a code block too many after {words}",
            )
            for words in ("the stub", "`[1, 2]`", "`b` -> `c`", "without `b`")
        ),
        *(
            pytest.param(
                f"a: {words}\n: Message.",
                101,
                NOT_UNDERSTOOD.format(words=words),
                id=f"edits: {words}",
            )
            for words in (
                "",
                "swap `b` and `c`",
                "b -> c",
                "`b` -> c",
                "`b` => `c`",
                "`b` -> `c` and `d` -> `e`",
                "`b` -> `c` `d` -> `e`",
                "`b` everywhere",
                "without b",
                "insert `b` near `c`",
                "insert `b` before `c` everywhere",
                "`b` -> `c` in other",
                "`b -> `c`",
                "The stub",
            )
        ),
    ],
)
def test_each_slip_has_its_sentence(text, line, sentence):
    assert problems_in(text) == [Problem(line, sentence)]


def test_a_message_after_a_blank_line_is_noticed_from_both_sides():
    assert problems_in("a: the stub\n\n: Message.") == [
        Problem(101, "'a' has no message: it follows on the next line, after a colon"),
        Problem(103, "after a blank line `name: …` or a code block must follow, not ': Message.'"),
    ]


def test_a_code_block_without_its_end_costs_only_its_own_entry():
    names = ["a", "b", "c"]
    text = "\n\n".join(f"{name}: the stub\n: Message." for name in names)
    entries, problems = read_entries(f"{text}\n\n```\nx = 1", FIRST_LINE)
    assert [entry.name for entry in entries] == ["a", "b"]
    assert problems == [Problem(110, "this code block is not closed")]


def test_a_long_line_is_cut_in_a_sentence():
    (problem,) = problems_in("a long line " * 20)
    assert problem.sentence.endswith(" a long …'")
    assert len(problem.sentence) < 130


def test_all_problems_of_a_cell_are_told_in_order_of_lines():
    text = """
    1st: the stub
    : Message.

    good: the stub
    : Message.

    swapped: swap `b` and `c`
    : Message.

    forgotten the stub
    : Message.

    good: the stub
    Message.

    also_good: `a` -> `b`
    : Message.
    """
    entries, problems = read_entries(code(text), FIRST_LINE)
    assert [entry.name for entry in entries] == ["good", "also_good"]
    assert [problem.line for problem in problems] == [101, 107, 110, 113, 114]
    assert [problem.sentence.split()[0] for problem in problems] == [
        "'1st'",
        "the",
        "after",
        "'good'",
        "the",
    ]


def test_a_name_of_an_earlier_cell_is_taken():
    earlier = [Entry("a", "Message.", 7)]
    entries, problems = read_entries("a: the stub\n: Message.", FIRST_LINE, earlier)
    assert entries == []
    assert problems == [Problem(101, "'a' is already the name of the entry on line 7")]


@given(st.text(st.sampled_from("ab :`-> \n{ref},in")))
def test_whatever_is_written_is_read_or_told_as_a_problem(text):
    entries, problems = read_entries(text, FIRST_LINE)
    assert entries or problems or not text.strip()
    last = FIRST_LINE + text.count("\n")
    assert all(FIRST_LINE <= one.line <= last for one in [*entries, *problems])
    assert problems == sorted(problems, key=lambda problem: problem.line)
