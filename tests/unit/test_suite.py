"""The suite's own rules: in CI what is skipped makes the run fail, loudly; and workers do not
wait for each other's threads, however the run was started."""

import subprocess
import sys

import pytest

from tests.course_copy import ROOT

SKIPPING = """
import pytest

@pytest.mark.skip(reason="not here")
def test_that_cannot_run(): pass

def test_that_runs(): pass
"""
WHOLE_MODULE = "import pytest\npytest.skip('no browser', allow_module_level=True)\n"
NOTHING_SKIPPED = """
import pytest

@pytest.mark.xfail(reason="known")
def test_known(): assert False
"""
ONE_THREAD = """
import os, sys
before = "numpy" in sys.modules
import numpy

def test_threads():
    assert not before
    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"
"""


def run(folder, source, ci):
    """Run a suite of one file under the conftest of this one."""
    (folder / "conftest.py").write_text((ROOT / "tests/conftest.py").read_text("utf-8"), "utf-8")
    (folder / "test_it.py").write_text(source, "utf-8")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", folder, folder],
        cwd=ROOT, env={"PATH": "", "PYTHONPATH": str(ROOT), "CI": ci},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("source", [SKIPPING, WHOLE_MODULE], ids=["a test", "a module"])
def test_in_ci_a_skipped_test_fails_the_run_and_is_named(tmp_path, source):
    done = run(tmp_path, source, ci="true")
    assert done.returncode == 1
    assert "CI skips nothing, and these were skipped: " in done.stdout
    assert "test_it.py" in done.stdout.partition("CI skips nothing")[2]


def test_elsewhere_a_skipped_test_is_only_told(tmp_path):
    done = run(tmp_path, SKIPPING, ci="")
    assert done.returncode == 0
    assert "CI skips nothing" not in done.stdout


def test_in_ci_an_expected_failure_is_no_skip(tmp_path):
    assert run(tmp_path, NOTHING_SKIPPED, ci="true").returncode == 0


def test_linear_algebra_has_one_thread_before_numpy_is_there(tmp_path):
    assert run(tmp_path, ONE_THREAD, ci="true").returncode == 0
