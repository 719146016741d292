"""What holds for every explorer of chapters 2 to 4 alike; each has a test of its own besides."""

import json
import re

import pytest

from attn_course.figures import explorers
from attn_course.figures.explorers import page

# The one of chapter 1 needs points, and is looked at in test_figures.py.
NAMES = [name for name in explorers.__all__ if name != "NadarayaWatsonExplorer"]


@pytest.fixture(params=NAMES)
def make(request):
    return getattr(explorers, request.param)


def test_it_offers_a_widget_and_a_page(make):
    data, _ = make()._repr_mimebundle_()
    assert set(data) == {"text/plain", "text/html", "application/vnd.jupyter.widget-view+json"}


def test_the_page_is_the_same_at_every_run(make):
    first, second = (make()._repr_mimebundle_()[0] for _ in range(2))
    assert first["text/html"] == second["text/html"]
    assert first["text/plain"] == second["text/plain"]


def test_its_text_names_what_moves(make):
    explorer = make()
    assert list(explorer.moving())
    assert all(
        f"{trait}={getattr(explorer, trait)!r}" in repr(explorer) for trait in explorer.moving()
    )


def test_the_page_carries_the_whole_state(make):
    explorer = make()
    found = re.search(r"data-explorer-values[^>]*>(.*?)</script>", explorer.to_html(), re.DOTALL)
    assert json.loads(found[1]) == json.loads(json.dumps(explorer.state()))
    assert set(explorer.moving()) <= set(explorer.state())


def test_what_its_script_reads_is_in_its_state(make):
    explorer = make()
    script = page.module_file(explorer.name).read_text(encoding="utf-8")
    for constant in ("MOVING", "FIXED"):
        listed = re.search(rf"const {constant} = \[(.*?)\];", script, re.DOTALL)[1]
        assert set(re.findall(r'"(\w+)"', listed)) <= set(explorer.state())


def test_every_word_its_script_asks_for_is_there(make):
    explorer = make()
    script = page.module_file(explorer.name).read_text(encoding="utf-8")
    asked = re.findall(r"\bwords\.(\w+)", script)
    assert asked
    assert set(asked) <= set(explorer.words)


def test_its_words_are_escaped(make):
    explorer = make()
    explorer.words = {key: '<b>"&' for key in explorer.words}
    assert "<b>" not in explorer.to_html()


def test_its_module_is_one_text(make):
    text = page.module_text(make.name)
    assert "import " not in text
    assert text.count("export ") == 1


def test_the_still_figure_has_a_picture_and_numbers(make):
    still = make().still()
    assert re.search(r'<svg [^>]*role="img" aria-label="[^"]+"', still)
    assert re.search(r'<data value="[^"]+" data-name="\w+"', still)
    assert "nan" not in still.lower().replace("nance", "")
