"""What the tests of lessons share."""

import pytest

from grader import course


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes `entry` runs once for every lesson of the course."""
    if "entry" in metafunc.fixturenames:
        entries = course.lessons()
        metafunc.parametrize("entry", entries, ids=[each.name for each in entries])
