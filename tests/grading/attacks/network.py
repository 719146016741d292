"""Attacks over the network. Whatever listens does so on this computer, for the test."""

from tests.grading.attacks.attack import BOTH, PRIVILEGES, SECCOMP, Attack, returning


def _socket(line: str) -> str:
    return returning(line, "import socket")


ATTACKS = [
    Attack(
        "connects to a server", _socket("socket.create_connection(('127.0.0.1', PORT), 0.5)"), BOTH
    ),
    Attack(
        "connects by IPv6", _socket("socket.socket(socket.AF_INET6, socket.SOCK_STREAM)"), SECCOMP
    ),
    Attack(
        "sends a datagram",
        _socket(
            "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', PORT))"
        ),
        SECCOMP,
    ),
    Attack("waits for connections", _socket("socket.create_server(('127.0.0.1', 0))"), BOTH),
    Attack(
        "connects to a local socket with a path",
        _socket("socket.socket(socket.AF_UNIX).connect(FOLDER + '/socket')"),
        SECCOMP,
    ),
    Attack(
        "connects to a local socket without a path",
        _socket("socket.socket(socket.AF_UNIX).connect('\\0' + ABSTRACT)"),
        BOTH,
    ),
    Attack("makes a pair of sockets", _socket("socket.socketpair()"), SECCOMP),
    Attack(
        "talks to the kernel's network",
        _socket("socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)"),
        SECCOMP,
    ),
    Attack(
        "listens to all packets",
        _socket("socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)"),
        PRIVILEGES,
    ),
    Attack(
        "sends a message that could carry descriptors",
        """
        import os, socket, stat
        def squares(x):
            for number in range(3, 64):
                try:
                    if stat.S_ISSOCK(os.fstat(number).st_mode):
                        break
                except OSError:
                    pass
            socket.socket(fileno=os.dup(number)).sendmsg([])
            return "harm"
        """,
        SECCOMP,
    ),
    Attack("asks for a name", _socket("socket.getaddrinfo('localhost', 80)"), BOTH),
]
