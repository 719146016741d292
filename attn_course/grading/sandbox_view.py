"""What a submission can see of this computer: the interpreter, NumPy, PyTorch, matplotlib.

Folders of libraries are shown whole, except for the folders of installed packages in them; of
those only the packages that submissions need are shown, one by one. Of the course itself, the room
`inside` is copied; the reference, the exercises with their checks, and everything else stay out of
sight.
"""

import importlib.metadata
import os
import re
import shutil
import site
import sys
import sysconfig
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import attn_course

PACKAGES = ("numpy", "torch", "matplotlib", "msgpack")
_MODULES = (".py", ".so")
_COMPILED = shutil.ignore_patterns("__pycache__")
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
_COURSE = ("__init__.py", "translate.py", "locale", "inside")  # a contract says that these suffice


@dataclass(frozen=True)
class Visible:
    """What is shown: `folders` whole but for what is `hidden` in them, then single `packages`."""

    interpreter: str
    folders: tuple[str, ...]
    hidden: tuple[str, ...]
    packages: tuple[str, ...]
    import_paths: tuple[str, ...]

    @property
    def hidden_modules(self) -> tuple[str, ...]:
        """The names of the other packages in the same folders, which are not shown."""
        shown = {Path(path) for path in self.packages}
        folders = {path.parent for path in shown}
        neighbours = {entry for folder in folders for entry in folder.iterdir()}
        modules = [path for path in neighbours - shown if path.is_dir() or path.suffix in _MODULES]
        names = {path.name.partition(".")[0] for path in modules}
        here = {attn_course.__name__, *(path.name.partition(".")[0] for path in shown)}
        return tuple(sorted(names - here))

    @property
    def shown(self) -> tuple[str, ...]:
        """What to read where only `folders` and `packages` are there at all."""
        return (*self.folders, *self.import_paths, *DEVICES)

    @property
    def paths(self) -> tuple[str, ...]:
        """The same for Landlock, which only allows: a folder that hides something goes in parts."""
        apart = [path for folder in self.folders for path in _without(folder, self.hidden)]
        return (self.interpreter, *apart, *self.packages, *DEVICES)


@cache
def what_is_visible(names: tuple[str, ...] = PACKAGES) -> Visible:
    """Return what of this computer a submission needs that uses these packages."""
    interpreter = os.path.realpath(sys.executable)
    packages, import_paths = _packages(names)
    standard = sysconfig.get_path("stdlib")
    folders = [
        os.path.join(sys.base_prefix, "lib"),
        standard,
        sysconfig.get_config_var("LIBDIR") or standard,
        *_system_libraries(),
    ]
    folders = _existing(folders)
    root = os.path.dirname(os.path.realpath(attn_course.__file__))
    hidden = {root, *map(os.path.realpath, [*site.getsitepackages(), *import_paths])}
    for folder in folders:
        hidden.update(map(str, Path(folder).glob("python*/*-packages")))
        hidden.update(map(str, Path(folder).glob("*-packages")))
    inside = [path for path in hidden if os.path.isdir(path) and _is_in_one_of(path, folders)]
    return Visible(
        interpreter,
        tuple(folders),
        tuple(sorted(inside)),
        tuple(packages),
        (standard, os.path.join(standard, "lib-dynload"), *import_paths),
    )


def copy_course(folder: Path) -> None:
    """Write what of the course runs inside a sandbox below `folder`: the room `inside`."""
    source = Path(attn_course.__file__).parent
    target = folder / "attn_course"
    target.mkdir(parents=True)
    for name in _COURSE:
        if (source / name).is_dir():
            shutil.copytree(source / name, target / name, ignore=_COMPILED)
        elif (source / name).exists():
            shutil.copyfile(source / name, target / name)
    (target / "practice").mkdir()
    shutil.copyfile(source / "inside" / "inert_practice.py", target / "practice" / "__init__.py")
    for path in [folder, *folder.rglob("*")]:  # for the user `nobody` too, whatever the umask here
        path.chmod(0o755 if path.is_dir() else 0o644)


def environment(scratch: str) -> dict[str, str]:
    """Return the whole environment of a worker: nothing of the grader's but the language."""
    kept = {name: os.environ[name] for name in ("LANGUAGE", "LC_ALL", "LANG") if name in os.environ}
    threads = dict.fromkeys(
        ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1"
    )
    return {
        "PATH": "/nowhere",
        "HOME": scratch,
        "TMPDIR": scratch,
        "USER": "nobody",
        "MPLBACKEND": "Agg",
        "MPLCONFIGDIR": scratch,
        "MALLOC_ARENA_MAX": "2",  # each thread would else reserve 64 MB of what it may have
        "PYTHONHASHSEED": "0",  # sets have the same order in every worker
        "PYTHONUTF8": "1",
        **threads,
        **kept,
    }


def _packages(names: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Return the files and folders of packages and what they require, and their folders."""
    pending, seen = list(names), set()
    found: dict[str, None] = {}
    places: dict[str, None] = {}
    while pending:
        name = re.sub(r"[-_.]+", "-", pending.pop()).lower()
        if name in seen:
            continue
        seen.add(name)
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:  # for another system or version of Python
            continue
        place = os.path.realpath(str(distribution.locate_file("")))
        places[place] = None
        for entry in _entries(distribution):
            found[os.path.join(place, entry)] = None
        for requirement in distribution.requires or []:
            wanted = re.match(r"[\w.-]+", requirement)
            if wanted and "extra ==" not in requirement:
                pending.append(wanted[0])
    return _existing(found), list(places)


def _entries(distribution: importlib.metadata.Distribution) -> set[str]:
    """Return what a distribution put into the folder of packages, relative to it."""
    record = distribution.read_text("RECORD")
    if record is None:  # installed by the system's own package manager
        names = (distribution.read_text("top_level.txt") or distribution.metadata["Name"]).split()
        return {*names, *(f"{name}.py" for name in names)}
    entries = set()
    for line in record.splitlines():
        parts = line.strip('"').split(",")[0].split("/")
        if parts[0] == "__pycache__":  # it has compiled files of several packages
            entries.add("/".join(parts))
        elif parts[0] != ".." and not parts[0].endswith(".pth"):
            entries.add(parts[0])
    return entries


def _system_libraries() -> list[str]:
    several = sysconfig.get_config_var("MULTIARCH")
    if several and os.path.isdir(f"/usr/lib/{several}"):
        return [f"/lib/{several}", f"/usr/lib/{several}", "/lib64", "/usr/lib64"]
    return ["/lib", "/lib64", "/usr/lib", "/usr/lib64"]


def _existing(paths: "list[str] | dict[str, None]") -> list[str]:
    """Return the real paths of those that exist, without repetition or parts of one another."""
    real = sorted({os.path.realpath(path) for path in paths if os.path.exists(path)})
    return [path for path in real if not _is_in_one_of(path, [p for p in real if p != path])]


def _is_in_one_of(path: str, folders: list[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def _without(folder: str, hidden: tuple[str, ...]) -> list[str]:
    """Return paths that together contain all of `folder` but what is `hidden`."""
    if folder in hidden:
        return []
    if not any(_is_in_one_of(path, [folder]) for path in hidden):
        return [folder]
    inner = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    return [path for entry in inner for path in _without(entry, hidden)]
