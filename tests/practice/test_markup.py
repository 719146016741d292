"""HTML from templates: text is escaped once, and nothing that shows a learner's words goes by."""

import ast
import re
from pathlib import Path

import pytest

from attn_course.practice.markup import Markup, fill, join

PACKAGE = Path(__file__).parents[2] / "attn_course"
TAG = re.compile(r"(?<!\?P)<[a-z/!]")  # and not a named group of a regular expression


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "\"' onload='x", "&lt;", "$name"])
def test_text_in_a_template_is_escaped_and_can_not_leave_an_attribute(text):
    shown = fill('<p title="$name">$name</p>', name=text)
    inside = re.fullmatch(r'<p title="([^"<>]*)">([^<>]*)</p>', shown)
    assert inside
    assert inside[1] == inside[2]
    back = inside[1].replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"')
    assert back.replace("&#x27;", "'").replace("&amp;", "&") == text


def test_markup_is_not_escaped_again_and_parts_are_joined_by_the_same_rule():
    bold = fill("<b>$word</b>", word="a & b")
    assert fill("<p>$bold</p>", bold=bold) == "<p><b>a &amp; b</b></p>"
    assert join([bold, "<b>"], between="<") == "<b>a &amp; b</b>&lt;&lt;b&gt;"
    assert join([bold, bold], between=Markup("<br>")).count("<br>") == 1


def test_what_is_cut_or_added_to_markup_is_text_again():
    assert (
        fill("$part", part=fill("<b>$word</b>", word="a") + "<i>")
        == "&lt;b&gt;a&lt;/b&gt;&lt;i&gt;"
    )


def test_a_name_without_a_part_is_an_error():
    with pytest.raises(KeyError, match="missing"):
        fill("<p>$missing</p>")


def tags_in_f_strings(path):
    """Yield the lines of a module where an f-string has a tag, which escapes nothing."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            texts = [one.value for one in node.values if isinstance(one, ast.Constant)]
            if any(TAG.search(text) for text in texts):
                yield f"{path.relative_to(PACKAGE)}:{node.lineno}"


def test_whatever_shows_the_words_of_a_learner_builds_html_from_templates():
    modules = [*(PACKAGE / "practice").glob("*.py"), *(PACKAGE / "grading").glob("*.py")]
    assert [place for path in modules for place in tags_in_f_strings(path)] == []
