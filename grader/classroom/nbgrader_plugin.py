"""Thin adapters that nbgrader_config.py names. Only what nbgrader itself has to call."""

from typing import Any

from nbformat import NotebookNode
from nbgrader import preprocessors

from grader import lesson


class ClearSolutions(preprocessors.ClearSolutions):
    """nbgrader's own, except that a guess is taken out without a NotImplementedError in its place.

    A predict cell is an answer nobody has to give: left empty, it must stop nothing.
    """

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict[str, Any], cell_index: int
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Clear one cell; nbgrader calls this."""
        if lesson.kind(cell) is not lesson.Kind.PREDICT:
            return super().preprocess_cell(cell, resources, cell_index)
        cell.source = without_solution(cell.source)
        return cell, resources


class DropMarkers(preprocessors.NbGraderPreprocessor):
    """Takes the BEGIN SOLUTION and END SOLUTION lines out of a solved notebook."""

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict[str, Any], cell_index: int
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Clean one cell; nbgrader calls this."""
        cell.source = without_markers(cell.source)
        return cell, resources


def without_solution(source: str) -> str:
    """`source` without its solution regions."""
    kept, inside = [], False
    for line in source.split("\n"):
        if "BEGIN SOLUTION" in line:
            inside = True
        if not inside:
            kept.append(line)
        if "END SOLUTION" in line:
            inside = False
    return "\n".join(kept)


def without_markers(source: str) -> str:
    """`source` without the lines that mark its solution regions."""
    markers = ("BEGIN SOLUTION", "END SOLUTION")
    return "\n".join(
        line for line in source.split("\n") if not any(marker in line for marker in markers)
    )
