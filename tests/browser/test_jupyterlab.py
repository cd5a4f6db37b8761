"""The course in JupyterLab and Chromium: a student's lesson, and an instructor's panels."""

import shutil

import pytest

from grader import course
from grader import notebook as nb
from tests.browser import lab
from tests.browser.lab import PATIENCE, open_notebook, outputs, run_all
from tests.course_copy import run_cli
from tests.student import answers

if lab.chromium() is None:
    pytest.skip("these tests drive Chromium, and this machine has none", allow_module_level=True)

NAME = "01-softmax"
WRONG = """def softmax(scores, axis=-1):
    exponentials = np.exp(scores - scores.max(axis=0))
    return exponentials / exponentials.sum(axis=0)"""


@pytest.fixture(scope="module")
def chromium():
    with lab.browser() as browser:
        yield browser


@pytest.fixture
def page(chromium):
    page = chromium.new_page(viewport={"width": 1400, "height": 900})
    yield page
    page.close()


def filled(entry, own):
    """The released notebook with `own` answers laid into it."""
    notebook = nb.read(entry.released)
    for cell in notebook.cells:
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id")
        cell.source = own.get(grade_id, cell.source)
    return nb.text_of(notebook)


# --- a student ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def student(course_copy):
    """The address of the student's JupyterLab, with an untouched, a solved and a wrong copy."""
    run_cli(course_copy, "lab", "--no-open")
    entry = course.lesson(NAME, course_copy)
    own = answers(course.lesson(NAME))
    folder = entry.own_copy.parent
    (folder / "solved.ipynb").write_text(filled(entry, own), "utf-8")
    (folder / "wrong.ipynb").write_text(filled(entry, own | {"softmax": WRONG}), "utf-8")
    with lab.students_lab(course_copy) as address:
        yield address


def errors(page):
    kinds = "application/vnd.jupyter.error", "application/vnd.jupyter.stderr"
    found = [page.locator(f".jp-OutputArea-output[data-mime-type='{kind}']") for kind in kinds]
    return [text for each in found for text in each.all_inner_texts()]


def test_a_solved_lesson_shows_ticks_and_figures_and_no_error(student, page):
    open_notebook(page, student, f"{NAME}/solved.ipynb")
    run_all(page)
    released = course.lesson(NAME).released
    graded = sum(
        bool(marks.get("grade")) and cell.cell_type == "code"
        for cell in nb.read(released).cells
        for marks in [cell.metadata.get("nbgrader", {})]
    )
    assert sum(text.startswith("✓ ") for text in outputs(page)) == graded
    assert page.locator(".jp-OutputArea-output img").count() >= 5
    assert errors(page) == []


def test_an_untouched_lesson_says_that_nothing_is_written_yet(student, page):
    open_notebook(page, student, f"{NAME}/{NAME}.ipynb")
    run_all(page)
    assert "✗ softmax_list is not written yet." in outputs(page)[-1]
    assert "Traceback" not in page.inner_text("body")


def test_a_wrong_answer_shows_the_message_and_no_traceback(student, page):
    open_notebook(page, student, f"{NAME}/wrong.ipynb")
    run_all(page)
    told = outputs(page)[-1]
    assert told.startswith("✗ softmax: ")
    for part in ("call ", "returned ", "expected "):
        assert part in told
    assert "Traceback" not in page.inner_text("body")
    assert "ask.py" not in page.inner_text("body")


def test_formulas_and_folded_hints_are_shown(student, page):
    open_notebook(page, student, f"{NAME}/{NAME}.ipynb")
    assert page.locator(".jp-RenderedMarkdown mjx-container").count() >= 3
    hint = page.locator("details", has_text="Hint: what may be subtracted?").first
    assert not hint.locator("p").is_visible()
    hint.locator("summary").click()
    assert hint.locator("p").is_visible()


# --- an instructor ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def instructor(sample_class, tmp_path_factory):
    """The address of JupyterLab on the root of a course whose sample class is graded."""
    graded = tmp_path_factory.mktemp("instructor") / "course"
    shutil.copytree(sample_class[0], graded)
    with lab.instructors_lab(graded, "build/sample-class") as address:
        yield graded, address


def validate(page):
    page.get_by_text("Validate", exact=True).click()
    dialog = page.locator(".jp-Dialog-content", has_text="Validation Results")
    dialog.wait_for(timeout=PATIENCE)
    return dialog.inner_text()


def test_nbgraders_validate_button_passes_the_solution(instructor, page):
    open_notebook(page, instructor[1], f"solutions/{NAME}/{NAME}.ipynb")
    assert "Success! Your notebook passes all the tests." in validate(page)


def test_nbgraders_validate_button_tells_what_is_not_written(instructor, page):
    open_notebook(page, instructor[1], f"notebooks/{NAME}/{NAME}.ipynb")
    assert "✗ softmax is not written yet." in validate(page)


def press(page, student, column):
    """Press a button of a student's row in Formgrader; what the answer says."""
    page.locator("tr", has_text=student).locator(f"td.{column} a").click()
    answer = page.locator(".modal.in, .modal.show")
    answer.wait_for(timeout=PATIENCE)
    told = answer.inner_text()
    answer.get_by_text("OK", exact=True).click()
    return told


def test_formgrader_lists_grades_and_gives_feedback(instructor, page):
    graded, address = instructor
    base, _, token = address.partition("/lab")
    page.goto(f"{base}/formgrader{token}")
    row = page.locator("tr", has_text=NAME)
    row.wait_for(timeout=PATIENCE)
    row.locator("td.num-submissions a", has_text="9").click()
    page.locator("td.autograde").first.wait_for(timeout=PATIENCE)

    assert f"Successfully autograded '{NAME}' for student 's07'." in press(page, "s07", "autograde")
    feedback = graded / f"build/sample-class/feedback/s07/{NAME}/{NAME}.html"
    feedback.unlink()
    page.reload()
    page.locator("td.generate-feedback a").first.wait_for(timeout=PATIENCE)
    assert "Success" in press(page, "s07", "generate-feedback")
    page.goto(feedback.as_uri())
    assert "✗ softmax: float32 in, float64 out" in page.inner_text("body")


def test_formgrader_shows_a_submission_with_its_messages(instructor, page):
    base, _, token = instructor[1].partition("/lab")
    page.goto(f"{base}/formgrader{token}")
    page.goto(f"{base}/formgrader/manage_students/s03/{NAME}")
    page.locator("td a", has_text=NAME).click()
    page.get_by_text("✗ softmax_list: OverflowError").first.wait_for(timeout=PATIENCE)
