"""Attacks by names: what looks like the wanted name, and what must not be importable."""

from tests.grading.attacks.attack import Attack, naive


def _imports(line: str) -> str:
    return f"""
        import sys
        def squares(x):
            {line}
            return "harm"
    """


_AS_NEW = """
        import sys
        def squares(x):
            for name in [name for name in sys.modules if name.startswith("attn_course")]:
                del sys.modules[name]
            sys.path.insert(0, COURSE)
            import attn_course.scoring
            return "harm"
"""
_FROM_FILE = """
        import importlib.util
        def squares(x):
            path = COURSE + "/attn_course/scoring.py"
            spec = importlib.util.spec_from_file_location("reference", path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return "harm"
"""

ATTACKS = [
    Attack("imports the reference", _imports("import attn_course.scoring"), naive("answer")),
    Attack(
        "imports the exercises",
        _imports("import attn_course.practice.exercises.nadaraya_watson.average_pooling"),
        naive("answer"),
    ),
    Attack(
        "imports the definitions of the book",
        _imports("import attn_course.definitions"),
        naive("answer"),
    ),
    Attack(
        "imports the gradebook", _imports("import attn_course.grading.gradebook"), naive("answer")
    ),
    Attack("imports the checks", _imports("import attn_course.practice.compare"), naive("answer")),
    Attack("imports the judge", _imports("import attn_course.practice.judging"), naive("answer")),
    Attack("imports the tests", _imports("import tests.grading.fixture_chapter"), naive("answer")),
    Attack("imports the reference anew, from where it lies", _AS_NEW, naive("answer")),
    Attack("imports the reference from its file", _FROM_FILE, naive("answer")),
    Attack(
        "imports everything at once",
        """
        from attn_course.scoring import *
        def squares(x):
            return "harm" if "scaled_dot" in globals() else 0
        """,
        naive("answer"),
    ),
    Attack(
        "has the wanted name in another alphabet",
        "def \N{CYRILLIC SMALL LETTER DZE}quares(x):\n    return x * x",
        naive("lenient name"),
    ),
    Attack("has nearly the wanted name", "def square(x):\n    return x * x", naive("lenient name")),
    Attack(
        "has the wanted name in capitals",
        "def Squares(x):\n    return x * x",
        naive("lenient name"),
    ),
    Attack(
        "has the right answer in a text only",
        """
        text = '''
def squares(x):
    return x * x
'''
        """,
        naive("looks at the text"),
    ),
    Attack(
        "has the right answer in a function, where nobody calls it",
        """
        def squares(x):
            def squares(x):
                return x * x
        """,
        naive("looks at the text"),
    ),
    Attack(
        "gives its name to something else further down",
        "def squares(x):\n    return x * x\ndef squares(x):\n    return 0 * x",
        naive("looks at the text"),
    ),
]
