"""Create `.venv` with everything the course needs, or find that it is all there already.

    python3 tools/environment.py            (what `make env`, `make book` and `make test` call)

It needs Python 3.11, 3.12 or 3.13 with pip 22.3 or newer, and nothing else: not the venv package
that Debian splits off, since the environment is made without a pip of its own and the pip you
have installs into it. A file in `.venv` says what was installed; it is written last, so that
nothing half-installed counts as done, and a second run that finds it unchanged is over at once.

This file is read by whatever `python3` is, so it keeps to the syntax of Python 3.6:
an older Python shall get a sentence, not a traceback.
"""

import argparse
import glob
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time

PYTHONS = ((3, 11), (3, 12), (3, 13))
PIP = (22, 3)  # the first with `pip --python`
MARK = "attn-course.json"  # in .venv: what is installed there, or {} while it is being made
REQUIREMENTS = "environment-requirements.txt"  # in .venv: what pip was asked for

# What pip writes when it reaches nobody, or loses them on the way; some of its versions and
# settings say no more than that there are no versions at all.
NO_NETWORK = re.compile(
    "NewConnectionError|NameResolutionError|ConnectTimeout|Read timed out|ProxyError|SSLError"
    "|name resolution|Name or service|Connection (refused|reset|aborted)|unreachable|Max retries"
    "|Failed to connect|IncompleteRead|ConnectionError|from versions: none"
)


class Problem(Exception):
    """Something the user has to know, in one sentence."""


def main():
    choices = read_choices()
    try:
        make_environment(choices)
    except Problem as problem:
        sys.exit("environment: " + str(problem))
    except KeyboardInterrupt:
        sys.exit("environment: stopped; run the same command again to go on.")


def read_choices():
    parser = argparse.ArgumentParser(description="Create .venv and install the course into it.")
    parser.add_argument("--python-chosen", action="store_true", help="use this very Python")
    parser.add_argument("--torch", default="", help="another build, such as torch==2.13.0+cpu")
    parser.add_argument("--pip-args", default="", help="further arguments for pip install")
    choices = parser.parse_args()
    choices.root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    choices.venv = os.path.join(choices.root, ".venv")
    return choices


def make_environment(choices):
    installed = read_mark(choices.venv)
    if installed and keeps_its_python(choices, installed):
        if installed == wanted(choices, installed):
            return
        check_pip()
        say("the requirements changed: updating the environment")
    else:
        check_python()
        check_pip()
        say("creating the environment in .venv")
        create(choices.venv)
        installed["python"] = python_name(sys.version_info)
    install(choices, wanted(choices, installed))


# What is there and what is wanted


def read_mark(venv):
    """Return what is installed in `venv`: nothing if it is missing or was never finished."""
    if not os.path.isdir(venv) or not os.listdir(venv):
        return {}
    mark = os.path.join(venv, MARK)
    if not os.path.isfile(mark):
        raise Problem(
            ".venv was not made by this command, so it is left alone: "
            "move it away (mv .venv old-venv) and run the same command again."
        )
    with open(mark, encoding="utf-8") as file:
        return json.load(file)


def keeps_its_python(choices, installed):
    """Return whether the interpreter of the environment runs, and is the one asked for, if any."""
    if choices.python_chosen and installed["python"] != python_name(sys.version_info):
        return False
    ask = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        answer = subprocess.check_output([interpreter(choices.venv), "-c", ask])
    except (OSError, subprocess.CalledProcessError):
        return False  # the Python it was made from has gone
    return answer.decode().strip() == installed["python"]


def wanted(choices, installed):
    """Return what the mark will say. A choice made earlier holds until another is made."""
    return {
        "python": installed["python"],
        "torch": choices.torch or installed.get("torch", ""),
        "requirements.txt": digest(os.path.join(choices.root, "requirements.txt")),
        "pyproject.toml": digest(os.path.join(choices.root, "pyproject.toml")),
        "folder": choices.root,  # the package is installed in place, so a move is a change
    }


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def python_name(version):
    return "%d.%d" % tuple(version[:2])


def interpreter(venv):
    return os.path.join(venv, "bin", "python")


# What it takes


def check_python():
    if tuple(sys.version_info[:2]) in PYTHONS:
        return
    names = ", ".join(python_name(version) for version in PYTHONS[:-1])
    raise Problem(
        "this is Python {found} ({path}), and the course needs Python {names} or {last}: "
        "choose one that you have, for example `make book PYTHON=python{other}`.".format(
            found=sys.version.split()[0],
            path=sys.executable,
            names=names,
            last=python_name(PYTHONS[-1]),
            other=python_name(PYTHONS[1]),
        )
    )


def check_pip():
    command = [sys.executable, "-m", "pip", "--version"]
    asked = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    found = re.match(r"pip (\d+)\.(\d+)", asked.stdout.decode())
    if asked.returncode or not found:
        problem = "there is no pip for"
    elif (int(found.group(1)), int(found.group(2))) < PIP:
        problem = "pip %s.%s is too old (22.3 is needed) for" % found.groups()
    else:
        return
    raise Problem(
        "%s %s: install it (on Debian: apt install python3-pip; elsewhere: %s -m ensurepip "
        "--upgrade), then run the same command again." % (problem, sys.executable, sys.executable)
    )


def create(venv):
    """Make an empty environment; the mark comes first, so that the folder is known as ours."""
    if os.path.isdir(venv):
        shutil.rmtree(venv)
    os.mkdir(venv)
    write_mark(venv, {})
    subprocess.check_call([sys.executable, "-m", "venv", "--without-pip", venv])


def write_mark(venv, content):
    mark = os.path.join(venv, MARK)
    with open(mark + ".new", "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1)
    os.replace(mark + ".new", mark)


# Installing


def install(choices, target):
    write_mark(choices.venv, {})  # whatever stops us from here on, the next run starts afresh
    path = os.path.join(choices.venv, REQUIREMENTS)
    source = os.path.join(choices.root, "requirements.txt")
    count = write_requirements(source, target["torch"], path)
    say("installing {} packages: a few minutes, most of them for PyTorch".format(count))
    # --no-compile: pip would do it on one processor.
    pip(choices, ["--no-compile", "-r", path, *shlex.split(choices.pip_args)], count)
    say("installing the course itself, in place")
    # --no-deps: all of them are there; --no-build-isolation: hatchling is one of them.
    pip(choices, ["--no-deps", "--no-build-isolation", "-e", choices.root], 1)
    say("compiling the packages, for quick starts")
    compile_packages(choices.venv)
    write_mark(choices.venv, target)
    say("the environment is ready")


def write_requirements(source, torch, path):
    """Write the pins to `path`, with the torch that was asked for; return how many there are."""
    with open(source, encoding="utf-8") as file:
        lines = [line.split("#")[0].strip() for line in file]
    pins = [line for line in lines if line]
    if torch:
        pins = [torch if line.startswith("torch==") else line for line in pins]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(pins) + "\n")
    return len(pins)


def pip(choices, arguments, count):
    """Run pip; its output goes to a file, and the terminal hears that it is at work."""
    log_path = os.path.join(choices.venv, "pip.log")
    command = [sys.executable, "-m", "pip", "--python", interpreter(choices.venv), "install"]
    command += ["--disable-pip-version-check", "--no-input", "--progress-bar", "off", *arguments]
    with open(log_path, "wb") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT, cwd=choices.root, env=clean_environment()
        )
        try:
            watch(process, lambda: progress(choices.venv, read(log_path), count))
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
    if process.returncode:
        raise Problem(why_pip_failed(log_path))


def compile_packages(venv):
    """Compile all packages on all processors.

    They would compile themselves at first use, but not where a grader loads them in a sandbox: it
    may write nothing, so each start would take several seconds more. A file that can't be
    compiled (packages bring templates along) is no loss.
    """
    (folder,) = glob.glob(os.path.join(venv, "lib", "*", "site-packages"))
    command = [interpreter(venv), "-m", "compileall", "-qq", "-j", "0", folder]
    subprocess.run(command, env=clean_environment())


def clean_environment():
    """Return the user's environment without what would send the packages elsewhere."""
    hindrances = ("PYTHONPATH", "PYTHONHOME", "PIP_TARGET", "PIP_PREFIX", "PIP_REQUIRE_VIRTUALENV")
    kept = {name: value for name, value in os.environ.items() if name not in hindrances}
    return dict(kept, PIP_USER="0")


def watch(process, progress_now):
    """Say now and then what pip is doing: each second on a terminal, else every 15 seconds."""
    terminal = sys.stdout.isatty()
    pause = 1 if terminal else 15
    started = time.time()
    while process.poll() is None:
        try:
            process.wait(timeout=pause)
        except subprocess.TimeoutExpired:
            line = "  {:3.0f} s  {}".format(time.time() - started, progress_now())
            print(line.ljust(78) if terminal else line, end="\r" if terminal else "\n", flush=True)
    if terminal:
        print(" " * 78, end="\r", flush=True)


def progress(venv, log, count):
    """Return in a few words how far pip is, from what it wrote and what it unpacked."""
    if "\nInstalling collected" in log:
        unpacked = len(glob.glob(os.path.join(venv, "lib", "*", "site-packages", "*.dist-info")))
        return "unpacked {} of {} packages".format(unpacked, count)
    if "Retrying" in log.strip().split("\n")[-1]:
        return "no answer from the package index, trying again"
    return "fetched {} of {} packages".format(log.count("Collecting "), count)


def why_pip_failed(log_path):
    log = read(log_path)
    errors = re.findall("^ERROR: (.*?)\\.?$", log, flags=re.MULTILINE) or ["it did not say why"]
    if NO_NETWORK.search(log):
        return (
            "the packages could not be downloaded ({}): check the network, or your proxy and pip's "
            "index, and run the same command again; all that pip said is in {}.".format(
                errors[-1], log_path
            )
        )
    return "pip could not install the packages ({}): all that it said is in {}.".format(
        errors[-1], log_path
    )


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def say(sentence):
    print("environment: " + sentence, flush=True)


if __name__ == "__main__":
    main()
