"""What a submission can see: Python, NumPy, PyTorch, matplotlib; of the course next to nothing."""

import os
import sys
import time
from pathlib import Path

import pytest

import attn_course
from attn_course.grading import launch, sandbox_view
from attn_course.grading.launch import InfrastructureFault, WorkerProcess
from attn_course.grading.sandbox import Sandbox
from attn_course.inside.limits import Barriers, Limits
from attn_course.inside.plan import Plan
from attn_course.inside.wire import pack, unpack
from tests.grading.available_rungs import ROOT, SANDBOXES, rung_or_skip
from tests.grading.in_a_sandbox import error_of, value_of

PACKAGE = Path(attn_course.__file__).parent


@pytest.fixture(scope="module", params=SANDBOXES)
def rung(request):
    return rung_or_skip(request.param)


@pytest.fixture(scope="module")
def sandbox(rung):
    with Sandbox(rung, Limits(call_seconds=30), is_warm=False) as made:
        yield made


IMPORT = "import importlib\ndef f(name):\n    return importlib.import_module(name).__name__"


@pytest.mark.parametrize("name", ["numpy", "msgpack", "sqlite3", "attn_course.practice"])
def test_what_answers_need_can_be_imported(sandbox, name):
    assert value_of(sandbox, IMPORT, name) == name


@pytest.mark.parametrize(
    "name",
    [
        "attn_course.scoring",
        "attn_course.definitions",
        "attn_course.practice.exercises",
        "attn_course.practice.exercise",
        "attn_course.practice.exercises.nadaraya_watson.average_pooling",
        "attn_course.practice.definition",
        "attn_course.practice.judging",
        "attn_course.authoring",
        "attn_course.grading.gradebook",
        "tests.grading",
        "pytest",
        "IPython",
    ],
)
def test_the_reference_the_checks_and_the_tests_can_t(sandbox, name):
    # Never PermissionError: a notebook may well try, and do without.
    assert error_of(sandbox, IMPORT, name) == "ModuleNotFoundError"


def test_practice_does_nothing_inside(sandbox):
    source = """
        from attn_course import practice
        def f():
            return [practice.check("01.f", f), practice.overview("01"), practice.play(f, w=(0, 1))]
    """
    assert value_of(sandbox, source) == [None, None, None]


@pytest.mark.parametrize(
    "path",
    [
        PACKAGE / "scoring.py",
        PACKAGE / "practice" / "exercises" / "__init__.py",
        PACKAGE / "practice" / "exercises" / "01_nadaraya_watson.json",
        PACKAGE / "practice" / "exercises" / "nadaraya_watson" / "average_pooling.py",
        ROOT / "solutions" / "01_nadaraya_watson.md",
        ROOT / "tests" / "conftest.py",
        ROOT / "pyproject.toml",
        Path("/etc/passwd"),
        Path("/proc/self/environ"),
        Path("/proc/1/cmdline"),
        Path("/sys/kernel/uevent_seqnum"),
    ],
    ids=lambda path: "/".join(path.parts[-2:]),
)
def test_files_of_the_course_and_the_computer_can_t_be_read(sandbox, path):
    assert path.exists()
    read = "def f(path):\n    return open(path, 'rb').read(10) and 1"
    assert error_of(sandbox, read, str(path)) in ("PermissionError", "FileNotFoundError")


def test_a_folder_that_a_test_opens_is_what_the_reference_was_missing(rung):
    # The control: with the package visible and on the path, the same import succeeds.
    source = """
        import sys
        def f(folder):
            sys.path.insert(0, folder)
            for name in [name for name in sys.modules if name.startswith("attn_course")]:
                del sys.modules[name]
            import attn_course.running_example
            return attn_course.running_example.__file__
    """
    folder = str(PACKAGE.parent)
    barriers = Barriers(more_readable=(folder,))
    with Sandbox(rung, Limits(call_seconds=30), barriers, is_warm=False) as open_sandbox:
        assert value_of(open_sandbox, source, folder) == str(PACKAGE / "running_example.py")


def test_the_environment_holds_nothing_of_the_graders(monkeypatch, rung):
    monkeypatch.setenv("A_SECRET_OF_MINE", "hunter2")
    source = "import os\ndef f():\n    return sorted(os.environ)"
    with Sandbox(rung, Limits(), is_warm=False) as made:
        assert "A_SECRET_OF_MINE" not in value_of(made, source)


def test_the_copy_of_the_course_has_no_reference_in_it(tmp_path):
    sandbox_view.copy_course(tmp_path)
    copied = {str(path.relative_to(tmp_path / "attn_course")) for path in tmp_path.rglob("*.py")}
    assert "inside/selection.py" in copied
    assert "inside/worker.py" in copied
    kinds = {"__init__.py", "translate.py", "practice", "inside"}
    assert {name.split("/")[0] for name in copied} <= kinds
    assert [name for name in copied if name.startswith("practice")] == ["practice/__init__.py"]
    forbidden = ("exercise", "gradebook", "judging", "definition", "authoring")
    assert not any(word in name for word in forbidden for name in copied)
    assert not list(tmp_path.rglob("*.json"))  # the compiled exercises hold the solutions


def test_what_is_visible_holds_neither_the_course_nor_other_packages():
    seen = sandbox_view.what_is_visible()
    for path in map(Path, seen.paths):
        assert path not in PACKAGE.parents
        assert path != PACKAGE
        assert PACKAGE not in path.parents
    names = {Path(path).name for path in seen.packages}
    assert {"numpy", "torch", "matplotlib", "msgpack"} <= names
    assert not {name for name in names if name.startswith(("pytest", "attn", "hypothesis"))}
    assert not {name for name in names if name.endswith(".pth")}


def test_a_folder_that_hides_something_is_taken_apart(tmp_path):
    for name in ("a/one", "a/hidden", "a/deep/hidden", "a/deep/two", "b"):
        (tmp_path / name).mkdir(parents=True)
    hidden = (str(tmp_path / "a/hidden"), str(tmp_path / "a/deep/hidden"))
    found = sandbox_view._without(str(tmp_path / "a"), hidden)
    assert [Path(path).relative_to(tmp_path).as_posix() for path in found] == [
        "a/deep/two",
        "a/one",
    ]
    assert sandbox_view._without(str(tmp_path / "b"), hidden) == [str(tmp_path / "b")]


def test_another_python_inside_is_noticed(monkeypatch):
    rung = rung_or_skip("D")
    wanted = {"python": "3.99", "numpy": "0.1"}
    monkeypatch.setattr(launch, "_versions", lambda _is_warm: wanted)
    with pytest.raises(InfrastructureFault, match=r"instead of 3\.99"):
        WorkerProcess(rung, Limits(), is_warm=False)


def test_a_worker_that_can_t_start_leaves_its_last_words(monkeypatch):
    rung = rung_or_skip("D")
    monkeypatch.setattr(sandbox_view, "_COURSE", ("__init__.py", "inside"))  # without `translate`
    with pytest.raises(InfrastructureFault, match="Error"):
        WorkerProcess(rung, Limits(), is_warm=False)


def test_a_plan_crosses_the_wire_as_it_is():
    plan = Plan(
        limits=Limits(call_seconds=1.5),
        locked=True,
        namespaces=("user", "pid"),
        landlock=True,
        seccomp=False,
        resources=("memory",),
        more_syscalls=(1, 2),
        readable=("/a", "/b"),
        hidden_modules=("pytest",),
        scratch="/scratch",
        user=7,
        drops_early=False,
        is_warm=True,
    )
    assert Plan.from_plain(unpack(pack(plan.to_plain()))) == plan


def test_the_same_python_runs_inside(sandbox):
    assert value_of(sandbox, "import sys\ndef f():\n    return sys.version") == sys.version


def test_what_a_killed_grader_left_behind_is_swept_away(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    yesterday = time.time() - 100_000
    names = {
        "attn-course-worker-4194999-left": yesterday,  # no process has such a number
        f"attn-course-worker-{os.getpid()}-alive": yesterday,
        "attn-course-worker-4194998-young": time.time(),
        "somebody-else": yesterday,
    }
    for name, changed in names.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("x")
        os.utime(tmp_path / name, (changed, changed))
    (tmp_path / "attn-course-worker-4194997-link").symlink_to(tmp_path / "somebody-else")
    launch.sweep()
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {*list(names)[1:], "attn-course-worker-4194997-link"}
    assert (tmp_path / "somebody-else" / "file").exists()
