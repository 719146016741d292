"""The files of the project agree with one another, and hold nothing that does not belong."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
import tomllib
import zipfile
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
import yaml

from attn_course.authoring.edits import edited
from attn_course.authoring.entries import read_entries
from attn_course.practice.exercises import chapters

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
IMAGES = {".png", ".ico", ".woff2"}

# Assembled, so that this file does not find itself.
MACHINE_PATHS = re.compile(
    "/" + r"(root|home/\w+|Users/\w+|work|opt)/(?=[\w.])|file:///" + r"(?!…)\w"
)
CDN_HOSTS = re.compile(
    r"\b(cdn\.|cdnjs|jsdelivr|" + r"unpkg\.com|esm\.sh|skypack|googleapis|gstatic|polyfill\.io)"
)


def project_files():
    """Return what git tracks, or would if you added it; in an unpacked archive, every file."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listing.returncode:
        pytest.skip("not a git checkout")
    paths = (ROOT / name for name in listing.stdout.split("\0") if name)
    return [path for path in paths if path.is_file()]


def text_files():
    return [path for path in project_files() if path.suffix not in IMAGES]


def places(pattern, paths):
    """Return where `pattern` occurs, as file:line: text."""
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in paths
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if pattern.search(line)
    ]


def test_no_file_names_a_path_of_somebodys_machine():
    assert places(MACHINE_PATHS, text_files()) == []


def test_the_search_for_machine_paths_finds_one(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("open /" + "home/somebody/course/book\n", encoding="utf-8")
    assert len(places(MACHINE_PATHS, [page])) == 1


def test_nothing_a_reader_opens_names_a_cdn():
    folders = ("book", "exercises", "solutions", "attn_course")
    read = [path for path in text_files() if path.relative_to(ROOT).parts[0] in folders]
    assert places(CDN_HOSTS, [*read, ROOT / "_config.yml"]) == []


def test_no_committed_file_is_above_a_megabyte():
    large = [path.name for path in project_files() if path.stat().st_size > 2**20]
    assert large == []


def test_no_minified_or_vendored_file_is_committed():
    def looks_foreign(path):
        if path.suffix not in {".js", ".css", ".mjs"}:
            return path.name.endswith((".whl", ".map", ".woff", ".woff2", ".ttf"))
        longest = max(map(len, path.read_text(encoding="utf-8").splitlines()), default=0)
        return ".min." in path.name or longest > 500

    assert [str(path) for path in project_files() if looks_foreign(path)] == []


def test_readme_names_every_top_level_folder():
    folders = {path.relative_to(ROOT).parts[0] for path in project_files() if path.parent != ROOT}
    assert [folder for folder in sorted(folders) if f"| `{folder}/` |" not in README] == []


def load_write_tables():
    spec = spec_from_file_location("write_tables", ROOT / "tools" / "write_tables.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


write_tables = load_write_tables()


@pytest.mark.parametrize("name", write_tables.FILES)
def test_the_tables_of_readme_and_contributing_agree_with_the_code(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert "<!-- generated:" in text
    assert write_tables.renewed(text) == text, "run `make exercises`"


def test_readme_has_a_line_for_every_module_of_every_package_that_is_a_room():
    rooms = ["attn_course", *(f"attn_course/{name}" for name in ("practice", "authoring"))]
    rooms += ["attn_course/grading", "attn_course/inside"]
    assert [room for room in rooms if f"<!-- generated: modules {room} -->" not in README] == []


def test_a_table_has_chapters_first_and_the_first_sentence_of_each_module(tmp_path, monkeypatch):
    monkeypatch.setattr(write_tables, "ROOT", tmp_path)
    package = tmp_path / "attn_course"
    (package / "queries").mkdir(parents=True)
    (package / "__init__.py").write_text('"""The package."""')
    (package / "queries" / "__init__.py").write_text('"""Queries: who asks.  (chapter 6)"""')
    (package / "scale.py").write_text('r"""How large? As large\nas it gets.\n\nMore."""')
    (package / "_arrays.py").write_text('"""Arrays,\nof all kinds.  (chapter 2)\n"""')
    stale = "a\n<!-- generated: modules attn_course -->\nold\n<!-- end -->\nz\n"
    assert write_tables.renewed(stale).splitlines() == [
        *("a", "<!-- generated: modules attn_course -->", ""),
        *("| module | what it is for |", "|---|---|"),
        "| `_arrays.py` | chapter 2: Arrays, of all kinds |",
        "| `queries/` | chapter 6: Queries: who asks |",
        "| `scale.py` | How large? |",
        *("", "<!-- end -->", "z"),
    ]


def test_every_module_of_the_package_says_what_it_is_for():
    modules = (ROOT / "attn_course").rglob("*.py")
    silent = [path for path in modules if not write_tables.row(path)[2]]
    exercises = ROOT / "attn_course" / "practice" / "exercises"
    assert [str(path) for path in silent if exercises not in path.parents] == []


def test_the_selftest_that_readme_shows_was_of_the_exercises_as_they_are():
    """Counted without trying anything: `make selftest` keeps the whole report."""
    kept = (ROOT / "book" / "_data" / "selftest.txt").read_text(encoding="utf-8")
    exercises = [one for chapter in chapters().values() for one in chapter.exercises.values()]
    mistakes = sum(len(exercise.mistakes) for exercise in exercises)
    assert f"Kill rate: 100 % ({mistakes} of {mistakes})" in kept, "run `make selftest`"
    assert [exercise.id for exercise in exercises if f"\n{exercise.id} " not in kept] == []


def test_continuous_integration_is_what_anyone_can_run():
    for name, script in {"ci.yml": ".ci/run", "nightly.yml": ".ci/nightly"}.items():
        workflow = (ROOT / ".github" / "workflows" / name).read_text(encoding="utf-8")
        steps = yaml.safe_load(workflow)["jobs"]["run"]["steps"]
        assert script in [step.get("run") for step in steps]
        assert os.access(ROOT / script, os.X_OK)


def test_every_make_word_in_readme_and_contributing_exists():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, flags=re.MULTILINE))
    text = README + (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", text, flags=re.MULTILINE))
    assert {"book", "test"} <= named <= targets


def test_the_mistakes_that_contributing_shows_can_be_made():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    shown = text.split("## Add an exercise")[1].split("```text\n")[1].split("```")[0]
    entries, problems = read_entries(textwrap.dedent(shown), first_line=1)
    assert problems == []
    assert len(entries) == 2
    solution = "scores = scores - scores.max()\nw = e(scores, axis=-1) / s(axis=-1)\n"
    made = [edited(solution, entry.edits, "weights") for entry in entries]
    assert made == [solution.replace("-1", "-2"), "pass\n" + solution.split("\n", 1)[1]]


@pytest.fixture(scope="module")
def wheel_names(tmp_path_factory):
    """The names of the files in the wheel, built where somebody has worked on the exercises."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    without = shutil.ignore_patterns(".*", "__pycache__", "_build", "dist", "my-exercises")
    shutil.copytree(ROOT, source, ignore=without)
    shutil.copy(ROOT / ".gitignore", source)
    backups = source / "exercises" / ".attn-course" / "backups"
    backups.mkdir(parents=True)
    (backups / "01_nadaraya_watson_2026-01-01.ipynb").write_text("somebody's answers")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return zipfile.ZipFile(wheel).namelist()


def test_the_wheel_brings_every_exercise_and_no_notebook_somebody_may_have_worked_in(wheel_names):
    stems = sorted(path.stem for path in (ROOT / "exercises").glob("*.ipynb"))
    assert stems
    folder = "attn_course/practice/exercises/"
    packed = [Path(name) for name in wheel_names if name.startswith(folder)]
    assert sorted(path.stem for path in packed if path.suffix == ".json") == stems
    python = {path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*.py")}
    assert python == {path.as_posix() for path in packed if path.suffix == ".py"}
    assert [name for name in wheel_names if name.endswith(".ipynb")] == []
    assert [name for name in wheel_names if ".attn-course" in name] == []


def test_the_wheel_brings_the_figures_that_pages_state(wheel_names):
    assert "attn_course/tasks/stated.json" in wheel_names


def test_the_wheel_holds_the_package_and_no_source_of_the_exercises(wheel_names):
    tops = {name.split("/")[0] for name in wheel_names}
    assert tops == {"attn_course", f"attn_course-{PYPROJECT['project']['version']}.dist-info"}
    assert "attn_course/attention/context.py" in wheel_names
    assert [name for name in wheel_names if "solution" in name or name.endswith(".md")] == []


def test_readme_says_plainly_which_solutions_a_learner_can_still_read():
    """The zip has none; the package that learners install has all of them."""
    about_handouts = README.split("`make handout`")[1].split("\n\n")[0].split("```")[0]
    for words in (
        "`solutions = false`",
        "a request and not a lock",
        "the installed package contains them as plain text",
        "`attn_course/practice/exercises/*.json`",
        "a determined learner can read them",
    ):
        assert words in about_handouts
    for path in (ROOT / "attn_course" / "practice" / "exercises").glob("*.json"):
        assert '"answer": ' in path.read_text(encoding="utf-8")


def test_the_citation_has_what_the_format_demands_and_the_version_of_the_package():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert citation["authors"] == [{"name": "the attn-course contributors"}]
    assert citation["version"] == PYPROJECT["project"]["version"]
    assert citation["type"] == "software"


def test_the_changelog_knows_the_version_of_the_package():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert PYPROJECT["project"]["version"] in changelog


def test_every_lint_rule_that_is_ignored_has_its_reason_beside_it():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    ignored = text.split("\nignore = [\n")[1].split("\n]")[0]
    assert [line for line in ignored.splitlines() if "#" not in line] == []
