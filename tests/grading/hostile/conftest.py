"""One warm court for all hostile notebooks, with canaries in this process too."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.examiner import jail
from tests.grading.hostile.court import CANARY, Court


@pytest.fixture(scope="session")
def court(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Court]:
    report = jail.probe()
    if report.level is not jail.Level.FULL:
        pytest.skip(report.sentence)
    root = tmp_path_factory.mktemp("court")
    with _planted_in_this_process(root):
        court = Court(root, report)
        try:
            court.open()
            yield court
        finally:
            court.close()


@contextlib.contextmanager
def _planted_in_this_process(root: Path) -> Iterator[None]:
    """A canary in the environment, and one in a descriptor that children may inherit."""
    (root / "open").write_text(f"{CANARY}descriptor")
    descriptor = os.open(root / "open", os.O_RDONLY)
    os.set_inheritable(descriptor, True)
    os.environ["PLANTED"] = f"{CANARY}environment"
    yield
    os.close(descriptor)
    del os.environ["PLANTED"]
