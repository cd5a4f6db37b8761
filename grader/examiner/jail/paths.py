"""Which files student code may read: Python, its packages, shared libraries, fonts, time zones.

Never the course, a home, /proc or /etc as a whole."""

import functools
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

PROJECT = "attention_from_scratch"
OURS = {"grader", "tests"}
SITE_FOLDERS = {"site-packages", "dist-packages"}
SYSTEM = (
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache"),
    *("/usr/share/fonts", "/usr/local/share/fonts"),
    *("/usr/share/zoneinfo", "/etc/localtime", "/etc/mime.types"),
    *("/dev/null", "/dev/urandom"),
)


@functools.cache
def readable_paths() -> tuple[Path, ...]:
    """What may be read, folders with all that is in them. Computed once, for a process's forks.

    A rule of Landlock cannot take back what another one gives, so a folder that holds something
    of the course (site-packages does) is replaced by its entries, one by one.
    """
    hidden = _hidden()
    wanted = dict.fromkeys(path.resolve() for path in _wanted() if path.exists())
    return tuple(dict.fromkeys(found for path in wanted for found in without(path, hidden)))


@functools.cache
def listable_paths() -> tuple[Path, ...]:
    """Folders whose names may be read: the import system finds modules by listing them."""
    return tuple(path.resolve() for path in (*_standard_library(), *_site_folders()))


def _wanted() -> Iterator[Path]:
    yield from map(Path, SYSTEM)
    yield from _standard_library()
    yield from (Path(sys.base_prefix) / "lib").glob("*.so*")
    yield from _site_folders()


def _standard_library() -> list[Path]:
    """Its folders; in a virtual environment too, those of the Python that it was made from."""
    at_base = {"platbase": sys.base_prefix}
    return [Path(sysconfig.get_path(name, vars=at_base)) for name in ("stdlib", "platstdlib")]


def _site_folders() -> list[Path]:
    """Folders of installed packages. Other entries of sys.path may well be the course itself."""
    found = [Path(entry) for entry in sys.path]
    return [path for path in found if path.name in SITE_FOLDERS and path.is_dir()]


def _hidden() -> frozenset[Path]:
    """The course: its package, the folder that this lies in, and what an installation left."""
    package = Path(__file__).resolve().parents[2]
    root = {package.parent} if package.parent.name not in SITE_FOLDERS else set()
    installed = {
        folder.resolve() / entry.name
        for site in _site_folders()
        for folder in (site, site / "__pycache__")
        if folder.is_dir()
        for entry in folder.iterdir()
        if _ours(entry.name)
    }
    return frozenset({package} | root | installed)


def _ours(name: str) -> bool:
    return name in OURS or PROJECT in name.lower().replace("-", "_")


def without(path: Path, hidden: frozenset[Path]) -> Iterator[Path]:
    """The largest files and folders at or beneath `path` that hold nothing hidden.

    Links are followed unless they lead to something hidden, or above it.
    """
    if not _holds(path, hidden):
        yield path
    elif path not in hidden:
        for child in sorted(path.iterdir()):
            if not child.is_symlink():
                yield from without(child, hidden)
            elif not _holds(target := child.resolve(), hidden) and not _lies_in(target, hidden):
                yield target


def _holds(path: Path, hidden: frozenset[Path]) -> bool:
    return any(each.is_relative_to(path) for each in hidden)


def _lies_in(path: Path, hidden: frozenset[Path]) -> bool:
    return any(path.is_relative_to(each) for each in hidden)
