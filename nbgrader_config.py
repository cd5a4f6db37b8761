"""So that nbgrader's own commands, Formgrader and Validate work on this course, from the root."""

import os
from pathlib import Path

from nbgrader import preprocessors as step

from grader.classroom.nbgrader_plugin import (
    ClearSolutions,
    CsvExport,
    DropMarkers,
    Examine,
    Rebuild,
)

# Where a class is graded: one git-ignored folder. GRADER_CLASS=build/sample-class shows the
# sample class in Formgrader.
CLASS = os.environ.get("GRADER_CLASS", "class")

ROOT = Path(__file__).resolve().parent
(ROOT / CLASS).mkdir(parents=True, exist_ok=True)  # SQLite makes the gradebook, not its folder

c = get_config()  # noqa: F821  (traitlets gives it)

c.CourseDirectory.root = str(ROOT)
c.CourseDirectory.source_directory = "build/source"
c.CourseDirectory.release_directory = "notebooks"
c.CourseDirectory.solution_directory = "solutions"
c.CourseDirectory.submitted_directory = f"{CLASS}/submitted"
c.CourseDirectory.autograded_directory = f"{CLASS}/autograded"
c.CourseDirectory.feedback_directory = f"{CLASS}/feedback"
c.CourseDirectory.db_url = f"sqlite:///{ROOT / CLASS}/gradebook.db"
c.ExportApp.plugin_class = CsvExport
c.CsvExport.to = f"{CLASS}/grades.csv"

c.ClearSolutions.code_stub = {"python": "raise NotImplementedError"}
c.ClearSolutions.text_stub = "*Write your answer here.*"
c.GenerateAssignment.preprocessors = [
    step.IncludeHeaderFooter,
    step.LockCells,
    ClearSolutions,
    step.ClearOutput,
    step.CheckCellMetadata,
    step.ComputeChecksums,
    step.SaveCells,
    step.ClearHiddenTests,
    step.ClearMarkScheme,
    step.ComputeChecksums,
    step.CheckCellMetadata,
]
c.GenerateSolution.preprocessors = [
    step.IncludeHeaderFooter,
    step.LockCells,
    step.ClearOutput,
    step.ClearMarkScheme,
    DropMarkers,
    step.Execute,
]

# Submissions are rebuilt and examined, not repaired and executed (docs/how-it-works.md). What the
# examiner can be set to: `jail` and its limits, each with its default, stand in
# grader/classroom/nbgrader_plugin.py, class Examine; for example c.Examine.jail = "partial".
c.Autograde.sanitize_preprocessors = [Rebuild]
c.Autograde.autograde_preprocessors = [Examine, step.SaveAutoGrades, step.AssignLatePenalties]
c.Examine.secret_file = f"{CLASS}/secret"

# Times of day in a notebook would make every execution a change.
c.NotebookClient.record_timing = False
# A cell that prints twice may else give one output or two, as the wind blows.
c.NotebookClient.coalesce_streams = True
c.Execute.timeout = 180
# The kernel's own warnings would stand among the lines of build and grade.
c.Execute.extra_arguments = ["--HistoryManager.hist_file=:memory:", "--IPKernelApp.log_level=40"]
