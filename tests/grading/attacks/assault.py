"""Grade a hostile notebook, and find out whether it did any harm."""

import ctypes
import math
import os
import secrets
import shutil
import socket
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from attn_course.grading.grade_one import grade_cells
from attn_course.grading.sandboxed_submission import NOTHING_AVOIDED
from attn_course.inside.lockdown import own_user
from attn_course.inside.wire import Plain
from attn_course.practice.results import Verdict
from tests.grading.attacks.attack import HARM, Attack
from tests.grading.fixture_chapter import chapter, sources
from tests.grading.in_a_sandbox import cells

ROOT = Path(__file__).parents[3]
MOST = {one.name: one.points for one in chapter.exercises.values()}
SECRETS = ("solutions/88_fixture.md", "checks/hidden.py", "out/gradebook.sqlite")
SECRETS += ("other/88_fixture.ipynb", "own")
_LONGEST_TEXT = 2000
_MANY = 500_000  # things or numbers that the grader holds because an attack says so


class World:
    """What attacks aim at, all of it made for them: files, servers, a place in our memory.

    Only the sandbox stands in the way: the files are open to everybody.
    """

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="attn-course-attacked-"))
        self.secret = "secret" + secrets.token_hex(7)
        self.target = self.folder / "mark"
        self._memory = ctypes.create_string_buffer(self.secret.encode())
        self._shared = Path(f"/dev/shm/{self.folder.name}")
        self._server = socket.create_server(("127.0.0.1", 0), backlog=100)
        self._local, self._abstract = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
        self._local.bind(str(self.folder / "socket"))
        self._abstract.bind("\0" + self.folder.name)
        for listener in (self._local, self._abstract):
            listener.listen(100)
        os.chmod(self.folder / "socket", 0o777)
        self.restore()

    def restore(self) -> None:
        """Make everything as it was."""
        self._shared.unlink(missing_ok=True)
        for path in self.folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.name != "socket":
                path.unlink()
        for name in SECRETS:
            (self.folder / name).parent.mkdir(exist_ok=True)
            (self.folder / name).write_text(self.secret)
            os.chmod(self.folder / name, 0o644)
        for folder in (self.folder, *self.folder.iterdir()):
            os.chmod(folder, 0o777 if folder.is_dir() or folder.is_socket() else 0o644)
        os.chown(self.folder / "own", own_user(), -1)
        self._before = self._state()

    def has_changed(self) -> bool:
        return self._shared.exists() or self._state() != self._before

    def _state(self) -> dict[str, tuple[int, int, int]]:
        """Return what is in the folder: kinds and modes, times and lengths."""
        found = {}
        for path in [self.folder, *self.folder.rglob("*")]:
            status = path.lstat()
            found[str(path)] = (status.st_mode, status.st_mtime_ns, status.st_size)
        return found

    @property
    def known(self) -> str:
        """The cell that tells an attack where to aim."""
        return "\n".join(
            [
                f"FOLDER = {str(self.folder)!r}",
                f"TARGET = {str(self.target)!r}",
                f"SHARED = {str(self._shared)!r}",
                f"COURSE = {str(ROOT)!r}",
                f"GRADER = {os.getpid()}",
                f"ADDRESS = {ctypes.addressof(self._memory)}",
                f"PORT = {self._server.getsockname()[1]}",
                f"ABSTRACT = {self.folder.name!r}",
            ]
        )

    def __enter__(self) -> "World":
        return self

    def __exit__(self, *_fault: object) -> None:
        for listener in (self._server, self._local, self._abstract):
            listener.close()
        self._shared.unlink(missing_ok=True)
        shutil.rmtree(self.folder)


@dataclass
class Spied:
    """A sandbox whose answers are listened to."""

    sandbox: object
    responses: list[Plain] = field(default_factory=list)

    def open(self, cells, names, file="notebook", without=NOTHING_AVOIDED):
        self.submission = self.sandbox.open(cells, names, file, without)
        return self

    def request(self, op, payload, seconds=math.inf):
        if _size(payload) > _MANY:
            self.responses.append({"value": HARM})
        response = self.submission.request(op, payload, seconds)
        if _size(response) > _MANY:
            self.responses.append({"value": HARM})
        self.responses.append(response)
        return response

    @property
    def verdict(self):
        return self.submission.verdict

    @property
    def last_words(self):
        return self.submission.last_words

    @property
    def problems(self):
        return self.submission.problems

    def close(self) -> None:
        self.submission.close()

    def __enter__(self) -> "Spied":
        return self

    def __exit__(self, *_fault: object) -> None:
        self.close()


def notebook(world: World, **changes: str) -> list[str]:
    """Return the cells of a right notebook, with some answers replaced."""
    return [world.known, *sources(**changes)]


def harm_of(responses: list[Plain], world: World) -> list[str]:
    """Say what harm was done, as far as it shows in the answers and around."""
    found = []
    for response in responses:
        texts = list(_texts(response))
        if HARM in texts:
            found.append("it reached what it wanted")
        if any(world.secret in text for text in texts):
            found.append("it read a secret")
        if "value" not in response and any(len(text) > _LONGEST_TEXT for text in texts):
            found.append("it wrote a book")
    if world.has_changed():
        found.append("it left a mark")
    return found


def _texts(value: Plain):
    """Return every text in a value, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _texts(key)
            if key != "line":  # the attack's own source
                yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def _size(value: Plain) -> int:
    """Return how many things there are in a value, and numbers in its arrays."""
    if isinstance(value, dict):
        return sum(map(_size, value.values()))
    if isinstance(value, list | tuple):
        return 1 + sum(map(_size, value))
    return getattr(value, "size", 1) if isinstance(value, np.ndarray) else 1


def faults_of(attack: Attack, sandbox, world: World, is_thorough: bool = True) -> list[str]:
    """Grade a hostile notebook and another one after it; say what should not have happened.

    All answers but one are right in a hostile notebook too. So where many are graded in a row, and
    `is_thorough` is False, each shows that the one before it has left nothing.
    """
    seed = 7
    before = processes_below(os.getpid())
    hostile, faults = _graded(sandbox, world, seed, **{attack.attacked: attack.cell})
    allowed = {name: {most} for name, most in MOST.items()} | {attack.attacked: {0}}
    allowed |= {name: {0, MOST[name]} for name in attack.costs}
    faults += [
        f"{points} points for {name}"
        for name, points in hostile.items()
        if points not in allowed[name]
    ]
    if processes_below(os.getpid()) != before:
        faults.append("the processes are not those that were there before")
    if is_thorough or attack.then:
        faults += _faults_of_the_next(attack, sandbox, world, seed)
    if faults:
        world.restore()
    return faults


def _faults_of_the_next(attack: Attack, sandbox, world: World, seed: int) -> list[str]:
    changes = {"squares": attack.then} if attack.then else {}
    after, harm = _graded(sandbox, world, seed, **changes)
    faults = [f"{fault}, one notebook later" for fault in harm]
    wanted = MOST | {"squares": 0} if attack.then else MOST
    if after != wanted:
        faults.append(f"the next notebook has {after}")
    return faults


def _graded(sandbox, world: World, seed: int, **changes: str):
    """Return the points for each exercise, and what harm was done."""
    spied = Spied(sandbox)
    record = grade_cells(
        spied, cells(*notebook(world, **changes)), chapter, seed, "n.ipynb", seconds=60
    )
    names = [one.id.partition(".")[2] for one in record.exercises]
    points = dict(zip(names, (one.points for one in record.exercises), strict=True))
    unjudged = (one for one in record.exercises if one.verdict is Verdict.NOT_JUDGED)
    return points, harm_of(spied.responses, world) + [f"{one.id}: {one.notes}" for one in unjudged]


def harm_with_a_wall_away(attack: Attack, sandbox, world: World) -> list[str]:
    """Ask for the attacked exercise alone, where the attack is to succeed."""
    spied = Spied(sandbox)
    asked = [attack.attacked, *attack.costs]
    hostile = cells(*notebook(world, **{attack.attacked: attack.cell}))
    stopped = []
    try:
        with spied.open(hostile, asked):
            for name in asked:
                chapter.exercises[name].check(spied, seed=7)
        harm = harm_of(spied.responses, world)
    except Exception as fault:
        if not attack.control.is_trusting:
            raise
        stopped = [f"the grader stopped with {type(fault).__name__}"]
        harm = []
    world.restore()
    return harm + stopped


def processes_below(ancestor: int) -> set[int]:
    """Return the processes that descend from `ancestor`."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError), open(f"/proc/{name}/stat") as file:
            parents[int(name)] = int(file.read().rsplit(")", 1)[1].split()[1])
    found: set[int] = set()
    added = {ancestor}
    while added:
        found |= added
        added = {pid for pid, parent in parents.items() if parent in added} - found
    return found - {ancestor}
