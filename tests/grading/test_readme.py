"""Every command of the README, run as it stands there, on a fresh clone."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grader import course
from grader.examiner import jail
from tests.course_copy import ROOT, environment, lay_course_into
from tests.jupyter import page, running

README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = [
    [line for line in block.splitlines() if line.strip()]
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL)
]
WINDOWS = [block for block in BLOCKS if any("\\" in line for line in block)]
UNIX = [line for block in BLOCKS if block not in WINDOWS for line in block]
FRESH = "make fresh LESSON=01-softmax"
STATUS = {".venv/bin/python -m grader check": 1}  # nothing is written yet


def persons_environment(clone):
    """The shell of a person: no environment is active, `python3` is the one that runs this.

    Nor is a `make` at work, whose variables would change what another one prints."""
    own = {n: v for n, v in environment(clone).items() if not n.startswith(("MAKE", "MFLAGS"))}
    paths = [str(Path(sys.base_exec_prefix) / "bin"), *own["PATH"].split(":")[1:]]
    return {n: v for n, v in own.items() if n != "PYTHONPATH"} | {"PATH": ":".join(paths)}


def fresh_clone(folder):
    """A clone of the last commit, with what is not committed yet laid over it."""
    clone = folder / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    return lay_course_into(clone)


class Person:
    """Types commands into a shell in a clone, and remembers what came of them."""

    def __init__(self, clone):
        self.clone = clone
        self.env = persons_environment(clone)
        self.done = {}

    def types(self, line):
        if line.startswith("source "):
            activated = self._shell(f"{line} && echo $PATH").stdout.strip()
            self.env["PATH"] = activated
            self.done[line] = "activated"
        elif line == "make lab" or line.endswith("grader lab"):
            log = self.clone.parent / "lab.log"
            with running(["bash", "-c", f"exec {line}"], self.clone, self.env, log) as address:
                self.done[line] = page(address)
        else:
            self.done[line] = self._shell(line)

    def _shell(self, line):
        return subprocess.run(
            ["bash", "-c", line], cwd=self.clone, env=self.env, timeout=600,
            capture_output=True, text=True, check=False,
        )  # fmt: skip


@pytest.fixture(scope="module")
def person(tmp_path_factory):
    """Somebody who has typed the README's commands, in its order, on Linux or macOS."""
    person = Person(fresh_clone(tmp_path_factory.mktemp("readme")))
    for line in UNIX:
        if "--from submissions" in line:
            sample = person.clone / "build/sample-class/submitted/s01"
            shutil.copytree(sample, person.clone / "submissions/s01")
        if line == "make setup":
            person.stamp = (person.clone / ".venv/ready").stat().st_mtime_ns
        person.types(line)
    return person


def expected_status(line):
    """0, unless the README says otherwise, or a class is graded where the jail is not whole."""
    grades_a_class = "--from" in line or line.startswith("nbgrader autograde")
    if grades_a_class and jail.probe().level is not jail.Level.FULL:
        pytest.skip(f"grading a class needs the whole jail: {jail.probe().sentence}")
    return STATUS.get(line, 0)


@pytest.mark.parametrize("line", UNIX)
def test_a_command_of_the_readme_works_on_a_fresh_clone(person, line):
    done = person.done[line]
    if isinstance(done, str):
        assert "jupyterlab" in done.lower() or done == "activated"
    else:
        assert done.returncode == expected_status(line), done.stdout + done.stderr
        assert "Traceback" not in done.stderr


def test_make_lab_copies_every_lesson_to_work(person):
    for entry in course.lessons(person.clone):
        assert entry.own_copy.exists()


def test_a_student_sees_how_far_they_are(person):
    done = person.done[".venv/bin/python -m grader check"]
    assert f"0 of {len(course.lessons())} lessons complete" in done.stdout


def test_make_grade_prints_the_table_and_where_everything_is(person):
    told = person.done["make grade"].stdout
    for words in ("student", "softmax_list", "s01", "s09", "not written yet"):
        assert words in told
    for place in ("gradebook.db", "grades.csv"):
        assert (person.clone / "build/sample-class" / place).exists()
        assert f"build/sample-class/{place}" in told


def test_setting_up_again_installs_nothing_and_says_nothing(person):
    done = person.done["make setup"]
    assert done.stdout in ("", "make: Nothing to be done for 'setup'.\n")
    assert done.stderr == ""
    assert (person.clone / ".venv/ready").stat().st_mtime_ns == person.stamp


def test_nothing_of_all_this_is_a_change_of_the_course(person):
    status = subprocess.run(
        ["git", "stash", "list"], cwd=person.clone, check=True, capture_output=True
    )
    assert status.stdout == b""
    for name in ("README.md", "notebooks/01-softmax/01-softmax.ipynb", "requirements.txt"):
        assert (person.clone / name).read_bytes() == (ROOT / name).read_bytes()


def test_make_lab_again_and_make_fresh_keep_a_students_work(person):
    mine = course.lesson("01-softmax", person.clone).own_copy
    mine.write_text("my work", "utf-8")
    assert FRESH in README
    person.types(FRESH)
    assert person.done[FRESH].returncode == 0, person.done[FRESH].stderr
    (kept,) = mine.parent.glob("01-softmax-*.ipynb")
    assert kept.read_text("utf-8") == "my work"
    assert kept.name in person.done[FRESH].stdout.replace("\n", "")
    released = course.lesson("01-softmax", person.clone).released
    assert mine.read_bytes() == released.read_bytes()
    mine.write_text("more work", "utf-8")
    person.types("make lab")
    assert mine.read_text("utf-8") == "more work"


# --- without make -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def windows_person(tmp_path_factory):
    """Somebody who has typed the three steps without make, said here in Unix words."""
    person = Person(fresh_clone(tmp_path_factory.mktemp("windows")))
    (block,) = WINDOWS
    for line in block:
        said = re.sub(r"^py ", "python3 ", line).replace(
            r".venv\Scripts\python", ".venv/bin/python"
        )
        person.types(said)
    return person


def test_three_steps_without_make_open_jupyterlab(windows_person):
    make_venv, install, lab = windows_person.done.values()
    assert make_venv.returncode == 0, make_venv.stderr
    assert install.returncode == 0, install.stderr
    assert "jupyterlab" in lab.lower()
    assert course.lesson("01-softmax", windows_person.clone).own_copy.exists()


def test_requirements_alone_give_a_course_that_can_be_imported_from_anywhere(windows_person):
    python = windows_person.clone / ".venv/bin/python"
    done = subprocess.run(
        [python, "-c", "import grader, grader.checks.softmax; print(grader.__file__)"],
        cwd="/", env=windows_person.env, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert Path(done.stdout.strip()) == windows_person.clone / "grader" / "__init__.py"


def test_requirements_pin_every_version_and_name_no_url():
    lines = (ROOT / "requirements.txt").read_text("utf-8").splitlines()
    told = [line for line in lines if line and not line.lstrip().startswith("#")]
    assert told[0].startswith("-e .")
    for line in told[1:]:
        assert re.fullmatch(r"[\w.\-]+(\[[\w,\-]+\])?==[\w.]+( ;.*)?", line), line
    assert "://" not in "\n".join(told)


# --- uv if it is there, else pip ----------------------------------------------------------------

RECORDER = """#!/bin/sh
echo "$(basename "$0") $*" >> "$LOG"
case "$*" in *venv*) mkdir -p .venv/bin build/source; cp "$0" .venv/bin/python;; esac
"""


@pytest.mark.parametrize(
    ("installers", "calls"),
    [
        (["uv"], ["uv venv", "uv pip install"]),
        ([], ["python3 -m venv .venv", "python -m pip install"]),
    ],
    ids=["with uv", "without uv"],
)
def test_make_setup_installs_with_uv_if_it_is_there_else_with_pip(tmp_path, installers, calls):
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("sh", "make", "mkdir", "cp", "touch", "basename", "git"):
        (tools / name).symlink_to(str(shutil.which(name)))
    for name in (*installers, "python3"):
        (tools / name).write_text(RECORDER, "utf-8")
        (tools / name).chmod(0o755)
    copy = lay_course_into(tmp_path / "course")
    log = tmp_path / "log"
    done = subprocess.run(
        ["make", "setup"], cwd=copy, env={"PATH": str(tools), "LOG": str(log)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    made, installed, prepared = log.read_text("utf-8").splitlines()
    assert made.startswith(calls[0])
    assert installed.startswith(calls[1]) and installed.endswith("-r requirements.txt")
    assert prepared == "python -m grader build --source"


# --- what the README says of the rest -----------------------------------------------------------


def test_every_make_target_that_the_readme_names_exists():
    targets = set(re.findall(r"`make (\w+)", README)) | {
        line.split()[1] for line in UNIX if line.startswith("make ")
    }
    assert {"lab", "grade", "test", "setup", "fresh"} <= targets
    for target in targets:
        done = subprocess.run(
            ["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


def test_every_grader_command_and_option_that_the_readme_names_exists():
    named = re.findall(r"`python -m grader (\w+)([^`]*)`", README)
    assert named
    for command, rest in named:
        done = subprocess.run(
            [sys.executable, "-m", "grader", command, "--help"],
            cwd=ROOT, env=environment(ROOT), capture_output=True, text=True, check=True,
        )  # fmt: skip
        for option in re.findall(r"--\w+", rest):
            assert option in done.stdout, f"{command} has no {option}"


def test_ci_calls_make_test_which_runs_all_that_the_readme_promises():
    assert re.search(r"^(time )?make test$", (ROOT / ".ci/run").read_text("utf-8"), re.MULTILINE)
    assert "bash .ci/run" in (ROOT / ".github/workflows/ci.yml").read_text("utf-8")
    does = subprocess.run(
        ["make", "-n", "test"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for part in (
        "ruff check", "ruff format --check", "mypy", "build --check --execute",
        "--nbval-lax", "tests --ignore tests/grading/hostile", "--reruns 1 tests/grading/hostile",
    ):  # fmt: skip
        assert part in does


def test_every_link_of_the_readme_leads_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        if "://" not in target:
            assert (ROOT / target).exists(), target
