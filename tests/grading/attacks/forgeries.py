"""Forgeries: points without an answer, in ways that work on graders that check in one process.

Each succeeds against the naive grader (see `naive_grader`), in the way that its control names.
"""

from tests.grading.attacks.attack import Attack, naive

_AGREES = """
    class Agrees:
        __hash__ = None
        def __eq__(self, other):
            return True
"""
_ARRAY = """
    class Liar(np.ndarray):
        def __array_ufunc__(self, *_arguments, **_keywords):
            return np.True_
        def __array_function__(self, *_arguments, **_keywords):
            return True
        def __eq__(self, other):
            return True
"""

ATTACKS = [
    Attack(
        "equals everything",
        _AGREES + "\n    def squares(x):\n        return Agrees()",
        naive("equality"),
    ),
    Attack(
        "is a number that equals everything",
        """
        class Number(int):
            def __eq__(self, other):
                return True
            def __hash__(self):
                return 35
        how_many = Number(1)
        """,
        naive("value"),
        attacked="how_many",
    ),
    Attack(
        "is a text that equals everything",
        """
        class Text(str):
            __hash__ = None
            def __eq__(self, other):
                return True
        how_many = Text("35")
        """,
        naive("value"),
        attacked="how_many",
    ),
    Attack(
        "is a fraction that equals everything",
        """
        class Float(float):
            __hash__ = None
            def __eq__(self, other):
                return True
        how_many = Float("nan")
        """,
        naive("value"),
        attacked="how_many",
    ),
    Attack(
        "is an array that lies",
        _ARRAY + "\n    def squares(x):\n        return x.view(Liar)",
        naive("allclose"),
    ),
    Attack(
        "is an array that lies when it is compared",
        _ARRAY + "\n    def squares(x):\n        return x.view(Liar)",
        naive("equality"),
    ),
    Attack(
        "becomes an array only when looked at, with the answer found on the stack",
        """
        import sys
        class Late:
            def __array__(self, dtype=None, copy=None):
                frame = sys._getframe()
                while frame and "expected" not in frame.f_locals:
                    frame = frame.f_back
                return frame.f_locals["expected"] if frame else np.zeros(5)
        def squares(x):
            return Late()
        """,
        naive("allclose"),
    ),
    Attack(
        "is a tensor that lies",
        """
        class Liar(torch.Tensor):
            @classmethod
            def __torch_function__(cls, function, types, arguments=(), keywords=None):
                if function is torch.equal:
                    return True
                return super().__torch_function__(function, types, arguments, keywords or {})
        def squares(x):
            return torch.zeros(5).as_subclass(Liar)
        """,
        naive("torch"),
    ),
    Attack(
        "has a lying kind of numbers",
        _AGREES
        + """
    def squares(x):
        return np.array([Agrees() for _ in x], dtype=object)
        """,
        naive("equality"),
    ),
    Attack(
        "hopes that NaN is equal to all",
        "def squares(x):\n    return x * float('nan')",
        naive("not different"),
    ),
    Attack(
        "hopes that infinity is near", "def squares(x):\n    return x + np.inf", naive("relative")
    ),
    Attack(
        "gives nothing to compare",
        "def squares(x):\n    return np.zeros((0, 1))",
        naive("allclose"),
    ),
    Attack("changes the input", "def squares(x):\n    x[:] = 0\n    return x", naive("afterwards")),
    Attack(
        "replaces NumPy's comparison",
        """
        def squares(x):
            np.allclose = np.isclose = np.array_equal = lambda *_a, **_k: True
            return 0
        """,
        naive("allclose"),
    ),
    Attack(
        "replaces NumPy's assertions",
        """
        import numpy.testing
        def squares(x):
            numpy.testing.assert_allclose = lambda *_a, **_k: None
            return 0
        """,
        naive("assertion"),
    ),
    Attack(
        "replaces torch's comparison",
        """
        def squares(x):
            torch.equal = torch.allclose = lambda *_a, **_k: True
            return torch.zeros(1)
        """,
        naive("torch"),
    ),
    Attack(
        "replaces what Python is built from",
        """
        import builtins
        def squares(x):
            builtins.all = lambda _things: True
            return x * 0
        """,
        naive("builtin"),
        costs=("how_many", "train_step", "Scale"),
    ),
    Attack(
        "puts another module in place of NumPy's tests",
        """
        import sys, types
        def squares(x):
            fake = types.ModuleType("numpy.testing")
            fake.assert_allclose = lambda *_a, **_k: None
            sys.modules["numpy.testing"] = np.testing = fake
            return 0
        """,
        naive("assertion"),
    ),
    Attack(
        "rewrites cells before they run, as IPython may",
        """
        def squares(x):
            return 0
        shell = get_ipython()
        shell.input_transformers_cleanup.append(
            lambda lines: [line.replace("assert ", "True or ") for line in lines]
        )
        squares.shell = shell
        """,
        naive("ipython"),
    ),
    Attack(
        "rewrites the syntax tree of cells",
        """
        import ast
        class NoAssert(ast.NodeTransformer):
            def visit_Assert(self, node):
                return ast.copy_location(ast.Pass(), node)
        def squares(x):
            return 0
        squares.shell = get_ipython().ast_transformers.append(NoAssert())
        """,
        naive("ipython"),
    ),
    Attack(
        "walks up the stack for the answer",
        """
        import sys
        def squares(x):
            frame = sys._getframe()
            while "expected" not in frame.f_locals:
                frame = frame.f_back
            return frame.f_locals["expected"]
        """,
        naive("allclose"),
    ),
    Attack(
        "searches all memory for the answer",
        """
        import gc
        def squares(x):
            for thing in gc.get_objects():
                if type(thing) is dict and "expected_of_squares" in thing:
                    return thing["expected_of_squares"]
        """,
        naive("allclose"),
    ),
    Attack(
        "asks the grader's modules for the answer",
        """
        import sys
        def squares(x):
            return sys.modules["checks"].expected_of_squares
        """,
        naive("allclose"),
    ),
    Attack(
        "traces the grader's own lines",
        """
        import sys
        def trace(frame, event, argument):
            if frame.f_code.co_name == "judge":
                frame.f_globals["verdict"] = True
            return trace
        def squares(x):
            sys.settrace(trace)
            return 0
        """,
        naive("global verdict"),
    ),
    Attack(
        "comes as a pickle that runs code",
        """
        import os
        class Bomb:
            def __reduce__(self):
                return open, (TARGET, "w")
        def squares(x):
            return Bomb()
        """,
        naive("pickle"),
    ),
    Attack(
        "replaces the writing of results",
        """
        import json
        def squares(x):
            right = json.dumps({"passed": True})
            json.dumps = lambda *_a, **_k: right
            return 0
        """,
        naive("results file"),
    ),
    Attack(
        "writes the results itself",
        """
        import os
        def squares(x):
            for place in (FOLDER + "/out", ".", os.environ.get("TMPDIR", ".")):
                try:
                    open(place + "/results.json", "w").write('{"passed": true}')
                except OSError:
                    pass
            os._exit(0)
        """,
        naive("results file"),
    ),
    Attack(
        "exits as if all were well",
        "import os\ndef squares(x):\n    os._exit(0)",
        naive("exit code"),
    ),
    Attack("leaves by SystemExit", "def squares(x):\n    raise SystemExit(0)", naive("exit code")),
    Attack(
        "prints the results itself",
        """
        import os
        def squares(x):
            os.write(1, b'{"passed": true}\\n')
            os._exit(1)
        """,
        naive("output"),
    ),
    Attack(
        "has the test skipped",
        """
        import unittest
        def squares(x):
            raise unittest.SkipTest("not today")
        """,
        naive("skip"),
    ),
    Attack(
        "knows the answer by heart, and when it is asked for it",
        """
        asked = []
        def squares(x):
            asked.append(x)
            return [0.0, 1.0, 4.0, 9.0, 16.0] if len(asked) == 1 else None
        """,
        naive("allclose"),
    ),
    Attack(
        "is a class whose making cheats",
        _AGREES
        + """
    class squares(Agrees):
        def __init__(self, x):
            pass
        """,
        naive("equality"),
    ),
    Attack(
        "is an object that can be called",
        _AGREES
        + """
    class Cheats(Agrees):
        def __call__(self, x):
            return self
    squares = Cheats()
        """,
        naive("equality"),
    ),
    Attack(
        "has another module behind the wire",
        """
        import sys
        def squares(x):
            for name in ("attn_course.inside.protocol", "attn_course.inside.submission"):
                if name in sys.modules:
                    sys.modules[name].pack = lambda value: b"\\xc3"
            np.allclose = lambda *_a, **_k: True
            return 0
        """,
        naive("allclose"),
        costs=("how_many", "train_step", "Scale"),
    ),
    Attack(
        "is a layer that lies about all",
        """
        class Scale(torch.nn.Module):
            def __init__(self, width):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.zeros(width))
            def forward(self, x):
                return self.weight * 0 + x.sum() * 0
            def __eq__(self, other):
                return True
            __hash__ = torch.nn.Module.__hash__
        """,
        naive("layer"),
        attacked="Scale",
    ),
    Attack(
        "is a layer whose weights can't be set",
        """
        class Scale(torch.nn.Module):
            def __init__(self, width):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.zeros(width))
            def named_parameters(self):
                return iter([])
            def forward(self, x):
                return x
        """,
        naive("layer at home"),
        attacked="Scale",
    ),
]
