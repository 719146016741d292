"""Attacks on the next learner: what one submission leaves behind, the next one would find.

The control grades both notebooks in one process, as a grader does that restarts nothing.
"""

from tests.grading.attacks.attack import Attack, naive


def _pair(name: str, plants: str, finds: str, imports: str = "import os, sys") -> Attack:
    """Return an attack whose first notebook does `plants`; the next one sees whether `finds`."""
    first = f"""
        {imports}
        def squares(x):
            {plants}
            return 0
    """
    second = f"""
        {imports}
        def squares(x):
            return "harm" if {finds} else 0
    """
    return Attack(name, first, naive("both in one process"), then=second)


_PLACE = "next(p for p in (os.environ.get('TMPDIR', ''), FOLDER) if os.path.isdir(p))"

ATTACKS = [
    _pair(
        "leaves a file",
        f"open({_PLACE} + '/left', 'w').close()",
        f"os.path.exists({_PLACE} + '/left')",
    ),
    _pair("leaves shared memory", "open(SHARED, 'w').close()", "os.path.exists(SHARED)"),
    _pair(
        "leaves a variable of the environment", "os.environ['LEFT'] = 'x'", "'LEFT' in os.environ"
    ),
    _pair("leaves a module", "sys.modules['left'] = sys", "'left' in sys.modules"),
    _pair(
        "leaves a name in Python itself",
        "builtins.left = 1",
        "hasattr(builtins, 'left')",
        "import builtins",
    ),
    _pair("leaves NumPy changed", "np.left = 1", "hasattr(np, 'left')"),
    _pair("leaves torch changed", "torch.nn.Linear.left = 1", "hasattr(torch.nn.Linear, 'left')"),
    _pair(
        "leaves another kind of numbers",
        "torch.set_default_dtype(torch.float64)",
        "torch.get_default_dtype() is torch.float64",
    ),
    _pair(
        "leaves its random numbers",
        "np.random.seed(123)",
        "np.random.rand() == np.random.RandomState(123).rand()",
    ),
    _pair(
        "leaves torch's random numbers",
        "torch.manual_seed(123)",
        "torch.initial_seed() == 123",
    ),
    _pair("leaves a folder entered", "os.chdir('/usr')", "os.getcwd() == '/usr'"),
    _pair(
        "leaves a file open",
        "os.dup2(0, 50)",
        "is_open(50)",
        """import os
        def is_open(number):
            try:
                return bool(os.fstat(number))
            except OSError:
                return False""",
    ),
    _pair(
        "leaves a thread",
        "threading.Thread(target=time.sleep, args=(1,), daemon=True).start()",
        "threading.active_count() > 1",
        "import threading, time",
    ),
    _pair(
        "leaves a handler of signals",
        "signal.signal(signal.SIGUSR1, signal.SIG_IGN)",
        "signal.getsignal(signal.SIGUSR1) == signal.SIG_IGN",
        "import signal",
    ),
    _pair(
        "leaves a way to import",
        "sys.path.append('/left')",
        "'/left' in sys.path",
    ),
    _pair("leaves memory without collection", "gc.disable()", "not gc.isenabled()", "import gc"),
    _pair(
        "leaves a limit of recursion",
        "sys.setrecursionlimit(777)",
        "sys.getrecursionlimit() == 777",
    ),
    _pair("leaves a trace", "sys.setprofile(lambda *_a: None)", "sys.getprofile()"),
    _pair(
        "leaves the shim changed",
        "practice.left = 1",
        "hasattr(practice, 'left')",
        "from attn_course import practice",
    ),
    _pair(
        "leaves an answer where questions come from",
        "warnings.left = lambda name: 0",
        "hasattr(warnings, 'left')",
        "import warnings",
    ),
]
