"""The place where a hostile notebook is graded: a course full of canaries, watched from outside.

Knows what a notebook consists of and what must never change; judges no single attack."""

import contextlib
import json
import select
import shutil
import socket
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from grader import course
from grader import notebook as nb
from grader.examiner import engine, jail, submission
from grader.examiner.engine import Lesson
from grader.examiner.settings import Settings
from grader.lesson import Kind, grade_id, kind
from grader.result import CellResult, Result

CHECKOUT = Path(__file__).resolve().parents[3]
COURSE_FOLDERS = ("grader", "notebooks", "solutions", "source")
MIB = 2**20
QUICK = Settings(
    call_seconds=1.5,
    cell_seconds=2.5,
    notebook_seconds=20.0,
    limits=jail.Limits(4, memory_bytes=512 * MIB, scratch_bytes=8 * MIB, file_bytes=4 * MIB),
)
SECRET = b"a secret of this course"
CANARY = "canary-7d1f-"  # every planted one begins so, and has a word after it

# Functions that are wrong in every cell: they even change their arguments.
WRONG = {
    "softmax_list": "def softmax_list(row):\n    row.clear()\n    return {returned}",
    "softmax": "def softmax(scores, axis=-1):\n    return {returned}",
}


def wrong(returned: str = "None") -> dict[str, str]:
    """Answers that return this expression and earn no point for it."""
    return {name: source.format(returned=returned) for name, source in WRONG.items()}


# --- notebooks ----------------------------------------------------------------------------------


def solved(entry: course.Lesson) -> dict[str, str]:
    """The instructor's answers by grade_id."""
    return {
        grade_id(cell) or "": cell.source
        for cell in nb.read(entry.solution).cells
        if kind(cell) in (Kind.ANSWER, Kind.PREDICT, Kind.WRITTEN)
    }


def notebook(entry: course.Lesson, answers: dict[str, str], own: str = "") -> dict[str, Any]:
    """The released notebook as JSON, filled with answers, `own` in a cell below the set-up."""
    filled: dict[str, Any] = json.loads(entry.released.read_text("utf-8"))
    for cell in filled["cells"]:
        name = name_of(cell)
        if name in answers:
            cell["source"] = answers[name]
    if own:
        filled["cells"].insert(position(filled, "setup") + 1, code(own))
    return filled


def code(source: str, **metadata: Any) -> dict[str, Any]:
    """A code cell."""
    return {
        "cell_type": "code", "id": f"own{abs(hash(source)) % 10**9}", "metadata": metadata,
        "source": source, "outputs": [], "execution_count": None,
    }  # fmt: skip


def name_of(cell: dict[str, Any]) -> str:
    """The cell's grade_id, or an empty string."""
    return str(cell["metadata"].get("nbgrader", {}).get("grade_id", ""))


def position(filled: dict[str, Any], name: str) -> int:
    """Where the cell with this grade_id stands."""
    return [name_of(cell) for cell in filled["cells"]].index(name)


# --- the course ---------------------------------------------------------------------------------


def lay_out_course(root: Path) -> course.Lesson:
    """A copy of the course with a canary wherever something must not be read."""
    for folder in COURSE_FOLDERS:
        unwanted = shutil.ignore_patterns("__pycache__")
        shutil.copytree(CHECKOUT / folder, root / folder, ignore=unwanted)
    (root / "grader/misconceptions").mkdir(exist_ok=True)
    for file, where in [("checks/softmax", "checks"), ("oracle", "oracle")]:
        with (root / f"grader/{file}.py").open("a", encoding="utf-8") as module:
            module.write(f'\nPLANTED = "{CANARY}{where}"\n')
    for file, where in PLANTED.items():
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'PLANTED = "{CANARY}{where}"\n', "utf-8")
    return course.lesson("01-softmax", root)


PLANTED = {
    "grader/misconceptions/planted.py": "misconceptions",
    "class/gradebook.db": "gradebook",
    "class/secret": "secret",
    "class/submitted/s09/01-softmax/01-softmax.ipynb": "submission",
    "solutions/planted.txt": "solutions",
    "tests/planted.py": "tests",
}


def state_of(folder: Path) -> dict[str, tuple[int, int, int]]:
    """What must not change in a folder: of each file its time, size and mode."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if "__pycache__" not in path.parts:
            told = path.lstat()
            found[str(path)] = (told.st_mtime_ns, told.st_size, told.st_mode)
    return found


# --- processes and the network ------------------------------------------------------------------


def processes(word: str) -> set[int]:
    """The living processes in whose command line `word` stands."""
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if word.encode() in (folder / "cmdline").read_bytes():
                    found.add(int(folder.name))
            except OSError:
                continue
    return found


class Harbour:
    """Listens on the loopback by TCP, UDP and a unix socket; nobody ought to call."""

    def __init__(self, folder: Path) -> None:
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.path = folder / "harbour"
        self.unix = socket.socket(socket.AF_UNIX)
        self.unix.bind(str(self.path))
        self.unix.listen()
        self.sockets = (self.tcp, self.udp, self.unix)

    @property
    def ports(self) -> tuple[int, int]:
        return self.tcp.getsockname()[1], self.udp.getsockname()[1]

    def called(self) -> bool:
        """Whether anybody has called since."""
        return bool(select.select(self.sockets, [], [], 0)[0])

    def close(self) -> None:
        for each in self.sockets:
            each.close()


# --- grading ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Graded:
    """What grading one hostile notebook gave; `starts` counts the student's processes."""

    result: Result
    starts: int

    @property
    def points(self) -> float:
        return self.result.points

    def cell(self, name: str) -> CellResult:
        return next(cell for cell in self.result.cells if cell.grade_id == name)

    def messages(self, exercise: str = "") -> str:
        """What the student is told about the graded cells (of one exercise)."""
        told = [cell.message for cell in self.result.graded if exercise in ("", cell.exercise)]
        return "\n".join(told)

    def statuses(self, exercise: str) -> set[str]:
        return {str(cell.status) for cell in self.result.graded if cell.exercise == exercise}

    def told_by(self, cell: str) -> str:
        """What a cell printed."""
        outputs = self.result.outputs.get(cell, [])
        return "".join(output.get("text", "") for output in outputs)

    def everything(self) -> str:
        """All text that leaves the grader, notebook outputs included."""
        return json.dumps(
            [self.result.as_json(), self.result.outputs, repr(self.result)], ensure_ascii=False
        )


class Court:
    """One warm lesson, and an honest notebook graded after each hostile one."""

    def __init__(self, root: Path, report: jail.Report | None, settings: Settings = QUICK) -> None:
        self.root = root
        self.entry = lay_out_course(root / "course")
        self.answers = solved(self.entry)
        self.temporary = root / "temporary"
        self.temporary.mkdir()
        self.harbour = Harbour(root)
        self.lesson = Lesson(self.entry, settings, report, SECRET)

    def open(self) -> None:
        """Start the servers, and see that honest work is worth everything."""
        with self.temporary_files():
            self.lesson.__enter__()
        self.idle = processes(str(self.entry.root))
        self.must_pass(self.grade(notebook(self.entry, self.answers)))
        self.kept = self.state()

    @contextlib.contextmanager
    def temporary_files(self) -> Iterator[pytest.MonkeyPatch]:
        """Have the grader's temporary files lie where they are watched."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tempfile, "tempdir", str(self.temporary))
            yield patch

    def close(self) -> None:
        self.lesson.__exit__()
        self.harbour.close()

    def judge(self, answers: dict[str, str], own: str = "") -> Graded:
        """Grade the released notebook with these answers and this own cell."""
        return self.judge_notebook(notebook(self.entry, answers, own))

    def judge_notebook(self, filled: dict[str, Any] | bytes) -> Graded:
        """Grade a hostile notebook, then an honest one; nothing but the grade may be left of it."""
        graded = self.grade(filled)
        left = processes(str(self.entry.root)) - self.idle
        assert not left, f"processes are left: {left}"
        assert self.state() == self.kept, "something was written outside, or left behind"
        assert not self.harbour.called(), "somebody called over the network"
        assert CANARY not in graded.everything(), "something leaked"
        assert all(cell.points is not None for cell in graded.result.graded)
        self.must_pass(self.grade(notebook(self.entry, self.answers)))
        return graded

    def grade(self, filled: dict[str, Any] | bytes) -> Graded:
        path = self.root / "handed-in.ipynb"
        path.write_bytes(filled if isinstance(filled, bytes) else json.dumps(filled).encode())
        return self.grade_file(path)

    def grade_file(self, path: Path) -> Graded:
        """Grade what lies there, counting how often the student's process is started."""
        starts = []
        fork = engine.Server.begin_fork

        def counted(server: engine.Server, *end: Any, **order: Any) -> None:
            starts.extend([1] * (server.role == "student"))
            fork(server, *end, **order)

        with self.temporary_files() as patch:
            patch.setattr(engine.Server, "begin_fork", counted)
            result = self.lesson.examine_submission(submission.read(path))
            self.lesson.settle()
        return Graded(result, len(starts))

    def must_pass(self, honest: Graded) -> None:
        """The honest neighbour loses nothing."""
        assert honest.points == honest.result.max_points > 0, honest.messages()
        assert not honest.result.notes

    def state(self) -> Any:
        """Everything that no notebook may change."""
        return state_of(self.entry.root), sorted(self.temporary.rglob("*"))
