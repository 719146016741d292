"""Attacks in the grader's own language: frames that answer too early, too often, or with bombs.

Nothing about the wire is secret, and a submission finds the id of a request by walking up the
stack. What it can do with that is answer, once.
"""

from tests.grading.attacks.attack import READER, Attack

_WIRE = """
    import os, random, stat, struct, sys, time
    import msgpack

    def channel():
        for number in range(3, 64):
            try:
                if stat.S_ISSOCK(os.fstat(number).st_mode):
                    return number
            except OSError:
                pass

    def identity():
        frame = sys._getframe()
        while "identity" not in frame.f_locals or "payload" not in frame.f_locals:
            frame = frame.f_back
        return frame.f_locals["identity"]

    def frame(about, body):
        return struct.pack("<4s16sQ", b"ACG1", about, len(body)) + body

    def write(data):
        while data:
            data = data[os.write(channel(), data):]

    def forged(value):
        return msgpack.packb({"value": value})
"""


def _speaks(lines: str) -> str:
    indented = "\n".join(f"        {line}" for line in lines.strip().splitlines())
    return f"{_WIRE}\n    def squares(x):\n{indented}\n"


def _answers(body: str) -> str:
    """An answer to the right request, at the right time, whose content is a bomb."""
    return _speaks(f"write(frame(identity(), {body}))\ntime.sleep(0.2)\nos._exit(0)")


def _array(header: str, data: str = "b''") -> str:
    extension = f"msgpack.ExtType(1, msgpack.packb({header}) + {data})"
    return _answers(f"forged({{'harm': {extension}}})")


_NEXT = ("how_many",)  # it is asked next, and answered by what was left on the wire

ATTACKS = [
    Attack(
        "writes to every descriptor",
        _speaks(
            "for number in range(64):\n    try:\n        os.write(number, b'A' * 100)\n"
            "    except OSError:\n        pass\ntime.sleep(0.2)"
        ),
        READER,
    ),
    Attack(
        "answers with the id of nothing", _speaks("write(frame(bytes(16), forged('harm')))"), READER
    ),
    Attack("guesses the id", _speaks("write(frame(random.randbytes(16), forged('harm')))"), READER),
    Attack(
        "answers twice",
        _speaks("write(frame(identity(), forged(0)))\nreturn 'harm'"),
        READER,
        costs=_NEXT,
    ),
    Attack(
        "answers the next question too",
        _speaks("write(frame(identity(), forged(0)) + frame(identity(), forged('harm')))"),
        READER,
        costs=_NEXT,
    ),
    Attack(
        "says again that it is ready",
        _speaks("write(frame(bytes(16), msgpack.packb({'failed': 'harm'})))"),
        READER,
    ),
    Attack(
        "claims a giant frame",
        _speaks("write(struct.pack('<4s16sQ', b'ACG1', identity(), 2**62))"),
        READER,
    ),
    Attack(
        "drips",
        _speaks(
            "for byte in frame(identity(), forged('harm')):\n"
            "    write(bytes([byte]))\n    time.sleep(0.05)\ntime.sleep(2)"
        ),
        READER,
    ),
    Attack("floods", _speaks("write(b'x' * 2**21)"), READER),
    Attack(
        "stops in the middle of a frame",
        _speaks("write(frame(identity(), forged('harm'))[:-2])\nos._exit(0)"),
        READER,
    ),
    Attack("closes everything", _speaks("os.closerange(0, 64)"), READER),
    Attack("hangs up and stays", _speaks("os.close(channel())\ntime.sleep(4)"), READER),
    Attack("puts nothing in place of the wire", _speaks("os.dup2(0, channel())"), READER),
    Attack("sends no value", _answers("b''"), READER),
    Attack("sends a value and more", _answers("forged('harm') + b'more'"), READER),
    Attack("claims four milliard items", _answers("bytes.fromhex('dd ff ff ff ff')"), READER),
    Attack("nests lists", _answers("forged({'harm': eval('[' * 90 + ']' * 90)})"), READER),
    Attack("nests lists deeper than the C stack", _answers("b'\\x91' * 10**6"), READER),
    Attack(
        "nests tuples",
        _speaks(
            "body = []\n"
            "for _ in range(40):\n"
            "    body = [msgpack.ExtType(3, b''), body]\n"
            "write(frame(identity(), forged({'harm': body})))\ntime.sleep(0.2)\nos._exit(0)"
        ),
        READER,
    ),
    Attack("gives a negative shape", _array("['float64', [-1]]", "bytes(8)"), READER),
    Attack("gives a shape that overflows", _array("['float64', [2**32, 2**32]]"), READER),
    Attack("gives an empty array of giant shape", _array("['float64', [0, 2**62]]"), READER),
    Attack("gives an array of objects", _array("['object', [1]]", "bytes(8)"), READER),
    Attack("gives an array of records", _array("['V8', [1]]", "bytes(8)"), READER),
    Attack("gives an array of times", _array("['datetime64[s]', [1]]", "bytes(8)"), READER),
    Attack("gives more data than the shape", _array("['uint8', [1]]", "bytes(2)"), READER),
    Attack("gives a shape of half numbers", _array("['uint8', [1.5]]", "bytes(2)"), READER),
    Attack("gives sixty axes", _array("['uint8', [1] * 60]", "bytes(1)"), READER),
    Attack(
        "gives a number of many digits",
        _answers("forged({'harm': msgpack.ExtType(4, b'9' * 10**5)})"),
        READER,
    ),
    Attack(
        "gives the mark of a tuple alone",
        _answers("forged({'harm': msgpack.ExtType(3, b'')})"),
        READER,
    ),
    Attack("gives bytes", _answers("forged({'harm': b'bytes'})"), READER),
    Attack("gives a time", _answers("forged({'harm': msgpack.Timestamp(1)})"), READER),
    Attack(
        "gives an unknown extension", _answers("forged({'harm': msgpack.ExtType(99, b'')})"), READER
    ),
    Attack("gives keys that are no names", _answers("forged({'harm': {1.5: 0, None: 1}})"), READER),
    Attack(
        "gives half a character",
        _answers("forged({'harm': 'x'}).replace(b'\\xa1x', b'\\xa1\\xff')"),
        READER,
    ),
    Attack("gives a pickle", _answers("__import__('pickle').dumps({'value': 'harm'})"), READER),
    Attack(
        "gives a value and an exception",
        _answers("msgpack.packb({'value': 'harm', 'raised': None})"),
        READER,
    ),
    Attack(
        "says that there is nothing where nothing was asked for",
        f"""{_WIRE}
    told = write(frame(identity(), msgpack.packb({{'missing': True}})))
    def squares(x):
        return told
""",
        READER,
    ),
    Attack(
        "raises something that is no text",
        _answers("msgpack.packb({'raised': {'type': ['harm'], 'message': 0, 'line': {}}})"),
        READER,
    ),
    Attack(
        "raises a whole book",
        _answers("msgpack.packb({'raised': {'type': 'E', 'message': 'harm' * 10**5, 'line': ''}})"),
        READER,
    ),
    Attack(
        "makes the grader hold a million things",
        _answers("forged([[[] for _ in range(90_000)] for _ in range(9)])"),
        READER,
    ),
]
