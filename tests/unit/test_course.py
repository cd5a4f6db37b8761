"""course.toml as the list of lessons, and what is written from it."""

from pathlib import Path

import pytest

from grader import course
from grader.errors import CourseError

ENTRY = """
[[lesson]]
name = "{}"
title = "Title {}"
built = "a thing"
minutes = 45
needs = "nothing"
objectives = ["see", "understand"]
"""


def course_at(folder: Path, text: str) -> Path:
    (folder / "source").mkdir()
    (folder / "source" / "course.toml").write_text(text, "utf-8")
    return folder


@pytest.fixture
def two_lessons(tmp_path):
    return course_at(tmp_path, ENTRY.format("02-b", "B") + ENTRY.format("01-a", "A"))


def test_lessons_come_in_the_files_order_with_their_places(two_lessons):
    first, second = course.lessons(two_lessons)
    assert (first.name, second.name) == ("02-b", "01-a")
    assert first.objectives == ("see", "understand")
    places = {
        first.source: "source/02-b/02-b.md",
        first.samples: "source/02-b/samples",
        first.solved: "build/source/02-b/02-b.ipynb",
        first.released: "notebooks/02-b/02-b.ipynb",
        first.solution: "solutions/02-b/02-b.ipynb",
        first.own_copy: "work/02-b/02-b.ipynb",
    }
    assert {path.relative_to(two_lessons).as_posix(): place for path, place in places.items()} == {
        place: place for place in places.values()
    }


def test_one_lesson_by_name(two_lessons):
    assert course.lesson("01-a", two_lessons).title == "Title A"


def test_an_unknown_lesson_is_refused_with_the_names_there_are(two_lessons):
    with pytest.raises(CourseError, match=r"no lesson '03-c'.*02-b, 01-a"):
        course.lesson("03-c", two_lessons)


@pytest.mark.parametrize(
    "text",
    ["", "lesson = 3", "[[lesson]]\nname =", "[[lesson]]\nname = 'a'", ENTRY + "colour = 'red'"],
)
def test_a_faulty_list_is_one_clear_line(tmp_path, text):
    with pytest.raises(CourseError, match=r"course\.toml cannot be read as a list of lessons"):
        course.lessons(course_at(tmp_path, text))


def test_a_missing_list_says_where_one_is(tmp_path):
    with pytest.raises(CourseError, match="run this inside a clone of the course"):
        course.lessons(tmp_path)


def test_the_head_of_a_lesson_holds_all_that_a_reader_needs(two_lessons):
    head = course.head(course.lesson("01-a", two_lessons))
    assert head.startswith("# 1. Title A\n")
    for part in ("built a thing.", "45 minutes", "nothing.", "- see\n- understand"):
        assert part in head
    assert head.endswith("*Made from `source/01-a/01-a.md`.*")


def test_the_table_has_a_row_for_every_lesson(two_lessons):
    head, rule, *rows = course.table(course.lessons(two_lessons)).splitlines()
    assert [row.split(" | ")[0] for row in rows] == [
        "| [02-b](notebooks/02-b/02-b.ipynb)",
        "| [01-a](notebooks/01-a/01-a.ipynb)",
    ]
    assert {line.count("|") for line in (head, rule, *rows)} == {5}
