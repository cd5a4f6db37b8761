"""The system calls that a jailed process may make, with their numbers; all others are refused.

A table and nothing else; seccomp.py hands it to the kernel."""

from collections.abc import Mapping


def low(argument: int) -> int:
    """Where the filter finds the lower half of an argument: 32 bits of struct seccomp_data."""
    return 16 + 8 * argument


def high(argument: int) -> int:
    """Where it finds the upper half; both architectures are little-endian."""
    return low(argument) + 4


ARCHITECTURES = ("x86_64", "aarch64")  # the columns of CALLS

# Absent on purpose: whatever makes threads, processes, sockets, links, devices or signals, or
# changes owner, mode, times or limits. None: this architecture has no such call.
CALLS: Mapping[str, tuple[int | None, int | None]] = {
    # reading and writing what is open
    "read": (0, 63),
    "readv": (19, 65),
    "pread64": (17, 67),
    "preadv": (295, 69),
    "preadv2": (327, 286),
    "write": (1, 64),
    "writev": (20, 66),
    "pwrite64": (18, 68),
    "pwritev": (296, 70),
    "pwritev2": (328, 287),
    "lseek": (8, 62),
    "fsync": (74, 82),
    "fdatasync": (75, 83),
    "ftruncate": (77, 46),
    # opening, closing, waiting
    "open": (2, None),
    "openat": (257, 56),
    "creat": (85, None),
    "close": (3, 57),
    "close_range": (436, 436),
    "dup": (32, 23),
    "dup2": (33, None),
    "dup3": (292, 24),
    "fcntl": (72, 25),
    "ioctl": (16, 29),
    "pipe": (22, None),
    "pipe2": (293, 59),
    "poll": (7, None),
    "ppoll": (271, 73),
    "select": (23, None),
    "pselect6": (270, 72),
    # looking at files; Landlock says which may be opened, nothing says which may be looked for
    "stat": (4, None),
    "fstat": (5, 80),
    "lstat": (6, None),
    "newfstatat": (262, 79),
    "statx": (332, 291),
    "access": (21, None),
    "faccessat": (269, 48),
    "faccessat2": (439, 439),
    "getdents": (78, None),
    "getdents64": (217, 61),
    "getcwd": (79, 17),
    "chdir": (80, 49),
    # changing files; Landlock says where
    "unlink": (87, None),
    "unlinkat": (263, 35),
    "mkdir": (83, None),
    "mkdirat": (258, 34),
    "rmdir": (84, None),
    "rename": (82, None),
    "renameat": (264, 38),
    "renameat2": (316, 276),
    # memory
    "brk": (12, 214),
    "mmap": (9, 222),
    "munmap": (11, 215),
    "mremap": (25, 216),
    "mprotect": (10, 226),
    "madvise": (28, 233),
    # time
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115),
    "nanosleep": (35, 101),
    "gettimeofday": (96, 169),
    "time": (201, None),
    "times": (100, 153),
    "getrusage": (98, 165),
    # asking about itself and the machine
    "getpid": (39, 172),
    "getppid": (110, 173),
    "gettid": (186, 178),
    "getuid": (102, 174),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getegid": (108, 177),
    "prlimit64": (302, 261),
    "getrlimit": (97, 163),
    "sched_getaffinity": (204, 123),
    "sysinfo": (99, 179),
    "uname": (63, 160),
    "getrandom": (318, 278),
    # its own signals, locks and end
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigpending": (127, 136),
    "rt_sigreturn": (15, 139),
    "sigaltstack": (131, 132),
    "restart_syscall": (219, 128),
    "futex": (202, 98),
    "sched_yield": (24, 124),
    "exit": (60, 93),
    "exit_group": (231, 94),
}

FIOCLEX = 0x5451
F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC = 0, 1, 2, 3, 4, 1030
MADV_DONTNEED, MADV_FREE, MADV_HUGEPAGE, MADV_NOHUGEPAGE = 4, 8, 14, 15

# For some calls it matters what they ask: each place must hold one of its values.
ASKED: Mapping[str, Mapping[int, tuple[int, ...]]] = {
    # neither owners, which get signals, nor locks, which hold up others
    "fcntl": {low(1): (F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC)},
    "ioctl": {low(1): (FIOCLEX,)},  # tempfile; typing into a terminal is an ioctl too
    # a folder that its owner cannot list could be neither measured nor emptied
    "mkdir": {low(1): (0o777, 0o700)},
    "mkdirat": {low(2): (0o777, 0o700)},
    "madvise": {low(2): (MADV_DONTNEED, MADV_FREE, MADV_HUGEPAGE, MADV_NOHUGEPAGE)},
    "prlimit64": {low(0): (0,), low(2): (0,), high(2): (0,)},  # of itself, and only asked
}
