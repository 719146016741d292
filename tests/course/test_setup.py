"""Set-up: one sentence when it can't work, nothing half-installed counts as done, and the pins."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def read_pins():
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    pins = [Requirement(line.split("#")[0]) for line in lines if line.split("#")[0].strip()]
    return {canonicalize_name(pin.name): pin for pin in pins}


PINS = read_pins()


# The pins


def test_every_pin_is_exact():
    loose = [str(pin) for pin in PINS.values() if not re.fullmatch(r"==[\w.]+", str(pin.specifier))]
    assert loose == []


def ranges():
    project = PYPROJECT["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    wanted = [Requirement(text) for group in groups for text in group]
    return [one for one in wanted if one.name != project["name"]]  # "attn-course[dates]"


def test_every_range_of_the_package_admits_its_pin():
    pinned = {name: next(iter(pin.specifier)).version for name, pin in PINS.items()}
    refused = [
        f"{wanted}, but the pin is {pinned.get(canonicalize_name(wanted.name))}"
        for wanted in ranges()
        if not wanted.specifier.contains(pinned.get(canonicalize_name(wanted.name), "0"))
    ]
    assert refused == [], "write requirements.txt anew with `make pins`"


def test_the_package_imports_what_it_depends_on_and_depends_on_what_it_imports():
    """An extra counts where `missing` says its name; the standard library is everybody's."""
    package = list((ROOT / "attn_course").rglob("*.py"))
    imported = {name for path in package for name in top_level_imports(path)}
    installed = metadata.packages_distributions()
    used = {canonicalize_name(one) for name in imported for one in installed.get(name, ())}
    project = PYPROJECT["project"]
    extras = project["optional-dependencies"]
    on_demand = [one for name in ("dask", "dates", "digits", "meteor") for one in extras[name]]
    declared = {Requirement(text).name for text in (*project["dependencies"], *on_demand)}
    # Tools of authors and of `grade --nbval`, which the commands that need them ask for by name.
    by_name = {"ipykernel", "ipython", "jupytext", "nbval", "pytest", "pyyaml", "attn-course"}
    by_name |= {"mini-racer"}  # only the build of the book draws still pictures with it
    brought_along = {"cycler", "traitlets"}  # by matplotlib and ipywidgets, which are their makers
    assert sorted(used - by_name - brought_along - declared) == []
    assert sorted(declared - used) == []


def top_level_imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]


@pytest.mark.parametrize(
    ("package", "extra", "code"),
    [
        ("babel", "dates", "from attn_course.tasks.dates.rendering import alphabet; alphabet()"),
        ("sklearn", "digits", "from attn_course.tasks.digit_patch import digits; digits('test')"),
        (
            "snowballstemmer",
            "meteor",
            "from attn_course.evaluation.meteor_links import porter; porter()",
        ),
    ],
)
def test_a_package_on_demand_is_asked_for_by_the_command_that_installs_it(package, extra, code):
    without = f"import sys; sys.modules[{package!r}] = None; "
    ran = subprocess.run(
        [sys.executable, "-c", without + code],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert ran.returncode == 1
    assert f"pip install 'attn-course[{extra}]'" in ran.stderr.splitlines()[-1]
    assert extra in PYPROJECT["project"]["optional-dependencies"]


def test_every_task_can_be_listed_without_packages_on_demand():
    without = "".join(f"sys.modules[{name!r}] = None; " for name in ("babel", "sklearn"))
    code = f"import sys; {without}from attn_course.tasks import all_tasks; print(len(all_tasks()))"
    listed = subprocess.check_output([sys.executable, "-c", code], text=True, cwd=ROOT)
    assert int(listed) > 20


# On Linux PyTorch's default build asks for these; the CPU build does not.
FOR_GRAPHICS_CARDS = ("nvidia-", "cuda-", "triton")


def dependencies(pin):
    """Return the names of what the installed package `pin` needs, with the extras it is asked."""
    needed = metadata.requires(pin.name) or []
    return {
        (canonicalize_name(wanted.name), frozenset(wanted.extras))
        for wanted in map(Requirement, needed)
        if wanted.marker is None or wanted.marker.evaluate({"extra": ""})
    }


def test_what_the_pins_bring_along_is_pinned_too():
    here = [pin for pin in PINS.values() if pin.marker is None or pin.marker.evaluate()]
    needed = {name for pin in here for name, _extras in dependencies(pin)}
    floating = [name for name in needed - set(PINS) if not name.startswith(FOR_GRAPHICS_CARDS)]
    assert floating == []


# In a folder with a space


@pytest.fixture
def project(tmp_path):
    """A project with nothing to install, in a folder with a space."""
    root = tmp_path / "a project"
    (root / "tools").mkdir(parents=True)
    shutil.copy(ROOT / "tools" / "environment.sh", root / "tools")
    (root / "requirements.txt").write_text("", encoding="utf-8")
    (root / "pyproject.toml").write_text(BARE_PROJECT, encoding="utf-8")
    (root / "bare_backend.py").write_text(BARE_BACKEND, encoding="utf-8")
    return root


# The smallest thing that pip can install in place without fetching anything.
BARE_PROJECT = """
[build-system]
requires = []
build-backend = "bare_backend"
backend-path = ["."]
[project]
name = "bare"
version = "1"
"""
BARE_BACKEND = """
import os, zipfile

def build_editable(folder, config_settings=None, metadata_directory=None):
    info = "bare-1.dist-info/"
    with zipfile.ZipFile(os.path.join(folder, "bare-1-py3-none-any.whl"), "w") as wheel:
        wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: bare\\nVersion: 1\\n")
        wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\n")
        wheel.writestr(info + "RECORD", "")
        wheel.writestr("bare.py", "")
    return "bare-1-py3-none-any.whl"

build_wheel = build_editable
"""


def host_python():
    """Return a Python with pip: the one that the environment of the tests was made from."""
    base = Path(sys.base_prefix, "bin", f"python3.{sys.version_info.minor}")
    return str(base if base.exists() else Path(sys.base_prefix, "bin", "python3"))


def run(project, **variables):
    """Make the environment; nothing but what is given here comes from the tests' own."""
    ours = {"PATH": os.defpath, "HOME": str(project), "PIP_NO_INDEX": "1", "PYTHON": host_python()}
    command = ["sh", project / "tools" / "environment.sh"]
    return subprocess.run(
        command, env=ours | variables, capture_output=True, text=True, check=False
    )


@pytest.fixture
def made(project):
    """A project whose environment has been made."""
    first = run(project)
    assert first.returncode == 0, first.stdout + first.stderr
    assert "creating the environment" in first.stdout
    return project


def is_silent(ran):
    return (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_a_second_run_finds_everything_there_and_says_nothing(made):
    assert is_silent(run(made))
    imported = [made / ".venv" / "bin" / "python", "-c", "import bare; print(bare.__name__)"]
    assert subprocess.check_output(imported, text=True) == "bare\n"


def test_packages_are_compiled_whatever_the_user_s_settings(project):
    assert run(project, PYTHONDONTWRITEBYTECODE="1").returncode == 0
    assert list(project.glob(".venv/lib/*/site-packages/__pycache__/bare.*.pyc"))


@pytest.mark.parametrize("name", ["requirements.txt", "pyproject.toml"])
def test_a_changed_file_is_noticed(made, name):
    with (made / name).open("a", encoding="utf-8") as file:
        file.write("# said differently\n")
    assert "the requirements changed" in run(made).stdout
    assert is_silent(run(made))


def test_a_moved_project_is_installed_again(made):
    moved = made.rename(made.with_name("moved here"))
    assert "creating the environment" in run(moved).stdout
    assert is_silent(run(moved))


def test_what_was_never_finished_is_made_anew(made):
    (made / ".venv" / "attn-course" / "installed").unlink()
    leftover = made / ".venv" / "half a package"
    leftover.touch()
    assert "creating the environment" in run(made).stdout
    assert not leftover.exists()


def test_an_environment_whose_python_has_gone_is_made_anew(made):
    python = made / ".venv" / "bin" / "python"
    python.unlink()
    assert "creating the environment" in run(made).stdout
    assert python.exists()


def test_an_environment_keeps_its_python_until_another_is_asked_for(made):
    assert is_silent(run(made, PYTHON=""))
    other = made / "another python"
    other.symlink_to(host_python())
    assert "creating the environment" in run(made, PYTHON=str(other)).stdout
    assert is_silent(run(made, PYTHON=""))


def test_a_python_given_by_name_is_found_on_the_path(project):
    """`make book PYTHON=python3`, which is how most people choose one."""
    programs = project / "programs"
    programs.mkdir()
    (programs / "python3").symlink_to(host_python())
    path = f"{programs}{os.pathsep}{os.defpath}"
    ran = run(project, PYTHON="python3", PATH=path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert is_silent(run(project, PYTHON="python3", PATH=path))
    assert is_silent(run(project, PYTHON="", PATH=path))
    where = [project / ".venv" / "bin" / "python", "-c", "import sys; print(sys.base_prefix)"]
    assert subprocess.check_output(where, text=True).strip() == sys.base_prefix


def test_a_venv_that_somebody_else_made_is_left_alone(project):
    (project / ".venv").mkdir()
    (project / ".venv" / "precious").write_text("mine", encoding="utf-8")
    failed = run(project)
    assert "was not made by this command" in the_sentence_of(failed)
    assert (project / ".venv" / "precious").read_text(encoding="utf-8") == "mine"


def test_another_torch_takes_the_place_of_the_pin_and_is_remembered(made):
    pins = "torch==1.0\n    # via attn-course\ntorchy==1.0\n"
    (made / "requirements.txt").write_text(pins, encoding="utf-8")
    for variables in ({"TORCH": "torch==9.9+cpu"}, {}):
        failed = run(made, **variables)
        assert failed.returncode == 1
        assert "torch==9.9+cpu" in failed.stderr
    asked = (made / ".venv" / "attn-course" / "requirements.txt").read_text(encoding="utf-8")
    assert asked == pins.replace("torch==1.0", "torch==9.9+cpu")


def test_arguments_for_pip_may_contain_spaces(project):
    (project / "some wheels").mkdir()
    (project / "requirements.txt").write_text("numpy==2.1.0\n", encoding="utf-8")
    failed = run(project, PIP_ARGS='--find-links "some wheels" --verbose')
    assert "Looking in links: some wheels" in failed.stdout
    assert "No matching distribution found for numpy==2.1.0" in failed.stderr


# What can't work


def the_sentence_of(ran):
    """Return the one line with which a run has failed."""
    assert ran.returncode == 1
    (sentence,) = ran.stderr.splitlines()
    assert sentence.startswith("environment: ")
    return sentence


def fake_python(project, script):
    path = project / "a python"
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("version", ["3.6.15", "3.10.13", "3.14.0"])
def test_a_wrong_python_gets_one_sentence_with_found_wanted_and_the_way_out(project, version):
    numbers = version.replace(".", ", ")
    pretend = f"import sys; sys.version_info = ({numbers})"
    python = fake_python(
        project,
        f'[ "$1" = --version ] && echo "Python {version}" && exit\n'
        f'"{host_python()}" -c "{pretend}; $2"',
    )
    sentence = the_sentence_of(run(project, PYTHON=python))
    assert f"this is Python {version} ({python})" in sentence
    assert "needs Python 3.11, 3.12 or 3.13" in sentence
    assert "make book PYTHON=python3.12" in sentence


def test_a_python_that_is_not_there_gets_one_sentence(project):
    sentence = the_sentence_of(run(project, PYTHON="python3.99"))
    assert "there is no python3.99 here" in sentence
    assert "make book PYTHON=python3.12" in sentence


def test_supported_pythons_are_those_of_the_package():
    low, high = re.findall(r"3\.(\d+)", PYPROJECT["project"]["requires-python"])
    script = (ROOT / "tools" / "environment.sh").read_text(encoding="utf-8")
    assert f"(3, {low}) <= sys.version_info[:2] <= (3, {int(high) - 1})" in script


def test_a_missing_or_old_pip_gets_one_sentence(project):
    """`pip --python`, which 22.3 was the first to know, answers with an error in both cases."""
    python = fake_python(project, f'[ "$2" = pip ] && exit 2\nexec "{host_python()}" "$@"')
    sentence = the_sentence_of(run(project, PYTHON=python))
    assert "has no pip, or one older than 22.3" in sentence


def test_without_a_network_the_last_line_says_what_to_do_and_nothing_counts_as_done(project):
    (project / "requirements.txt").write_text("numpy==2.1.0\n", encoding="utf-8")
    # Nothing listens on port 9 of loopback. An empty pip.conf: the machine's own index is no help.
    failed = run(
        project,
        PIP_NO_INDEX="0",
        PIP_INDEX_URL="http://127.0.0.1:9/",
        PIP_RETRIES="0",
        PIP_CONFIG_FILE="/dev/null",
    )
    assert failed.returncode == 1
    assert "Check the network" in failed.stderr.splitlines()[-1]
    (project / "requirements.txt").write_text("", encoding="utf-8")
    assert "creating the environment" in run(project).stdout  # the same command again goes on
