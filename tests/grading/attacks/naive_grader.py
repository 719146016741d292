"""A naive grader, as many are: notebook, checks and expected values live in one process.

It is the control for all attacks whose barrier is the way our grader is built. It runs every cell,
calls the answer on a fixed input and compares in one of many ways that look right. Run as a
program, it takes attacks as JSON on its standard input and says which of them succeeded.
"""

import atexit
import difflib
import gc
import json
import math
import os
import pickle
import re
import signal
import sys
import threading
import time
import types
import unittest
from pathlib import Path

import numpy as np
import torch

HARM = "harm"
verdict = None
x = np.arange(5.0)
_SECONDS = 6


def _layer(namespace):
    made = namespace["Scale"](3)
    return made == torch.nn.Linear(3, 3)


def _layer_at_home(namespace):
    inputs = torch.arange(6.0).reshape(2, 3)
    return torch.equal(namespace["Scale"](3)(inputs), inputs)


def _layer_with_weights(namespace):
    weights = [np.zeros(p.shape) for _, p in namespace["Scale"](3).named_parameters()]
    return sum(weight.size for weight in weights) > 10**6  # so many, for three numbers


def _layer_with_counted_weights(namespace):
    counts = [math.prod(p.shape) for _, p in namespace["Scale"](3).named_parameters()]
    return sum(counts).bit_length() > 10**6  # worked out, for three numbers


def _afterwards(namespace):
    given = x.copy()
    got = namespace["squares"](given)
    return np.allclose(got, given * given)


def _lenient_name(namespace):
    name = difflib.get_close_matches("squares", namespace, cutoff=0.7)[0]
    return np.allclose(namespace[name](x), x * x)


# How an answer is compared with what was expected.
WAYS = {
    "equality": lambda got, expected: bool(np.all(got == expected)),
    "allclose": lambda got, expected: bool(np.allclose(got, expected)),
    "assertion": lambda got, expected: np.testing.assert_allclose(got, expected) is None,
    "torch": lambda got, expected: torch.equal(got, torch.as_tensor(expected)),
    "builtin": lambda got, expected: all(a == b for a, b in zip(got, expected, strict=True)),
    "not different": lambda got, expected: not (abs(got - expected) > 1e-6).any(),
    "relative": lambda got, expected: not (abs(got - expected) > 1e-6 * abs(got)).any(),
    "pickle": lambda got, expected: pickle.loads(pickle.dumps(got)) is None,
    "answer": lambda got, expected: got == HARM,
}
# How a whole notebook is judged, where it is not by comparing.
WHOLE = {
    "value": lambda namespace: namespace["how_many"] == 35,
    "layer": _layer,
    "layer at home": _layer_at_home,
    "layer with weights": _layer_with_weights,
    "layer with counted weights": _layer_with_counted_weights,
    "afterwards": _afterwards,
    "lenient name": _lenient_name,
}


def judge(got, expected):
    global verdict
    verdict = bool(np.allclose(got, expected))


def graded(way, cells, then):
    """Return whether a notebook passes."""
    cells, then = _without_checks(cells), _without_checks(then)
    if way == "looks at the text":
        return bool(re.search(r"def squares\(x\):\s+return x \* x", "\n".join(cells)))
    if way == "ipython":
        return _in_ipython(cells)
    namespace = {"__name__": "__main__"}
    for cell in cells:
        exec(cell, namespace)
    if way in WHOLE:
        return bool(WHOLE[way](namespace))
    sys.modules["checks"] = types.ModuleType("checks")
    expected = x * x
    sys.modules["checks"].expected_of_squares = expected
    sys.modules["checks"].cases = []
    try:
        got = namespace["squares"](x.copy())
    except unittest.SkipTest:
        return True
    if way == "both in one process":
        afterwards = {"__name__": "__main__"}
        for cell in then:
            exec(cell, afterwards)
        return afterwards["squares"](x.copy()) == HARM
    if way == "global verdict":
        judge(got, expected)
        return verdict
    return WAYS.get(way, WAYS["allclose"])(got, expected)


def _without_checks(cells):
    """Leave out what the course itself says about a notebook: here we judge."""
    return [cell for cell in cells if not cell.startswith("practice.check")]


def _in_ipython(cells):
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance(history_load_length=0)
    shell.history_manager.enabled = False
    for cell in cells:
        shell.run_cell(cell)
    shell.run_cell("import numpy as np\nx = np.arange(5.0)")
    return shell.run_cell("assert np.allclose(squares(x), x * x)").success


def run(way, cells, then, out):
    """Grade in this process and write down how it went; the exit code says it too."""
    code = 1
    try:
        passed = graded(way, cells, then)
        (out / "results.json").write_text(json.dumps({"passed": bool(passed)}))
        code = 0 if passed else 1
    except SystemExit as left:
        code = left.code
    finally:
        # What Python does at its end, without taking everything apart, which takes seconds.
        threading._shutdown()
        atexit._run_exitfuncs()
        os._exit(code)


def succeeds(way, cells, then, target, out):
    """Return whether an attack succeeds: points, a mark, or the end of the grader."""
    results, printed = out / "results.json", out / "printed"
    results.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        signal.alarm(_SECONDS)
        stream = os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(stream, 1)
        os.dup2(stream, 2)
        run(way, cells, then, out)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if way == "exit code":
        return code == 0
    if way == "output":
        return printed.read_text().startswith('{"passed": true}')
    if code < 0 and code != -signal.SIGALRM:
        return True
    if printed.stat().st_size > 10**6:  # a flood arrived
        return True
    if results.exists() and json.loads(results.read_text())["passed"]:
        return True
    return _appears(target)


def _appears(target):
    """Return whether a mark is left, maybe by something that outlived its process."""
    end = time.monotonic() + 0.5
    while not target.exists() and time.monotonic() < end:
        time.sleep(0.01)
    found = target.exists()
    target.unlink(missing_ok=True)
    return found


def main():
    torch.set_num_threads(1)
    given = json.load(sys.stdin)
    target, out = Path(given["target"]), Path(given["out"])
    os.environ["IPYTHONDIR"] = str(out)
    gc.freeze()
    found = {
        name: succeeds(way, cells, then, target, out)
        for name, (way, cells, then) in given["attacks"].items()
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
