"""Still pictures: data from JavaScript becomes markup, and nothing in it can break the page."""

import subprocess
import sys
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attn_course.figures.explorers import SoftmaxExplorer, page, still
from tests.stills import still_of


class Reader(HTMLParser):
    """Reads markup back into data."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open = [["root", {}, []]]

    def handle_starttag(self, tag, attributes):
        self.open.append([tag, dict(attributes), []])
        self.open[-2][2].append(self.open[-1])

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, text):
        self.open[-1][2].append(text)


def read_back(markup):
    reader = Reader()
    reader.feed(markup)
    reader.close()
    assert len(reader.open) == 1
    return reader.open[0][2]


@pytest.mark.parametrize(
    ("text", "written"),
    [("<b>", "&lt;b&gt;"), ("R&D", "R&amp;D"), ("&lt;", "&amp;lt;"), ('"', '"'), ("'", "'")],
)
def test_text_is_escaped(text, written):
    assert still.markup(["p", {}, [text]]) == f"<p>{written}</p>"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ('"', "&quot;"),
        ("'", "&#x27;"),
        ("<&>", "&lt;&amp;&gt;"),
        ('" onclick="', "&quot; onclick=&quot;"),
    ],
)
def test_attributes_are_escaped(text, written):
    assert still.markup(["p", {"title": text}, []]) == f'<p title="{written}"></p>'


texts = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1)


@given(texts, texts)
def test_whatever_the_words_are_a_parser_reads_them_back(text, title):
    assert read_back(still.markup(["p", {"title": title}, [text]])) == [
        ["p", {"title": title}, [text]]
    ]


@pytest.mark.parametrize("name", ["p onclick", "p>", "", 'a"b', "a/b"])
def test_a_name_that_is_none_is_refused(name):
    with pytest.raises(ValueError, match="name of a tag or an attribute"):
        still.markup([name, {}, []])
    with pytest.raises(ValueError, match="name of a tag or an attribute"):
        still.markup(["p", {name: "1"}, []])


def test_a_child_that_is_nothing_is_refused():
    with pytest.raises(ValueError, match="is a word missing"):
        still.markup(["p", {}, [None]])


def test_an_element_without_content_has_no_end_tag():
    assert still.markup(["p", {}, ["a", ["br", {}, []], "b"]]) == "<p>a<br>b</p>"


def test_numbers_are_written_by_javascript():
    small = SoftmaxExplorer([0.0, 20.0], temperature=1.0)
    assert f'<data value="{small.weights[0]:.14g}'[:24] in still_of(small)
    assert "e-9" in still_of(small)  # Python would write e-09


def test_the_values_and_the_code_of_a_figure_stay_as_they_are_when_it_is_drawn():
    explorer = SoftmaxExplorer(temperature=0.3)
    sleeping = explorer.to_html()
    drawn = page.redrawn(sleeping, lambda name, values: f"<p>{name} {values['temperature']}</p>")
    assert drawn.startswith('<div data-explorer="softmax"><p>softmax 0.3</p><script')
    assert page.values_in(drawn) == page.values_in(sleeping)
    assert drawn.endswith(page.code(["softmax"]))


def test_without_the_engine_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "py_mini_racer", None)
    explorer = SoftmaxExplorer()
    with pytest.raises(still.NoEngineError, match="mini-racer, which is not installed"):
        still.draw(explorer.name, explorer.state())


def test_a_notebook_needs_no_engine():
    code = (
        "import sys; sys.modules['py_mini_racer'] = None\n"
        "from attn_course.figures.explorers import SoftmaxExplorer\n"
        "data, _ = SoftmaxExplorer()._repr_mimebundle_()\n"
        "print(sorted(data), 'This figure moves' in data['text/html'])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stdout.strip().endswith("'text/html', 'text/plain'] True"), run.stderr
