"""Reads the result off a notebook whose cells have been executed, as nbgrader does.

Runs nothing; which outputs mean what is decided here and nowhere else."""

from nbformat import NotebookNode

from grader.lesson import Kind, demo_only_names, exercises, grade_id, kind, points
from grader.result import CellResult, Result, Status

STATUS_OF_ERROR = {
    "NotWritten": Status.NOT_WRITTEN,
    "CheckFailed": Status.FAILED,
    "CellTimeoutError": Status.TIMEOUT,
}


def result_of(executed: NotebookNode, released: NotebookNode, lesson: str) -> Result:
    """The result of an executed notebook, by the graded cells of the `released` one."""
    outputs = {grade_id(cell): cell.get("outputs", []) for cell in executed.cells}
    demo_only = demo_only_names(released)
    cells = tuple(
        _cell_result(exercise, cell, outputs.get(grade_id(cell), []), demo_only)
        for exercise, graded in exercises(released).items()
        for cell in graded
    )
    return Result(lesson, cells)


def _cell_result(
    exercise: str, cell: NotebookNode, outputs: list[NotebookNode], demo_only: set[str]
) -> CellResult:
    name, worth = grade_id(cell) or "", points(cell)
    if kind(cell) is Kind.WRITTEN:
        return CellResult(exercise, name, None, worth, Status.BY_HAND)
    for output in outputs:
        if output.output_type == "error":
            status, message = _read_error(exercise, output, demo_only)
            return CellResult(exercise, name, 0.0, worth, status, message)
    return CellResult(exercise, name, worth, worth, Status.PASSED)


def _read_error(exercise: str, output: NotebookNode, demo_only: set[str]) -> tuple[Status, str]:
    raised, told = output.get("ename", ""), output.get("evalue", "")
    if raised in STATUS_OF_ERROR:
        return STATUS_OF_ERROR[raised], told or "✗ The cell ran into its time limit."
    missing = told.split("'")[1] if raised == "NameError" and told.count("'") >= 2 else ""
    if missing == exercise:
        return Status.NOT_WRITTEN, f"✗ {exercise} is not defined: run or mend its answer cell."
    if missing in demo_only:
        hint = "only a demo cell binds it, and demo cells are not run when grading"
        return Status.ERROR, f"✗ {exercise}: {missing} is not defined: {hint}."
    return Status.ERROR, f"✗ {exercise}: {raised}: {told}"
