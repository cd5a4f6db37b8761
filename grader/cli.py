"""`python -m grader`: the commands. Reads arguments, calls a room, prints what it says.

Exit status 0 = done, 1 = something did not pass, 2 = wrong use."""

import json
from pathlib import Path
from typing import Annotated

import typer

from grader import term
from grader.errors import CourseError
from grader.examiner.jail import Level

app = typer.Typer(
    help="Attention from scratch: build the lessons, check and grade notebooks.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


@app.command()
def lab(
    fresh: Annotated[str, typer.Option(help="Start this lesson anew; the old copy stays.")] = "",
    open_browser: Annotated[bool, typer.Option("--open/--no-open", help="Open JupyterLab.")] = True,
) -> None:
    """Copy the lessons that are not in work/ yet, and open JupyterLab there."""
    from grader import work

    if fresh:
        term.out.print(work.start_anew(fresh))
    for copied in work.copy_missing():
        term.out.print(f"copied {copied}")
    if open_browser:
        work.open_jupyterlab()


@app.command()
def build(
    source: Annotated[
        bool, typer.Option("--source", help="Only write build/source, for nbgrader's commands.")
    ] = False,
    check: Annotated[bool, typer.Option("--check", help="Only say what does not agree.")] = False,
    execute: Annotated[
        bool, typer.Option("--execute", help="With --check: execute the solutions too.")
    ] = False,
    execute_all: Annotated[
        bool, typer.Option("--all", help="Execute every solution, stale or not.")
    ] = False,
) -> None:
    """Make notebooks/ and solutions/ from source/."""
    from grader import build as room

    if source:
        room.prepare()
        return
    if not check:
        for path in room.build(execute_all=execute_all):
            term.out.print(f"wrote {path}")
        return
    found = room.drift(execute=execute)
    for drift in found:
        term.err.print(str(drift))
    if found:
        term.err.print(room.MEND)
        raise typer.Exit(1)
    term.out.print("Lessons, notebooks and solutions agree.")


@app.command()
def check(
    notebooks: Annotated[list[Path] | None, typer.Argument(help="Those in work/ if none.")] = None,
    as_json: AsJson = False,
    replay: Annotated[
        str, typer.Option(help="Show this graded cell alone: its failing call and both answers.")
    ] = "",
) -> None:
    """Grade notebooks as their student wants it: points, what is wrong, how far you are."""
    from grader import check as room

    results, unread = [], []
    with room.Checker() as checker:
        for path in term.progress(notebooks or room.own_notebooks(), "Checking"):
            try:
                results.append(checker.check(path))
            except CourseError as error:
                unread.append(str(error))
    if as_json:
        typer.echo(json.dumps([result.as_json() for result in results], indent=2))
    elif replay:
        for result in results:
            room.show_replay(result, replay)
    elif results:
        room.show_all(results)
    for reason in unread:
        term.err.print(reason, markup=False)
    if unread:
        raise typer.Exit(2)
    if any(result.status != "passed" for result in results):
        raise typer.Exit(1)


@app.command()
def grade(
    lesson: Annotated[str, typer.Argument(help="The lesson's name, such as 01-softmax.")],
    submissions: Annotated[
        Path | None, typer.Option("--from", help="Folder of STUDENT/LESSON/LESSON.ipynb.")
    ] = None,
    sample: Annotated[bool, typer.Option("--sample", help="Grade the sample class.")] = False,
    least: Annotated[
        Level, typer.Option("--jail", help="The least of the jail that must work.")
    ] = Level.FULL,
    unsandboxed: Annotated[
        bool, typer.Option("--unsandboxed", help="Grade even where nothing of the jail works.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Grade a class: release, grading, gradebook, feedback, export, and one table."""
    from grader.classroom import grade as room

    least = Level.NONE if unsandboxed else least
    report = room.grade_sample(lesson) if sample else room.grade(lesson, submissions, least)
    if as_json:
        typer.echo(json.dumps(report.as_json(), indent=2))
    else:
        report.show()


@app.command()
def mutants(
    bank: Annotated[
        Path | None, typer.Option(help="Folder with wrong/ and right/; else what is built in.")
    ] = None,
    as_json: AsJson = False,
    table: Annotated[bool, typer.Option("--table", help="Write docs/kill-table.md.")] = False,
) -> None:
    """Test the tests: every wrong implementation must lose points, every right one none."""
    from grader import kill_table
    from grader import mutants as room

    if table:
        term.out.print(f"wrote {kill_table.write()}")
        return
    report = room.of_bank(bank) if bank else room.of_misconceptions()
    if as_json:
        typer.echo(json.dumps(report.as_json(), indent=2))
    else:
        room.show(report)
    if not report.passes:
        raise typer.Exit(1)


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Say what of the grader works on this machine, and what to do about the rest."""
    from grader import doctor as room
    from grader.examiner import jail

    findings = room.examine()
    if as_json:
        typer.echo(json.dumps(room.as_json(findings, jail.probe()), indent=2))
    else:
        for finding in findings:
            term.out.print(f"{'✓' if finding.works else '✗'} {finding.what:<20} {finding.seen}")
            if not finding.works:
                term.out.print(f"  {finding.remedy}")
        term.out.print(jail.probe().sentence, markup=False)
    if not all(finding.works for finding in findings):
        raise typer.Exit(1)


def main() -> None:
    """Run the command line; a CourseError becomes its text and exit status 2."""
    try:
        app()
    except CourseError as error:
        term.err.print(str(error), markup=False)
        raise SystemExit(2) from None
