"""Frames between the grader and a submission: magic, random id, length, one plain value.

    frame = b"ACG1" + id (16 bytes) + length (8 bytes, little-endian) + `wire.pack(value)`

The other end may be hostile. So the grader draws a fresh random id for each request and takes
nothing but one frame with that id, in time, not longer than agreed, with no byte before or after
it. A length is never believed: memory grows only with bytes that arrived. Whatever breaks these
rules raises `ProtocolBroken`.
"""

import secrets
import select
import socket
import struct
import time

from attn_course.inside.wire import NotPlain, Plain, pack, unpack

MAGIC = b"ACG1"
UNASKED = bytes(16)  # the id of the one frame that answers no request: "I am ready"
HEADER = struct.Struct("<4s16sQ")
FORK, WAIT, END = b"F", b"W", b"E"  # the orders of a worker, see there
OUT_OF_MEMORY = 213  # exit codes of a child, which no program would think of
COULD_NOT_LOCK = 214
_CHUNK = 2**20
_LONGEST_TEXT = {"type": 200, "message": 2000, "line": 500}


class ProtocolBroken(Exception):  # noqa: N818 (it says what happened)
    """What arrived is not what was asked for."""


class OutOfTime(Exception):  # noqa: N818
    """Nothing, or not all of it, arrived in time."""


class Gone(Exception):  # noqa: N818
    """The other end closed, or its process ended."""


class Channel:
    """One end of a socket pair that carries frames of at most `largest` bytes."""

    def __init__(self, end: socket.socket, largest: int = 256 * 2**20) -> None:
        self.socket = end
        self._largest = largest

    def ask(self, message: Plain, seconds: float) -> Plain:
        """Send a request and return the answer to this very request."""
        deadline = time.monotonic() + seconds
        if select.select([self.socket], [], [], 0)[0] and self._peek():
            raise ProtocolBroken("bytes arrived that were not asked for")
        identity = secrets.token_bytes(16)
        self.send(identity, message, deadline)
        found, answer = self.receive(deadline)
        if found != identity:
            raise ProtocolBroken("an answer to another request arrived")
        return answer

    def send(self, identity: bytes, message: Plain, deadline: float | None = None) -> None:
        """Send one frame before `deadline` (of `time.monotonic`; None waits for ever)."""
        body = pack(message)
        try:
            self.socket.settimeout(_seconds_to(deadline))
            self.socket.sendall(HEADER.pack(MAGIC, identity, len(body)) + body)
        except TimeoutError as fault:
            raise OutOfTime from fault
        except OSError as fault:
            raise Gone from fault

    def receive(self, deadline: float | None = None) -> tuple[bytes, Plain]:
        """Return the id and the value of the next frame."""
        magic, identity, length = HEADER.unpack(self._read(HEADER.size, deadline))
        if magic != MAGIC:
            raise ProtocolBroken("what arrived is not a frame")
        if length > self._largest:
            raise ProtocolBroken(f"an answer of {length} bytes, where {self._largest} are allowed")
        try:
            return identity, unpack(self._read(length, deadline), self._largest)
        except NotPlain as fault:
            raise ProtocolBroken(str(fault)) from fault

    def close(self) -> None:
        """Close this end."""
        self.socket.close()

    def _peek(self) -> bool:
        """Return whether bytes wait; an end that closed is no violation but found out later."""
        try:
            return bool(self.socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
        except OSError:
            return False

    def _read(self, length: int, deadline: float | None) -> bytearray:
        data = bytearray()
        while len(data) < length:
            try:
                self.socket.settimeout(_seconds_to(deadline))
                part = self.socket.recv(min(length - len(data), _CHUNK))
            except TimeoutError as fault:
                raise OutOfTime from fault
            except OSError as fault:
                raise Gone from fault
            if not part:
                raise Gone
            data += part
        return data


def _seconds_to(deadline: float | None) -> float | None:
    """Return the time left, and never 0, which would mean "don't wait" to a socket."""
    return None if deadline is None else max(deadline - time.monotonic(), 1e-4)


def require_answer(response: Plain, may_miss: bool = False) -> dict[str, Plain]:
    """Return `response` if it is a value, or an exception with printable texts of bounded length.

    `may_miss`: a name was asked for, so "there is none" is an answer too. Whether a value fits the
    request is for whoever asked to see.
    """
    if not isinstance(response, dict) or len(response) != 1:
        raise ProtocolBroken("an answer is a value or an exception")
    if "value" in response:
        return response
    if may_miss and response.get("missing") is True:
        return response
    raised = response.get("raised")
    if not isinstance(raised, dict) or set(raised) != set(_LONGEST_TEXT):
        raise ProtocolBroken("an exception has a type, a message and a line")
    for key, longest in _LONGEST_TEXT.items():
        if not isinstance(raised[key], str) or len(raised[key]) > longest:
            raise ProtocolBroken(f"the {key} of an exception is a text of bounded length")
    return {"raised": {key: printable(text) for key, text in raised.items()}}


def printable(text: str) -> str:
    """Return `text` without what could steer a terminal or turn the direction of writing."""
    return "".join(
        c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text
    )
