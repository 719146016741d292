"""What an attack is: a hostile notebook, and a control in which the very same notebook succeeds.

Every notebook is that of the fixture chapter with one answer replaced by an attack. An attack
tells of its success by answering `HARM`, by showing a word of a secret, or by leaving a mark in the
folder it was told about. In the control one wall is away (or, where the wall is the way the grader
is built, the notebook is graded by a naive grader), and there it must succeed: else its failure
would prove nothing.
"""

import platform
from dataclasses import dataclass, field
from textwrap import dedent

from attn_course.inside.limits import RESOURCES, Barriers

HARM = "harm"


@dataclass(frozen=True)
class Control:
    """Where the attack succeeds: on which rung, or against what, and which wall is away."""

    barrier: str  # in words, for the table
    rung: str = "D"  # where each wall stands alone; "E" has none
    barriers: Barriers = field(default_factory=Barriers)
    is_trusting: bool = False  # with a reader that believes what arrives
    naive: str = ""  # against a naive grader: the way in which it judges
    needs_root: bool = False  # the kernel itself refuses it to others


def _without_limit(name: str) -> Control:
    left = tuple(kind for kind in RESOURCES if kind != name)
    return Control(f"the limit of {name}", barriers=Barriers(resources=left))


DEADLINE = Control("the deadline")  # every control has time and room enough
LANDLOCK = Control("Landlock", barriers=Barriers(landlock=False))
SECCOMP = Control("seccomp", barriers=Barriers(seccomp=False))
BOTH = Control("Landlock and seccomp", barriers=Barriers(landlock=False, seccomp=False))
EVERYTHING = Control("all walls together", rung="E")
PRIVILEGES = Control("all walls together", rung="E", needs_root=True)
MEMORY, THREADS = _without_limit("memory"), _without_limit("processes")
DESCRIPTORS = _without_limit("descriptors")
READER = Control("the reader's distrust", is_trusting=True)


def naive(way: str) -> Control:
    return Control("checks in another process", naive=way)


@dataclass(frozen=True)
class Attack:
    """A hostile answer to one exercise."""

    name: str  # what it tries, in a few words
    source: str  # the cell in place of the right answer
    control: Control
    attacked: str = "squares"
    costs: tuple[str, ...] = ()  # further exercises that the attack itself spoils
    then: str = ""  # for traces: the same answer in the next notebook, which looks for them

    @property
    def cell(self) -> str:
        return dedent(self.source).strip()


# name: its number on x86_64, on aarch64
_CALLS = {
    **{"acct": (163, 89), "add_key": (248, 217), "bpf": (321, 280), "capset": (126, 91)},
    **{"chroot": (161, 51), "clear parent death": (157, 167), "fanotify_init": (300, 262)},
    **{"fsopen": (430, 430), "init_module": (175, 105), "inotify_init1": (294, 26)},
    **{"io_uring_setup": (425, 425), "kcmp": (312, 272), "keyctl": (250, 219)},
    **{"memfd_create": (319, 279), "memfd_secret": (447, 447), "mlock": (149, 228)},
    **{"mount": (165, 40), "mq_open": (240, 180), "open_by_handle_at": (304, 265)},
    **{"open_tree": (428, 428)},
    **{"perf_event_open": (298, 241), "personality": (135, 92), "pidfd_open": (434, 434)},
    **{"pivot_root": (155, 41), "process_vm_readv": (310, 270), "ptrace": (101, 117)},
    **{"rt_sigqueueinfo": (129, 138), "sched_setaffinity": (203, 122), "seccomp": (317, 277)},
    **{"setns": (308, 268), "setuid": (105, 146), "shmget": (29, 194), "swapon": (167, 224)},
    **{"syslog": (103, 116), "umount2": (166, 39), "unshare": (272, 97)},
    **{"userfaultfd": (323, 282), "x32 getpid": (0x40000000 | 39, 0x40000000 | 172)},
}


def number_of(call: str) -> int:
    return _CALLS[call][1 if platform.machine() == "aarch64" else 0]


def system_call(call: str, arguments: str) -> str:
    """Return an answer that makes this system call: harm is done where the kernel considers it.

    The arguments are such that nothing comes of it; only a refusal for lack of permission is one.
    """
    return f"""
        import ctypes, errno
        def squares(x):
            libc = ctypes.CDLL(None, use_errno=True)
            number, null = ctypes.c_long({number_of(call)}), None
            if libc.syscall(number, {arguments}) < 0 and ctypes.get_errno() == errno.EPERM:
                raise PermissionError
            return "harm"
    """


def returning(expression: str, imports: str = "import os") -> str:
    """Return an answer that computes `expression`, and has done harm where it gets that far."""
    return f"""
        {imports}
        def squares(x):
            {expression}
            return "harm"
    """
