"""On honest notebooks the examiner and nbgrader as it comes give the same scores, cell by cell."""

from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from benchmarks.grading import NOT_FOR_VANILLA, command, our_config, vanilla_config
from grader import build, course
from grader import notebook as nb
from grader.classroom import sample

ENTRY = course.lesson("01-softmax")
STUDENTS = [each for each in sample.samples(ENTRY) if each.student not in NOT_FOR_VANILLA]


def scores(root: Path) -> dict[tuple[str, str], float]:
    """What the gradebook holds: points by student and cell, without answers graded by hand."""
    with Gradebook(f"sqlite:///{root}/gradebook.db") as gradebook:
        return {
            (student.student, grade.name): grade.auto_score
            for student in STUDENTS
            for grade in gradebook.find_submission_notebook(
                ENTRY.name, ENTRY.name, student.student
            ).grades
            if grade.cell_type == "code"
        }


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> list[dict[tuple[str, str], float]]:
    build.prepare()
    graded = []
    for config in (vanilla_config, our_config):
        root = tmp_path_factory.mktemp("class")
        (root / "nbgrader_config.py").write_text(config(root, ENTRY))
        for student in STUDENTS:
            path = root / "submitted" / student.student / ENTRY.name / f"{ENTRY.name}.ipynb"
            path.parent.mkdir(parents=True)
            path.write_text(nb.text_of(sample.submission(student, ENTRY)))
        command(root, "generate_assignment", ENTRY.name, "--force")
        command(root, "autograde", ENTRY.name)
        graded.append(scores(root))
    return graded


def test_the_examiner_scores_honest_notebooks_as_nbgrader_does(
    both: list[dict[tuple[str, str], float]],
) -> None:
    vanilla, ours = both
    assert len(vanilla) == len(STUDENTS) * 14
    assert ours == vanilla
