"""What nbgrader calls: solutions and their marks taken out, and a CSV that nobody can run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.classroom.nbgrader_plugin import harmless, without_markers, without_solution

CELL = """guess = None
### BEGIN SOLUTION
guess = "sharper"
### END SOLUTION
shown = guess"""


def test_a_region_and_its_marks_are_taken_out():
    assert without_solution(CELL) == "guess = None\nshown = guess"


def test_several_regions_are_taken_out():
    kept = "guess = None\nshown = guess"
    assert without_solution(f"{CELL}\n{CELL}") == f"{kept}\n{kept}"


def test_a_region_that_does_not_end_hides_all_the_rest():
    assert without_solution("a = 1\n### BEGIN SOLUTION\nsecret\nmore") == "a = 1"


def test_marks_alone_are_taken_out():
    assert without_markers(CELL) == 'guess = None\nguess = "sharper"\nshown = guess'


@given(st.text())
def test_text_without_marks_stays_as_it_is(text):
    assert without_solution(text) == without_markers(text) == text


@pytest.mark.parametrize(
    "value",
    ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "=cmd|' /C calc'!A0", '=HYPERLINK("x")'],
)
def test_a_field_that_a_spreadsheet_would_run_gets_an_apostrophe(value):
    assert harmless(value) == f"'{value}"


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (3.5, "3.5"), (-2.0, "-2.0"), ("-1e5", "-1e5"), ("s01", "s01"), ("a=b", "a=b")],
)
def test_other_fields_stay_as_they_are(value, text):
    assert harmless(value) == text


@given(st.text())
def test_no_field_starts_like_a_formula_unless_it_is_a_number(text):
    field = harmless(text)
    if field.startswith(("=", "@", "\t", "\r")):
        raise AssertionError(field)
    if field.startswith(("+", "-")):
        float(field)
