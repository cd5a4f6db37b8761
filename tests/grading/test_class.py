"""The sample class through release, grading, feedback and export; and a class of one's own."""

import csv
import html
import json
import shutil

import pytest

from grader import course
from grader import notebook as nb
from grader.lesson import Kind, grade_id, kind, points
from tests.course_copy import changes, make_repository, run_cli
from tests.grading.test_check import MISTAKES

LESSON = course.lesson("01-softmax")
WORTH = {
    grade_id(cell): points(cell)
    for cell in nb.read(LESSON.released).cells
    if kind(cell) in (Kind.GRADED, Kind.WRITTEN)
}
FULL = sum(WORTH.values())
AUTOMATIC = FULL - WORTH["why-the-maximum"]
POINTS = {
    student: 0 if student == "s02" else AUTOMATIC - sum(WORTH[cell] for cell in lost)
    for student, lost in {**MISTAKES, "s02": ()}.items()
}


@pytest.fixture(scope="module")
def copy(sample_class):
    return sample_class[0]


@pytest.fixture(scope="module")
def report(sample_class):
    return {each["student"]: each for each in sample_class[1]["students"]}


def rows(path):
    with path.open(newline="", encoding="utf-8") as file:
        return {row["student_id"]: row for row in csv.DictReader(file)}


# --- the sample class ---------------------------------------------------------------------------


def test_every_sample_student_is_in_the_report(report):
    assert list(report) == sorted(POINTS)


@pytest.mark.parametrize("student", POINTS)
def test_every_sample_student_has_the_points_that_the_mistake_leaves(report, student):
    assert report[student]["status"] in ("passed", "failed")
    assert report[student]["points"] == POINTS[student]
    assert report[student]["max_points"] == AUTOMATIC


def test_the_copied_answer_cell_is_told_to_the_student(report):
    assert any("softmax_list" in note for note in report["s08"]["notes"])


def test_the_csv_holds_what_the_report_says(copy):
    table = rows(copy / "build/sample-class/grades.csv")
    assert {student: float(row["score"]) for student, row in table.items()} == POINTS
    assert {float(row["max_score"]) for row in table.values()} == {FULL}


def test_the_gradebook_is_there(copy):
    assert (copy / "build/sample-class/gradebook.db").stat().st_size > 0


def test_every_feedback_page_holds_the_messages_of_its_student(copy, report):
    for student, result in report.items():
        page = copy / f"build/sample-class/feedback/{student}/01-softmax/01-softmax.html"
        text = page.read_text("utf-8")
        for cell in result["cells"]:
            if cell["status"] == "failed":
                assert html.escape(cell["message"].partition("\n")[0], quote=False) in text
        assert "Traceback (most" not in text


def test_feedback_holds_no_solution_and_no_rubric(copy):
    text = (copy / "build/sample-class/feedback/s02/01-softmax/01-softmax.html").read_text("utf-8")
    assert "Rubric" not in text
    assert "exponentials / np.where(total" not in text


# --- a class of one's own -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def own_class(course_copy, copy):
    """A course under git with submissions: two sample students, one broken file."""
    submissions = course_copy / "submissions"
    for student in ("s01", "s07"):
        shutil.copytree(copy / f"build/sample-class/submitted/{student}", submissions / student)
    broken = submissions / "s10" / "01-softmax" / "01-softmax.ipynb"
    broken.parent.mkdir(parents=True)
    broken.write_text('{"cells": [', "utf-8")
    make_repository(course_copy)
    return course_copy


@pytest.fixture(scope="module")
def graded_twice(own_class):
    """What two runs of `grade --from` printed and left."""
    runs = []
    for _ in range(2):
        done = run_cli(own_class, "grade", "01-softmax", "--from", "submissions", "--json")
        assert done.returncode == 1, done.stderr  # one of them is not graded
        runs.append((json.loads(done.stdout), rows(own_class / "class/grades.csv")))
    return runs


def without_times(table):
    return {student: row | {"timestamp": ""} for student, row in table.items()}


def test_grading_twice_gives_the_same(graded_twice):
    (first, first_csv), (second, second_csv) = graded_twice
    assert first == second
    assert without_times(first_csv) == without_times(second_csv)


def test_a_broken_notebook_is_not_graded_and_stops_nobody(graded_twice):
    told = {each["student"]: each for each in graded_twice[0][0]["students"]}
    assert told["s01"]["points"] == AUTOMATIC
    assert told["s07"]["points"] == POINTS["s07"]
    assert told["s10"]["status"] == "not_graded"
    assert told["s10"]["reason"]


def test_not_graded_is_blank_in_the_csv_and_never_0(graded_twice):
    _, table = graded_twice[0]
    assert float(table["s01"]["score"]) == AUTOMATIC
    assert table.get("s10", {"score": ""})["score"] == ""


def test_all_that_grading_writes_lies_in_class(graded_twice, own_class):
    assert graded_twice
    assert changes(own_class) == ""


def test_the_table_shows_who_was_not_graded_and_where_everything_is(own_class, graded_twice):
    assert graded_twice
    done = run_cli(own_class, "grade", "01-softmax")
    assert "s10" in done.stdout
    assert "not graded:" in done.stdout
    for place in ("class/gradebook.db", "class/feedback", "class/grades.csv"):
        assert place in done.stdout


@pytest.mark.parametrize("folder", ["nowhere", "source"])
def test_a_folder_without_submissions_is_one_clear_line(own_class, folder):
    done = run_cli(own_class, "grade", "01-softmax", "--from", folder)
    assert done.returncode == 2
    assert "There is nothing to grade" in done.stderr
    assert f"{folder}/STUDENT/01-softmax/01-softmax.ipynb" in done.stderr
    assert len(done.stderr.splitlines()) == 1
