"""The channel: messages arrive whole and in order, and no peer can hold it up or fill it."""

import contextlib
import functools
import math
import os
import select
import signal
import socket
import struct
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.channel import CHUNK, Channel, ChannelClosed, ChannelTimeout
from grader.wire import WireError

pytestmark = pytest.mark.skipif(
    not hasattr(select, "poll"), reason="pipes cannot be polled on this system"
)

SOON = 0.2  # seconds until a deadline that is meant to pass
AMPLE = 60.0  # seconds until one that is not
MEGABYTE = 2**20


def after(seconds: float) -> float:
    return time.monotonic() + seconds


@contextlib.contextmanager
def one_way() -> Iterator[tuple[Channel, int]]:
    """A channel that reads what the test writes to the descriptor beside it."""
    read_end, write_end = os.pipe()
    channel = Channel(read_end, os.open(os.devnull, os.O_WRONLY))
    try:
        yield channel, write_end
    finally:
        channel.close()
        with contextlib.suppress(OSError):
            os.close(write_end)


@contextlib.contextmanager
def pair(kind: str) -> Iterator[tuple[Channel, Channel]]:
    """Two channels, each of which receives what the other sends."""
    if kind == "socket":
        left, right = (end.detach() for end in socket.socketpair())
        ends = Channel(left, left), Channel(right, right)
    else:
        (read_left, write_right), (read_right, write_left) = os.pipe(), os.pipe()
        ends = Channel(read_left, write_left), Channel(read_right, write_right)
    try:
        yield ends
    finally:
        for end in ends:
            end.close()


@contextlib.contextmanager
def meanwhile(work: Callable[[], object]) -> Iterator[None]:
    """Run `work` in a thread beside the block; it ends when its descriptor is closed."""

    def quietly() -> None:
        with contextlib.suppress(OSError):
            work()

    thread = threading.Thread(target=quietly)
    thread.start()
    try:
        yield
    finally:
        thread.join(AMPLE)
        assert not thread.is_alive()


@pytest.mark.parametrize("kind", ["pipe", "socket"])
@pytest.mark.parametrize("size", [0, 1, CHUNK - 8, CHUNK, 5 * MEGABYTE + 1])
def test_messages_of_every_size_arrive_whole_in_both_directions(kind: str, size: int) -> None:
    message = os.urandom(size)
    with pair(kind) as (left, right):
        for sender, receiver in [(left, right), (right, left)]:
            with meanwhile(functools.partial(sender.send, message, after(AMPLE))):
                assert receiver.receive(size, after(AMPLE)) == message


@given(st.lists(st.binary(max_size=50), max_size=5), st.lists(st.integers(1, 30), min_size=1))
@settings(max_examples=50, deadline=None)
def test_messages_keep_their_borders_however_the_bytes_are_cut(
    messages: list[bytes], pieces: list[int]
) -> None:
    stream = b"".join(struct.pack(">Q", len(message)) + message for message in messages)

    def write_in_pieces(fd: int) -> None:
        rest, turn = stream, 0
        while rest:
            rest = rest[os.write(fd, rest[: pieces[turn % len(pieces)]]) :]
            turn += 1

    with one_way() as (channel, fd), meanwhile(lambda: write_in_pieces(fd)):
        assert [channel.receive(50, after(AMPLE)) for _ in messages] == messages


@pytest.mark.parametrize("deadline", [None, math.inf])
def test_without_a_deadline_it_waits(deadline: float | None) -> None:
    def late() -> None:
        time.sleep(SOON)
        os.write(fd, struct.pack(">Q", 2) + b"ok")

    with one_way() as (channel, fd), meanwhile(late):
        assert channel.receive(2, deadline) == b"ok"


def test_a_signal_does_not_cut_a_wait_short() -> None:
    before = signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, SOON / 10, SOON / 10)
    try:
        with one_way() as (channel, _), pytest.raises(ChannelTimeout):
            start = time.monotonic()
            channel.receive(1, after(SOON))
        assert time.monotonic() - start >= SOON
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# --- limits and hostile peers -----------------------------------------------------------------


def test_a_message_may_have_the_limit_but_no_byte_more() -> None:
    with one_way() as (channel, fd):
        os.write(fd, struct.pack(">Q", 10) + b"0123456789")
        assert channel.receive(10, after(AMPLE)) == b"0123456789"
        os.write(fd, struct.pack(">Q", 11) + b"0123456789+")
        with pytest.raises(WireError, match="11 bytes is announced, 10 are allowed"):
            channel.receive(10, after(AMPLE))


def test_an_announced_length_costs_no_memory() -> None:
    for length in (2**64 - 1, 64 * MEGABYTE):
        with one_way() as (channel, fd):
            os.write(fd, struct.pack(">Q", length) + b"only this")
            os.close(fd)
            tracemalloc.start()
            with pytest.raises((WireError, ChannelClosed)):
                channel.receive(64 * MEGABYTE, after(AMPLE))
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < 2 * CHUNK


@pytest.mark.parametrize("sent", [b"", b"\0\0\0", struct.pack(">Q", 5), b"\0" * 7 + b"\5four"])
def test_a_peer_that_closes_early_is_noticed(sent: bytes) -> None:
    with one_way() as (channel, fd):
        os.write(fd, sent)
        os.close(fd)
        with pytest.raises(ChannelClosed, match="other side closed"):
            channel.receive(10, after(AMPLE))


@pytest.mark.parametrize("sent", [b"", b"\0\0\0", struct.pack(">Q", 5), b"\0" * 7 + b"\5four"])
def test_a_peer_that_stalls_costs_no_more_than_the_deadline(sent: bytes) -> None:
    with one_way() as (channel, fd):
        os.write(fd, sent)
        start = time.monotonic()
        with pytest.raises(ChannelTimeout):
            channel.receive(10, after(SOON))
        assert SOON <= time.monotonic() - start < AMPLE


@pytest.mark.parametrize("pause", [0.0, SOON / 20])
def test_a_peer_that_drips_costs_no_more_than_the_deadline(pause: float) -> None:
    stopped = threading.Event()

    def drip() -> None:
        os.write(fd, struct.pack(">Q", 2**40))
        while not stopped.wait(pause):
            os.write(fd, b".")

    with one_way() as (channel, fd):
        os.set_blocking(fd, False)
        with meanwhile(drip), pytest.raises(ChannelTimeout):
            try:
                channel.receive(2**40, after(SOON))
            finally:
                stopped.set()


def test_a_deadline_in_the_past_has_passed_even_if_the_message_is_there() -> None:
    with one_way() as (channel, fd):
        os.write(fd, struct.pack(">Q", 1) + b"x")
        with pytest.raises(ChannelTimeout):
            channel.receive(1, after(-1))


@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_sending_to_a_peer_that_does_not_read_ends_at_the_deadline(kind: str) -> None:
    with pair(kind) as (left, _), pytest.raises(ChannelTimeout):
        left.send(bytes(4 * MEGABYTE), after(SOON))


@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_sending_to_a_peer_that_is_gone_is_noticed(kind: str) -> None:
    with pair(kind) as (left, right):
        right.close()
        with pytest.raises(ChannelClosed):
            left.send(bytes(4 * MEGABYTE), after(AMPLE))


def test_after_a_failure_the_channel_is_closed_both_ways() -> None:
    with pair("socket") as (left, right):
        with pytest.raises(ChannelTimeout):
            left.receive(1, after(0))
        right.send(b"x", after(AMPLE))
        with pytest.raises(ChannelClosed, match="earlier call"):
            left.receive(1, after(AMPLE))
        with pytest.raises(ChannelClosed, match="earlier call"):
            left.send(b"x", after(AMPLE))


def test_closing_twice_is_closing_once() -> None:
    with pair("pipe") as (left, right):
        left.close()
        left.close()
        with pytest.raises(ChannelClosed):
            left.send(b"x", None)
        with pytest.raises(ChannelClosed):
            right.receive(1, after(AMPLE))
