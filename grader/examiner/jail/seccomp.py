"""The filter of system calls: a program for the kernel, made from the table in calls.py.

Says how calls are refused; which ones are allowed stands in the table."""

import ctypes
import errno
import functools
import os
import struct
import sys
from collections.abc import Iterable, Iterator

from grader.examiner.jail.calls import ARCHITECTURES, ASKED, CALLS
from grader.examiner.jail.kernel import forbid_new_privileges, prctl

PR_SET_SECCOMP, MODE_FILTER = 22, 2
AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
NUMBER, ARCHITECTURE = 0, 4  # places in struct seccomp_data

Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, value
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
ALLOW: Instruction = (_RETURN, 0, 0, 0x7FFF0000)
REFUSE: Instruction = (_RETURN, 0, 0, 0x00050000 | errno.EPERM)


def machine() -> str | None:
    """The architecture that the calling interpreter runs on, None if the filter has no table."""
    found = os.uname().machine
    return found if found in ARCHITECTURES and sys.maxsize > 2**32 else None


@functools.cache
def program(architecture: str) -> tuple[Instruction, ...]:
    """The filter: each allowed call in turn, EPERM for the rest and for foreign architectures.

    x32 needs no rule: its numbers carry a bit that no number of the table has.
    """
    return (
        _load(ARCHITECTURE),
        (_JUMP_IF_EQUAL, 1, 0, AUDIT_ARCH[architecture]),
        REFUSE,
        _load(NUMBER),
        *_calls(ARCHITECTURES.index(architecture)),
        REFUSE,
    )


def _load(place: int) -> Instruction:
    return (_LOAD, 0, 0, place)


def _calls(column: int) -> Iterator[Instruction]:
    for name, numbers in CALLS.items():
        number = numbers[column]
        if number is not None:
            body = [*_asked(name), ALLOW]
            yield (_JUMP_IF_EQUAL, 0, len(body), number)
            yield from body


def _asked(name: str) -> Iterator[Instruction]:
    for place, values in ASKED.get(name, {}).items():
        yield _load(place)
        for position, value in enumerate(values):
            yield (_JUMP_IF_EQUAL, len(values) - position, 0, value)
        yield REFUSE


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def load(instructions: Iterable[Instruction]) -> None:
    """Put a filter over the calling thread, for good. Raises OSError."""
    packed = [struct.pack("HBBI", *each) for each in instructions]
    forbid_new_privileges()
    prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.byref(_Program(len(packed), b"".join(packed))))


def restrict() -> None:
    """Refuse the calling thread, for good, every call that is not in the table. Raises OSError."""
    architecture = machine()
    if architecture is None:
        raise OSError(errno.ENOSYS, f"no table of system calls for {os.uname().machine}")
    load(program(architecture))
