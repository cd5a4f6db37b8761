"""Takes a class through nbgrader: release, autograde, feedback, export; then one table.

One student's broken notebook stops that student alone."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook
from nbgrader.converters import Autograde, GenerateAssignment, GenerateFeedback
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text
from traitlets.config import Config

from grader import build, course, term
from grader import notebook as nb
from grader.classroom import sample
from grader.classroom.nbgrader_plugin import STAMP, CsvExport
from grader.course import Lesson
from grader.errors import CourseError
from grader.examiner import jail
from grader.examiner.settings import admit
from grader.nbgrader_steps import course_config, run
from grader.result import Result, Status

SAMPLE_CLASS = "build/sample-class"


@dataclass(frozen=True)
class ClassReport:
    """What one run of `grade` gave: a result for each student, and where everything lies."""

    lesson: str
    folder: Path
    results: dict[str, Result]
    what: dict[str, str]

    def as_json(self) -> dict[str, Any]:
        """The form that `--json` prints."""
        return {
            "lesson": self.lesson,
            "folder": str(self.folder),
            "jail": str(jail.probe().level),
            "students": [
                {"student": student, **result.as_json()} for student, result in self.results.items()
            ],
        }

    def show(self) -> None:
        """Print the table student × exercise, then where gradebook, feedback and CSV are."""
        term.out.print(_table(self.lesson, self.results))
        term.out.print(Text(jail.probe().sentence))
        term.out.print(f"gradebook  {self.folder / 'gradebook.db'}", highlight=False)
        term.out.print(
            f"feedback   {self.folder / 'feedback'}/STUDENT/{self.lesson}/", highlight=False
        )
        term.out.print(f"grades     {self.folder / 'grades.csv'}", highlight=False)


def grade_sample(name: str, root: Path = course.ROOT) -> ClassReport:
    """Build the sample class of a lesson anew and grade it, apart from any real class."""
    entry = course.lesson(name, root)
    build.prepare(root)
    folder = root / SAMPLE_CLASS
    shutil.rmtree(folder, ignore_errors=True)
    sample.write_class(entry, folder / "submitted")
    return _grade(entry, SAMPLE_CLASS, jail.Level.NONE)


def grade(
    name: str,
    submissions: Path | None,
    least: jail.Level = jail.Level.FULL,
    root: Path = course.ROOT,
) -> ClassReport:
    """Grade the class in class/submitted, after copying `submissions` there if it is given.

    Raises CourseError when there is nothing to grade, or less of the jail works than `least`.
    """
    entry = course.lesson(name, root)
    admit(jail.probe(), least)
    build.prepare(root)
    if submissions:
        _take_in(submissions, entry, root / "class" / "submitted")
    return _grade(entry, "class", least)


def _take_in(submissions: Path, entry: Lesson, folder: Path) -> None:
    found = sorted(submissions.glob(f"*/{entry.name}/{entry.name}.ipynb"))
    if not found:
        shape = f"{submissions}/STUDENT/{entry.name}/{entry.name}.ipynb"
        raise CourseError(f"There is nothing to grade: no notebook is named like {shape}.")
    for path in found:
        target = folder / path.relative_to(submissions)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)


def _grade(entry: Lesson, class_folder: str, least: jail.Level) -> ClassReport:
    folder = entry.root / class_folder
    students = sorted(
        path.parents[1].name for path in folder.glob(f"submitted/*/{entry.name}/*.ipynb")
    )
    if not students:
        raise CourseError(f"There is nothing to grade in {folder / 'submitted'}.")
    config = class_config(entry.root, class_folder)
    config.Examine.jail = str(least)
    run(GenerateAssignment, config, entry.name, force=True)
    results = {
        student: _grade_student(entry, config, student, folder)
        for student in term.progress(students, f"Grading {entry.name}")
    }
    with Gradebook(config.CourseDirectory.db_url) as gradebook:
        CsvExport(config=config).export(gradebook)
    what = {each.student: each.what for each in sample.samples(entry)}
    return ClassReport(entry.name, Path(class_folder), results, what)


def class_config(root: Path, folder: str) -> Config:
    """The course's nbgrader configuration, with everything of the class in `folder`."""
    config = course_config(
        root,
        release_directory=f"{folder}/released",
        submitted_directory=f"{folder}/submitted",
        autograded_directory=f"{folder}/autograded",
        feedback_directory=f"{folder}/feedback",
        db_url=f"sqlite:///{root / folder / 'gradebook.db'}",
    )
    config.Examine.secret_file = f"{folder}/secret"
    config.CsvExport.to = str(root / folder / "grades.csv")
    return config


def _grade_student(entry: Lesson, config: Config, student: str, folder: Path) -> Result:
    """Autograde and feedback for one student; a failure becomes the reason it is not graded."""
    try:
        run(Autograde, config, entry.name, student=student, force=True)
        run(GenerateFeedback, config, entry.name, student=student, force=True)
    except CourseError as error:
        return Result(entry.name, (), reason=str(error).partition("failed: ")[2] or str(error))
    executed = folder / "autograded" / student / entry.name / f"{entry.name}.ipynb"
    return Result.from_json(nb.read(executed).metadata[STAMP]["result"])


# --- the table --------------------------------------------------------------------------------


def _table(lesson: str, results: dict[str, Result]) -> Table:
    graded = next((result for result in results.values() if result.cells), None)
    exercises = [exercise for exercise, _ in graded.by_exercise()] if graded else []
    table = Table("student", title=lesson, title_justify="left", box=SIMPLE_HEAD)
    for exercise in exercises:
        table.add_column(exercise, justify="right", no_wrap=True)
    table.add_column("sum", justify="right", no_wrap=True)
    table.add_column("what was wrong", ratio=1)
    for student, result in results.items():
        table.add_row(student, *_points(result, len(exercises)), _sum(result), _wrong(result))
    return table


def _points(result: Result, count: int) -> list[str]:
    if not result.cells:
        return ["–"] * count
    sums = []
    for _, cells in result.by_exercise():
        points = [cell.points for cell in cells]
        worth = sum(cell.max_points for cell in cells)
        by_hand = all(point is None for point in points)
        sums.append("by hand" if by_hand else f"{sum(p or 0 for p in points):g}/{worth:g}")
    return sums


def _sum(result: Result) -> str:
    return "–" if result.reason else f"{result.points:g}/{result.max_points:g}"


def _wrong(result: Result) -> Text:
    """What was wrong in a few words, by exercise."""
    if result.reason:
        return Text(f"not graded: {result.reason}")
    told: dict[str, dict[str, None]] = {}
    for cell in result.graded:
        if cell.status is not Status.PASSED:
            told.setdefault(cell.exercise, {})[cell.few_words] = None
    return Text("; ".join(f"{exercise}: {', '.join(words)}" for exercise, words in told.items()))
