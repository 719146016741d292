"""Attacks that ask the kernel for what a submission must not have."""

from tests.grading.attacks.attack import (
    DESCRIPTORS,
    EVERYTHING,
    MEMORY,
    PRIVILEGES,
    SECCOMP,
    Attack,
    returning,
    system_call,
)


def _raises(limit: str, to: int) -> str:
    line = f"resource.setrlimit(resource.RLIMIT_{limit}, ({to}, {to}))"
    return returning(line, "import resource")


ATTACKS = [
    Attack("becomes root", system_call("setuid", "0"), PRIVILEGES),
    Attack("takes all capabilities back", system_call("capset", "null, null"), SECCOMP),
    Attack("mounts", system_call("mount", "b'none', b'/nonexistent', b'tmpfs', 0, null"), SECCOMP),
    Attack("unmounts", system_call("umount2", "b'/nonexistent', 0"), SECCOMP),
    Attack("prepares a mount the new way", system_call("fsopen", "null, 0"), PRIVILEGES),
    Attack("copies a tree of mounts", system_call("open_tree", "-1, b'/', 0"), SECCOMP),
    Attack(
        "changes the root of all", system_call("pivot_root", "b'/nonexistent', b'/'"), PRIVILEGES
    ),
    Attack("makes a namespace of users", system_call("unshare", "0x10000000"), SECCOMP),
    Attack("joins another namespace", system_call("setns", "-1, 0"), SECCOMP),
    Attack("asks by the ring", system_call("io_uring_setup", "1, null"), SECCOMP),
    Attack("loads a program into the kernel", system_call("bpf", "9999, null, 0"), PRIVILEGES),
    Attack(
        "loads a module into the kernel", system_call("init_module", "null, 0, null"), PRIVILEGES
    ),
    Attack("reads the kernel's keys", system_call("keyctl", "0, -3, 0"), SECCOMP),
    Attack("adds a key", system_call("add_key", "null, null, null, 0, -3"), SECCOMP),
    Attack("changes its personality", system_call("personality", "0xffffffff"), SECCOMP),
    Attack(
        "measures other processes", system_call("perf_event_open", "null, 0, -1, -1, 0"), SECCOMP
    ),
    Attack("handles its own page faults", system_call("userfaultfd", "0xffff"), SECCOMP),
    Attack("changes its filter", system_call("seccomp", "99, 0, null"), SECCOMP),
    Attack("reads the kernel's log", system_call("syslog", "3, null, 0"), PRIVILEGES),
    Attack("switches accounting on", system_call("acct", "b'/nonexistent'"), PRIVILEGES),
    Attack("swaps to a file", system_call("swapon", "b'/nonexistent', 0"), PRIVILEGES),
    Attack("watches all files", system_call("fanotify_init", "0xffffff, 0"), PRIVILEGES),
    Attack("shares memory of System V", system_call("shmget", "0, 4096, 0o1600"), SECCOMP),
    Attack("opens a queue of messages", system_call("mq_open", "null, 0"), SECCOMP),
    Attack("uses the second numbering of calls", system_call("x32 getpid", "0"), EVERYTHING),
    Attack("raises its limit of memory", _raises("AS", 2**40), MEMORY),
    Attack("raises its limit of files", _raises("NOFILE", 100), DESCRIPTORS),
    Attack(
        "types into the grader's terminal",
        """
        import fcntl
        def squares(x):
            try:
                fcntl.ioctl(0, 0x5412, b"x")
            except OSError as fault:
                if isinstance(fault, PermissionError):
                    raise
            return "harm"
        """,
        SECCOMP,
    ),
    Attack("pins memory", system_call("mlock", "0, 0"), EVERYTHING),
]
