"""The result of a grading: sums, status, and the JSON that the design promises."""

import json

import pytest

from grader.result import CellResult, Result, Status

FAILED = CellResult(
    "softmax", "softmax-axis", 0.0, 2.0, Status.FAILED, "✗ softmax: not along\nmore"
)
PASSED = CellResult("softmax", "softmax-values", 2.0, 2.0, Status.PASSED)
BY_HAND = CellResult("why", "why", None, 3.0, Status.BY_HAND)
RESULT = Result("01-softmax", (PASSED, FAILED, BY_HAND))


def test_json_has_the_promised_form():
    told = json.loads(json.dumps(RESULT.as_json()))
    cells = told.pop("cells")
    promised = {
        "lesson": "01-softmax",
        "points": 2.0,
        "max_points": 4.0,
        "status": "failed",
        "jail": "none",
    }
    assert promised.items() <= told.items()
    promised = {
        "grade_id": "softmax-axis",
        "points": 0.0,
        "max_points": 2.0,
        "status": "failed",
        "message": "✗ softmax: not along\nmore",
        "misconception": None,
    }
    assert promised.items() <= cells[1].items()
    assert all(set(cell) == set(cells[1]) for cell in cells)
    assert (cells[2]["status"], cells[2]["points"]) == ("by_hand", None)


def test_json_can_be_read_back():
    told = json.loads(json.dumps(RESULT.as_json()))
    assert Result.from_json(told) == RESULT


def test_a_notebook_that_was_not_graded_says_why():
    told = Result("01-softmax", (), reason="it cannot be read").as_json()
    assert told["status"] == "not_graded"
    assert told["reason"] == "it cannot be read"


def test_written_answers_are_in_neither_sum():
    assert (RESULT.points, RESULT.max_points) == (2.0, 4.0)


@pytest.mark.parametrize(
    ("cells", "status"),
    [
        ((PASSED, BY_HAND), "passed"),
        ((PASSED, FAILED), "failed"),
        ((PASSED, CellResult("f", "f-1", 0.0, 1.0, Status.NOT_WRITTEN)), "failed"),
    ],
)
def test_a_lesson_is_passed_when_every_graded_cell_is(cells, status):
    assert Result("01-softmax", cells).status == status


def test_the_statuses_are_those_of_the_design():
    assert {str(status) for status in Status} == {
        "passed", "failed", "not_written", "error", "timeout", "by_hand", "not_graded",
    }  # fmt: skip


def test_cells_are_grouped_by_exercise_in_order():
    grouped = [(name, len(cells)) for name, cells in RESULT.by_exercise()]
    assert grouped == [("softmax", 2), ("why", 1)]


@pytest.mark.parametrize(
    ("status", "message", "words"),
    [
        (Status.FAILED, "✗ softmax: sums are not 1\n  call …", "sums are not 1"),
        (Status.NOT_WRITTEN, "✗ softmax is not written yet.", "not written yet"),
        (Status.ERROR, "✗ softmax is not defined: run it.", "is not defined: run it"),
    ],
)
def test_few_words(status, message, words):
    assert CellResult("softmax", "softmax-axis", 0.0, 1.0, status, message).few_words == words
