"""A student's own copies: made once, never overwritten, never half there."""

import contextlib
import shutil

import pytest

from grader import course, work
from grader.errors import CourseError
from tests.unit.test_course import ENTRY, course_at

NAME = "01-softmax"


@pytest.fixture
def root(tmp_path):
    """A course of one lesson."""
    course_at(tmp_path, ENTRY.format(NAME, "Softmax"))
    released = course.lesson(NAME, tmp_path).released
    released.parent.mkdir(parents=True)
    released.write_text("the lesson", "utf-8")
    return tmp_path


def files(root):
    return sorted(path.name for path in (root / "work").rglob("*") if path.is_file())


def test_missing_lessons_are_copied_and_told(root):
    entry = course.lesson(NAME, root)
    copied = work.copy_missing(root)
    assert [path.as_posix() for path in copied] == [f"work/{NAME}/{NAME}.ipynb"]
    assert entry.own_copy.read_bytes() == entry.released.read_bytes()
    assert files(root) == [f"{NAME}.ipynb"]


def test_a_copy_is_never_overwritten_also_when_the_lesson_changed(root):
    entry = course.lesson(NAME, root)
    work.copy_missing(root)
    entry.own_copy.write_text("my work", "utf-8")
    entry.released.write_text("a newer lesson", "utf-8")
    assert work.copy_missing(root) == []
    assert entry.own_copy.read_text("utf-8") == "my work"


def test_a_file_that_appears_while_copying_is_not_overwritten(root, monkeypatch):
    entry = course.lesson(NAME, root)
    copyfile = shutil.copyfile

    def slow_copy(source, target):
        copyfile(source, target)
        entry.own_copy.write_text("saved meanwhile", "utf-8")

    monkeypatch.setattr(shutil, "copyfile", slow_copy)
    work.copy_missing(root)
    assert entry.own_copy.read_text("utf-8") == "saved meanwhile"


def test_a_copy_that_breaks_off_leaves_nothing_half_written(root, monkeypatch):
    entry = course.lesson(NAME, root)

    def full_disk(source, target):
        target.write_text("{", "utf-8")
        raise OSError("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfile", full_disk)
        with pytest.raises(OSError, match="No space"):
            work.copy_missing(root)
    assert not entry.own_copy.exists()
    work.copy_missing(root)
    assert entry.own_copy.read_bytes() == entry.released.read_bytes()
    assert files(root) == [f"{NAME}.ipynb"]


def test_a_lesson_starts_anew_and_the_old_copy_stays(root):
    entry = course.lesson(NAME, root)
    work.copy_missing(root)
    entry.own_copy.write_text("my work", "utf-8")
    told = work.start_anew(NAME, root)
    (old,) = entry.own_copy.parent.glob(f"{NAME}-*.ipynb")
    assert old.read_text("utf-8") == "my work"
    assert old.name in told
    assert entry.own_copy.read_bytes() == entry.released.read_bytes()


def test_starting_anew_twice_within_a_second_loses_nothing(root):
    entry = course.lesson(NAME, root)
    work.copy_missing(root)
    saved = ["first", "second", "third"]
    for text in saved:
        entry.own_copy.write_text(text, "utf-8")
        with contextlib.suppress(CourseError):
            work.start_anew(NAME, root)
            continue
        break  # refused, so this text is still in its place
    texts = {path.read_text("utf-8") for path in entry.own_copy.parent.glob("*.ipynb")}
    assert set(saved[: saved.index(text) + 1]) <= texts


def test_starting_a_lesson_that_is_not_there_yet_says_so(root):
    assert "has no 01-softmax yet" in work.start_anew(NAME, root)


def test_starting_an_unknown_lesson_is_refused(root):
    with pytest.raises(CourseError, match="no lesson"):
        work.start_anew("99-nothing", root)
