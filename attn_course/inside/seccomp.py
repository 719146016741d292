"""Which system calls a submission may make: a list of what numerical Python needs, and no more.

A filter in the kernel's small language (classic BPF) looks at the number of each call and, for a
few, at an argument. What is not listed fails with EPERM, so Python raises `PermissionError`; the
list is one of permissions, so a call that a newer kernel brings is refused too. Among those left
out: sockets, new processes, exec, signals to others, mounts, ptrace, memory that no limit counts
(memfd, System V), and changes of owner, mode or length by path, which Landlock does not see.
"""

import ctypes
import errno
import platform
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

# name: its number on x86_64, on aarch64 (None: aarch64 has only the newer form of it)
_ALLOWED: dict[str, tuple[int, int | None]] = {
    # memory
    **{"brk": (12, 214), "mmap": (9, 222), "munmap": (11, 215), "mremap": (25, 216)},
    **{"mprotect": (10, 226), "madvise": (28, 233), "mincore": (27, 232)},
    **{"membarrier": (324, 283)},
    # threads
    **{"futex": (202, 98), "set_robust_list": (273, 99), "get_robust_list": (274, 100)},
    **{"set_tid_address": (218, 96), "rseq": (334, 293), "gettid": (186, 178)},
    **{"sched_yield": (24, 124), "sched_getaffinity": (204, 123), "sched_getparam": (143, 121)},
    **{"sched_getscheduler": (145, 120), "sched_get_priority_max": (146, 125)},
    **{"sched_get_priority_min": (147, 126), "getcpu": (309, 168), "arch_prctl": (158, None)},
    **{"exit": (60, 93), "exit_group": (231, 94), "wait4": (61, 260), "waitid": (247, 95)},
    # files, behind Landlock
    **{"read": (0, 63), "write": (1, 64), "readv": (19, 65), "writev": (20, 66)},
    **{"pread64": (17, 67), "pwrite64": (18, 68), "lseek": (8, 62), "open": (2, None)},
    **{"openat": (257, 56), "close": (3, 57), "close_range": (436, 436), "stat": (4, None)},
    **{"fstat": (5, 80), "lstat": (6, None), "newfstatat": (262, 79), "statx": (332, 291)},
    **{"statfs": (137, 43), "fstatfs": (138, 44), "access": (21, None), "faccessat": (269, 48)},
    **{"faccessat2": (439, 439), "readlink": (89, None), "readlinkat": (267, 78)},
    **{"getdents64": (217, 61), "getcwd": (79, 17), "chdir": (80, 49), "fchdir": (81, 50)},
    **{"mkdir": (83, None), "mkdirat": (258, 34), "unlink": (87, None), "unlinkat": (263, 35)},
    **{"rmdir": (84, None), "rename": (82, None), "renameat": (264, 38), "renameat2": (316, 276)},
    **{"ftruncate": (77, 46), "fallocate": (285, 47), "fadvise64": (221, 223)},
    **{"fsync": (74, 82), "fdatasync": (75, 83), "flock": (73, 32), "umask": (95, 166)},
    **{"copy_file_range": (326, 285), "sendfile": (40, 71)},
    # descriptors
    **{"dup": (32, 23), "dup2": (33, None), "dup3": (292, 24), "pipe": (22, None)},
    **{"pipe2": (293, 59), "poll": (7, None), "ppoll": (271, 73), "select": (23, None)},
    **{"pselect6": (270, 72), "epoll_create1": (291, 20), "epoll_ctl": (233, 21)},
    **{"epoll_wait": (232, None), "epoll_pwait": (281, 22), "eventfd2": (290, 19)},
    **{"getsockopt": (55, 209), "getsockname": (51, 204)},
    # signals and timers of one's own
    **{"rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139)},
    **{"rt_sigsuspend": (130, 133), "rt_sigtimedwait": (128, 137), "rt_sigpending": (127, 136)},
    **{"sigaltstack": (131, 132), "setitimer": (38, 103), "getitimer": (36, 102)},
    **{"alarm": (37, None), "pause": (34, None), "restart_syscall": (219, 128)},
    # who and when
    **{"getpid": (39, 172), "getppid": (110, 173), "getuid": (102, 174), "geteuid": (107, 175)},
    **{"getgid": (104, 176), "getegid": (108, 177), "getresuid": (118, 148)},
    **{"getresgid": (120, 150), "getgroups": (115, 158), "getpgrp": (111, None)},
    **{"getpgid": (121, 155), "getsid": (124, 156), "getpriority": (140, 141)},
    **{"getrlimit": (97, 163), "getrusage": (98, 165), "uname": (63, 160), "sysinfo": (99, 179)},
    **{"times": (100, 153), "time": (201, None), "gettimeofday": (96, 169)},
    **{"clock_gettime": (228, 113), "clock_getres": (229, 114), "nanosleep": (35, 101)},
    **{"clock_nanosleep": (230, 115), "getrandom": (318, 278)},
}
# What makes a process, or another program of one, apart from `clone`; and what sets a filter.
_STARTING = {"fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281)}
_SECCOMP = (317, 277)
# Allowed with certain arguments only.
_CLONE, _CLONE3, _TGKILL = (56, 220), (435, 435), (234, 131)
_SENDTO, _RECVFROM = (44, 206), (45, 207)  # for the one socket that a submission is born with
_PRLIMIT, _PRCTL, _FCNTL, _IOCTL = (302, 261), (157, 167), (72, 25), (16, 29)
_CLONE_THREAD = 0x10000
_CLONE_NAMESPACES = 0x7E020080  # every CLONE_NEW… flag
# sendto and recvfrom: no flags, or no signal. Out-of-band data has been a way into kernels.
_SOCKET_FLAGS = (0, 0x4000)
_NAMING = (15, 16, 0x53564D41)  # prctl: set and get a thread's name, name a mapping
# fcntl: duplicate, flags, locks. Not F_SETOWN and F_SETSIG: they send signals to other processes.
_FCNTL_COMMANDS = (0, 1, 2, 3, 4, 5, 6, 7, 1030)
_IOCTL_COMMANDS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)  # is it a terminal, FIONBIO, …

_MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
_LOAD, _JUMP_IF_EQUAL, _AND, _RETURN = 0x20, 0x15, 0x54, 0x06
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER, _MACHINE, _ARGUMENTS = 0, 4, 16  # offsets in what the kernel shows to a filter

Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, operand


def is_known_machine() -> bool:
    """Return whether the numbers of this machine's system calls are known here."""
    return platform.machine() in _MACHINES


def program(own_pid: int, more: Iterable[int] = ()) -> list[Instruction]:
    """Return the filter for a process whose id, as it sees it itself, is `own_pid`."""
    machine, column = _MACHINES[platform.machine()]
    listed = (numbers[column] for numbers in _ALLOWED.values())
    more = list(more)
    return [
        _load(_MACHINE),
        (_JUMP_IF_EQUAL, 1, 0, machine),
        _give(_KILL),
        _load(_NUMBER),
        *_if_number_is([*(n for n in listed if n is not None), *more], [_give(_ALLOW)]),
        # A thread, but no process. clone3 hides its flags behind a pointer: libc then uses clone.
        *_if_number_is(
            [_CLONE[column]],
            [
                _load(_ARGUMENTS),
                (_AND, 0, 0, _CLONE_THREAD | _CLONE_NAMESPACES),
                (_JUMP_IF_EQUAL, 0, 1, _CLONE_THREAD),
                _give(_ALLOW),
            ],
        ),
        *_if_number_is([_CLONE3[column]], [_give(_REFUSE | errno.ENOSYS)]),
        *_if_argument(_TGKILL[column], 0, [own_pid]),
        *_if_argument(_SENDTO[column], 3, _SOCKET_FLAGS),
        *_if_argument(_RECVFROM[column], 3, _SOCKET_FLAGS),
        *_if_argument(_PRLIMIT[column], 0, [0]),
        *_if_argument(_PRCTL[column], 0, _NAMING),
        *_if_argument(_FCNTL[column], 1, _FCNTL_COMMANDS),
        *_if_argument(_IOCTL[column], 1, _IOCTL_COMMANDS),
        _give(_REFUSE | errno.EPERM),
    ]


def program_against_processes() -> list[Instruction]:
    """Return a filter to put on top of another: threads are allowed, processes and programs not."""
    _machine, column = _MACHINES[platform.machine()]
    starting = (numbers[column] for numbers in (*_STARTING.values(), _SECCOMP))
    return [
        _load(_NUMBER),
        *_if_number_is((n for n in starting if n is not None), [_give(_REFUSE | errno.EPERM)]),
        *_if_number_is([_CLONE3[column]], [_give(_REFUSE | errno.ENOSYS)]),
        (_JUMP_IF_EQUAL, 1, 0, _CLONE[column]),
        _give(_ALLOW),
        _load(_ARGUMENTS),
        (_AND, 0, 0, _CLONE_THREAD),
        (_JUMP_IF_EQUAL, 0, 1, _CLONE_THREAD),
        _give(_ALLOW),
        _give(_REFUSE | errno.EPERM),
    ]


def install(filter_program: list[Instruction]) -> None:
    """Put the filter before every system call of this thread from now on, for good."""
    set_seccomp, filter_mode = 22, 2
    with _described(filter_program) as described:
        if _libc().prctl(set_seccomp, filter_mode, described, 0, 0):
            raise OSError(ctypes.get_errno(), "the kernel takes no seccomp filter")


def install_in_all_threads(filter_program: list[Instruction]) -> None:
    """The same for all threads that there are: by a system call that others may have forbidden."""
    _machine, column = _MACHINES[platform.machine()]
    set_filter, in_all_threads = 1, 1
    with _described(filter_program) as described:
        if _libc().syscall(_SECCOMP[column], set_filter, in_all_threads, described):
            raise OSError(ctypes.get_errno(), "the kernel takes no seccomp filter for all threads")


@contextmanager
def _described(filter_program: list[Instruction]) -> Iterator[Any]:
    """Return what the kernel takes for a filter, which it copies."""
    code = b"".join(struct.pack("<HBBI", *instruction) for instruction in filter_program)
    buffer = ctypes.create_string_buffer(code, len(code))
    # struct sock_fprog: the number of instructions, and after padding the address of the first
    described = struct.pack("@HP", len(filter_program), ctypes.addressof(buffer))
    yield ctypes.create_string_buffer(described)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _load(offset: int) -> Instruction:
    return _LOAD, 0, 0, offset


def _give(verdict: int) -> Instruction:
    return _RETURN, 0, 0, verdict


def _if_number_is(numbers: Iterable[int], then: list[Instruction]) -> list[Instruction]:
    """Return code that does `then` for each of these calls and falls through for others."""
    code: list[Instruction] = []
    for number in numbers:
        code += [(_JUMP_IF_EQUAL, 0, len(then), number), *then]
    return code


def _if_argument(number: int, place: int, wanted: Iterable[int]) -> list[Instruction]:
    """Return code that allows this call if its argument at `place` is one of `wanted`.

    The kernel takes 32 bits of these arguments, so the lower half is all there is to look at.
    """
    tests = [_load(_ARGUMENTS + 8 * place)]
    for value in wanted:
        tests += [(_JUMP_IF_EQUAL, 0, 1, value), _give(_ALLOW)]
    return _if_number_is([number], [*tests, _give(_REFUSE | errno.EPERM)])
