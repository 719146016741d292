"""Exercise 01 as a learner meets it: a real JupyterLab, a live kernel, a real browser."""

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.browser import jupyter_server

expect = pytest.importorskip("playwright.sync_api").expect

ROOT = Path(__file__).parents[2]
EXERCISE = ROOT / "exercises" / "01_nadaraya_watson.ipynb"
PATIENCE = jupyter_server.PATIENCE * 1000  # in milliseconds

RIGHT = """def average_pooling(queries, values):
    return [sum(values) / len(values)] * len(queries)
"""
WRONG = """def gaussian_weights(queries, keys, w):
    distances = torch.as_tensor(queries[..., :, None] - keys[..., None, :])
    return torch.softmax(-0.5 * (w * distances) ** 2, dim=-2)
"""
BROKEN = """def average_pooling(queries, values):
    return valuse.mean()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a copy of the exercise."""
    made = tmp_path_factory.mktemp("exercises")
    shutil.copy(EXERCISE, made)
    return made


class Notebook:
    """The exercise, open in a page."""

    def __init__(self, page):
        self.page = page

    def answer_cell(self, name):
        """Return the cell that defines `name`."""
        return self._cell(re.compile(rf"(def|class) {name}\("))

    def check_cell(self, name):
        """Return the cell that checks `name`."""
        return self._cell(re.compile(rf'practice\.check\("01\.{name}"'))

    def _cell(self, text):
        editor = self.page.locator(".cm-content").filter(has_text=text)
        return self.page.locator(".jp-CodeCell").filter(has=editor)

    def run_first(self):
        """Run the first cell, again and again until JupyterLab listens."""
        first = self.page.locator(".jp-CodeCell").first
        for _ in range(PATIENCE // 5_000):
            first.locator(".cm-content").click()
            self.page.keyboard.press("Control+Enter")
            try:
                expect(first.locator(".jp-InputArea-prompt")).not_to_have_text(
                    "[ ]:", timeout=5_000
                )
                break
            except AssertionError:
                continue
        self._wait_for_number(first)

    def run_all(self):
        """Choose "Run All Cells", and wait until the last one is done."""
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        self._wait_for_number(self.page.locator(".jp-CodeCell").last)

    def run(self, cell, before=""):
        """Run one cell, and wait until it has a number other than `before`."""
        cell.locator(".cm-content").click()
        self.page.keyboard.press("Control+Enter")
        self._wait_for_number(cell, before)

    def fill(self, name, code):
        """Write an answer, run it, and run its check; return the check's cell."""
        answer, check = self.answer_cell(name), self.check_cell(name)
        number = self.number(answer)
        answer.locator(".cm-content").click()
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(code)
        self.page.keyboard.press("Control+Enter")
        self._wait_for_number(self.answer_cell(name), number)
        self.run(check, before=self.number(check))
        return check

    @staticmethod
    def number(cell):
        """Return the text to the left of a cell, such as "[3]:"."""
        return cell.locator(".jp-InputArea-prompt").inner_text()

    def _wait_for_number(self, cell, before=""):
        """Wait until a cell was run: its number is a new one, and no longer a star."""
        prompt = cell.locator(".jp-InputArea-prompt")
        if before:
            expect(prompt).not_to_have_text(before, timeout=PATIENCE)
        expect(prompt).to_have_text(re.compile(r"^\[\d+\]:$"), timeout=PATIENCE)


@pytest.fixture(scope="module")
def notebook(folder, browser, tmp_path_factory):
    """Open the exercise with its kernel ready, and run it as it is."""
    log = tmp_path_factory.mktemp("lab") / "jupyterlab.log"
    with jupyter_server.jupyter_lab(folder, log) as lab:
        page = browser.new_page(viewport={"width": 1100, "height": 900})
        lab.open(page, EXERCISE.name)
        opened = Notebook(page)
        opened.run_first()
        opened.run_all()
        yield opened
        page.close()


def test_an_untouched_exercise_fails_gently(notebook):
    page = notebook.page
    lines = page.locator(".attn-feedback.attn-grey").all_inner_texts()
    assert len(lines) >= 5
    for line in lines:
        assert re.match(r"Not (written|answered) yet: .+", line)
        assert "\n" not in line.strip()
    # What is handed out with a bug in it is red from the start, and by name.
    checks = page.locator(".jp-CodeCell .attn-feedback")
    assert checks.count() == page.locator(".attn-grey, .attn-red").count()
    assert page.locator("[data-mime-type='application/vnd.jupyter.error']").count() == 0
    assert page.locator("[data-mime-type='application/vnd.jupyter.stderr']").count() == 0


def test_the_overview_is_a_table(notebook):
    table = notebook.page.locator(".jp-OutputArea table").first
    assert table.locator("tbody tr").count() == notebook.page.locator(".attn-feedback").count()


def test_a_right_answer_is_green(notebook):
    feedback = notebook.fill("average_pooling", RIGHT).locator(".attn-feedback")
    assert "attn-green" in feedback.get_attribute("class")
    assert feedback.inner_text().startswith("Passed: ")


def test_a_wrong_answer_is_red_with_the_mistake_the_numbers_and_the_pictures(notebook):
    feedback = notebook.fill("gaussian_weights", WRONG).locator(".attn-feedback")
    assert "attn-red" in feedback.get_attribute("class")
    told = feedback.inner_text()
    assert told.startswith("Not yet: ")
    assert "sums to one over the queries" in told
    assert "Your weights sum to 1 over the queries" in told
    assert re.search(r"queries = \[.+\].+ shape \(", told)
    assert "yours:" in told
    assert "expected:" in told
    assert "Read: chapter 01" in told
    pictures = feedback.get_by_role("img")
    assert pictures.count() == 2
    assert all(picture.bounding_box()["width"] > 20 for picture in pictures.all())


def test_an_error_is_red_with_the_line_and_without_a_traceback(notebook):
    check = notebook.fill("average_pooling", BROKEN)
    told = check.locator(".attn-feedback").inner_text()
    assert "It raised NameError: name 'valuse' is not defined" in told
    assert "return valuse.mean()" in told
    assert "Traceback" not in check.inner_text()


def test_progress_is_kept_beside_the_notebook(notebook, folder):
    notebook.fill("average_pooling", RIGHT)
    stored = json.loads((folder / ".attn-course" / "progress.json").read_text())
    entry = stored["exercises"]["01.average_pooling"]
    assert entry["status"] == "passed"
    assert entry["best_points"] > 0


def test_a_slider_has_a_name_and_moves_with_the_arrow_keys(notebook):
    slider = notebook.page.get_by_role("slider", name="w", exact=True).first
    before = float(slider.input_value())
    slider.focus()
    notebook.page.keyboard.press("ArrowRight")
    expect(slider).not_to_have_value(str(before))
    assert float(slider.input_value()) > before
