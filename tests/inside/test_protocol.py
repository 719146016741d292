"""Frames from a stranger: whatever bytes arrive, the answer is a plain value or a refusal."""

import socket
import threading
import tracemalloc
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attn_course.inside.protocol import (
    HEADER,
    MAGIC,
    UNASKED,
    Channel,
    Gone,
    OutOfTime,
    ProtocolBroken,
    printable,
    require_answer,
)
from attn_course.inside.submission import LocalSubmission
from attn_course.inside.wire import NotPlain, pack

ID = bytes(range(16))
LARGEST = 10_000
identities = st.binary(min_size=16, max_size=16)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=10,
)


@contextmanager
def two_ends(largest=LARGEST):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Channel(ours, largest), theirs


def arriving(data, largest=LARGEST):
    """Return what a channel makes of `data`, after which the other end closes."""
    with two_ends(largest) as (channel, stranger):
        stranger.sendall(data)
        stranger.close()
        return channel.receive()


def frame(identity, value):
    body = pack(value)
    return HEADER.pack(MAGIC, identity, len(body)) + body


@contextmanager
def answered_by(stranger_does):
    """A channel whose other end is a thread: it gets the socket and the id of each request."""
    with two_ends() as (channel, theirs):

        def run():
            other = Channel(theirs)
            try:
                while True:
                    identity, value = other.receive()
                    stranger_does(theirs, identity, value)
            except (Gone, OSError):
                return

        thread = threading.Thread(target=run)
        thread.start()
        yield channel
        channel.close()
        thread.join()


@given(identities, values)
def test_a_frame_arrives_as_it_was_sent(identity, value):
    assert arriving(frame(identity, value)) == (identity, value)


@given(st.binary(max_size=300))
def test_arbitrary_bytes_are_refused(data):
    with pytest.raises((ProtocolBroken, Gone)):
        arriving(data)


@given(st.binary(max_size=200), st.integers(0, 2**64 - 1))
def test_a_frame_of_any_content_and_claimed_length_is_a_value_or_refused(content, length):
    for claimed in (length, len(content)):
        try:
            identity, _value = arriving(HEADER.pack(MAGIC, ID, claimed) + content)
        except (ProtocolBroken, Gone):
            continue
        assert identity == ID
        assert claimed <= len(content)


@given(values, st.data())
def test_a_damaged_frame_is_a_value_or_refused(value, data):
    damaged = bytearray(frame(ID, value))
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        identity, found = arriving(bytes(damaged))
    except (ProtocolBroken, Gone):
        return
    assert len(identity) == 16
    assert pack(found)  # only a plain value can be packed again


@given(values, st.data())
def test_a_frame_that_breaks_off_is_the_end_of_the_connection(value, data):
    whole = frame(ID, value)
    with pytest.raises(Gone):
        arriving(whole[: data.draw(st.integers(0, len(whole) - 1))])


@pytest.mark.parametrize("claimed", [LARGEST + 1, 2**40, 2**64 - 1])
def test_a_length_above_the_largest_is_refused_before_anything_is_read(claimed):
    with two_ends() as (channel, stranger):
        stranger.sendall(HEADER.pack(MAGIC, ID, claimed))  # and stays connected
        with pytest.raises(ProtocolBroken, match="bytes"):
            channel.receive()


def test_a_length_that_is_claimed_and_not_sent_takes_no_memory():
    tracemalloc.start()
    with pytest.raises(Gone):
        arriving(HEADER.pack(MAGIC, ID, 2**30) + b"few", largest=2**31)
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * 2**20


def test_an_answer_comes_back():
    def double(end, identity, value):
        Channel(end).send(identity, value * 2)

    with answered_by(double) as channel:
        assert channel.ask(21, seconds=60) == 42
        assert channel.ask("ab", seconds=60) == "abab"


def test_every_request_has_an_id_of_its_own():
    seen = []

    def remember(end, identity, value):
        seen.append(identity)
        Channel(end).send(identity, None)

    with answered_by(remember) as channel:
        for _ in range(20):
            channel.ask(None, seconds=60)
    assert len(set(seen)) == 20
    assert UNASKED not in seen


def test_an_answer_with_another_id_is_refused():
    with (
        answered_by(lambda end, _identity, _value: end.sendall(frame(ID, 1))) as channel,
        pytest.raises(ProtocolBroken, match="another request"),
    ):
        channel.ask(None, seconds=60)


def test_an_answer_that_is_sent_again_is_refused():
    kept = []

    def replay(end, identity, _value):
        kept.append(identity)
        end.sendall(frame(kept[0], 1))

    with answered_by(replay) as channel:
        assert channel.ask(None, seconds=60) == 1
        with pytest.raises(ProtocolBroken, match="another request"):
            channel.ask(None, seconds=60)


def test_bytes_that_nobody_asked_for_are_refused():
    def twice(end, identity, _value):
        end.sendall(frame(identity, 1) * 2)

    with answered_by(twice) as channel:
        assert channel.ask(None, seconds=60) == 1
        with pytest.raises(ProtocolBroken, match="were not asked for"):
            channel.ask(None, seconds=60)


def test_silence_ends_at_the_deadline():
    with answered_by(lambda *_: None) as channel, pytest.raises(OutOfTime):
        channel.ask(None, seconds=0.05)


def test_bytes_that_come_one_by_one_don_t_move_the_deadline():
    stop = threading.Event()

    def drip(end, identity, _value):
        for byte in frame(identity, "x" * 5000):
            if stop.wait(0.01):
                return
            end.sendall(bytes([byte]))

    with answered_by(drip) as channel:
        with pytest.raises(OutOfTime):
            channel.ask(None, seconds=0.3)
        stop.set()


def test_a_stranger_who_does_not_read_can_t_hold_the_sender():
    with two_ends() as (channel, _stranger), pytest.raises(OutOfTime):
        channel.ask(np.zeros(10**6), seconds=0.05)


def test_a_stranger_who_left_is_gone():
    with two_ends() as (channel, stranger):
        stranger.close()
        with pytest.raises(Gone):
            channel.ask(None, seconds=60)


def test_what_is_not_plain_is_the_senders_own_mistake():
    with two_ends() as (channel, _stranger), pytest.raises(NotPlain):
        channel.ask(object(), seconds=60)


RAISED = {"type": "ValueError", "message": "no", "line": "x = 1"}


@pytest.mark.parametrize("response", [{"value": None}, {"value": [1]}, {"raised": RAISED}])
@pytest.mark.parametrize("may_miss", [True, False])
def test_a_value_or_an_exception_is_an_answer(response, may_miss):
    assert require_answer(response, may_miss) == response


def test_that_there_is_none_is_an_answer_where_a_name_was_asked_for():
    assert require_answer({"missing": True}, may_miss=True) == {"missing": True}
    with pytest.raises(ProtocolBroken):
        require_answer({"missing": True})


@pytest.mark.parametrize(
    "response",
    [
        None,
        [],
        {},
        {"value": 1, "raised": RAISED},
        {"missing": True, "value": 1},
        {"missing": True, "raised": RAISED},
        {"missing": False},
        {"missing": 1},
        {"missing": "squares"},
        {"missing": None},
        {"points": 100},
        {1: 2},
        {"raised": None},
        {"raised": {}},
        {"raised": RAISED | {"more": ""}},
        {"raised": RAISED | {"type": 1}},
        {"raised": RAISED | {"message": "x" * 2001}},
        {"raised": RAISED | {"line": ["x"]}},
    ],
    ids=str,
)
@pytest.mark.parametrize("may_miss", [True, False])
def test_anything_else_is_none(response, may_miss):
    with pytest.raises(ProtocolBroken):
        require_answer(response, may_miss)


@given(st.text())
def test_a_text_can_t_steer_a_terminal(text):
    cleaned = printable(text)
    assert len(cleaned) == len(text)
    assert all(c.isprintable() or c in "\n\t" for c in cleaned)


texts = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), min_size=1)


@given(texts, texts, st.sampled_from([1, 1000]))
def test_whatever_an_answer_raises_is_an_answer(name, message, times):
    kind = type(name * times, (Exception,), {})

    def fails():
        raise kind(message * times)

    asked = {"name": "fails", "args": (), "kwargs": {}}
    response = LocalSubmission({"fails": fails}).request("call", asked)
    raised = require_answer(response)["raised"]
    assert raised["type"] == printable(kind.__name__[:200])
    assert raised["message"] == printable((message * times)[:2000])


def test_ordinary_text_stays_as_it_is():
    assert printable("Größe 3 × 5\n\tπ 😀") == "Größe 3 × 5\n\tπ 😀"
    assert "\x1b" not in printable("\x1b[2J\u202e")
