"""The students' own copies in work/: made once, never overwritten. Opens JupyterLab on them."""

import os
import shutil
import sys
from datetime import datetime
from pathlib import Path

from grader import course
from grader.errors import CourseError


def copy_missing(root: Path = course.ROOT) -> list[Path]:
    """Copy each lesson that is not in work/ yet; what is there is not touched."""
    copied = []
    for entry in course.lessons(root):
        if not entry.own_copy.exists():
            entry.own_copy.parent.mkdir(parents=True, exist_ok=True)
            _copy(entry.released, entry.own_copy)
            copied.append(entry.own_copy.relative_to(root))
    return copied


def start_anew(name: str, root: Path = course.ROOT) -> str:
    """Put a fresh copy of a lesson into work/; the old one stays beside it, with its time."""
    entry = course.lesson(name, root)
    if not entry.own_copy.exists():
        return f"work/ has no {name} yet; it is copied now."
    stamp = datetime.now().strftime("%Y-%m-%d-%H%M%S")
    kept = entry.own_copy.with_name(f"{name}-{stamp}.ipynb")
    if kept.exists():
        raise CourseError(f"{kept} is there already; wait a second and try again.")
    entry.own_copy.rename(kept)
    _copy(entry.released, entry.own_copy)
    return f"{name} starts anew; your old copy is {kept.relative_to(root)}."


def _copy(source: Path, target: Path) -> None:
    """Copy beside the target and link it into place, which fails where a file stands already."""
    beside = target.with_name(f".{target.name}.new")
    shutil.copyfile(source, beside)
    try:
        os.link(beside, target)
    except OSError:  # a file system without links
        if not target.exists():
            beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def open_jupyterlab(root: Path = course.ROOT) -> None:
    """Replace this process by JupyterLab on work/; root needs JupyterLab's own permission."""
    command = [sys.executable, "-m", "jupyterlab", f"--notebook-dir={root / 'work'}"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    sys.stdout.flush()
    os.execv(command[0], command)
