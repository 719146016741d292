"""A reader that believes what arrives: the control for the attacks on the wire."""

import pickle
from contextlib import contextmanager
from unittest import mock

import msgpack
import numpy as np

from attn_course.grading import sandboxed_submission
from attn_course.inside.protocol import HEADER, Channel


@contextmanager
def trusting_reader():
    """Take away all distrust: of ids, lengths, shapes, kinds, and of what makes an answer."""
    with (
        mock.patch.object(Channel, "ask", _ask),
        mock.patch.object(sandboxed_submission, "require_answer", _any_answer),
    ):
        yield


def _any_answer(response, may_miss=False):
    return response


def _ask(self, message, seconds):
    self.send(bytes(range(16)), message)
    self.socket.settimeout(5)  # for each piece, not for the whole
    _magic, _identity, length = HEADER.unpack(_read(self.socket, HEADER.size))
    body = _read(self.socket, length)
    return pickle.loads(body) if body[:1] == b"\x80" and len(body) > 4 else _unpack(body)


def _read(end, length):
    data = bytearray(length)
    arrived = 0
    while arrived < length:
        more = end.recv_into(memoryview(data)[arrived:])
        if not more:
            break
        arrived += more
    return bytes(data[:arrived])


def _unpack(data):
    return msgpack.unpackb(data, raw=False, strict_map_key=False, ext_hook=_extension)


def _extension(code, data):
    if code not in (1, 2):
        return msgpack.ExtType(code, data)
    unpacker = msgpack.Unpacker(raw=False)
    unpacker.feed(data)
    name, shape = unpacker.unpack()
    return np.frombuffer(data[unpacker.tell() :], np.dtype(name)).reshape(shape)
