"""The lessons in order, as source/course.toml lists them, and where each one's files lie.

Knows names and paths only: no notebook is opened here."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from grader.errors import CourseError

ROOT = Path(__file__).resolve().parents[1]
COURSE_FILE = ROOT / "source" / "course.toml"


@dataclass(frozen=True)
class Lesson:
    """One entry of course.toml. `built` ends the sentence "You will have built …"."""

    name: str
    title: str
    built: str
    minutes: int
    needs: str
    objectives: tuple[str, ...]
    root: Path = ROOT

    @property
    def source(self) -> Path:
        """The lesson as it is written by hand (MyST Markdown)."""
        return self.root / "source" / self.name / f"{self.name}.md"

    @property
    def samples(self) -> Path:
        """The folder of the sample class's answers."""
        return self.root / "source" / self.name / "samples"

    @property
    def solved(self) -> Path:
        """The instructor's notebook, with answers and checks; made by build, not committed."""
        return self.root / "build" / "source" / self.name / f"{self.name}.ipynb"

    @property
    def released(self) -> Path:
        """What students open."""
        return self.root / "notebooks" / self.name / f"{self.name}.ipynb"

    @property
    def solution(self) -> Path:
        """The solved lesson, executed."""
        return self.root / "solutions" / self.name / f"{self.name}.ipynb"

    @property
    def own_copy(self) -> Path:
        """The student's own copy."""
        return self.root / "work" / self.name / f"{self.name}.ipynb"


def lessons(root: Path = ROOT) -> tuple[Lesson, ...]:
    """Every lesson of the course below `root`, in order.

    Raises CourseError when course.toml is missing or an entry lacks a field.
    """
    path = root / COURSE_FILE.relative_to(ROOT)
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))["lesson"]
        return tuple(
            Lesson(**{**entry, "objectives": tuple(entry["objectives"])}, root=root)
            for entry in entries
        )
    except FileNotFoundError:
        raise CourseError(f"{path} is missing: run this inside a clone of the course.") from None
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise CourseError(f"{path} cannot be read as a list of lessons: {error}.") from None


def lesson(name: str, root: Path = ROOT) -> Lesson:
    """The lesson called `name` ("01-softmax"), or a CourseError that lists the names."""
    by_name = {entry.name: entry for entry in lessons(root)}
    if name not in by_name:
        raise CourseError(f"There is no lesson {name!r}. The lessons are: {', '.join(by_name)}.")
    return by_name[name]


def head(entry: Lesson) -> str:
    """The first Markdown cell of a lesson: what it is, how long, what it needs, its source."""
    number = int(entry.name.split("-")[0])
    goals = "\n".join(f"- {goal}" for goal in entry.objectives)
    source = entry.source.relative_to(entry.root).as_posix()
    return (
        f"# {number}. {entry.title}\n\n"
        f"At the end of this lesson you will have built {entry.built}.\n\n"
        f"**Time:** {entry.minutes} minutes. **You need:** {entry.needs}.\n\n"
        f"You will learn to\n\n{goals}\n\n"
        f"*Made from `{source}`.*"
    )


def table(entries: tuple[Lesson, ...]) -> str:
    """The README's table of lessons."""
    rows = [
        f"| [{entry.name}](notebooks/{entry.name}/{entry.name}.ipynb) | {entry.title} "
        f"| {entry.built} | {entry.minutes} |"
        for entry in entries
    ]
    return "\n".join(["| lesson | title | what you build | minutes |", "|---|---|---|---:|", *rows])
