"""Whole messages over a pair of pipes or a socket, to and from a process that may be hostile.

Knows nothing of what the messages say. A peer that stalls, drips, lies about a length or dies
costs no more than the deadline and the bytes it really sent. POSIX only."""

import contextlib
import os
import select
import struct
import time
from collections.abc import Iterator

from grader.wire import WireError

LENGTH = struct.Struct(">Q")
CHUNK = 2**18  # bytes asked for at once; what is allocated before they have come
LONGEST_WAIT = 3600.0  # seconds of one poll, whose argument must fit a C int of milliseconds
LOOKS = 400  # before going to sleep: most answers come sooner than a sleeper is woken up


class ChannelError(Exception):
    """The channel is of no more use: sender and receiver disagree on where a message starts."""


class ChannelClosed(ChannelError):
    """The other side closed its end or died, or an earlier call on this channel failed."""


class ChannelTimeout(ChannelError):
    """The deadline came before the whole message had passed."""


class Channel:
    """Sends and receives messages of bytes; makes both descriptors non-blocking and owns them.

    Deadlines are instants of time.monotonic(); None waits for ever.
    """

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._broken = False
        self._unread = bytearray()
        for fd in {read_fd, write_fd}:
            os.set_blocking(fd, False)

    def send(self, message: bytes, deadline: float | None) -> None:
        """Send the whole message. Raises ChannelClosed or ChannelTimeout."""
        with self._in_step():
            rest = memoryview(LENGTH.pack(len(message)) + message)
            while rest:
                try:
                    rest = rest[os.write(self._write_fd, rest) :]
                except BlockingIOError:
                    _wait(self._write_fd, select.POLLOUT, deadline)

    def receive(self, limit: int, deadline: float | None) -> bytes:
        """The next message, of at most `limit` bytes.

        Raises WireError if the other side announces more, else ChannelClosed or ChannelTimeout.
        """
        with self._in_step():
            (length,) = LENGTH.unpack(self._read(LENGTH.size, deadline))
            if length > limit:
                raise WireError(f"a message of {length} bytes is announced, {limit} are allowed")
            return self._read(length, deadline)

    def close(self) -> None:
        """Close both descriptors; calling it again does nothing."""
        for fd in {self._read_fd, self._write_fd} - {-1}:
            os.close(fd)
        self._read_fd = self._write_fd = -1
        self._broken = True

    def _read(self, length: int, deadline: float | None) -> bytes:
        """Exactly `length` bytes; what comes beyond them is kept, at most CHUNK of it."""
        while len(self._unread) < length:
            _wait(self._read_fd, select.POLLIN, deadline)
            with contextlib.suppress(BlockingIOError):
                chunk = os.read(self._read_fd, CHUNK)
                if not chunk:
                    raise ChannelClosed("the other side closed the channel")
                self._unread += chunk
        taken = bytes(self._unread[:length])
        del self._unread[:length]
        return taken

    @contextlib.contextmanager
    def _in_step(self) -> Iterator[None]:
        """Count the channel as broken unless the block ends well: half a message has no remedy."""
        if self._broken:
            raise ChannelClosed("the channel is closed, or an earlier call on it failed")
        self._broken = True
        try:
            yield
        except OSError as error:
            raise ChannelClosed(f"the channel broke ({type(error).__name__})") from error
        self._broken = False


def _wait(fd: int, event: int, deadline: float | None) -> None:
    """Return when `fd` is ready, or closed at the other end; ChannelTimeout at the deadline.

    The clock is read even when the descriptor is ready: a peer that drips is always ready.
    """
    poll = select.poll()
    poll.register(fd, event)
    for _ in range(LOOKS):
        if poll.poll(0):
            break
        os.sched_yield()  # whoever has work to do comes first
    while True:
        left = LONGEST_WAIT if deadline is None else deadline - time.monotonic()
        if left <= 0:
            raise ChannelTimeout("the deadline came before the whole message")
        if poll.poll(min(left, LONGEST_WAIT) * 1000):
            return
