"""Attacks on the computer's time, memory and space. Each is bounded: two seconds, 300 MB."""

from tests.grading.attacks.attack import (
    BOTH,
    DEADLINE,
    DESCRIPTORS,
    EVERYTHING,
    MEMORY,
    THREADS,
    Attack,
    naive,
    returning,
)

_SPIN = """
    import time
    def spin():
        end = time.monotonic() + 2
        while time.monotonic() < end:
            pass
        return "harm"
"""
# Every request just under the limit of a call: only that of the whole submission ends it.
_SLOW_MODULE = """
    import time
    class Scale(torch.nn.Module):
        asked = 0
        def __init__(self, width):
            super().__init__()
            time.sleep(0.6)
            self.weight = torch.nn.Parameter(torch.zeros(width))
        def forward(self, x):
            time.sleep(0.6)
            return x * self.weight
        def named_parameters(self):
            time.sleep(0.6)
            self.asked += 1
            return [("harm" if self.asked > 2 else "weight", self.weight)]
"""
_WRITES = """
    import os
    def squares(x):
        place = next(p for p in (os.environ["TMPDIR"], FOLDER) if os.path.isdir(p))
        for number in range({files}):
            with open(f"{{place}}/big{{number}}", "wb") as file:
                file.write(bytes({size}))
        return "harm"
"""
_MAKES_THREADS = """
    import threading
    def squares(x):
        threading.stack_size(2**16)
        stop, made = threading.Event(), []
        try:
            for _ in range(40):
                made.append(threading.Thread(target=stop.wait, daemon=True))
                made[-1].start()
        finally:
            stop.set()
        return "harm"
"""
_FORKS = """
    import os, time
    def squares(x):
        children = []
        for _ in range(60):
            child = os.fork()
            if child == 0:
                time.sleep(0.2)
                os._exit(0)
            children.append(child)
        for child in children:
            os.waitpid(child, 0)
        return "harm"
"""
_FLOOD = """
    import os
    def squares(x):
        for stream in (1, 2):
            for _ in range(200):
                os.write(stream, b"x" * 10**4)
        if os.path.samestat(os.fstat(1), os.stat("/dev/null")):
            raise PermissionError("nobody hears it")
        return "harm"
"""
# What a cell prints is kept until its end.
_PRINTS_IN_A_CELL = """
    def prints():
        for _ in range(300):
            print("x" * 2**20)
        return "harm"
    WORD = prints()
    def squares(x):
        return WORD
"""
# The output of an answer goes to /dev/null.
_PRINTS_IN_A_CALL = """
    import os
    def squares(x):
        for _ in range(300):
            print("x" * 10**4, flush=True)
        if os.path.samestat(os.fstat(1), os.stat("/dev/null")):
            raise PermissionError("nobody hears it")
        return "harm"
"""

ATTACKS = [
    Attack("loops in Python", _SPIN + "\n    def squares(x):\n        return spin()", DEADLINE),
    Attack(
        "loops in a cell, before anything is asked",
        _SPIN + "\n    WORD = spin()\n    def squares(x):\n        return WORD",
        DEADLINE,
    ),
    Attack(
        "holds Python's lock in C",
        returning("ctypes.PyDLL(None).sleep(2)", "import ctypes"),
        DEADLINE,
    ),
    Attack(
        "loops in C",
        """
        import collections, time
        def squares(x):
            end = time.monotonic() + 2
            collections.deque(iter(lambda: time.monotonic() < end, False), maxlen=0)
            return "harm"
        """,
        DEADLINE,
    ),
    Attack("sleeps", returning("time.sleep(2)", "import time"), DEADLINE),
    Attack(
        "blocks every signal and sleeps",
        """
        import signal, time
        def squares(x):
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
            time.sleep(2)
            return "harm"
        """,
        DEADLINE,
    ),
    Attack("stays just under the limit of every call", _SLOW_MODULE, DEADLINE, attacked="Scale"),
    Attack("bombs with processes", _FORKS, EVERYTHING),
    Attack("bombs with threads", _MAKES_THREADS, THREADS),
    Attack("takes much memory at once", returning("bytearray(300 * 2**20)"), MEMORY),
    Attack(
        "takes memory little by little",
        """
        def squares(x):
            held = []
            for _ in range(30):
                held.append(np.ones((10, 2**17)))
            return "harm"
        """,
        MEMORY,
    ),
    Attack("takes memory in torch", returning("torch.ones(75 * 2**20)"), MEMORY),
    Attack("maps shared memory", returning("mmap.mmap(-1, 300 * 2**20)", "import mmap"), MEMORY),
    Attack("fills the disk with one file", _WRITES.format(files=1, size=6 * 2**20), EVERYTHING),
    Attack("fills the disk with many files", _WRITES.format(files=6, size=2**20), EVERYTHING),
    Attack("uses up the names of files", _WRITES.format(files=1500, size=0), EVERYTHING),
    Attack("floods the output", _FLOOD, naive("equality")),
    Attack("prints without measure", _PRINTS_IN_A_CALL, naive("equality")),
    Attack("prints all memory full, before anything is asked", _PRINTS_IN_A_CELL, MEMORY),
    Attack(
        "opens many files",
        returning("[os.open('/dev/null', os.O_RDONLY) for _ in range(100)]"),
        DESCRIPTORS,
    ),
    Attack(
        "answers with more than is allowed", returning("return {'harm': np.ones(2**18)}"), DEADLINE
    ),
    Attack("allocates where no limit counts", returning("os.memfd_create('x')"), BOTH),
    Attack(
        "overflows the stack",
        """
        import sys
        def squares(x):
            sys.setrecursionlimit(10**9)
            class Deep:
                def __repr__(self):
                    return repr(self)
            repr(Deep())
        """,
        naive("equality"),
    ),
    Attack("reads address 0", returning("ctypes.string_at(0)", "import ctypes"), naive("equality")),
    Attack("aborts", returning("os.abort()"), naive("equality")),
    Attack(
        "ends by a signal without a name",
        """
        import signal
        def squares(x):
            signal.raise_signal(40)
            raise PermissionError("process 1 of a namespace does not even notice")
        """,
        naive("equality"),
    ),
    Attack(
        "makes the grader draw a giant weight",
        """
        class Giant:
            shape = (20_000_000,)
        class Scale(torch.nn.Module):
            def __init__(self, width):
                super().__init__()
            def named_parameters(self):
                return [("weight", Giant())]
        """,
        naive("layer with weights"),
        attacked="Scale",
    ),
    Attack(
        "makes the grader multiply giant numbers",
        """
        class Giant:
            shape = (10**360,) * 900
        class Scale(torch.nn.Module):
            def __init__(self, width):
                super().__init__()
            def named_parameters(self):
                return [("weight", Giant())]
        """,
        naive("layer with counted weights"),
        attacked="Scale",
    ),
]
