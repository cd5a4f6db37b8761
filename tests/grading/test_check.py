"""`grader check`: points, messages and exit status for every notebook that a student may have."""

import json
import re
import shutil
from pathlib import Path

import pytest
from nbformat import v4

from grader import course
from grader import notebook as nb
from tests.course_copy import run_cli

LESSON = course.lesson("01-softmax")
SOLVED, UNTOUCHED = LESSON.solution, LESSON.released


@pytest.fixture(scope="module")
def checked(sample_class):
    """What one call said about the solution, the untouched notebook and the sample students."""
    copy, _ = sample_class
    handed_in = sorted(copy.glob("build/sample-class/submitted/*/01-softmax/01-softmax.ipynb"))
    paths = [SOLVED, UNTOUCHED, *handed_in]
    done = run_cli(copy, "check", "--json", *paths)
    assert done.returncode == 1, done.stderr
    names = ["solved", "untouched", *(path.parents[1].name for path in handed_in)]
    return dict(zip(names, json.loads(done.stdout), strict=True))


def failing(result):
    """The grade_ids of the cells that did not pass, by status."""
    return {
        cell["grade_id"]: cell["status"]
        for cell in result["cells"]
        if cell["status"] not in ("passed", "by_hand")
    }


def test_the_solution_has_all_points(checked):
    solved = checked["solved"]
    assert solved["points"] == solved["max_points"] > 0
    assert solved["status"] == "passed"
    assert failing(solved) == {}


def test_the_untouched_notebook_has_none_and_says_not_written(checked):
    untouched = checked["untouched"]
    assert (untouched["points"], untouched["status"]) == (0, "failed")
    assert set(failing(untouched).values()) == {"not_written"}


# What each sample student's mistake costs, by the mechanism that it breaks; s02 is untouched.
MISTAKES = {
    "s01": set(),  # all right
    "s03": {"softmax_list-large", "softmax-large", "softmax-low"},  # no maximum subtracted
    "s04": {"softmax-values", "softmax-axis"},  # first axis
    "s05": {"softmax_list-masked", "softmax-masked"},  # NaN for a masked row
    "s06": {"softmax-precision", "softmax-unchanged"},  # in place, so in float16 too
    "s07": {"softmax-dtype"},  # float64 out
    "s08": set(),  # of two answer cells the last counts
    "s09": set(),  # right, though it warns and prints
}


@pytest.mark.parametrize("student", MISTAKES)
def test_a_mistake_costs_the_points_of_its_own_cells(checked, student):
    result = checked[student]
    assert failing(result) == dict.fromkeys(MISTAKES[student], "failed")
    lost = sum(c["max_points"] for c in result["cells"] if c["grade_id"] in MISTAKES[student])
    assert result["points"] == result["max_points"] - lost


def test_every_failed_cell_says_why_on_a_small_input(checked):
    for result in checked.values():
        for cell in result["cells"]:
            if cell["status"] == "failed":
                assert cell["message"].startswith(f"✗ {cell['grade_id'].partition('-')[0]}: ")
                assert "\n  call " in cell["message"]
                assert "Traceback" not in cell["message"]


def test_the_points_are_those_of_the_notebook(checked):
    expected = {
        cell.metadata.nbgrader.grade_id: cell.metadata.nbgrader.points
        for cell in nb.read(UNTOUCHED).cells
        if cell.metadata.get("nbgrader", {}).get("grade")
    }
    told = {cell["grade_id"]: cell["max_points"] for cell in checked["solved"]["cells"]}
    assert told == expected


def test_nothing_that_is_checked_is_changed(checked, sample_class):
    copy, _ = sample_class
    released = copy / "notebooks" / "01-softmax" / "01-softmax.ipynb"
    assert checked and released.read_bytes() == UNTOUCHED.read_bytes()


# --- for people ---------------------------------------------------------------------------------


def test_the_report_shows_points_by_exercise_and_progress(course_copy):
    done = run_cli(course_copy, "check", SOLVED)
    assert done.returncode == 0, done.stderr
    assert "softmax_list" in done.stdout
    assert "5 / 5" in done.stdout
    assert f"1 of {len(course.lessons())} lessons complete" in done.stdout


def test_the_report_shows_each_message(course_copy, sample_class):
    copy, _ = sample_class
    wrong = copy / "build/sample-class/submitted/s07/01-softmax/01-softmax.ipynb"
    done = run_cli(course_copy, "check", wrong)
    assert done.returncode == 1
    assert "✗ softmax: float32 in, float64 out" in done.stdout
    call = r"  call      softmax\(np.array\(\[0.0, -.*\], dtype=np.float32\)\)"
    assert re.search(call, done.stdout)


def test_without_a_name_the_copies_in_work_are_checked(course_copy):
    none = run_cli(course_copy, "check")
    assert (none.returncode, none.stdout) == (2, "")
    assert "There is no lesson in work/ yet" in none.stderr
    assert "make lab" in none.stderr
    run_cli(course_copy, "lab", "--no-open")
    done = run_cli(course_copy, "check")
    assert done.returncode == 1
    assert "not written yet" in done.stdout
    shutil.rmtree(course_copy / "work")


# --- what cannot be graded ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def odd(tmp_path_factory) -> Path:
    """A folder of files that are no lesson."""
    folder = tmp_path_factory.mktemp("odd")
    (folder / "broken.ipynb").write_text(SOLVED.read_text("utf-8")[:500], "utf-8")
    (folder / "empty.ipynb").write_bytes(b"")
    (folder / "latin.ipynb").write_bytes("é".encode("latin-1"))
    foreign = nb.node(**v4.new_notebook(cells=[v4.new_code_cell("print(1)")]))
    (folder / "foreign.ipynb").write_text(nb.text_of(foreign), "utf-8")
    (folder / "folder.ipynb").mkdir()
    return folder


CASES = {
    "missing": "no such file",
    "broken": "not a whole notebook",
    "empty": "the file is empty",
    "latin": "not UTF-8",
    "folder": "no such file",
    "foreign": "is no lesson of this course",
}


def test_what_cannot_be_graded_gets_one_clear_line_each_and_status_2(course_copy, odd):
    done = run_cli(course_copy, "check", *(odd / f"{name}.ipynb" for name in CASES))
    assert done.returncode == 2
    assert done.stdout == ""
    told = done.stderr.splitlines()
    assert len(told) == len(CASES), done.stderr
    for line, (name, reason) in zip(told, CASES.items(), strict=True):
        assert line.startswith(str(odd / f"{name}.ipynb"))
        assert reason in line


def test_what_can_be_graded_is_graded_beside_what_cannot(course_copy, odd):
    done = run_cli(course_copy, "check", "--json", odd / "broken.ipynb", SOLVED)
    assert done.returncode == 2
    assert [result["status"] for result in json.loads(done.stdout)] == ["passed"]
    assert "broken.ipynb" in done.stderr
