"""The few calls to the Linux kernel that Python has no function for.

Knows nothing of what is allowed or forbidden; imports only the standard library and errors."""

import ctypes
import functools
import os

from grader.errors import CourseError

PR_SET_NO_NEW_PRIVS = 38


class JailError(CourseError):
    """The process could not be confined as promised; it must not run a student's code."""


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _word(value: object) -> object:
    return ctypes.c_long(value) if isinstance(value, int) else value


def syscall(number: int, *arguments: object) -> int:
    """Make a system call; bytes and ctypes pointers are passed as addresses. Raises OSError."""
    return _checked(int(_libc().syscall(_word(number), *map(_word, arguments))))


def prctl(option: int, *arguments: object) -> int:
    """prctl(2), its absent arguments zero. Raises OSError."""
    given = (option, *arguments, 0, 0, 0, 0)[:5]
    return _checked(int(_libc().prctl(*map(_word, given))))


def forbid_new_privileges() -> None:
    """From now on no program can gain rights (setuid and the like); the filters require it."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)
