"""Reading a notebook, or saying in one line why it cannot be read."""

import pytest
from nbformat import v4

from grader import notebook as nb
from grader.errors import CourseError

UNREADABLE = {
    "empty": b"",
    "no JSON": b"print('hello')",
    "cut off": b'{"cells": [{"cell_type": "code", ',
    "not UTF-8": b"\xff\xfe\x00",
    "another JSON": b"[1, 2, 3]",
    "a number": b"3",
    "no notebook": b'{"name": "value"}',
    "cells of no type": b'{"cells": [{}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}',
    "from the future": b'{"cells": [], "metadata": {}, "nbformat": 99, "nbformat_minor": 0}',
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_what_is_no_notebook_gives_one_line_with_its_name(tmp_path, case):
    path = tmp_path / "mine.ipynb"
    path.write_bytes(UNREADABLE[case])
    with pytest.raises(CourseError) as caught:
        nb.read(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < len(str(path)) + 200


def test_a_missing_file_and_a_folder_give_one_line(tmp_path):
    with pytest.raises(CourseError, match="there is no such file"):
        nb.read(tmp_path / "absent.ipynb")
    with pytest.raises(CourseError, match="is not a readable notebook"):
        nb.read(tmp_path)


def test_an_older_notebook_is_read_as_version_4(tmp_path):
    path = tmp_path / "old.ipynb"
    cell = (
        '{"cell_type": "code", "input": "1", "language": "python", "metadata": {}, "outputs": []}'
    )
    path.write_text(
        '{"metadata": {}, "nbformat": 3, "nbformat_minor": 0, '
        f'"worksheets": [{{"cells": [{cell}], "metadata": {{}}}}]}}'
    )
    assert nb.read(path).cells[0].source == "1"


def test_writing_and_reading_gives_the_same(tmp_path):
    notebook = v4.new_notebook(cells=[v4.new_code_cell("é − ∞"), v4.new_markdown_cell("text")])
    text = nb.text_of(notebook)
    assert nb.parse(text) == notebook
    assert nb.text_of(nb.parse(text)) == text
    assert text.endswith("}\n")
    assert "é − ∞" in text
