"""How much a process may use: processor, memory, files. Not what it may touch."""

import math
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

if sys.platform != "win32":
    import resource

MIB = 2**20


@dataclass(frozen=True)
class Limits:
    """What one run may use; `apply` sets all but `scratch_bytes`.

    cpu_seconds    processor time from now on; SIGXCPU ends the process, a second later SIGKILL
    memory_bytes   address space beyond what is mapped now; past it comes MemoryError
    file_bytes     size of one file; past it a write fails with OSError
    scratch_bytes  size of the whole scratch folder: no kernel limit says this, so a supervisor
                   must watch it (grader.examiner.scratch), deleted files still open included
    open_files     descriptors that may be open at once
    """

    cpu_seconds: int = 60
    memory_bytes: int = 2048 * MIB
    file_bytes: int = 16 * MIB
    scratch_bytes: int = 64 * MIB
    open_files: int = 64

    def apply(self) -> None:
        """Set the limits in the calling process, for good. Raises OSError or ValueError."""
        cap_memory(self.memory_bytes)
        cpu = math.ceil(time.process_time()) + self.cpu_seconds
        # A core of 1 byte is never written and, unlike 0, also keeps the crash from being
        # handed to a program that collects cores.
        for kind, soft, hard in (
            (resource.RLIMIT_CPU, cpu, cpu + 1),
            (resource.RLIMIT_FSIZE, self.file_bytes, self.file_bytes),
            (resource.RLIMIT_NOFILE, self.open_files, self.open_files),
            (resource.RLIMIT_NPROC, 0, 0),
            (resource.RLIMIT_CORE, 1, 1),
        ):
            resource.setrlimit(kind, (soft, hard))


def cap_memory(more: int) -> None:
    """Limit the address space, for good, to what is mapped now and so many bytes more.

    Raises OSError or ValueError, also without /proc.
    """
    memory = mapped_bytes() + more
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def mapped_bytes() -> int:
    """The address space that the calling process has mapped. Raises OSError without /proc."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * os.sysconf("SC_PAGE_SIZE")
