"""Seconds for one submission of lesson 01, four ways on the same machine in one run:

vanilla nbgrader, nbgrader with the examiner, the engine alone, and the limit: a fork of a warm
process that plainly executes the same set-up, answer and graded cells. Prints the ratios.

    python -m benchmarks.grading [--submissions N]
"""

import argparse
import contextlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from nbformat import NotebookNode

from grader import ahead, build, course, term
from grader import notebook as nb
from grader.classroom import sample
from grader.examiner import jail
from grader.examiner.engine import Lesson
from grader.lesson import Kind, kind

LESSON = "01-softmax"
NOT_FOR_VANILLA = {"s08"}  # a copied cell stops nbgrader's whole run

VANILLA = """
c = get_config()
c.CourseDirectory.root = {root!r}
c.CourseDirectory.source_directory = {source!r}
c.Execute.timeout = 180
"""
OURS = """
import os
os.environ["GRADER_CLASS"] = {root!r}
load_subconfig({config!r})
c = get_config()
"""


def main() -> None:
    """Measure, and print one table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--submissions", type=int, default=40)
    count = options.parse_args().submissions
    entry = course.lesson(LESSON)
    build.prepare()
    with tempfile.TemporaryDirectory() as folder:
        seconds = {
            "vanilla nbgrader": nbgrader(entry, Path(folder) / "vanilla", count, vanilla_config),
            "nbgrader + examiner": nbgrader(entry, Path(folder) / "ours", count, our_config),
            "engine": engine(entry, count),
            "limit": limit(entry, count),
        }
    report(seconds, count)


def notebooks(entry: course.Lesson, count: int) -> list[NotebookNode]:
    """`count` submissions: the sample students in turn."""
    students = [each for each in sample.samples(entry) if each.student not in NOT_FOR_VANILLA]
    made = [sample.submission(student, entry) for student in students]
    return [made[number % len(made)] for number in range(count)]


# --- nbgrader ---------------------------------------------------------------------------------


def vanilla_config(root: Path, entry: course.Lesson) -> str:
    """nbgrader as it comes, on the same source notebooks."""
    shutil.copytree(entry.solved.parents[1], root / "source")
    return VANILLA.format(root=str(root), source="source")


def our_config(root: Path, entry: course.Lesson) -> str:
    """The course's own configuration, with the class in `root`."""
    return OURS.format(root=str(root), config=str(entry.root / "nbgrader_config.py"))


def nbgrader(
    entry: course.Lesson,
    root: Path,
    count: int,
    config: Callable[[Path, course.Lesson], str],
) -> float:
    """Seconds a submission of `nbgrader autograde`, start included, after generate_assignment."""
    root.mkdir()
    (root / "nbgrader_config.py").write_text(config(root, entry))
    for number, notebook in enumerate(notebooks(entry, count)):
        path = root / "submitted" / f"s{number:03d}" / entry.name / f"{entry.name}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(nb.text_of(notebook))
    command(root, "generate_assignment", entry.name, "--force")
    begun = time.perf_counter()
    command(root, "autograde", entry.name)
    spent = time.perf_counter() - begun
    done = len(list((root / "autograded").glob(f"*/{entry.name}/*.ipynb")))
    assert done == count, f"{done} of {count} were graded"
    return spent / count


def command(root: Path, *arguments: str) -> None:
    """Run nbgrader as a person would, from the environment's own folder of commands."""
    own = Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{own}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run(
        [str(own / "nbgrader"), *arguments],
        cwd=root,
        env=environment,
        check=True,
        capture_output=True,
    )


# --- the engine and the limit -----------------------------------------------------------------


def engine(entry: course.Lesson, count: int) -> float:
    """Seconds a submission of the engine alone, its start left out."""
    with Lesson(entry, report=jail.probe(), ahead=True) as lesson:
        warm_up(lesson)
        return each(lambda notebook: lesson.examine_submission(notebook), notebooks(entry, count))


def warm_up(lesson: Lesson) -> None:
    """Grade until the work that a server does ahead is done."""
    begun = time.perf_counter()
    while time.perf_counter() - begun < 10:
        lesson.grade({})


def limit(entry: course.Lesson, count: int) -> float:
    """Seconds a submission of a fork that plainly executes the same cells, once."""
    names: dict[str, object] = {"__name__": "__main__"}
    run_cells(nb.read(entry.released), (Kind.SETUP,), names)
    for _ in ahead.steps([b""]):
        pass

    def in_a_fork(notebook: NotebookNode) -> None:
        pid = os.fork()
        if pid == 0:
            run_cells(notebook, (Kind.ANSWER, Kind.GRADED), dict(names))
            os._exit(0)
        os.waitpid(pid, 0)

    return each(in_a_fork, notebooks(entry, count))


def run_cells(notebook: NotebookNode, kinds: tuple[Kind, ...], names: dict[str, object]) -> None:
    """Execute the cells of these kinds in order; an exception ends only its cell."""
    for cell in notebook.cells:
        if kind(cell) in kinds:
            with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
                exec(compile(cell.source, "<cell>", "exec"), names)


def each(work: Callable[[NotebookNode], object], given: list[NotebookNode]) -> float:
    """Mean seconds of `work` over the notebooks."""
    begun = time.perf_counter()
    for notebook in given:
        work(notebook)
    return (time.perf_counter() - begun) / len(given)


def report(seconds: dict[str, float], count: int) -> None:
    """Print seconds a submission and what each is worth against the others."""
    term.out.print(f"{LESSON}, {count} submissions, seconds each:")
    for name, spent in seconds.items():
        term.out.print(f"  {name:<20} {spent:8.4f}")
    vanilla, ours = seconds["vanilla nbgrader"], seconds["nbgrader + examiner"]
    ratio = seconds["engine"] / seconds["limit"]
    term.out.print(f"nbgrader with the examiner is {vanilla / ours:.1f} times as fast as without.")
    term.out.print(f"The engine takes {ratio:.1f} times the limit.")


if __name__ == "__main__":
    main()
