"""Runs one of nbgrader's converters on one lesson, in this process, under nbgrader_config.py.

The only door to nbgrader's converters; build and classroom go through it."""

import os
import sys
import warnings
from pathlib import Path
from typing import Any

from nbgrader.converters import BaseConverter
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import capture_log
from sqlalchemy.exc import SAWarning
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from grader.errors import CourseError

CONFIG_FILE = "nbgrader_config.py"


def course_config(root: Path, **course_directory: str) -> Config:
    """nbgrader_config.py of the course below `root`, with CourseDirectory settings on top."""
    config: Config = PyFileConfigLoader(CONFIG_FILE, path=str(root)).load_config()
    config.CourseDirectory.merge(course_directory)
    return config


def run(converter: type[BaseConverter], config: Config, lesson: str, **traits: Any) -> str:
    """Run `converter` on `lesson` and return what it logged.

    `traits` are set on the converter (`force` …); `student` is whose submission it is.
    Raises CourseError with the last line of nbgrader's own error.
    """
    _find_own(Path(config.CourseDirectory.root))
    student = traits.pop("student", ".")
    course = CourseDirectory(config=config, assignment_id=lesson, student_id=student)
    step = converter(coursedir=course, config=config)
    step.log.handlers.clear()
    step.log.propagate = False
    for name, value in traits.items():
        setattr(step, name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SAWarning)  # nbgrader's own use of its database
        outcome = capture_log(step)
    log = str(outcome.get("log", ""))
    if not outcome["success"]:
        raise CourseError(f"{converter.__name__} of {lesson} failed: {_reason(log)}")
    return log


def _find_own(root: Path) -> None:
    """Make the processes that nbgrader starts find this environment and this course.

    It starts alembic by its bare name, and kernels in another folder: without the root they could
    import the grader of another checkout.
    """
    for variable, folder in (("PATH", Path(sys.executable).parent), ("PYTHONPATH", root)):
        known = os.environ.get(variable, "").split(os.pathsep)
        if str(folder) not in known:
            os.environ[variable] = os.pathsep.join([str(folder), *filter(None, known)])


def _reason(log: str) -> str:
    """The line of nbgrader's log that says what happened: the last exception it printed."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    raised = [line for line in lines if line.partition(":")[0].endswith(("Error", "Exception"))]
    return (raised or lines or ["nbgrader gave no reason"])[-1]
