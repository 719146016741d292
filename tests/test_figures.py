"""Plots and explorers, as far as they show without a browser (the rest: tests/browser)."""

import base64
import io
import itertools
import json
import re
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import nbformat
import numpy as np
import pytest
import torch
import traitlets
from hypothesis import given
from hypothesis import strategies as st

from attn_course import figures, nadaraya_watson
from attn_course.figures import explorers, heat_map, highlight, over_image, phone, use_style
from attn_course.figures.explorers import NadarayaWatsonExplorer, page
from attn_course.figures.plots import MOST_NUMBERED_CELLS, PALETTE, RIGHT
from tests.stills import exactly, numbers_in, still_of

ROOT = Path(__file__).parents[1]


@pytest.fixture
def plt():
    """Return pyplot without a screen; close every figure afterwards and undo the style."""
    with mpl.rc_context():
        mpl.use("agg")
        import matplotlib.pyplot as plt

        yield plt
        plt.close("all")


@pytest.fixture
def points():
    return nadaraya_watson.noisy_curve(np.random.default_rng(3), n=23)


def softmax_rows(shape, seed=0):
    heights = np.exp(np.random.default_rng(seed).normal(size=shape))
    return heights / heights.sum(axis=-1, keepdims=True)


# --- the heat map -------------------------------------------------------------------------------


def test_rows_are_queries_and_columns_are_keys(plt):
    weights = softmax_rows((3, 5))
    ax = heat_map(weights, queries=list("abc"), keys=list("vwxyz"))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Keys", "Queries")
    assert [label.get_text() for label in ax.get_xticklabels()] == list("vwxyz")
    assert [label.get_text() for label in ax.get_yticklabels()] == list("abc")
    np.testing.assert_array_equal(ax.images[0].get_array(), weights)


def test_the_colours_start_at_no_weight(plt):
    image = heat_map(softmax_rows((3, 5)) + 0.5).images[0]
    assert image.norm.vmin == 0
    assert image.cmap(image.norm(0.0))[:3] == pytest.approx((1, 1, 1), abs=0.05)


def test_more_weight_is_darker(plt):
    image = heat_map(softmax_rows((3, 5))).images[0]
    brightness = image.cmap(np.linspace(0, 1, 50))[:, :3] @ [0.299, 0.587, 0.114]
    assert (np.diff(brightness) < 0).all()


def test_weights_that_are_all_zero_are_white(plt):
    image = heat_map(np.zeros((2, 3))).images[0]
    assert image.norm(0.0) == 0
    assert image.norm.vmax > 0


def test_tensors_of_every_precision_draw_the_same_map(plt):
    weights = torch.tensor([[0.25, 0.75], [0.5, 0.5]], requires_grad=True)
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        drawn = heat_map(weights.to(dtype)).images[0].get_array()
        np.testing.assert_array_equal(drawn, [[0.25, 0.75], [0.5, 0.5]])


def test_the_right_attention_is_outlined_and_nothing_else(plt):
    right = np.zeros((3, 5))
    right[0, 4] = 1
    right[2, 1] = 0.3
    ax = heat_map(softmax_rows((3, 5)), right=right)
    centres = {(round(box.get_center()[1]), round(box.get_center()[0])) for box in ax.patches}
    assert centres == {(0, 4), (2, 1)}


def test_few_cells_show_their_numbers_and_many_do_not(plt):
    few = heat_map(np.full((2, 3), 1 / 3))
    assert [text.get_text() for text in few.texts] == ["0.33"] * 6
    many = heat_map(np.full((2, MOST_NUMBERED_CELLS), 0.5))
    assert not many.texts


def test_a_number_that_is_missing_is_shown_as_missing(plt):
    ax = heat_map(np.array([[np.nan, 1.0]]))
    assert ax.texts[0].get_text() == "nan"
    bad = ax.images[0].cmap(np.ma.masked)
    assert max(bad[:3]) - min(bad[:3]) < 0.05  # grey, unlike every weight above 0


def test_a_heat_map_can_be_drawn_into_a_figure_of_your_own(plt):
    _, (left, right) = plt.subplots(1, 2)
    assert heat_map(softmax_rows((2, 3)), ax=right) is right
    assert not left.images


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"weights": np.ones((2, 3, 5))}, r"weights are \(2, 3, 5\).*weights\[0\]"),
        ({"weights": np.ones(3)}, r"weights are \(3,\)"),
        ({"weights": np.ones((0, 3))}, "at least one query"),
        ({"weights": np.ones((2, 3)), "queries": list("abc")}, "2 queries, but queries has 3"),
        ({"weights": np.ones((2, 3)), "keys": list("ab")}, "3 keys, but keys has 2"),
        ({"weights": np.ones((2, 3)), "right": np.ones((3, 2))}, r"\(2, 3\), but is \(3, 2\)"),
    ],
)
def test_what_does_not_fit_gets_a_sentence(plt, arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        heat_map(**arguments)


def test_the_style_is_the_courses(plt):
    use_style()
    assert plt.rcParams["axes.prop_cycle"].by_key()["color"] == list(PALETTE)
    assert plt.rcParams["figure.facecolor"] == "white"


def test_naming_the_figures_loads_neither_matplotlib_nor_widgets():
    code = (
        "import sys, attn_course.figures.plots, attn_course.figures.explorers.page;"
        "print({'matplotlib', 'anywidget', 'ipywidgets', 'torch'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert run.stdout.strip() == "set()", run.stderr


def test_an_unknown_figure_is_an_attribute_error():
    with pytest.raises(AttributeError, match="pie_chart"):
        _ = figures.pie_chart
    with pytest.raises(AttributeError, match="PieChart"):
        _ = figures.explorers.PieChart
    assert set(dir(figures)) == set(figures.__all__)


# --- the same figure for a phone ------------------------------------------------------------------


def three_panels(plt):
    use_style()
    figure, axes = plt.subplots(1, 3, figsize=(6.6, 2.5), sharey=True)
    for number, ax in enumerate(axes):
        ax.plot([0, 1], [number, 2])
        ax.set_title(f"panel {number}")
    axes[0].set_ylabel("height")
    return figure


def places(figure):
    figure.draw_without_rendering()
    return [ax.get_position().bounds for ax in figure.axes]


def test_panels_in_a_row_stand_in_a_column_on_a_phone(plt):
    slim = phone.narrow(three_panels(plt))
    boxes = places(slim)
    assert slim.get_size_inches()[0] == phone.WIDTH
    assert len({round(left, 3) for left, _, _, _ in boxes}) == 1
    assert all(one[1] > two[1] + two[3] for one, two in itertools.pairwise(boxes))
    assert [ax.get_title() for ax in slim.axes] == ["panel 0", "panel 1", "panel 2"]


def test_a_panel_has_its_own_labels_where_its_neighbour_had_them(plt):
    wide = three_panels(plt)
    slim = phone.narrow(wide)
    seen = [bool(ax.yaxis.get_tick_params()["labelleft"]) for ax in (*wide.axes, *slim.axes)]
    assert seen == [True, False, False, True, True, True]
    assert [ax.get_ylabel() for ax in slim.axes] == ["height"] * 3


def as_png(figure):
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()


def test_the_figure_itself_stays_as_it_is(plt):
    expected = as_png(three_panels(plt))
    figure = three_panels(plt)
    known = plt.get_fignums()
    phone.bundle(figure)
    assert as_png(figure) == expected
    assert plt.get_fignums() == known
    assert plt.gcf() is figure


def test_small_pictures_stand_two_abreast_and_the_last_is_as_large_as_they_are(plt):
    use_style()
    figure, axes = plt.subplots(1, 5, figsize=(6.6, 1.8))
    for ax in axes:
        over_image(np.zeros((8, 8)), np.eye(2), ax=ax)
    boxes = places(phone.narrow(figure))
    bottoms = [round(bottom, 2) for _, bottom, _, _ in boxes]
    assert bottoms[0] == bottoms[1] > bottoms[2] == bottoms[3] > bottoms[4]
    assert boxes[4][2] == pytest.approx(boxes[0][2], abs=0.05)


def test_the_words_of_a_single_wide_plot_do_not_run_into_each_other_on_a_phone(plt):
    use_style()
    words = ["these", "nine", "longer", "words", "stand", "below", "only", "nine", "columns"]
    heat_map(softmax_rows((3, 9)), keys=words, ax=plt.subplots(figsize=(6.6, 2))[1], bar=False)
    wide = plt.gcf()
    slim = phone.narrow(wide)
    turned = {label.get_rotation() for label in slim.axes[0].get_xticklabels()}
    assert turned <= {45, 90}
    assert phone._collisions(slim) == []
    pixels = phone._smallest(slim) / 72 * 343 / phone.WIDTH
    assert pixels >= 8.5 > phone._smallest(wide) / 72 * 343 / 6.6


def test_a_legend_that_would_hide_a_line_goes_below_the_panel(plt):
    use_style()
    figure, ax = plt.subplots(figsize=(6.6, 2.6))
    for number in range(3):
        ax.plot(
            [0, 1, 2], [0, number, 1 - number], label=f"a line with a long name, number {number}"
        )
    ax.legend(loc="center", ncols=3)
    slim = phone.narrow(figure)
    legend = slim.axes[0].get_legend().get_window_extent()
    assert legend.y1 < slim.axes[0].bbox.y0
    assert legend.width < slim.bbox.width


def test_what_cannot_be_read_in_a_column_has_no_form_for_phones(plt):
    use_style()
    placed, _ = plt.subplots(figsize=(6.6, 2), layout="none")
    assert phone.narrow(placed) is None
    crowded, ax = plt.subplots(figsize=(6.6, 2))
    for place in np.linspace(0, 0.9, 9):
        ax.text(place, 0.5, "unbreakable", fontsize=7, transform=ax.transAxes)
    assert len(phone._collisions(crowded)) == 0
    assert phone.narrow(crowded) is None


def test_only_the_build_of_the_book_asks_for_figures_for_phones(plt, monkeypatch):
    from IPython.core import getipython
    from IPython.core.formatters import DisplayFormatter

    class Shell:
        display_formatter = DisplayFormatter()

    monkeypatch.setattr(getipython, "get_ipython", Shell)
    monkeypatch.delenv(phone.WANTED, raising=False)
    figure = three_panels(plt)
    assert phone.MIME not in Shell.display_formatter.format(figure)[0]
    monkeypatch.setenv(phone.WANTED, "1")
    use_style()
    shown = Shell.display_formatter.format(figure)[0][phone.MIME]
    assert base64.b64decode(shown["phone"]).startswith(b"\x89PNG")
    assert shown["letters"] == pytest.approx(11 / 72 * figure.dpi)


@pytest.fixture
def built_figure(plt, tmp_path, monkeypatch):
    """Return a function that builds a page with a figure, and returns the page and its folder."""
    pytest.importorskip("myst_nb")
    from sphinx.testing.util import SphinxTestApp

    monkeypatch.syspath_prepend(str(ROOT / "book" / "_ext"))
    monkeypatch.setenv(phone.WANTED, "")  # the extension sets it, and this undoes that
    source = tmp_path / "book"
    source.mkdir()
    (source / "conf.py").write_text(
        "extensions = ['myst_nb', 'attn_book.phone_figures']\nnb_execution_mode = 'off'\n"
        "exclude_patterns = ['_build']\n"
    )

    def build(figure):
        wide = base64.b64encode(as_png(figure)).decode()
        data = {"image/png": wide, **phone.bundle(figure)}
        output = nbformat.v4.new_output("display_data", data)
        cells = [
            nbformat.v4.new_markdown_cell("# Page", id="title"),
            nbformat.v4.new_code_cell("0", id="plot", outputs=[output]),
        ]
        language = {"language_info": {"name": "python", "pygments_lexer": "python"}}
        notebook = nbformat.v4.new_notebook(cells=cells, metadata=language)
        nbformat.write(notebook, source / "index.ipynb")
        app = SphinxTestApp("html", srcdir=source)
        try:
            app.build()
            assert app.warning.getvalue() == ""
        finally:
            app.cleanup()
        return (Path(app.outdir) / "index.html").read_text(encoding="utf-8"), Path(app.outdir)

    return build


def test_a_page_offers_both_pictures_and_a_phone_takes_the_narrow_one(plt, built_figure):
    html, folder = built_figure(three_panels(plt))
    media, address = re.search(
        r'<picture[^>]*><source media="([^"]+)" srcset="([^"]+)"', html
    ).groups()
    assert media == "screen and (max-width: 500px)"
    assert (folder / address).read_bytes().startswith(b"\x89PNG")
    assert re.search(r"<source[^>]*>\s*<img [^>]*_images/[^>]*>\s*</picture>", html)


def test_a_figure_without_a_form_for_phones_says_how_high_its_letters_are(plt, built_figure):
    figure, ax = plt.subplots(figsize=(6, 2), layout="none", dpi=100)
    ax.tick_params(labelsize=9)
    html, _ = built_figure(figure)
    assert "<source" not in html
    assert float(re.search(r'<picture data-letters="([^"]+)"', html)[1]) == pytest.approx(
        9 / 72 * 100 / 600, rel=1e-3
    )


# --- the explorer in Python ---------------------------------------------------------------------


@given(
    w=st.floats(0, 20),
    query=st.floats(0, 5),
    kernel=st.sampled_from(list(nadaraya_watson.KERNELS)),
)
def test_its_prediction_is_the_packages(w, query, kernel):
    x, y = nadaraya_watson.noisy_curve(np.random.default_rng(3), n=7)
    explorer = NadarayaWatsonExplorer(x, y, w=w, query=query, kernel=kernel)
    expected = nadaraya_watson.regress(np.array([query]), x, y, w, kernel=kernel)
    assert explorer.prediction == expected[0]
    assert explorer.weights @ y == pytest.approx(explorer.prediction)


@pytest.mark.parametrize("leave_one_out", [False, True])
def test_its_loss_is_the_packages(points, leave_one_out):
    explorer = NadarayaWatsonExplorer(*points, w=3.0, leave_one_out=leave_one_out)
    expected = nadaraya_watson.loss(*points, w=3.0, leave_one_out=leave_one_out)
    assert explorer.loss == pytest.approx(expected, rel=1e-14)


def test_a_query_on_a_point_is_left_out_only_when_asked(points):
    x, _ = points
    explorer = NadarayaWatsonExplorer(*points, w=3.0, query=x[7])
    assert explorer.weights[7] == explorer.weights.max()
    explorer.leave_one_out = True
    assert explorer.weights[7] == 0
    assert explorer.weights.sum() == pytest.approx(1)
    explorer.query = (x[7] + x[8]) / 2  # no point is here, so none is left out
    assert (explorer.weights > 0).all()


@pytest.mark.parametrize(
    ("inputs", "targets"),
    [(np.ones(3), np.ones(2)), (np.ones((3, 1)), np.ones((3, 1))), ([], []), ([1, np.nan], [1, 2])],
)
def test_points_that_do_not_fit_get_a_sentence(inputs, targets):
    with pytest.raises(ValueError, match="inputs and targets must be"):
        NadarayaWatsonExplorer(inputs, targets)


@pytest.mark.parametrize(
    ("trait", "value"), [("w", -1.0), ("w", np.inf), ("query", np.nan), ("kernel", "cosine")]
)
def test_a_value_it_cannot_show_is_refused(points, trait, value):
    explorer = NadarayaWatsonExplorer(*points)
    with pytest.raises(traitlets.TraitError):
        setattr(explorer, trait, value)


def test_one_point_and_equal_points_can_be_shown():
    for explorer in (
        NadarayaWatsonExplorer([2.0], [3.0], leave_one_out=True, query=2.0),
        NadarayaWatsonExplorer(torch.ones(3), torch.ones(3)),
    ):
        assert "NaN" not in still_of(explorer)


def test_the_answer_to_its_question_is_true(points):
    x, y = points
    for query in (0.0, 4.5):
        assert NadarayaWatsonExplorer(x, y, w=0.0, query=query).prediction == pytest.approx(
            y.mean()
        )
    largest = NadarayaWatsonExplorer(x, y, w=1e4, query=x[3] + 1e-3).weights
    assert largest[3] == pytest.approx(1)


# --- the two representations --------------------------------------------------------------------


def test_it_offers_a_widget_and_a_page(points):
    data, _ = NadarayaWatsonExplorer(*points)._repr_mimebundle_()
    assert set(data) == {
        "text/plain",
        "text/html",
        "application/vnd.jupyter.widget-view+json",
    }


def test_the_page_is_the_same_at_every_run(points):
    first, second = (
        NadarayaWatsonExplorer(*points, w=2.0)._repr_mimebundle_()[0] for _ in range(2)
    )
    assert first["text/html"] == second["text/html"]
    assert first["text/plain"] == second["text/plain"]
    assert "w=2.0" in first["text/plain"]


def test_the_page_carries_the_state_in_full_precision(points):
    html = NadarayaWatsonExplorer(*points, w=0.1 + 0.2).to_html()
    values = json.loads(re.search(r"data-explorer-values[^>]*>(.*?)</script>", html, re.S)[1])
    assert values["w"] == 0.1 + 0.2
    assert values["inputs"] == points[0].tolist()


def test_the_still_figure_shows_the_packages_numbers(points):
    explorer = NadarayaWatsonExplorer(*points, w=2.0)
    numbers = numbers_in(still_of(explorer))
    assert numbers["prediction"] == exactly([explorer.prediction])
    assert numbers["loss"] == exactly([explorer.loss])
    assert numbers["w"] == [2.0]


def test_nothing_in_the_code_can_close_its_script():
    assert page.script_json("</script><!--") == r'"\u003c/script>\u003c!--"'
    for file in (page.BOOT, page.STYLE):
        assert "</" not in file.read_text(encoding="utf-8")


def test_words_are_escaped(points):
    explorer = NadarayaWatsonExplorer(*points)
    explorer.words = {key: '<u>"&' for key in explorer.words}
    assert "<u>" not in explorer.to_html() + still_of(explorer)


def test_the_module_is_one_text():
    text = page.module_text("nadaraya_watson")
    assert "import " not in text
    assert text.count("export ") == 1


def test_every_word_the_script_asks_for_is_there(points):
    asked = re.findall(r"words\.(\w+)", page.module_file("nadaraya_watson").read_text())
    assert asked
    assert set(asked) <= set(NadarayaWatsonExplorer(*points).words)


def test_every_explorer_has_the_words_that_the_kit_asks_for(points):
    kit = "".join(file.read_text(encoding="utf-8") for file in page.KIT)
    asked = set(re.findall(r"\bwords\.(\w+)", kit))
    assert {"again", "copy"} <= asked
    for name in explorers.__all__:
        make = getattr(explorers, name)
        explorer = make(*points) if make is NadarayaWatsonExplorer else make()
        # A table with a row for each key is for those that have keys.
        assert asked - {"key"} <= set(explorer.words)


# --- in the book --------------------------------------------------------------------------------


@pytest.fixture
def build(tmp_path, monkeypatch):
    """Return a function that builds a page with two explorers, whose cached code is stale."""
    pytest.importorskip("myst_nb")
    from sphinx.testing.util import SphinxTestApp

    monkeypatch.syspath_prepend(str(ROOT / "book" / "_ext"))
    source = tmp_path / "book"
    source.mkdir()
    (source / "conf.py").write_text(
        "extensions = ['myst_nb', 'attn_book.explorers']\nnb_execution_mode = 'off'\n"
        "exclude_patterns = ['_build']\n"
    )
    outputs = [explorer_output(), explorer_output(), only_widget_output()]
    cells = [nbformat.v4.new_code_cell("0", id=f"c{i}", outputs=[o]) for i, o in enumerate(outputs)]
    state = {"version_major": 2, "version_minor": 0, "state": {"abc": {"model_name": "AnyModel"}}}
    metadata = {
        "language_info": {"name": "python", "pygments_lexer": "python"},
        "widgets": {"application/vnd.jupyter.widget-state+json": state},
    }
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=metadata)
    notebook.cells.insert(0, nbformat.v4.new_markdown_cell("# Page", id="title"))

    def run(text="# Page", warnings=()):
        notebook.cells[0].source = text
        nbformat.write(notebook, source / "index.ipynb")
        app = SphinxTestApp("html", srcdir=source)
        try:
            app.build()
            said = app.warning.getvalue()
            assert all(warning in said for warning in warnings)
            assert bool(said) == bool(warnings), said
        finally:
            app.cleanup()
        return (Path(app.outdir) / "index.html").read_text(encoding="utf-8")

    return run


def explorer_output():
    data, _ = NadarayaWatsonExplorer([1.0, 2.0], [0.0, 1.0])._repr_mimebundle_()
    stale = data["text/html"].replace("function attend", "function attendOfLastYear")
    assert stale != data["text/html"]
    return nbformat.v4.new_output("display_data", {**data, "text/html": stale})


def only_widget_output():
    widget = {"model_id": "abc", "version_major": 2, "version_minor": 0}
    data = {"application/vnd.jupyter.widget-view+json": widget, "text/plain": "IntSlider()"}
    return nbformat.v4.new_output("display_data", data)


def test_a_page_has_both_figures_and_todays_code_once(build):
    html = build()
    assert html.count('data-explorer="nadaraya_watson"') == 2
    assert html.count('data-explorer-module="nadaraya_watson"') == 1
    assert "attendOfLastYear" not in html
    assert page.code(["nadaraya_watson"]) in html


def test_the_still_pictures_of_a_page_are_drawn_by_todays_code(build):
    stale = still_of(NadarayaWatsonExplorer([1.0, 2.0], [0.0, 1.0]))
    html = build()
    assert html.count(stale) == 2
    assert "It needs JavaScript" not in re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)


def test_a_link_in_the_text_sets_a_figure(build):
    html = build("# Page\n\nTry {explore}`a large one <nadaraya_watson-2?w=8&query=1.5>`.")
    assert 'href="#nadaraya_watson-2?w=8&amp;query=1.5">a large one</a>' in html


@pytest.mark.parametrize(
    ("target", "warning"),
    [
        ("softmax?w=8", "no explorer 'softmax' on this page, which has: nadaraya_watson, nada"),
        ("nadaraya_watson-3?w=8", "no explorer 'nadaraya_watson-3' on this page"),
        ("nadaraya_watson?width=8", "nadaraya_watson has no width to move, but: w, query, kernel"),
        ("nadaraya_watson?grid=8", "nadaraya_watson has no grid to move"),
    ],
)
def test_a_link_that_sets_nothing_is_a_warning(build, target, warning):
    build(f"# Page\n\nTry {{explore}}`this <{target}>`.", [warning, "index.ipynb"])


def test_a_page_embeds_no_widget_state_and_no_manager(build):
    html = build()
    assert "widget-state+json" not in html
    assert "html-manager" not in html


def test_an_ordinary_widget_still_has_its_place(build):
    assert build().count('type="application/vnd.jupyter.widget-view+json"') == 1


def test_a_page_is_built_again_when_its_code_changes(build, monkeypatch, tmp_path):
    copy = tmp_path / "module.js"
    script = 'export default {{ still: () => ["p", {{}}, ["{}"]] }};'
    monkeypatch.setattr(page, "module_file", lambda name: copy)
    copy.write_text(script.format("of today"))
    assert "<p>of today</p>" in build()
    copy.write_text(script.format("of tomorrow"))
    assert "<p>of tomorrow</p>" in build()


# --- weights over words and images -------------------------------------------------------------


def test_the_word_with_the_most_weight_has_the_strongest_blue_and_the_right_one_a_line():
    page = highlight(
        ["a", "<b>", "c"], torch.tensor([0.1, 0.7, 0.2]), right=[0, 1, 0]
    )._repr_html_()
    strengths = [float(found) for found in re.findall(r"rgba\(0,114,178,([0-9.]+)\)", page)]
    assert strengths[0] < strengths[2] < strengths[1] == pytest.approx(0.45)
    assert "&lt;b&gt;" in page  # what comes from data is escaped
    assert page.count(RIGHT) == 1


def test_highlighting_prints_the_numbers_for_those_who_see_no_colour():
    assert repr(highlight(["warm", "milk"], np.array([0.25, 0.75]))) == "warm 0.25  milk 0.75"


def test_one_weight_for_each_word_is_demanded():
    with pytest.raises(ValueError, match=r"each of the 2 tokens, but weights is \(1, 2\)"):
        highlight(["warm", "milk"], np.ones((1, 2)))


def test_the_patch_with_weight_is_tinted_and_the_right_one_outlined(plt):
    weights = np.zeros((2, 3))
    weights[1, 2] = 1.0
    axes = over_image(np.zeros((4, 9)), weights, right=weights)
    strength = np.asarray(axes.images[1].get_alpha())
    assert strength.shape == (4, 9)
    np.testing.assert_array_equal(strength[2:, 6:], 0.75)
    assert strength[:2].max() == strength[:, :6].max() == 0
    (outline,) = axes.patches
    assert outline.get_xy() == (5.5, 1.5)
    assert (outline.get_width(), outline.get_height()) == (3, 2)


def test_patches_that_do_not_divide_the_image_are_refused():
    with pytest.raises(ValueError, match=r"the image is \(5, 9\) and the weights are \(2, 3\)"):
        over_image(np.zeros((5, 9)), np.ones((2, 3)))
