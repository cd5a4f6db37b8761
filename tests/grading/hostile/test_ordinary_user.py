"""The core of the hostile notebooks once more, graded by an ordinary user instead of root."""

import os
import shutil
import subprocess

import pytest

from tests.grading.hostile.court import CHECKOUT
from tests.grading.test_jail import Person, ordinary

__all__ = ["ordinary"]  # a fixture

CORE = (
    "scratch_folder or looked_into or nest_within or secret_gets_out or holds_no_secret"
    " or peak_memory or dies_while or (outside_is_reached and (signals or forks or TCP or Python))"
    " or (before_and_after and exit) or endless_function"
)


def test_an_ordinary_user_is_as_safe(ordinary: Person) -> None:
    for folder in ("notebooks", "solutions", "source", "tests/bank"):
        shutil.copytree(CHECKOUT / folder, ordinary.course / folder)
    for file in ("tests/__init__.py", "pyproject.toml"):
        shutil.copy(CHECKOUT / file, ordinary.course / file)
    own = ordinary.course.parent / "own"
    own.mkdir()
    os.chown(own, ordinary.uid, -1)
    tests = ["tests/grading/hostile", "tests/grading/test_engine.py"]
    left_out = "tests/grading/hostile/test_ordinary_user.py"
    done = subprocess.run(
        [*ordinary.python, "-m", "pytest", "-q", *tests, f"--ignore={left_out}", "-k", CORE],
        cwd=ordinary.course,
        env={**ordinary.environment, "TMPDIR": str(own), "MPLCONFIGDIR": str(own / "fonts")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr
    assert " skipped" not in done.stdout, done.stdout


def test_root_is_who_runs_the_others() -> None:
    """Whoever is not root has just run all of them as an ordinary user."""
    if os.getuid() != 0:
        pytest.skip("not root: every other test here ran as an ordinary user already")
    assert os.access("/root", os.R_OK)
