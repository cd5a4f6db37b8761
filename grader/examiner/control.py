"""Orders between the examiner's own processes: JSON with open sockets beside it.

Only between processes that trust each other; a student's process speaks the wire instead."""

import itertools
import json
import os
import select
import socket
import struct
import time
from typing import Any

LENGTH = struct.Struct(">I")
MOST_DESCRIPTORS = 4


class ControlClosed(Exception):
    """The process at the other end is gone."""


class Control:
    """One end of a socket pair over which orders and answers go, one at a time."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end

    @classmethod
    def pair(cls) -> tuple["Control", "Control"]:
        """Two connected ends."""
        ours, theirs = socket.socketpair()
        return cls(ours), cls(theirs)

    def send(self, order: dict[str, Any], descriptors: tuple[int, ...] = ()) -> None:
        """Send an order, and copies of these descriptors with it."""
        text = json.dumps(order).encode()
        try:
            socket.send_fds(self.end, [LENGTH.pack(len(text))], descriptors)
            self.end.sendall(text)
        except OSError as error:
            raise ControlClosed(str(error)) from None

    def receive(self) -> tuple[dict[str, Any], list[int]]:
        """The next order and the descriptors that came with it. Raises ControlClosed."""
        try:
            head, descriptors, _, _ = socket.recv_fds(self.end, LENGTH.size, MOST_DESCRIPTORS)
            text = self._exactly(LENGTH.unpack(head)[0]) if len(head) == LENGTH.size else b""
        except OSError as error:
            raise ControlClosed(str(error)) from None
        if not text:
            raise ControlClosed("the other side closed the connection")
        return json.loads(text), descriptors

    def ask(self, order: dict[str, Any], descriptors: tuple[int, ...] = ()) -> dict[str, Any]:
        """Send an order and return its answer."""
        self.send(order, descriptors)
        return self.receive()[0]

    def waits(self, seconds: float) -> bool:
        """Whether an order is there, or the other side gone, within `seconds`."""
        poll = select.poll()
        poll.register(self.end, select.POLLIN)
        return bool(poll.poll(max(0.0, seconds) * 1000))

    def close(self) -> None:
        """Close this end."""
        self.end.close()

    def _exactly(self, count: int) -> bytes:
        taken = bytearray()
        while len(taken) < count:
            part = self.end.recv(count - len(taken))
            if not part:
                return b""
            taken += part
        return bytes(taken)


def seconds_left(deadline: float) -> float:
    """Seconds until an instant of time.monotonic()."""
    return deadline - time.monotonic()


def close_all_but(*kept: int) -> None:
    """Close every descriptor of this process above stderr, except these."""
    bounds = [2, *sorted(kept), os.sysconf("SC_OPEN_MAX")]
    for low, high in itertools.pairwise(bounds):
        os.closerange(low + 1, high)
