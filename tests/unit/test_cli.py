"""The command line as a person meets it: help, wrong use, one line instead of a traceback."""

import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from grader import course
from grader.cli import app
from tests.course_copy import ROOT, environment

COMMANDS = list(typer.main.get_command(app).commands)


def grader(*words, cwd=ROOT):
    return subprocess.run(
        [sys.executable, "-m", "grader", *words], cwd=cwd, env=environment(ROOT),
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


def test_the_promised_commands_are_there():
    assert {"lab", "build", "check", "grade"} <= set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_and_every_option_is_explained(command):
    told = CliRunner().invoke(app, [command, "--help"])
    assert told.exit_code == 0
    for parameter in typer.main.get_command(app).commands[command].params:
        assert getattr(parameter, "help", None), parameter.name
        names = [name for name in parameter.opts if name.startswith("--")]
        for name in names:
            assert name in told.output


def test_no_command_shows_the_commands():
    told = CliRunner().invoke(app, [])
    for command in COMMANDS:
        assert command in told.output


@pytest.mark.parametrize(
    "words",
    [
        ("grade", "99-nothing"),
        ("grade", "99-nothing", "--sample"),
        ("lab", "--fresh", "99-nothing", "--no-open"),
    ],
)
def test_an_unknown_lesson_is_one_line_and_status_2(words):
    done = grader(*words)
    assert done.returncode == 2
    names = ", ".join(entry.name for entry in course.lessons())
    assert done.stderr.strip() == (f"There is no lesson '99-nothing'. The lessons are: {names}.")
    assert done.stdout == ""


@pytest.mark.parametrize("words", [("nothing",), ("grade",), ("check", "--colour"), ("build", "x")])
def test_wrong_use_is_status_2_without_a_traceback(words):
    done = grader(*words)
    assert done.returncode == 2
    assert "Usage:" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_starts_in_an_instant_without_jupyter_or_nbgrader():
    code = (
        "import sys; from typer.testing import CliRunner; from grader.cli import app\n"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0\n"
        "heavy = {'nbgrader', 'nbformat', 'numpy', 'matplotlib', 'jupytext'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment(ROOT), check=True)
