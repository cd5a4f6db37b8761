"""The one door to nbformat: notebooks from and to files and text.

Knows nothing of lessons."""

from pathlib import Path
from typing import Any, cast

import nbformat
from nbformat import NotebookNode

from grader.errors import CourseError

KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}


def read(path: Path) -> NotebookNode:
    """The notebook at `path`, or a CourseError that says in one line what is wrong with it."""
    try:
        return parse(path.read_text("utf-8"))
    except FileNotFoundError:
        raise CourseError(f"{path}: there is no such file.") from None
    except Exception as error:
        reason = str(error).strip().partition("\n")[0][:120]
        raise CourseError(f"{path} is not a readable notebook ({reason}).") from None


def parse(text: str) -> NotebookNode:
    """The notebook that `text` holds; nbformat's own exceptions when it holds none."""
    notebook = cast(NotebookNode, nbformat.reads(text, as_version=4))  # type: ignore[no-untyped-call]
    nbformat.validate(notebook)
    return notebook


def text_of(notebook: NotebookNode) -> str:
    """The notebook as a file holds it."""
    return str(nbformat.writes(notebook)) + "\n"  # type: ignore[no-untyped-call]


def node(**fields: Any) -> NotebookNode:
    """A piece of notebook with these fields."""
    return cast(NotebookNode, nbformat.from_dict(fields))  # type: ignore[no-untyped-call]
