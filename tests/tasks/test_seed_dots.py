"""One dot per seed, and the table of the same numbers."""

import matplotlib.pyplot as plt
import pytest
from matplotlib.colors import to_hex

from attn_course.figures import PALETTE
from attn_course.tasks.seed_dots import (
    TEXT,
    WIDTH,
    WITHOUT_ATTENTION,
    mean_of,
    rows_of,
    seed_dots,
    seed_table,
    variants,
    verdict_of,
)


@pytest.fixture
def rows():
    return rows_of("bids")


@pytest.fixture
def figure(rows):
    made = seed_dots(rows)
    yield made
    plt.close(made)


def labels_of(ax):
    """Return the names of the variants in a figure, the one of the line not among them."""
    return [text for text in ax.texts if text.get_text() != "solved"]


def test_there_is_a_row_for_each_variant_and_a_dot_for_each_seed(figure, rows):
    (ax,) = figure.axes
    shown = variants(rows)
    assert [len(dots.get_offsets()) for dots in ax.collections] == [5] * len(shown)
    for dots, one in zip(ax.collections, shown, strict=True):
        assert sorted(dots.get_offsets()[:, 0]) == pytest.approx(sorted(one.scores))
    names = [label.get_text().split("  (")[0] for label in labels_of(ax)]
    assert names == [one.name for one in shown]


def test_no_dot_is_drawn_over_a_name(figure):
    (ax,) = figure.axes
    figure.canvas.draw()
    for dots, label in zip(ax.collections, labels_of(ax), strict=True):
        highest = ax.transData.transform(dots.get_offsets())[:, 1].max()
        radius = dots.get_sizes()[0] ** 0.5 / 2 * figure.dpi / 72
        assert highest + radius < label.get_window_extent().y0


def test_the_mechanism_is_blue_and_what_has_no_attention_is_grey(figure, rows):
    (ax,) = figure.axes
    for dots, one in zip(ax.collections, variants(rows), strict=True):
        colour = to_hex(dots.get_edgecolor()[0])
        assert colour == (PALETTE[0] if one.attends else WITHOUT_ATTENTION), one.name
    assert {one.name: one.attends for one in variants(rows)}["max pooling"] is False


def test_the_line_is_where_the_task_counts_as_solved_and_the_size_that_of_a_page(figure, rows):
    (ax,) = figure.axes
    assert list(ax.lines[0].get_xdata()) == [rows[0].solved_at] * 2
    assert figure.get_size_inches()[0] == WIDTH
    assert all(label.get_fontsize() == TEXT for label in labels_of(ax))


def test_the_table_has_the_same_variants_and_escapes_what_it_shows(rows):
    table = seed_table(rows)
    head, *lines = table.cells
    assert [line[0] for line in lines] == [one.name for one in variants(rows)]
    assert len(head) == len(lines[0])
    html = table._repr_html_()
    assert html.count("<tr>") == 1 + len(lines)
    assert "reinforced wins" in html
    assert str(table).splitlines()[0].split()[0] == head[0]


def test_mixed_seeds_are_counted_in_the_table_and_not_averaged(rows):
    (soft,) = [line for line in seed_table(rows).cells if line[0] == "soft"]
    low, high = soft[2].split(" to ")
    assert float(low) < 0.9 < float(high)
    assert soft[3] == "2 of 5"


def test_a_page_can_ask_for_a_mean_and_a_verdict(rows):
    row = rows[0]
    assert mean_of("bids", row.mechanism) == round(row.mechanism_mean, 3)
    assert mean_of("bids", row.ablation) == round(row.ablation_mean, 3)
    assert verdict_of("bids", row.mechanism, row.ablation) == row.verdict


def test_what_is_not_stated_is_no_number():
    with pytest.raises(KeyError, match="no variant 'magic' of bids"):
        mean_of("bids", "magic")
    with pytest.raises(KeyError, match="are not compared"):
        verdict_of("bids", "reinforced", "magic")
