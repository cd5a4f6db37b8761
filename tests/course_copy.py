"""Copies of the course to run commands in, so that no test writes to the checkout.

Knows git and the command line; knows nothing of what a test demands."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
ASIDE = tempfile.TemporaryDirectory(prefix="jupyter-of-tests-", ignore_cleanup_errors=True)


def course_files() -> list[str]:
    """What is tracked, or would be: everything that git does not ignore."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()]


def lay_course_into(folder: Path) -> Path:
    """Copy the course, as it now is, over `folder`."""
    for name in course_files():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target)
    return folder


def environment(course: Path, home: Path | None = None) -> dict[str, str]:
    """This environment, with `grader` coming from `course` and Jupyter's own files aside."""
    own = home or Path(ASIDE.name) / "-".join(course.parts[1:])
    own.mkdir(parents=True, exist_ok=True)
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST", "JUPYTER", "JPY", "GRADER", "VIRTUAL_ENV"))
    }
    return kept | {
        "PATH": os.pathsep.join([str(BIN), os.environ.get("PATH", "")]),
        "PYTHONPATH": str(course),
        "PYTHONDONTWRITEBYTECODE": "1",
        "JUPYTER_CONFIG_DIR": str(own / "config"),
        "JUPYTER_DATA_DIR": str(own / "data"),
        "JUPYTER_RUNTIME_DIR": str(own / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(own / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(own / "workspaces"),
        "IPYTHONDIR": str(own / "ipython"),
        "MPLBACKEND": "",
        "COLUMNS": "120",
    }


def run(
    command: list[str], course: Path, timeout: float = 180
) -> "subprocess.CompletedProcess[str]":
    """Run `command` inside `course`; the exit status is the caller's to judge."""
    return subprocess.run(
        command, cwd=course, env=environment(course), timeout=timeout,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def run_cli(
    course: Path, *arguments: str | Path, timeout: float = 180
) -> "subprocess.CompletedProcess[str]":
    """`python -m grader …` inside `course`."""
    return run([sys.executable, "-m", "grader", *map(str, arguments)], course, timeout)


def make_repository(course: Path) -> None:
    """Commit everything in `course`, so that `changes` can tell what a command wrote."""
    git = ["git", "-c", "user.name=tests", "-c", "user.email=tests@localhost"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "as it was"]):
        subprocess.run([*git, *words], cwd=course, check=True, capture_output=True)


def changes(course: Path) -> str:
    """What git says changed since `make_repository`, one line a file; ignored files aside."""
    status = ["git", "status", "--porcelain"]
    return subprocess.run(status, cwd=course, check=True, capture_output=True, text=True).stdout
