"""A mistake as an edit of the solution: what is found, and what is put in its place."""

import ast
import textwrap
from functools import cache

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from attn_course.authoring.edits import (
    ANYTHING,
    Edit,
    EditProblem,
    edited,
    find,
    first_line,
    matches,
    tokens_of,
)
from attn_course.practice.exercises import chapters


def found(old: str, text: str) -> list[str]:
    return [text[start:end] for start, end in find(old, text)]


def dump(program: str) -> str:
    return ast.dump(ast.parse(program))


def code(text: str) -> str:
    return textwrap.dedent(text).strip("\n")


# --- what is found ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "text", "wanted"),
    [
        # spaces, line breaks and comments do not matter, in what is sought and where
        ("x**2", "y = x ** 2", ["x ** 2"]),
        ("x ** 2", "y = x**2", ["x**2"]),
        ("f(a, b)", "f(\n    a,  # the first\n    b)", ["f(\n    a,  # the first\n    b)"]),
        ("f(  # call it\n a)", "f(a)", ["f(a)"]),
        ("a + b", "a + \\\n    b", ["a + \\\n    b"]),
        ("a b", "a  # a comment with b in it\nb", ["a  # a comment with b in it\nb"]),
        ("b", "a  # b", []),
        # brackets may be left open
        ("-0.5 * (w", "scores = -0.5 * (w * u) ** 2", ["-0.5 * (w"]),
        (") ** 2", "scores = -0.5 * (w * u) ** 2", [") ** 2"]),
        # a name is one token
        ("w", "weights = w * wide", ["w"]),
        ("max", "x.max(max_length, maximum)", ["max"]),
        ("é", "été = é", ["é"]),
        # a number is one token, a sign before it another
        ("1", "x[1] + 10 + 1.5 + 21 + 1e5 + x1 + 0x1 + 1_000 + 1j", ["1"]),
        ("1", "axis=-1", ["1"]),
        ("axis=1", "f(axis=-1, axis=1)", ["axis=1"]),
        (".5", "0.5 + .5", [".5"]),
        ("0", "0x0 + 0b0 + 0o0 + 0", ["0"]),
        ("1e-9", "1e-9 + 1", ["1e-9"]),
        # a sign of two letters is one token
        ("*", "a ** b * c", ["*"]),
        ("=", "a == b <= c != d = e", ["="]),
        ("-", "def f() -> int: return a - b", ["-"]),
        ("/", "a // b / c", ["/"]),
        ("<", "a << b < c", ["<"]),
        (".", "x[...].T", ["."]),
        (":", "(x := y): z", [":"]),
        # a string is one token, and what is in it is not looked at
        ("a", "'a' + \"a\" + a", ["a"]),
        ("'a b'", "'a  b' + 'a b'", ["'a b'"]),
        ("'it'", "\"'it'\" + 'it'", ["'it'"]),
        (r"'\''", r"'a' + '\''", [r"'\''"]),
        ('"""a\nb"""', 'x = """a\nb"""', ['"""a\nb"""']),
        ("# no comment", "'# no comment'", []),
        ("x", "'# ' + x", ["x"]),
        ('f"{x}"', 'f"{x}" + "{x}"', ['f"{x}"']),
        ("f", 'f"{x}"', []),
        ('rb"a"', 'rb"a" + Rb"a"', ['rb"a"']),
        # … stands for anything, as little as possible
        ("f(…)", "f(a) + f(b, c)", ["f(a)", "f(b, c)"]),
        ("f(…)", "f()", ["f()"]),
        ("a … c", "a b c b c", ["a b c"]),
        ("a … b … c", "a c b b c c", ["a c b b c"]),
        ("a … z", "a b c", []),
        ("a …", "a b", ["a"]),
        ("x = … y", "x = (1 +\n  2)\ny = 3", ["x = (1 +\n  2)\ny"]),
        # places do not overlap, and nothing is nowhere
        ("a a", "a a a a a", ["a a", "a a"]),
        ("", "a b", []),
        ("…", "a b", []),
        ("a", "", []),
    ],
)
def test_find_compares_token_by_token(old, text, wanted):
    assert found(old, text) == wanted


@pytest.mark.parametrize(
    ("pattern", "text", "matching"),
    [
        ("f(a, b)", "f( a,b )", True),
        ("f(a)", "f(a) + 1", False),
        ("f(…)", "f(a) + f(b)", True),
        ("f(…)", "f(a) + 1", False),
        ("g(…)", "f(a)", False),
        ("f(…) + 2", "f(a) + 1", False),
        ("f(…, …)", "f(a)", False),
        ("f(…, …)", "f(a, b)", True),
        ("f(a)", "f(…)", False),
        ("… + 1", "f(a) + 1", True),
        ("f(…, 1)", "f(g(1, 1), 2)", False),
        ("f(…, 1)", "f(g(1, 1), 1)", True),
        ("…", "", True),
    ],
)
def test_matches_compares_the_whole_text(pattern, text, matching):
    assert matches(pattern, text) is matching


# --- what is put in its place ----------------------------------------------------------------

ANSWER = code(
    '''
    def weights(scores, w):
        """Return weights, w times sharper."""
        scores = w * scores  # w: how sharp
        if scores.ndim > 1:
            best = scores.max(axis=-1, keepdims=True)
            scores = scores - best
        exponentials = np.exp(
            scores,  # all of them
        )
        return exponentials / exponentials.sum(axis=-1, keepdims=True)
    '''
)


def changed(*edits: Edit, text: str = ANSWER) -> list[str]:
    """Return the lines that are new after some edits; Python can read the program."""
    made = edited(text, edits, "weights")
    ast.parse(made)
    before = text.split("\n")
    return [line for line in made.split("\n") if line not in before]


def test_a_piece_is_replaced_where_it_occurs_once():
    assert changed(Edit("replace", "w * scores", "scores / w")) == [
        "    scores = scores / w  # w: how sharp"
    ]


def test_a_piece_that_occurs_several_times_is_replaced_everywhere_when_asked():
    assert changed(Edit("replace", "axis=-1", "axis=-2", everywhere=True)) == [
        "        best = scores.max(axis=-2, keepdims=True)",
        "    return exponentials / exponentials.sum(axis=-2, keepdims=True)",
    ]


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (
            Edit("replace", "axis=-1", "axis=-2"),
            "`axis=-1` occurs 2 times in the solution of 'weights': "
            "give more of the line, or say `axis=-1` everywhere",
        ),
        (
            Edit("replace", "w * scores", "scores", everywhere=True),
            "`w * scores` occurs only once in the solution of 'weights': leave out `everywhere`",
        ),
        (
            Edit("replace", "scores = scores - worst", "scores"),
            "there is no `scores = scores - worst` in the solution of 'weights'; "
            "most like it: scores = scores - best",
        ),
        (
            Edit("delete", "axis=0"),
            "there is no `axis=0` in the solution of 'weights'; most like it: ",
        ),
        (
            Edit("before", "scores", "first = w"),
            "`scores` occurs 8 times in the solution of 'weights': ",
        ),
    ],
)
def test_an_edit_that_fits_nowhere_or_too_often_is_a_problem(edit, sentence):
    with pytest.raises(EditProblem) as problem:
        edited(ANSWER, [edit], "weights")
    assert str(problem.value).startswith(sentence)


def test_a_missing_piece_of_an_empty_solution_has_nothing_like_it():
    with pytest.raises(EditProblem, match=r"^there is no `x` in the solution of 'y'; .*: –$"):
        edited("", [Edit("delete", "x")], "y")


def test_a_block_takes_the_indentation_of_its_place():
    block = "if w > 1:\n    scores = w * scores\n\nscores = scores + 0"
    assert changed(Edit("replace", "scores = w * scores", block)) == [
        "    if w > 1:",
        "        scores = w * scores",
        "",
        "    scores = scores + 0  # w: how sharp",
    ]
    # A block that is indented itself, with blank lines around it, is the same block.
    loose = f"\n{textwrap.indent(block, '  ')}\n"
    assert changed(Edit("replace", "scores = scores - best", loose)) == [
        "        if w > 1:",
        "            scores = w * scores",
        "",
        "        scores = scores + 0",
    ]


def test_a_piece_over_several_lines_is_replaced_as_one():
    assert changed(Edit("replace", "np.exp(scores,)", "np.exp(scores - 1)")) == [
        "    exponentials = np.exp(scores - 1)"
    ]


def test_anything_reaches_over_lines():
    edit = Edit("replace", "best = … - best", "scores = scores - scores.max()")
    assert changed(edit) == ["        scores = scores - scores.max()"]


def test_two_words_do_not_become_one():
    assert edited("x = a*b", [Edit("replace", "*", "or")], "x") == "x = a or b"
    assert edited("x = not(a)", [Edit("replace", "(a)", "b")], "x") == "x = not b"
    # Nor do they where something between them is left out.
    assert edited("x = a*b", [Edit("delete", "*")], "x") == "x = a b"


@pytest.mark.parametrize(
    ("old", "wanted"),
    [
        # a whole statement becomes `pass`, its comment stays
        ("scores = w * scores", ["    pass  # w: how sharp"]),
        ("return exponentials … keepdims=True)", ["    pass"]),
        ("exponentials = np.exp(scores,)", ["    pass"]),
        ("if scores.ndim > 1: … - best", ["    pass"]),
        # so do several together
        ("best = … scores = scores - best", ["        pass"]),
        # a part of a line goes without a trace
        ("/ exponentials.sum(axis=-1, keepdims=True)", ["    return exponentials "]),
        ("w *", ["    scores =  scores  # w: how sharp"]),
    ],
)
def test_a_deleted_statement_becomes_pass_and_a_deleted_part_nothing(old, wanted):
    assert changed(Edit("delete", old)) == wanted


def test_a_deleted_line_inside_a_statement_is_no_statement():
    text = "x = f(\n    a,\n    b,\n)"
    assert edited(text, [Edit("delete", "a,")], "x") == "x = f(\n    \n    b,\n)"


def test_the_first_part_of_a_line_is_no_statement():
    assert edited("x = f(a)", [Edit("delete", "x = f")], "x") == "(a)"


def test_a_deleted_decorator_is_no_statement_and_a_decorated_function_is_one():
    text = "@cache\ndef f(x):\n    return x\n\n\ny = 1"
    assert dump(edited(text, [Edit("delete", "@cache")], "f")) == dump(
        "def f(x):\n    return x\ny = 1"
    )
    assert dump(edited(text, [Edit("delete", "@cache … return x")], "f")) == dump("pass\ny = 1")


def test_the_only_statement_of_a_block_may_be_deleted():
    text = "for x in y:\n    print(x)"
    assert edited(text, [Edit("delete", "print(x)")], "x") == "for x in y:\n    pass"


@pytest.mark.parametrize(
    ("kind", "old", "after_line", "indent"),
    [
        # inside nested blocks
        ("before", "best = scores.max", "    if scores.ndim > 1:", 8),
        ("after", "best = scores.max", "        best = scores.max(axis=-1, keepdims=True)", 8),
        ("before", "scores - best", "        best = scores.max(axis=-1, keepdims=True)", 8),
        ("after", "scores - best", "        scores = scores - best", 8),
        # a loop or a condition is one statement
        ("before", "if scores.ndim", "    scores = w * scores  # w: how sharp", 4),
        ("after", "if scores.ndim", "        scores = scores - best", 4),
        # a statement over several lines
        ("before", "np.exp", "        scores = scores - best", 4),
        ("after", "np.exp", "    )", 4),
        # a comment stays on its line
        ("after", "w * scores", "    scores = w * scores  # w: how sharp", 4),
        # the first and the last line of a function, and of the answer
        ("before", "scores = w", '    """Return weights, w times sharper."""', 4),
        (
            "after",
            "return exponentials",
            "    return exponentials / exponentials.sum(axis=-1, keepdims=True)",
            4,
        ),
        ("before", "def weights", None, 0),
        (
            "after",
            "def weights",
            "    return exponentials / exponentials.sum(axis=-1, keepdims=True)",
            0,
        ),
        # what begins in one statement and ends in another
        ("before", "best = … - best", "    if scores.ndim > 1:", 8),
        ("after", "if scores.ndim … - best", "        scores = scores - best", 8),
    ],
)
def test_an_inserted_line_takes_the_indentation_of_the_statement_at_its_place(
    kind, old, after_line, indent
):
    made = edited(ANSWER, [Edit(kind, old, "first = w\nif w:\n    pass")], "weights").split("\n")
    at = made.index(" " * indent + "first = w")
    assert made[at + 1 : at + 3] == [" " * indent + "if w:", " " * (indent + 4) + "pass"]
    assert made[:at] + made[at + 3 :] == ANSWER.split("\n")
    assert made[at - 1] == after_line if after_line else at == 0
    ast.parse("\n".join(made))


def test_a_line_goes_before_or_after_a_decorated_function_as_a_whole():
    text = code(
        """
        class Layer:
            @property
            @cache
            def width(self):
                return 1

            def other(self):
                return 2
        """
    )
    for old in ("@property", "@cache", "def width"):
        made = edited(text, [Edit("before", old, "depth = 3")], "Layer").split("\n")
        assert made[1:3] == ["    depth = 3", "    @property"]
    made = edited(text, [Edit("after", "def width", "depth = 3")], "Layer").split("\n")
    assert made[4:6] == ["        return 1", "    depth = 3"]


def test_a_line_near_a_block_on_one_line_takes_the_indentation_of_the_line():
    text = "def f(x):\n    if x: return 1\n    return 2"
    for kind, at in (("before", 1), ("after", 2)):
        made = edited(text, [Edit(kind, "return 1", "x = 3")], "f").split("\n")
        assert made[at] == "    x = 3"
        ast.parse("\n".join(made))


def test_blank_lines_around_what_is_inserted_go():
    edit = Edit("after", "y", "\n\n  z = 2\n\n  z = 3\n\n")
    assert edited("if x:\n  y = 1\nw = 0", [edit], "x") == (
        "if x:\n  y = 1\n  z = 2\n\n  z = 3\nw = 0"
    )


def test_indentation_by_tabs_is_kept():
    text = "if x:\n\ty = 1"
    assert edited(text, [Edit("after", "y", "z = 2")], "x") == "if x:\n\ty = 1\n\tz = 2"


# --- several edits together ------------------------------------------------------------------


def test_all_edits_apply_to_the_unedited_text():
    text = "x = a + b"
    edits = [Edit("replace", "a", "b"), Edit("replace", "b", "a")]
    assert edited(text, edits, "x") == "x = b + a"
    # What one edit puts in, another neither finds nor counts.
    edits = [Edit("replace", "a", "b + b"), Edit("replace", "b", "c")]
    assert edited(text, edits, "x") == "x = b + b + c"
    with pytest.raises(EditProblem, match="there is no `c`"):
        edited(text, [Edit("replace", "a", "c"), Edit("replace", "c", "d")], "x")


def test_the_order_of_edits_does_not_matter_unless_they_insert_at_one_place():
    edits = [
        Edit("replace", "w * scores", "scores"),
        Edit("delete", "scores = scores - best"),
        Edit("after", "best = scores.max", "best = best + 1"),
        Edit("before", "return", "print(w)"),
    ]
    assert edited(ANSWER, edits, "weights") == edited(ANSWER, edits[::-1], "weights")
    for kind in ("before", "after"):
        edits = [Edit(kind, "x = 1", "a"), Edit(kind, "x = 1", "b")]
        made = edited("x = 1", edits, "x").split("\n")
        assert [line for line in made if line != "x = 1"] == ["a", "b"]


@pytest.mark.parametrize(
    ("edits", "at"),
    [
        ([Edit("replace", "w * scores", "1"), Edit("replace", "scores = w", "2")], "w"),
        ([Edit("replace", "w * scores", "1"), Edit("delete", "w * scores")], "w * scores"),
        ([Edit("delete", "if … - best"), Edit("before", "best = scores.max", "x")], "best = "),
        ([Edit("replace", "scores", "s", everywhere=True), Edit("delete", "* scores")], "scores"),
    ],
)
def test_edits_that_overlap_are_a_problem(edits, at):
    for order in (edits, edits[::-1]):
        with pytest.raises(EditProblem) as problem:
            edited(ANSWER, order, "weights")
        assert str(problem.value).startswith(f"two edits overlap at `{at}")
        assert str(problem.value).endswith("`: write them as one")


def test_edits_may_touch():
    edits = [Edit("replace", "a +", "b -"), Edit("replace", "c", "d")]
    assert edited("x = a +c", edits, "x") == "x = b -d"


# --- on every solution of the course ---------------------------------------------------------


@cache
def answers() -> list[str]:
    every = [one for chapter in chapters().values() for one in chapter.exercises.values()]
    return [one.solution.answer for one in every if one.solution]


programs = st.deferred(lambda: st.sampled_from(answers()))


@st.composite
def pieces(draw, one_line: bool = False):
    """Draw a program and a piece of it, from the start of a token to the end of another."""
    text = draw(programs)
    tokens = tokens_of(text)
    first = draw(st.integers(0, len(tokens) - 1))
    last = draw(st.integers(first, min(first + 40, len(tokens) - 1)))
    start, end = tokens[first].start, tokens[last].end
    assume(not one_line or "\n" not in text[start:end])
    return text, start, end


@st.composite
def statements(draw):
    """Draw a program and a statement of it whose text occurs once."""
    text = draw(programs)
    every = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt)]
    node = draw(st.sampled_from(every))
    lines = text.split("\n")[first_line(node) - 1 : node.end_lineno]
    piece = "\n".join(lines)
    assume(not piece.lstrip().startswith("elif") and len(find(piece, text)) == 1)
    return text, first_line(node), piece


def test_the_course_has_programs_to_try():
    assert len(answers()) > 30


@given(pieces())
def test_every_piece_of_a_program_is_found_in_it(drawn):
    text, start, end = drawn
    places = find(text[start:end], text)
    assert any(one < end and start < other for one, other in places)
    wanted = [token.text for token in tokens_of(text[start:end])]
    for one, other in places:
        assert [token.text for token in tokens_of(text[one:other])] == wanted


@given(pieces(), st.lists(st.sampled_from([" ", "  ", "\n", " # a note, w = 1\n", " \\\n"])))
def test_a_piece_is_found_however_it_is_laid_out(drawn, gaps):
    text, start, end = drawn
    tokens = tokens_of(text[start:end])
    spaces = (gaps + [" "] * len(tokens))[: len(tokens)]
    laid_out = "".join(token.text + space for token, space in zip(tokens, spaces, strict=True))
    assert find(laid_out, text) == find(text[start:end], text)


@given(pieces())
def test_a_piece_with_its_middle_left_out_is_found_where_it_first_ends(drawn):
    text, start, end = drawn
    tokens = tokens_of(text[start:end])
    assume(len(tokens) > 1)
    first, last = tokens[0].text, tokens[-1].text
    places = find(f"{first} {ANYTHING} {last}", text)
    assert places
    for one, other in places:
        within = [token.text for token in tokens_of(text[one:other])]
        assert within[0] == first
        assert within.index(last, 1) == len(within) - 1


@given(programs)
def test_no_edits_leave_a_program_as_it_is(text):
    assert edited(text, [], "it") == text


@given(pieces(one_line=True))
def test_a_piece_replaced_there_and_back_gives_the_same_program(drawn):
    text, start, end = drawn
    piece = text[start:end]
    assume(len(find(piece, text)) == 1)
    there = edited(text, [Edit("replace", piece, "a_name_of_no_solution")], "it")
    assert there != text
    back = edited(there, [Edit("replace", "a_name_of_no_solution", piece)], "it")
    assert [token.text for token in tokens_of(back)] == [token.text for token in tokens_of(text)]
    assert dump(back) == dump(text)


@given(programs, st.data())
def test_a_name_exchanged_everywhere_and_back_gives_the_same_program(text, data):
    names = sorted({node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)})
    assume(names)
    name = data.draw(st.sampled_from(names))
    everywhere = len(find(name, text)) > 1
    there = edited(text, [Edit("replace", name, "another", everywhere)], "it")
    assert dump(there) != dump(text)
    assert edited(there, [Edit("replace", "another", name, everywhere)], "it") == text


@given(statements(), st.sampled_from(["before", "after"]))
def test_a_line_inserted_at_any_statement_comes_next_to_it(drawn, kind):
    text, line, piece = drawn
    made = edited(text, [Edit(kind, piece, "inserted()")], "it").split("\n")
    (at,) = (number for number, one in enumerate(made) if one.strip() == "inserted()")
    count = piece.count("\n") + 1
    assert at == line - 1 if kind == "before" else at == line - 1 + count
    assert made[:at] + made[at + 1 :] == text.split("\n")
    ast.parse("\n".join(made))


@given(statements())
def test_any_statement_deleted_leaves_a_program_with_pass(drawn):
    text, line, piece = drawn
    made = edited(text, [Edit("delete", piece)], "it").split("\n")
    assert made[line - 1].split("#")[0].strip() == "pass"
    assert len(made) == len(text.split("\n")) - piece.count("\n")
    ast.parse("\n".join(made))
