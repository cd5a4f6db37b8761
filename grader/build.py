"""From source to notebooks and solutions, and whether the three still agree.

jupytext reads a lesson, nbgrader's converters make the rest; nothing here grades."""

import contextlib
import hashlib
import json
import re
import tempfile
import textwrap
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jupytext
from jupytext.config import JupytextConfiguration
from nbconvert.preprocessors.coalescestreams import CoalesceStreamsPreprocessor
from nbformat import NotebookNode
from nbgrader.converters import GenerateAssignment, GenerateSolution

from grader import course, nbgrader_steps
from grader import notebook as nb
from grader.course import Lesson
from grader.errors import CourseError
from grader.lesson import grade_id, require_sound
from grader.term import progress

STAMP = "attention_from_scratch"
MEND = "Mend it with: python -m grader build"
# What a lesson's cells can reach: a change here makes the outputs of every solution stale.
LESSON_ROOMS = (
    "checks",
    "figures",
    "misconceptions",
    "observe.py",
    "oracle.py",
    "seeds.py",
    "wire.py",
)
README_TABLE = re.compile(r"(?<=<!-- lessons -->\n).*?(?=\n<!-- /lessons -->)", re.DOTALL)


class SolvedNotebook(GenerateSolution):
    """nbgrader's own, without its demand that the lesson be in a gradebook already."""

    def init_assignment(self, assignment_id: str, student_id: str) -> None:
        """Skip the look into the gradebook; nbgrader calls this."""
        super(GenerateSolution, self).init_assignment(assignment_id, student_id)


@dataclass(frozen=True)
class Drift:
    """One file that does not agree with its source."""

    path: Path
    what: str

    def __str__(self) -> str:
        return f"{self.path}: {self.what}"


def build(root: Path = course.ROOT, execute_all: bool = False) -> list[Path]:
    """Write every notebook and solution that is not as its source wants it.

    A solution is executed only when it is stale (or with `execute_all`), so building twice
    changes nothing. Returns the files written, relative to `root`.
    """
    written = []
    for entry in progress(course.lessons(root), "Building"):
        notebook = read_source(entry)
        _replace(entry.solved, solved_text(notebook))
        wanted = {entry.source: source_text(notebook), entry.released: make_released(entry)}
        if execute_all or solution_drift(entry):
            wanted[entry.solution] = make_solution(entry)
        written += [path for path, text in wanted.items() if _replace(path, text)]
    readme = root / "README.md"
    written += [readme] if _replace(readme, with_table(readme.read_text("utf-8"), root)) else []
    return [path.relative_to(root) for path in written]


def prepare(root: Path = course.ROOT) -> None:
    """Write build/source, which nbgrader's own commands start from, and nothing else."""
    for entry in course.lessons(root):
        _replace(entry.solved, solved_text(read_source(entry)))


def drift(root: Path = course.ROOT, execute: bool = False) -> list[Drift]:
    """Every committed file that does not agree with its source; empty when all is well.

    With `execute` the solutions run anew, as many at once as there are cores: `build` itself runs
    them one after the other, for the sake of the times that they measure and show.
    """
    lessons = course.lessons(root)
    with ProcessPoolExecutor() if execute else contextlib.nullcontext() as pool:
        looks = (pool.map if pool else map)(_lesson_drift, lessons, [execute] * len(lessons))
        found = [Drift(d.path.relative_to(root), d.what) for drifts in looks for d in drifts]
    readme = (root / "README.md").read_text("utf-8")
    if readme != with_table(readme, root):
        found.append(Drift(Path("README.md"), "its table of lessons is not course.toml's"))
    return found


def _lesson_drift(entry: Lesson, execute: bool) -> list[Drift]:
    return list(_drifts(entry, execute))


def _drifts(entry: Lesson, execute: bool) -> Iterator[Drift]:
    notebook = read_source(entry)
    if entry.source.read_text("utf-8") != source_text(notebook):
        yield Drift(entry.source, "is not in the form that build writes")
    _replace(entry.solved, solved_text(notebook))
    if not entry.released.exists():
        yield Drift(entry.released, "is missing")
    elif entry.released.read_text("utf-8") != make_released(entry):
        yield Drift(entry.released, "is not what its source gives")
    fault = solution_drift(entry)
    if execute and not fault:
        fault = _output_drift(entry)
    if fault:
        yield Drift(entry.solution, fault)


# --- the source -------------------------------------------------------------------------------


def read_source(entry: Lesson) -> NotebookNode:
    """The lesson as a notebook, its head written from course.toml and its form checked."""
    try:
        notebook: NotebookNode = jupytext.read(entry.source, fmt="md:myst")
    except FileNotFoundError:
        raise CourseError(f"{entry.source} is missing, and course.toml lists it.") from None
    if not notebook.cells:
        raise CourseError(f"{entry.source} has no cells.")
    notebook.cells[0].source = course.head(entry)
    require_sound(notebook, str(entry.source.relative_to(entry.root)))
    return notebook


def source_text(notebook: NotebookNode) -> str:
    """The lesson in the one form it is kept in: what jupytext writes, without its version."""
    settings = JupytextConfiguration()
    settings.notebook_metadata_filter = "-jupytext.text_representation.jupytext_version"
    return str(jupytext.writes(notebook, fmt="md:myst", config=settings))


def solved_text(notebook: NotebookNode) -> str:
    """The instructor's .ipynb: cell ids from grade_id or position, no trace of jupytext."""
    cells = [
        nb.node(**{**cell, "id": grade_id(cell) or f"cell-{position}"})
        for position, cell in enumerate(notebook.cells)
    ]
    metadata = {"kernelspec": nb.KERNEL}
    return nb.text_of(nb.node(cells=cells, metadata=metadata, nbformat=4, nbformat_minor=5))


# --- what nbgrader makes of it ----------------------------------------------------------------


def make_released(entry: Lesson) -> str:
    """The student's notebook: byte for byte what `nbgrader generate_assignment` writes."""
    with tempfile.TemporaryDirectory() as folder:
        config = nbgrader_steps.course_config(entry.root, release_directory=folder)
        config.SaveCells.enabled = False
        nbgrader_steps.run(GenerateAssignment, config, entry.name, no_database=True)
        return _converted(folder, entry)


def make_solution(entry: Lesson) -> str:
    """The solved lesson, executed and stamped with what it was made from.

    Raises CourseError when one of its cells fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        config = nbgrader_steps.course_config(entry.root, solution_directory=folder)
        nbgrader_steps.run(SolvedNotebook, config, entry.name)
        notebook = nb.parse(_converted(folder, entry))
    join_streams(notebook)
    notebook.metadata.pop("language_info", None)
    _refuse_errors(notebook, entry)
    notebook.metadata[STAMP] = _stamp(entry, notebook)
    return nb.text_of(notebook)


def _converted(folder: str, entry: Lesson) -> str:
    """What nbgrader wrote; student id '.' makes its path shorter than nbgrader's usual one."""
    (path,) = Path(folder).glob(f"**/{entry.name}.ipynb")
    return path.read_text("utf-8")


def join_streams(notebook: NotebookNode) -> None:
    """Join what a cell prints: a kernel sends it in one piece or in several, as it happens."""
    join: Any = CoalesceStreamsPreprocessor
    join().preprocess(notebook, {})


def _refuse_errors(notebook: NotebookNode, entry: Lesson) -> None:
    for position, cell in enumerate(notebook.cells):
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                raise CourseError(
                    f"The solution of {entry.name} fails in cell {grade_id(cell) or position}: "
                    f"{output.ename}: {output.evalue}"
                )


# --- whether a solution is stale --------------------------------------------------------------


def solution_drift(entry: Lesson) -> str:
    """What is wrong with the committed solution, or an empty string."""
    if not entry.solution.exists():
        return "is missing"
    notebook = nb.read(entry.solution)
    if notebook.metadata.get(STAMP, {}) != _stamp(entry, notebook):
        return "was touched, or its lesson or the grader changed since it was executed"
    return ""


def _stamp(entry: Lesson, notebook: NotebookNode) -> dict[str, str]:
    """Digests of what a solution was made from, and of what it then was."""
    rooms = [entry.root / "grader" / room for room in LESSON_ROOMS]
    files = sorted(f for room in rooms for f in (room, *room.glob("**/*.py")) if f.is_file())
    return {
        "lesson": _digest(entry.solved.read_bytes()),
        "grader": _digest(*(f.read_bytes() for f in files)),
        "content": _digest(json.dumps(notebook.cells, sort_keys=True).encode()),
    }


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def _output_drift(entry: Lesson) -> str:
    """Which cell prints something else when executed now; cells tagged `measured` may."""
    fresh = nb.parse(make_solution(entry))
    kept = nb.read(entry.solution)
    for new, old in zip(fresh.cells, kept.cells, strict=True):
        if "measured" not in new.metadata.get("tags", []) and _texts(new) != _texts(old):
            return f"cell {new.id} gives {_short(new)} now, and {_short(old)} is committed"
    return ""


def _short(cell: NotebookNode) -> str:
    return textwrap.shorten(str(_texts(cell)), 120, placeholder=" …")


def _texts(cell: NotebookNode) -> list[Any]:
    """A cell's outputs as text; pictures differ between machines."""
    outputs = cell.get("outputs", [])
    return [each.get("text", each.get("data", {}).get("text/plain")) for each in outputs]


# --- files ------------------------------------------------------------------------------------


def with_table(readme: str, root: Path) -> str:
    """The README with its table of lessons written from course.toml."""
    return README_TABLE.sub(lambda _: course.table(course.lessons(root)), readme)


def _replace(path: Path, text: str) -> bool:
    """Write `text` beside `path` and rename it there; False when the file says it already."""
    if path.exists() and path.read_text("utf-8") == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.new")
    beside.write_text(text, "utf-8")
    beside.replace(path)
    return True
