"""What is true of every explorer; each has a test of its own as well."""

import json
import re

import pytest

from attn_course.figures import explorers
from attn_course.figures.explorers import page
from tests.stills import numbers_in, still_of


@pytest.fixture(params=explorers.__all__)
def make(request):
    kind = getattr(explorers, request.param)
    if request.param == "NadarayaWatsonExplorer":  # the only one that has no example of its own
        return lambda: kind([1.0, 2.0, 3.0], [0.0, 2.0, 1.0])
    return kind


def test_it_offers_a_widget_and_a_page(make):
    data, _ = make()._repr_mimebundle_()
    assert set(data) == {"text/plain", "text/html", "application/vnd.jupyter.widget-view+json"}


def test_the_page_is_the_same_at_every_run(make):
    first, second = (make()._repr_mimebundle_()[0] for _ in range(2))
    assert first["text/html"] == second["text/html"]
    assert first["text/plain"] == second["text/plain"]


def test_without_javascript_the_page_says_a_sentence(make):
    shown = re.sub("<(script|style).*?</(script|style)>", "", make().to_html(), flags=re.DOTALL)
    assert "This figure moves. It needs JavaScript, or a notebook that is running." in shown


def test_its_text_names_what_moves(make):
    explorer = make()
    assert list(explorer.moving())
    assert all(
        f"{trait}={getattr(explorer, trait)!r}" in repr(explorer) for trait in explorer.moving()
    )


def test_the_page_carries_the_whole_state(make):
    explorer = make()
    ((name, values),) = page.values_in(explorer.to_html())
    assert name == explorer.name
    assert values == json.loads(json.dumps(explorer.state()))
    assert {*values["moves"], *values["fixed"]} == set(values)
    assert values["moves"] == list(explorer.moving())


def test_every_word_its_script_asks_for_is_there(make):
    explorer = make()
    script = page.module_file(explorer.name).read_text(encoding="utf-8")
    asked = re.findall(r"\bwords\.(\w+)", script)
    assert asked
    assert set(asked) <= set(explorer.words)


def test_its_words_are_escaped(make):
    explorer = make()
    explorer.words = {key: '<u>"&' for key in explorer.words}
    shown = explorer.to_html() + still_of(explorer)
    assert "<u>" not in shown
    assert "&lt;u&gt;" in shown


def test_its_module_is_one_text(make):
    text = page.module_text(make().name)
    assert "import " not in text
    assert text.count("export ") == 1


def test_the_still_figure_has_a_picture_and_numbers(make):
    still = still_of(make())
    assert re.search(r'<svg [^>]*role="img" aria-label="[^"]+"', still)
    assert numbers_in(still)
    assert "NaN" not in still
    assert "undefined" not in still


def test_it_asks_one_question_and_folds_the_answer(make):
    explorer = make()
    question, answer = explorer.words["question"], explorer.words["answer"]
    assert question.endswith("?")
    still = still_of(explorer)
    asked = f"<summary><b>Predict first:</b> {question}</summary><p>{answer}</p></details>"
    assert still.count(asked) == still.count('<details class="predict">') == 1
