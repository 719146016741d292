"""Attacks on other processes, and ways to outlive one's own end."""

from tests.grading.attacks.attack import (
    EVERYTHING,
    PRIVILEGES,
    SECCOMP,
    Attack,
    naive,
    returning,
    system_call,
)

_OUTLIVES = """
    import os, time
    def squares(x):
        if os.fork() == 0:
            {sets_off}
            time.sleep(0.1)
            open(TARGET, "w").write("x")
            os._exit(0)
"""

ATTACKS = [
    Attack("signals the grader", returning("os.kill(GRADER, 0)"), PRIVILEGES),
    Attack("signals its parent", returning("os.kill(os.getppid(), 0)"), EVERYTHING),
    Attack("signals everybody", returning("os.kill(-1, 0)"), EVERYTHING),
    Attack("signals its own group", returning("os.killpg(0, 0)"), EVERYTHING),
    Attack("queues a signal", system_call("rt_sigqueueinfo", "GRADER, 0, null"), EVERYTHING),
    Attack("holds on to a process", system_call("pidfd_open", "GRADER, 0"), SECCOMP),
    Attack("traces the grader", system_call("ptrace", "0x4206, GRADER, 0, 0"), PRIVILEGES),
    Attack(
        "copies the grader's memory",
        """
        import ctypes
        def squares(x):
            class Piece(ctypes.Structure):
                _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
            own = ctypes.create_string_buffer(20)
            here, there = Piece(ctypes.addressof(own), 20), Piece(ADDRESS, 20)
            copied = ctypes.CDLL(None).process_vm_readv(
                GRADER, ctypes.byref(here), 1, ctypes.byref(there), 1, 0
            )
            if copied < 0:
                raise PermissionError
            return own.value.decode()
        """,
        PRIVILEGES,
    ),
    Attack(
        "pins the grader to a core", system_call("sched_setaffinity", "GRADER, 0, null"), PRIVILEGES
    ),
    Attack("compares with the grader", system_call("kcmp", "GRADER, GRADER, 1, 0, 0"), PRIVILEGES),
    Attack(
        "lives on when the worker ends", system_call("clear parent death", "1, 0, 0, 0, 0"), SECCOMP
    ),
    Attack(
        "has a file signal the grader",
        returning("fcntl.fcntl(0, fcntl.F_SETOWN, GRADER)", "import fcntl"),
        SECCOMP,
    ),
    Attack("forks", returning("os.fork() or os._exit(0)"), SECCOMP),
    Attack("leaves a process behind", _OUTLIVES.format(sets_off="pass"), naive("equality")),
    Attack(
        "leaves a process behind in a session of its own",
        _OUTLIVES.format(sets_off="os.setsid(); os.fork() == 0 or os._exit(0)"),
        naive("equality"),
    ),
    Attack(
        "leaves a thread behind",
        """
        import threading, time
        def later():
            time.sleep(0.1)
            open(TARGET, "w").write("x")
        def squares(x):
            threading.Thread(target=later).start()
        """,
        naive("equality"),
    ),
    Attack(
        "leaves something to do at the end",
        """
        import atexit
        def squares(x):
            atexit.register(lambda: open(TARGET, "w").write("x"))
        """,
        naive("equality"),
    ),
    Attack(
        "becomes another program",
        """
        import os
        def squares(x):
            os.execv("/bin/sh", ["sh", "-c", f"echo x > {TARGET}"])
        """,
        EVERYTHING,
    ),
    Attack(
        "runs another program",
        """
        import subprocess
        def squares(x):
            subprocess.run(["/bin/sh", "-c", f"echo x > {TARGET}"], check=True)
        """,
        EVERYTHING,
    ),
    Attack(
        "runs a line of the shell",
        """
        import os
        def squares(x):
            os.system(f"echo x > {TARGET}")
        """,
        EVERYTHING,
    ),
]
