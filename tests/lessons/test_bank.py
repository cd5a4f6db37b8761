"""The tests tested: what people get wrong loses points in a graded cell, what is right gets all.

In a plain kernel, with the public random numbers and with others."""

import pytest

from grader import seeds
from grader.lesson import Kind, exercises, grade_id, kind
from tests.student import bank, failed_cells, released

WRONG, RIGHT = bank("wrong"), bank("right")
SECRETS = (b"", b"other")


@pytest.fixture(params=SECRETS, ids=["public", "secret"])
def seeded(request):
    """The random numbers of every check drawn from a seed."""
    seeds.fold_in(request.param)
    yield
    seeds.fold_in(b"")


@pytest.mark.usefixtures("seeded")
@pytest.mark.parametrize("each", WRONG, ids=str)
def test_a_wrong_implementation_loses_points(each):
    assert failed_cells(each.lesson, each.names), f"{each} gets full marks"


@pytest.mark.usefixtures("seeded")
@pytest.mark.parametrize("each", RIGHT, ids=str)
def test_a_right_implementation_gets_all_points(each):
    assert failed_cells(each.lesson, each.names) == {}


@pytest.mark.parametrize("each", WRONG, ids=str)
def test_a_failure_is_one_page_and_ends_in_a_reason(each):
    for told in failed_cells(each.lesson, each.names).values():
        assert told.startswith("✗ ")
        assert "\n  call " in told
        assert "Traceback" not in told
        assert len(told.splitlines()) <= 24


@pytest.mark.parametrize("each", [*WRONG, *RIGHT], ids=str)
def test_a_file_says_what_it_is(each):
    kind = "Misconception: " if each.path.parent.name == "wrong" else "Correct but unusual: "
    assert each.path.read_text("utf-8").startswith(f'"""{kind}')


def test_every_exercise_has_its_mistakes_and_its_unusual_right_answers(entry):
    answers = [grade_id(c) for c in released(entry).cells if kind(c) is Kind.ANSWER]
    for exercise in answers:
        assert exercise in exercises(released(entry))
        assert sum(each.exercise == exercise for each in WRONG) >= 4, exercise
        assert sum(each.exercise == exercise for each in RIGHT) >= 2, exercise
