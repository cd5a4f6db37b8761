"""nbgrader's own commands, from the root of the course, with the course's configuration."""

import csv
import shutil
from pathlib import Path

import pytest

from grader import build, course
from grader import notebook as nb
from tests.course_copy import BIN, changes, make_repository, run, run_cli

LESSON = "01-softmax"


def nbgrader(copy, *words):
    done = run([str(BIN / "nbgrader"), *words], copy, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def copy(course_copy, sample_class):
    """A course under git, prepared as make setup does, with two submissions."""
    sample, _ = sample_class
    for student in ("s01", "s07"):
        submitted = sample / f"build/sample-class/submitted/{student}"
        shutil.copytree(submitted, course_copy / "class/submitted" / student)
    make_repository(course_copy)
    assert run_cli(course_copy, "build", "--source").returncode == 0
    return course_copy


@pytest.fixture(scope="module")
def graded(copy):
    """The course after every step of an instructor."""
    nbgrader(copy, "generate_assignment", LESSON, "--force")
    nbgrader(copy, "autograde", LESSON)
    nbgrader(copy, "generate_feedback", LESSON)
    nbgrader(copy, "export")
    return copy


def test_generate_assignment_gives_byte_for_byte_what_is_committed(graded):
    entry = course.lesson(LESSON, graded)
    assert entry.released.read_bytes() == course.lesson(LESSON).released.read_bytes()


def test_all_that_the_commands_write_lies_in_class(graded):
    assert changes(graded) == ""
    made = {path.name for path in (graded / "class").iterdir()}
    assert {"autograded", "feedback", "gradebook.db", "grades.csv"} <= made


def test_the_export_holds_the_points_of_each_student(graded):
    with (graded / "class/grades.csv").open(newline="", encoding="utf-8") as file:
        scores = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    assert scores["s01"] - scores["s07"] == 1
    assert scores["s07"] > 0


def test_the_feedback_holds_the_message(graded):
    page = graded / f"class/feedback/s07/{LESSON}/{LESSON}.html"
    assert "✗ softmax: float32 in, float64 out" in page.read_text("utf-8")


def test_autograde_grades_as_check_does(graded):
    notebook = nb.read(graded / f"class/autograded/s07/{LESSON}/{LESSON}.ipynb")
    failed = [
        cell.metadata.nbgrader.grade_id
        for cell in notebook.cells
        if any(output.output_type == "error" for output in cell.get("outputs", []))
    ]
    assert failed == ["softmax-dtype"]


def test_validate_says_what_is_not_written(copy):
    told = nbgrader(copy, "validate", f"notebooks/{LESSON}/{LESSON}.ipynb")
    assert "✗ softmax is not written yet." in told
    assert "Traceback" not in told


def test_validate_passes_the_solution(copy):
    told = nbgrader(copy, "validate", f"solutions/{LESSON}/{LESSON}.ipynb")
    assert "Success! Your notebook passes all the tests." in told


def test_generate_solution_works_and_build_mends_its_stamp(graded):
    nbgrader(graded, "generate_solution", LESSON, "--force")
    notebook = nb.read(course.lesson(LESSON, graded).solution)
    assert all(
        output.output_type != "error"
        for cell in notebook.cells
        for output in cell.get("outputs", [])
    )
    assert [each.path for each in build.drift(graded)] == [
        Path(f"solutions/{LESSON}/{LESSON}.ipynb")
    ]
    build.build(graded)
    assert build.drift(graded) == []
