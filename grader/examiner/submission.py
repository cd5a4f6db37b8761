"""Reads what a student handed in, whatever it is: a notebook of some form, or a CourseError.

Knows no lesson; keeps of a cell only what a submission can give."""

import json
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from grader.errors import CourseError
from grader.examiner import harmless
from grader.lesson import node

LARGEST_FILE = 20_000_000
MOST_CELLS = 2000


def read(path: Path, largest: int = LARGEST_FILE) -> NotebookNode:
    """The notebook in the file `path`, of any nbformat and however odd its metadata.

    Raises CourseError, with the file and what to do, when no notebook can be read from it.
    """
    try:
        return usable(_json(path, largest))
    except CourseError as error:
        name = harmless.printable(str(path)).replace("\n", " ")
        raise CourseError(f"{name}: {error}") from None


def _json(path: Path, largest: int) -> object:
    try:
        if not path.is_file():
            raise CourseError("there is no such file; hand in the notebook's .ipynb file.")
        if path.stat().st_size > largest:
            raise CourseError(
                f"the file is larger than {largest / 1e6:g} MB; "
                "clear the outputs (Kernel, Restart and Clear Outputs) and hand it in again."
            )
        text = path.read_bytes().decode("utf-8-sig")
        if not text.strip():
            raise CourseError("the file is empty; save the notebook and hand it in again.")
        return json.loads(text)
    except OSError as error:
        raise CourseError(f"the file cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError:
        raise CourseError("the text is not UTF-8; save it in Jupyter, hand it in again.") from None
    except json.JSONDecodeError as error:
        text = text.strip()
        cut = text.startswith("{") and (error.pos >= len(text) or not text.endswith("}"))
        why = "ends in the middle" if cut else "is not JSON"
        raise CourseError(
            f"the file {why} (line {error.lineno}), so it is not a whole notebook; "
            "open it in Jupyter, save it and hand it in again."
        ) from None
    except (ValueError, RecursionError, MemoryError):  # huge numbers, brackets without end
        raise CourseError("the file holds JSON that no notebook has; hand in another.") from None


def usable(document: object) -> NotebookNode:
    """`document` (JSON, or a notebook) as nbformat 4.5, with only what a submission can give.

    A cell keeps its type, its text, its grade_id as metadata if it has one, and its outputs.
    Raises CourseError when there is no list of cells, or too long a one.
    """
    found = _cells(document)
    if found is None:
        raise CourseError("the file is JSON but no notebook; hand in the notebook's .ipynb file.")
    if len(found) > MOST_CELLS:
        raise CourseError(
            f"the notebook has {len(found)} cells, and {MOST_CELLS} are the most that are read; "
            "delete the superfluous ones and hand it in again."
        )
    cells = [_usable_cell(cell, index) for index, cell in enumerate(found)]
    return node(nbformat=4, nbformat_minor=5, metadata=node(), cells=cells)


def _cells(document: object) -> list[dict[str, Any]] | None:
    """The cells, which nbformat 3 keeps in worksheets."""
    if not isinstance(document, dict):
        return None
    sheets = [document, *_dicts(document.get("worksheets"))]
    lists = [sheet["cells"] for sheet in sheets if isinstance(sheet.get("cells"), list)]
    return [cell for one in lists for cell in _dicts(one)] if lists else None


def _dicts(found: object) -> list[dict[str, Any]]:
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _usable_cell(cell: dict[str, Any], index: int) -> NotebookNode:
    text = harmless.joined(cell.get("source", cell.get("input")))
    if cell.get("cell_type") == "heading":  # nbformat 3
        text = "# " + text
    marks = _marks(cell)
    type_ = cell.get("cell_type") if cell.get("cell_type") in ("code", "raw") else "markdown"
    metadata = node() if marks is None else node(nbgrader=node(**marks))
    found = node(cell_type=type_, id=f"cell-{index}", source=_text(text), metadata=metadata)
    if type_ == "code":
        found.execution_count, found.outputs = None, harmless.outputs(cell.get("outputs"))
    return found


def _text(text: str) -> str:
    """`text` as it can be compiled and written to a file: no NUL, no lone surrogates."""
    odd = {0: "\N{REPLACEMENT CHARACTER}"}
    text = text.translate(odd).replace("\r\n", "\n").replace("\r", "\n")
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _marks(cell: dict[str, Any]) -> dict[str, str] | None:
    """Of nbgrader's metadata the grade_id alone, in every schema; None if the cell has none."""
    metadata = cell.get("metadata")
    if not isinstance(metadata, dict) or "nbgrader" not in metadata:
        return None
    marks = metadata["nbgrader"]
    name = marks.get("grade_id") if isinstance(marks, dict) else None
    return {"grade_id": name} if isinstance(name, str) else {}
