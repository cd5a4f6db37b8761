"""Fixtures that every folder of tests shares, and the rule that CI skips nothing."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.course_copy import lay_course_into, run_cli

# Machines differ in speed; what the laws say does not.
settings.register_profile("course", deadline=None, derandomize=True, database=None)
settings.load_profile("course")


@pytest.fixture(scope="session")
def new_course(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Makes a copy of the course, named for who wants it, that may be written to."""
    return lambda name: lay_course_into(tmp_path_factory.mktemp(name) / "course")


@pytest.fixture(scope="module")
def course_copy(new_course: Callable[[str], Path], request: pytest.FixtureRequest) -> Path:
    """A copy of the course for the tests of one module."""
    return new_course(request.module.__name__.rpartition(".")[2])


@pytest.fixture(scope="session")
def sample_class(new_course: Callable[[str], Path]) -> tuple[Path, dict[str, Any]]:
    """A copy in which the sample class was graded, and what `--json` said; made once."""
    copy = new_course("sample")
    graded = run_cli(copy, "grade", "01-softmax", "--sample", "--json")
    assert graded.returncode == 0, graded.stderr
    return copy, json.loads(graded.stdout)


# --- CI skips nothing ---------------------------------------------------------------------------

SKIPPED = pytest.StashKey[list[str]]()


def pytest_configure(config: pytest.Config) -> None:
    # Before NumPy is there: two workers with two threads each take seven times as long.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    config.stash[SKIPPED] = []
    config.pluginmanager.register(_SkipWatch(config.stash[SKIPPED]))


class _SkipWatch:
    """Notes what was skipped, whole modules included."""

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            self.names.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self.names.append(report.nodeid)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if os.environ.get("CI") == "true" and session.config.stash[SKIPPED]:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(wrapper=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> Iterator[None]:
    yield
    names = config.stash[SKIPPED]
    if os.environ.get("CI") == "true" and names:
        told = f"CI skips nothing, and these were skipped: {', '.join(dict.fromkeys(names))}"
        terminalreporter.write_line(told, red=True, bold=True)
