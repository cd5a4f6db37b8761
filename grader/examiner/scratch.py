"""The folder in which a student's process may write: how much lies in it, and emptying it.

Whoever fills it is hostile: every name, depth and open file counts, and no link is followed."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

LEAST = 4096  # bytes that any name costs, also that of an empty file or folder
LONGEST_PATH = 2000  # characters; twice that and the kernel would refuse to look


def used_bytes(folder: Path, pid: int) -> float:
    """What the folder holds on disk, files without a name that `pid` still has included.

    Infinite when folders are nested so deep that their paths grow too long to be followed.
    """
    total = sum(_nameless(folder, pid))
    waiting = [str(folder)]
    while waiting:
        path = waiting.pop()
        if len(path) > LONGEST_PATH:
            return float("inf")
        with contextlib.suppress(OSError), os.scandir(path) as entries:
            for entry in entries:
                total += max(LEAST, _on_disk(entry))
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
    return total


def _on_disk(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_blocks * 512
    except OSError:  # it was deleted meanwhile
        return 0


def _nameless(folder: Path, pid: int) -> Iterator[int]:
    """The sizes of the folder's files that were deleted while `pid` has them open or mapped."""
    with contextlib.suppress(OSError):
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                told = descriptor.stat()
                if told.st_nlink == 0:
                    yield told.st_blocks * 512
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines():
            if f" {folder}/" in line and line.endswith("(deleted)"):
                start, _, end = line.partition(" ")[0].partition("-")
                yield int(end, 16) - int(start, 16)


def empty(folder: Path) -> None:
    """Delete all that the folder holds, however deep it is nested.

    What lies in a folder is lifted out of it first, so no path is ever long.
    """
    mark, lifted = secrets.token_hex(8), 0
    while found := list(folder.iterdir()):
        for path in found:
            if path.is_symlink() or not path.is_dir():
                path.unlink()
                continue
            for inner in list(path.iterdir()):
                lifted += 1
                inner.rename(folder / f"{mark}-{lifted}")
            path.rmdir()


def remove(folder: Path) -> None:
    """Delete the folder too; what cannot be deleted is left lying."""
    with contextlib.suppress(OSError):
        empty(folder)
        folder.rmdir()
