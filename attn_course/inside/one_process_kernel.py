"""A kernel that is one process: it forbids itself all others, and then is what every kernel is.

`fresh_kernel_inside` has nbval start this, inside the sandbox. The kernel of the operating system
limits memory for each process, so only where there can be one is the memory limited at all. That a
notebook is told why its `!ls` fails is a courtesy; the filter of system calls is the wall.
"""

import sys
from typing import Any

from attn_course.inside import seccomp
from attn_course.translate import _

_STARTS = frozenset(
    {"os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "subprocess.Popen"}
)


def _refuse(event: str, _arguments: tuple[Any, ...]) -> None:
    if event in _STARTS:
        raise PermissionError(_("a notebook can start no other program here"))


def _refuse_a_shell(_self: Any, _command: str) -> None:
    """Do it in place of `!ls`, which would first look for a shell and say that there is none."""
    _refuse("os.system", ())


def main() -> None:
    """Be a kernel until it is told to end."""
    seccomp.install_in_all_threads(seccomp.program_against_processes())
    sys.addaudithook(_refuse)
    from ipykernel import kernelapp, zmqshell

    zmqshell.ZMQInteractiveShell.system = _refuse_a_shell
    kernelapp.launch_new_instance()


if __name__ == "__main__":
    main()
