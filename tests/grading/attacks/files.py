"""Attacks on files: what must not be read, and what must not be written."""

from tests.grading.attacks.attack import (
    BOTH,
    EVERYTHING,
    LANDLOCK,
    PRIVILEGES,
    SECCOMP,
    Attack,
    naive,
    returning,
    system_call,
)


def _reads(path: str) -> str:
    """An answer that shows the contents of a file."""
    return f"""
        def squares(x):
            return open({path}).read()[:4000]
    """


def _finds(path: str) -> str:
    """The same for a file of the course or the system, which has no secret word in it."""
    return f"""
        def squares(x):
            return "harm" if open({path}, "rb").read(1) else ""
    """


ATTACKS = [
    Attack("reads the solutions", _reads("FOLDER + '/solutions/88_fixture.md'"), LANDLOCK),
    Attack("reads hidden tests", _reads("FOLDER + '/checks/hidden.py'"), LANDLOCK),
    Attack("reads the gradebook", _reads("FOLDER + '/out/gradebook.sqlite'"), LANDLOCK),
    Attack("reads another submission", _reads("FOLDER + '/other/88_fixture.ipynb'"), LANDLOCK),
    Attack(
        "reads a way round", _reads("'/usr/../' + FOLDER + '/other/../checks/hidden.py'"), LANDLOCK
    ),
    Attack("reads the reference", _finds("COURSE + '/attn_course/scoring.py'"), LANDLOCK),
    Attack(
        "reads the exercises and their checks",
        _finds("COURSE + '/attn_course/practice/exercises/nadaraya_watson/average_pooling.py'"),
        LANDLOCK,
    ),
    Attack(
        "reads the solutions as they were compiled",
        _finds("COURSE + '/attn_course/practice/exercises/01_nadaraya_watson.json'"),
        LANDLOCK,
    ),
    Attack(
        "reads this very test", _finds("COURSE + '/tests/grading/fixture_chapter.py'"), LANDLOCK
    ),
    Attack("reads the list of users", _finds("'/etc/passwd'"), LANDLOCK),
    Attack("reads the grader's environment", _finds("f'/proc/{GRADER}/environ'"), EVERYTHING),
    Attack("reads its own environment in /proc", _finds("'/proc/self/environ'"), EVERYTHING),
    Attack("reads the command lines of others", _finds("'/proc/1/cmdline'"), EVERYTHING),
    Attack(
        "reads the grader's memory",
        """
        def squares(x):
            with open(f"/proc/{GRADER}/mem", "rb", buffering=0) as memory:
                memory.seek(ADDRESS)
                return memory.read(20).decode()
        """,
        PRIVILEGES,
    ),
    Attack(
        "reads its parent's memory",
        """
        import os
        def squares(x):
            with open(f"/proc/{os.getppid()}/mem", "rb", buffering=0) as memory:
                memory.seek(id(None))  # where the parent has it too
                return "harm" if memory.read(8) else ""
        """,
        PRIVILEGES,
    ),
    Attack(
        "finds what somebody left open",
        """
        import os, stat
        def squares(x):
            modes = []
            for number in range(3, 1024):
                try:
                    modes.append(os.fstat(number).st_mode)
                except OSError:
                    pass
            is_own_socket_alone = len(modes) == 1 and stat.S_ISSOCK(modes[0])
            return "" if is_own_socket_alone else "harm"
        """,
        naive("answer"),
    ),
    Attack(
        "lists other submissions",
        """
        import os
        def squares(x):
            return "harm" if os.listdir(FOLDER + "/other") else ""
        """,
        LANDLOCK,
    ),
    Attack(
        "reads through a symbolic link",
        """
        import os
        def squares(x):
            os.symlink(FOLDER + "/checks/hidden.py", FOLDER + "/link")
            return open(FOLDER + "/link").read()
        """,
        BOTH,
    ),
    Attack(
        "makes a hard link in its own folder",
        """
        import os
        def squares(x):
            place = next(p for p in (os.environ["TMPDIR"], FOLDER) if os.path.isdir(p))
            os.link(FOLDER + "/own", place + "/hard")
            return open(place + "/hard").read()
        """,
        BOTH,
    ),
    Attack("writes outside", returning("open(TARGET, 'w').write('x')"), LANDLOCK),
    Attack("makes a folder outside", returning("os.mkdir(TARGET)"), LANDLOCK),
    Attack("changes a file in place", returning("open(FOLDER + '/own', 'a').write('x')"), LANDLOCK),
    Attack("renames a file", returning("os.rename(FOLDER + '/own', TARGET)"), LANDLOCK),
    Attack("removes a file", returning("os.remove(FOLDER + '/own')"), LANDLOCK),
    Attack("cuts a file short", returning("os.truncate(FOLDER + '/own', 0)"), BOTH),
    Attack("opens a file up for others", returning("os.chmod(FOLDER + '/own', 0o666)"), SECCOMP),
    Attack("changes a file's times", returning("os.utime(FOLDER + '/own', (1, 1))"), SECCOMP),
    Attack("changes its own Python", returning("open(os.__file__, 'a').close()"), PRIVILEGES),
    Attack("makes a pipe with a name", returning("os.mkfifo(TARGET)"), BOTH),
    Attack("leaves its folder as root", system_call("chroot", "b'/nonexistent'"), PRIVILEGES),
    Attack(
        "opens a file by its handle", system_call("open_by_handle_at", "-1, null, 0"), PRIVILEGES
    ),
    Attack("writes shared memory for others", returning("open(SHARED, 'w').write('x')"), LANDLOCK),
    Attack("opens another device", returning("open('/dev/full', 'wb').close()"), LANDLOCK),
    Attack("watches files", system_call("inotify_init1", "0"), SECCOMP),
]
