"""Landlock: which files a process may open, by path, for good and without privilege.

Says how a list of paths is enforced; which paths those are is computed in paths.py."""

import contextlib
import os
import stat
import struct
from collections.abc import Iterable
from enum import IntFlag, auto
from pathlib import Path

from grader.examiner.jail.kernel import forbid_new_privileges, syscall

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same on every architecture
ASK_VERSION = 1
RULE_PATH_BENEATH = 1


class Right(IntFlag):
    """The rights over files, in the kernel's order of bits."""

    EXECUTE = auto()
    WRITE_FILE = auto()
    READ_FILE = auto()
    READ_DIR = auto()
    REMOVE_DIR = auto()
    REMOVE_FILE = auto()
    MAKE_CHAR = auto()
    MAKE_DIR = auto()
    MAKE_REG = auto()
    MAKE_SOCK = auto()
    MAKE_FIFO = auto()
    MAKE_BLOCK = auto()
    MAKE_SYM = auto()
    REFER = auto()
    TRUNCATE = auto()
    IOCTL_DEV = auto()


RIGHTS_KNOWN = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}  # how many of them an ABI knows
TCP_BIND_AND_CONNECT = 0b11  # from ABI 4
ABSTRACT_SOCKETS_AND_SIGNALS = 0b11  # from ABI 6

# Plain integers: there are hundreds of rules, and flags are slow to combine.
ON_FILES = int(Right.WRITE_FILE | Right.READ_FILE | Right.TRUNCATE)
READ = int(Right.READ_FILE | Right.READ_DIR)
# No links, sockets, pipes or devices: whoever cleans up the folder meets plain files only.
WRITE = READ | int(
    Right.WRITE_FILE
    | Right.TRUNCATE
    | Right.MAKE_REG
    | Right.MAKE_DIR
    | Right.REMOVE_FILE
    | Right.REMOVE_DIR
    | Right.REFER
)


def abi() -> int:
    """The version of Landlock that this kernel offers, 0 if it offers none."""
    try:
        return syscall(CREATE_RULESET, None, 0, ASK_VERSION)
    except OSError:
        return 0


def restrict(
    readable: Iterable[Path], writable: Iterable[Path], listable: Iterable[Path] = ()
) -> None:
    """Confine the calling thread, for good, by a ruleset of its own. Raises OSError."""
    confine(ruleset_of(readable, writable, listable))


def confine(ruleset: int) -> None:
    """Confine the calling thread, for good, by a ruleset, and close that. Raises OSError."""
    try:
        forbid_new_privileges()
        syscall(RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def ruleset_of(
    readable: Iterable[Path], writable: Iterable[Path], listable: Iterable[Path] = ()
) -> int:
    """A descriptor of rules by which every other path is closed, and so is TCP.

    A folder stands for all that is in it; of `listable` folders only the names can be read.
    Readable paths that are not there, or not for this user, are passed over. Nothing can be
    executed. Raises OSError.
    """
    version = abi()
    known = (1 << RIGHTS_KNOWN.get(version, max(RIGHTS_KNOWN.values()))) - 1
    ruleset = _create_ruleset(version, known)
    try:
        for path in readable:
            _allow_if_there(ruleset, path, READ)
        for path in listable:
            _allow_if_there(ruleset, path, int(Right.READ_DIR))
        for path in writable:
            _allow(ruleset, path, WRITE & known)
    except BaseException:
        os.close(ruleset)
        raise
    return ruleset


def _create_ruleset(version: int, handled: int) -> int:
    network = TCP_BIND_AND_CONNECT if version >= 4 else 0
    scoped = ABSTRACT_SOCKETS_AND_SIGNALS if version >= 6 else 0
    attributes = struct.pack("QQQ", handled, network, scoped)
    return syscall(CREATE_RULESET, attributes, len(attributes), 0)


def _allow_if_there(ruleset: int, path: Path, rights: int) -> None:
    with contextlib.suppress(FileNotFoundError, PermissionError):
        _allow(ruleset, path, rights)


def _allow(ruleset: int, path: Path, rights: int) -> None:
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= ON_FILES
        syscall(ADD_RULE, ruleset, RULE_PATH_BENEATH, struct.pack("=Qi", rights, descriptor), 0)
    finally:
        os.close(descriptor)
