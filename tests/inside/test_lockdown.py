"""The walls of a child, one by one: each holds, and each is what holds.

The filter of system calls is run in an interpreter of its own language, written here. The other
walls are tried from inside, on every rung that can be had, and once more with that wall away.
"""

import errno
import os
import platform
import struct
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attn_course.grading.sandbox import Sandbox
from attn_course.inside import landlock, lockdown, seccomp
from attn_course.inside.limits import RESOURCES, Barriers, Limits
from attn_course.inside.lockdown import NOBODY, own_user
from tests.grading.available_rungs import SANDBOXES, rung_or_skip
from tests.grading.in_a_sandbox import error_of, value_of

LIMITS = Limits(call_seconds=20, memory_mb=200, processes=5, file_mb=2)
X86, ARM = 0xC000003E, 0xC00000B7
ALLOW, KILL, EPERM, ENOSYS = 0x7FFF0000, 0x80000000, 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS
known_machine = pytest.mark.skipif(
    not seccomp.is_known_machine(), reason="the system calls of this machine are not known"
)


def run_filter(program, number, arguments=(0,) * 6, machine=None):
    """Return what a filter says to a system call: an interpreter of the kernel's language."""
    own = {"x86_64": X86, "aarch64": ARM}[platform.machine()]
    seen = struct.pack("<iIQ6Q", number, own if machine is None else machine, 0, *arguments)
    accumulator, place = 0, 0
    while True:
        code, if_true, if_false, operand = program[place]
        place += 1
        if code == 0x20:  # load a word
            accumulator = struct.unpack_from("<I", seen, operand)[0]
        elif code == 0x54:  # and
            accumulator &= operand
        elif code == 0x15:  # jump if equal
            place += if_true if accumulator == operand else if_false
        else:
            assert code == 0x06, f"unknown instruction {code:#x}"
            return operand


@pytest.fixture
def x86(monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    return seccomp.program(own_pid=7)


READ, WRITE, CLONE, TGKILL, PRLIMIT, PRCTL, FCNTL, IOCTL = 0, 1, 56, 234, 302, 157, 72, 16
FORBIDDEN = {
    **{"socket": 41, "connect": 42, "bind": 49, "socketpair": 53, "sendmsg": 46, "recvmsg": 47},
    **{"fork": 57, "vfork": 58, "execve": 59, "execveat": 322, "kill": 62, "tkill": 200},
    **{"ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "pidfd_open": 434},
    **{"mount": 165, "umount2": 166, "unshare": 272, "setns": 308, "pivot_root": 155},
    **{"chroot": 161, "bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "keyctl": 250},
    **{"io_uring_setup": 425, "memfd_create": 319, "memfd_secret": 447, "shmget": 29},
    **{
        "chmod": 90,
        "fchmodat": 268,
        "chown": 92,
        "truncate": 76,
        "setxattr": 188,
        "utimensat": 280,
    },
    **{"setuid": 105, "setrlimit": 160, "personality": 135, "seccomp": 317, "mlock": 149},
    **{"link": 86, "symlink": 88, "mknod": 133, "open_by_handle_at": 304, "inotify_init": 253},
}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_a_dangerous_call_is_refused(x86, name):
    assert run_filter(x86, FORBIDDEN[name]) == EPERM


def test_reading_and_writing_is_allowed(x86):
    assert run_filter(x86, READ) == ALLOW
    assert run_filter(x86, WRITE) == ALLOW


def test_a_thread_may_be_made_and_a_process_may_not(x86):
    as_glibc_does = 0x3D0F00
    assert run_filter(x86, CLONE, (as_glibc_does, 0, 0, 0, 0, 0)) == ALLOW
    for flags in (17, 0x01200011, 0x100 | 0x4000 | 17):  # fork and vfork, as glibc does them
        assert run_filter(x86, CLONE, (flags, 0, 0, 0, 0, 0)) == EPERM
    for namespace in (0x10000000, 0x20000000, 0x40000000, 0x20000, 0x80):
        assert run_filter(x86, CLONE, (as_glibc_does | namespace, 0, 0, 0, 0, 0)) == EPERM
    assert run_filter(x86, 435) == ENOSYS  # clone3, so that glibc takes clone


def test_a_signal_goes_to_oneself_only(x86):
    assert run_filter(x86, TGKILL, (7, 7, 6, 0, 0, 0)) == ALLOW
    for other in (0, 1, 8, 2**32 - 1):
        assert run_filter(x86, TGKILL, (other, 7, 6, 0, 0, 0)) == EPERM


def test_files_can_t_be_made_to_send_signals(x86):
    set_owner, set_signal, set_owner_ex, get_flags = 8, 10, 15, 3
    for command in (set_owner, set_signal, set_owner_ex):
        assert run_filter(x86, FCNTL, (3, command, 1, 0, 0, 0)) == EPERM
    assert run_filter(x86, FCNTL, (3, get_flags, 0, 0, 0, 0)) == ALLOW
    set_owner_of_socket, is_terminal = 0x8902, 0x5401
    assert run_filter(x86, IOCTL, (3, set_owner_of_socket, 0, 0, 0, 0)) == EPERM
    assert run_filter(x86, IOCTL, (3, is_terminal, 0, 0, 0, 0)) == ALLOW


def test_limits_of_other_processes_and_most_of_prctl_are_out_of_reach(x86):
    assert run_filter(x86, PRLIMIT, (0, 7, 0, 0, 0, 0)) == ALLOW
    assert run_filter(x86, PRLIMIT, (1, 7, 0, 0, 0, 0)) == EPERM
    set_name, parent_death, dumpable, seccomp_mode = 15, 1, 4, 22
    assert run_filter(x86, PRCTL, (set_name, 0, 0, 0, 0, 0)) == ALLOW
    for option in (parent_death, dumpable, seccomp_mode):
        assert run_filter(x86, PRCTL, (option, 0, 0, 0, 0, 0)) == EPERM


@known_machine
@given(st.integers(500, 2**31 - 1))
def test_a_call_that_is_not_known_yet_is_refused(number):
    assert run_filter(seccomp.program(own_pid=7), number) == EPERM


@given(st.integers(0, 500))
def test_the_second_numbering_of_x86_is_refused_whole(number):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(platform, "machine", lambda: "x86_64")
        assert run_filter(seccomp.program(own_pid=7), 0x40000000 | number) == EPERM


def test_calls_of_another_machine_end_the_process(x86):
    i386 = 0x40000003
    assert run_filter(x86, READ, machine=i386) == KILL
    assert run_filter(x86, READ, machine=ARM) == KILL


@pytest.mark.parametrize(("machine", "execute", "read"), [("x86_64", 59, 0), ("aarch64", 221, 63)])
def test_both_machines_have_a_filter(monkeypatch, machine, execute, read):
    monkeypatch.setattr(platform, "machine", lambda: machine)
    program = seccomp.program(own_pid=1)
    assert run_filter(program, read) == ALLOW
    assert run_filter(program, execute) == EPERM
    assert len(program) < 4096  # the kernel takes no more


def test_a_call_can_be_allowed_for_a_test(x86):
    assert run_filter(x86, FORBIDDEN["socket"]) == EPERM
    assert run_filter(seccomp.program(7, [FORBIDDEN["socket"]]), FORBIDDEN["socket"]) == ALLOW


def test_landlock_needs_a_kernel_that_has_it(monkeypatch):
    monkeypatch.setattr(landlock, "version", lambda: 0)
    with pytest.raises(OSError, match="no Landlock"):
        landlock.ruleset([], [])


# From inside, on every rung.


@pytest.fixture(scope="module", params=SANDBOXES)
def rung(request):
    return rung_or_skip(request.param)


@pytest.fixture(scope="module")
def sandbox(rung):
    with Sandbox(rung, LIMITS, is_warm=False) as made:
        yield made


def without(rung, **changes):
    return Sandbox(rung, LIMITS, replace(Barriers(), **changes), is_warm=False)


def without_limit(rung, name):
    return without(rung, resources=tuple(kind for kind in RESOURCES if kind != name))


MANY_THREADS = """
    import threading
    def f():
        threading.stack_size(2**16)  # or their stacks meet the limit of memory first
        stop, made = threading.Event(), []
        try:
            for _ in range(25):
                made.append(threading.Thread(target=stop.wait))
                made[-1].start()
        except RuntimeError:
            made.pop()
        stop.set()
        return len(made)
"""
MEMORY = """
    def f():
        return len(bytearray(400 * 2**20))
"""
MANY_FILES = """
    import os
    def f():
        return len([os.open("/dev/null", os.O_RDONLY) for _ in range(100)])
"""


def test_threads_end_at_the_limit_and_without_it_they_don_t(rung, sandbox):
    assert 1 <= value_of(sandbox, MANY_THREADS) <= LIMITS.processes
    with without_limit(rung, "processes") as open_sandbox:
        assert value_of(open_sandbox, MANY_THREADS) == 25


@pytest.mark.parametrize(
    ("users", "wanted"),
    [("0 0 4294967295", 2**30 + os.getpid()), ("0 100000 65536", NOBODY)],
    ids=["all", "those of a container"],
)
def test_a_grader_that_is_root_has_a_user_of_its_own_to_give(monkeypatch, tmp_path, users, wanted):
    # All of a user's threads count together: graders that shared one would use up each other's.
    (tmp_path / "uid_map").write_text(users + "\n")
    monkeypatch.setattr(lockdown, "_USERS_HERE", tmp_path / "uid_map")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert own_user() == wanted


def test_memory_ends_at_the_limit_and_without_it_it_doesn_t(rung, sandbox):
    assert error_of(sandbox, MEMORY) == "MemoryError"
    with without_limit(rung, "memory") as open_sandbox:
        assert value_of(open_sandbox, MEMORY) == 400 * 2**20


def test_open_files_end_at_the_limit_and_without_it_they_don_t(rung, sandbox):
    assert error_of(sandbox, MANY_FILES) == "OSError"
    with without_limit(rung, "descriptors") as open_sandbox:
        assert value_of(open_sandbox, MANY_FILES) == 100


def test_a_secret_can_t_be_read_and_without_the_walls_it_can(rung, sandbox, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("x")
    for folder in (secret, *secret.parents):
        if os.stat(folder).st_uid == os.geteuid() and str(folder).startswith("/tmp/"):
            os.chmod(folder, 0o755)
    read = "def f(path):\n    return open(path).read()"
    assert error_of(sandbox, read, str(secret)) in ("PermissionError", "FileNotFoundError")
    with without(rung, more_readable=(str(secret),)) as open_sandbox:
        assert value_of(open_sandbox, read, str(secret)) == "x"


@pytest.mark.parametrize(
    "source",
    [
        "import os\ndef f():\n    return os.fork()",
        "import subprocess\ndef f():\n    return subprocess.run(['/bin/true']).returncode",
        "import socket\ndef f():\n    return socket.socket().fileno()",
        "import os\ndef f():\n    return os.kill(os.getppid(), 0)",
        "import os\ndef f():\n    return os.chmod('/dev/null', 0o666)",
        "import os\ndef f():\n    return os.memfd_create('x')",
        "import resource\ndef f():\n    return resource.prlimit(1, resource.RLIMIT_CPU, (9, 9))",
    ],
    ids=["fork", "exec", "socket", "kill", "chmod", "memfd", "prlimit"],
)
def test_a_forbidden_call_raises_an_ordinary_error(sandbox, source):
    assert error_of(sandbox, source) == "PermissionError"


def test_privileges_are_gone_for_good(sandbox):
    source = """
        import os, ctypes
        def f():
            libc = ctypes.CDLL(None)
            return [os.getuid(), os.geteuid(), libc.setuid(0), libc.unshare(0x10000000)]
    """
    user, effective, became_root, unshared = value_of(sandbox, source)
    assert user == effective != 0
    assert became_root == unshared == -1


def test_only_the_streams_and_the_channel_are_open(sandbox):
    source = """
        import os
        def f():
            found = []
            for descriptor in range(64):
                try:
                    os.fstat(descriptor)
                except OSError:
                    continue
                found.append(descriptor)
            return found
    """
    assert len(value_of(sandbox, source)) == 4


def test_nothing_written_is_left_for_the_next_submission(rung, sandbox):
    source = """
        import os
        def f():
            before = os.path.exists("left")
            open("left", "w").write("x")
            return before
    """
    if rung.has_namespaces:
        assert [value_of(sandbox, source) for _ in range(2)] == [False, False]
    else:  # nothing can be written at all
        assert error_of(sandbox, source) in ("PermissionError", "OSError")


def test_the_folder_of_a_submission_is_small(rung, sandbox):
    many = """
        def f():
            for number in range(10):
                with open(f"file{number}", "wb") as file:
                    file.write(bytes(2**20))
    """
    one_too_long = "def f():\n    open('long', 'wb').write(bytes(3 * 2**20))"
    one_short = "def f():\n    return open('a', 'w').write('x')"
    for source in (many, one_too_long):  # an error, and not the end of the process
        assert error_of(sandbox, source) in ("OSError", "PermissionError")
    if rung.has_namespaces:
        assert value_of(sandbox, one_short) == 1
    else:  # nothing can be written at all
        assert error_of(sandbox, one_short) in ("OSError", "PermissionError")


def test_other_processes_are_out_of_sight(rung, sandbox):
    source = """
        import os
        def f():
            return os.listdir("/proc")
    """
    assert error_of(sandbox, source) == "PermissionError"
    with without(rung, landlock=False) as open_sandbox:
        found = value_of(open_sandbox, source)
    assert found == [] if rung.has_namespaces else "self" in found
