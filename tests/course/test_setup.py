"""Set-up: one sentence when it can't work, nothing half-installed taken as done, and the pins."""

import ast
import json
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import SimpleNamespace

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def load_environment():
    spec = spec_from_file_location("environment", ROOT / "tools" / "environment.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


environment = load_environment()


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
    return [Requirement(text) for group in groups for text in group]


@pytest.mark.parametrize("wanted", ranges(), ids=str)
def test_every_range_of_the_package_admits_its_pin(wanted):
    pin = PINS[canonicalize_name(wanted.name)]
    (version,) = (clause.version for clause in pin.specifier)
    assert wanted.specifier.contains(version)


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


# A wrong Python


def test_a_supported_python_is_accepted():
    assert environment.check_python() is None


@pytest.mark.parametrize("version", [(3, 6, 15), (3, 10, 13), (3, 14, 0)])
def test_a_wrong_python_gets_one_sentence_with_found_wanted_and_the_way_out(monkeypatch, version):
    monkeypatch.setattr(sys, "version_info", version)
    monkeypatch.setattr(sys, "version", "{}.{}.{} (main)".format(*version))
    with pytest.raises(environment.Problem) as caught:
        environment.check_python()
    sentence = str(caught.value)
    assert "this is Python {}.{}.{} (".format(*version) in sentence
    assert "needs Python 3.11, 3.12 or 3.13" in sentence
    assert "make book PYTHON=python3.12" in sentence
    assert "\n" not in sentence


def test_the_file_keeps_to_the_syntax_of_python_3_6():
    source = (ROOT / "tools" / "environment.py").read_text(encoding="utf-8")
    assert ast.parse(source, feature_version=(3, 6)).body


def test_supported_pythons_are_those_of_the_package():
    low, high = re.findall(r"3\.(\d+)", PYPROJECT["project"]["requires-python"])
    assert tuple((3, minor) for minor in range(int(low), int(high))) == environment.PYTHONS


# pip


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [("raise SystemExit(1)", "there is no pip for"), ("print('pip 22.2.1 from')", "is too old")],
)
def test_a_missing_or_old_pip_gets_one_sentence(monkeypatch, tmp_path, answer, complaint):
    fake = tmp_path / "a python"
    fake.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{answer}"\n', encoding="utf-8")
    fake.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(fake))
    with pytest.raises(environment.Problem, match=complaint) as caught:
        environment.check_pip()
    assert "\n" not in str(caught.value)


# In a folder with a space


@pytest.fixture
def project(tmp_path):
    """A project with nothing to install, in a folder with a space."""
    root = tmp_path / "a project"
    (root / "tools").mkdir(parents=True)
    shutil.copy(ROOT / "tools" / "environment.py", root / "tools")
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


def run(project, *arguments, **variables):
    command = [host_python(), project / "tools" / "environment.py", *arguments]
    ours = {"PATH": "/usr/bin:/bin", "HOME": str(project), "PIP_NO_INDEX": "1"} | variables
    return subprocess.run(command, env=ours, capture_output=True, text=True, check=False)


def mark(project):
    return json.loads((project / ".venv" / environment.MARK).read_text(encoding="utf-8"))


def test_a_second_run_finds_everything_there_and_says_nothing(project):
    first = run(project)
    assert first.returncode == 0, first.stdout + first.stderr
    assert "creating the environment" in first.stdout
    second = run(project)
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")


def test_packages_are_compiled_whatever_the_user_s_settings(project):
    assert run(project, PYTHONDONTWRITEBYTECODE="1").returncode == 0
    assert list(project.glob(".venv/lib/*/site-packages/__pycache__/bare.*.pyc"))


def test_without_a_network_there_is_one_sentence_and_nothing_counts_as_done(project):
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
    assert len(failed.stderr.splitlines()) == 1
    assert "check the network" in failed.stderr
    assert str(project / ".venv" / "pip.log") in failed.stderr
    assert mark(project) == {}
    (project / "requirements.txt").write_text("", encoding="utf-8")
    assert run(project).returncode == 0  # the same command again goes on


def test_a_package_that_is_not_to_be_had_is_named(project):
    (project / "empty").mkdir()
    (project / "requirements.txt").write_text("numpy==2.1.0\n", encoding="utf-8")
    failed = run(project, "--pip-args=--find-links empty")
    assert failed.returncode == 1
    assert "No matching distribution found for numpy==2.1.0" in failed.stderr
    assert len(failed.stderr.splitlines()) == 1


# What is decided before pip is called: here pip is replaced by a note that it was called


@pytest.fixture
def make(project, monkeypatch, capsys):
    """Return a function that makes the environment without pip and returns what it said."""
    monkeypatch.setattr(environment, "check_pip", lambda: None)
    monkeypatch.setattr(
        environment, "pip", lambda choices, arguments, count: print("pip was called")
    )

    def make(root=project, torch="", python_chosen=False):
        choices = SimpleNamespace(
            root=str(root),
            venv=str(root / ".venv"),
            torch=torch,
            pip_args="",
            python_chosen=python_chosen,
        )
        environment.make_environment(choices)
        return capsys.readouterr().out

    return make


def test_nothing_is_called_when_nothing_changed(make):
    assert "pip was called" in make()
    assert make() == ""


@pytest.mark.parametrize("name", ["requirements.txt", "pyproject.toml"])
def test_a_changed_file_is_noticed(project, make, name):
    make()
    with (project / name).open("a", encoding="utf-8") as file:
        file.write("# said differently\n")
    said = make()
    assert "the requirements changed" in said
    assert "pip was called" in said
    assert mark(project)[name] == environment.digest(project / name)


def test_a_moved_project_is_installed_again(project, make):
    make()
    moved = project.rename(project.with_name("moved here"))
    assert "updating" in make(moved)
    assert mark(moved)["folder"] == str(moved)


def test_what_was_never_finished_is_made_anew(project, make, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(environment, "pip", interrupted)
        with pytest.raises(KeyboardInterrupt):
            make()
    leftover = project / ".venv" / "half a package"
    leftover.touch()
    assert "creating the environment" in make()
    assert not leftover.exists()


def interrupted(*_arguments):
    raise KeyboardInterrupt


def test_an_environment_whose_python_has_gone_is_made_anew(project, make):
    make()
    python = project / ".venv" / "bin" / "python"
    python.unlink()
    assert "creating the environment" in make()
    assert python.exists()


def test_an_environment_of_another_python_is_kept_until_this_one_is_asked_for(
    project, make, monkeypatch
):
    make()
    here = mark(project)["python"]
    monkeypatch.setattr(environment, "python_name", lambda _version: "3.99")
    assert make() == ""
    assert mark(project)["python"] == here
    assert "creating the environment" in make(python_chosen=True)
    assert mark(project)["python"] == "3.99"


def test_a_venv_that_somebody_else_made_is_left_alone(project, make):
    (project / ".venv").mkdir()
    (project / ".venv" / "precious").write_text("mine", encoding="utf-8")
    with pytest.raises(environment.Problem, match="was not made by this command"):
        make()
    assert (project / ".venv" / "precious").read_text(encoding="utf-8") == "mine"


def test_another_torch_takes_the_place_of_the_pin_and_nothing_else(tmp_path):
    path = tmp_path / "requirements.txt"
    count = environment.write_requirements(ROOT / "requirements.txt", "torch==2.12.0+cpu", path)
    lines = path.read_text(encoding="utf-8").splitlines()
    assert count == len(lines) == len(PINS)
    assert [line for line in lines if line.startswith("torch==")] == ["torch==2.12.0+cpu"]


def test_a_torch_chosen_once_holds_until_another_is_chosen(project, make):
    make(torch="torch==2.12.0+cpu")
    assert mark(project)["torch"] == "torch==2.12.0+cpu"
    assert make() == ""
    make(torch="torch==2.13.0")
    assert mark(project)["torch"] == "torch==2.13.0"
