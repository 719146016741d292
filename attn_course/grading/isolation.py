"""The rungs of isolation, from strong to none."""

from dataclasses import dataclass

from attn_course.translate import _


@dataclass(frozen=True)
class Rung:
    """One rung: its letter, and one line that says which it is and why not a stronger one.

    | rung | bubblewrap around the worker | namespaces for each child | Landlock, seccomp, limits |
    |------|------------------------------|---------------------------|---------------------------|
    | A    | yes                          | yes                       | yes                       |
    | B    | yes                          |                           | yes                       |
    | C    |                              | yes                       | yes                       |
    | D    |                              |                           | yes                       |
    | E    |                              |                           |                           |
    """

    letter: str
    why: str = ""

    @property
    def has_bubblewrap(self) -> bool:
        """Whether the worker sees a file system of its own."""
        return self.letter in "AB"

    @property
    def has_namespaces(self) -> bool:
        """Whether each child has users, processes, network and mounts of its own."""
        return self.letter in "AC"

    @property
    def is_sandbox(self) -> bool:
        """Whether it isolates at all: every rung but E does."""
        return self.letter != "E"

    @property
    def means(self) -> str:
        """The walls of this rung in words."""
        return {
            "A": _("bubblewrap, namespaces for each submission, Landlock, seccomp and limits"),
            "B": _("bubblewrap, Landlock, seccomp and limits"),
            "C": _("namespaces for each submission, Landlock, seccomp and limits"),
            "D": _("Landlock, seccomp and limits, without namespaces"),
            "E": _("a separate process with a deadline, which is NOT a sandbox"),
        }[self.letter]
