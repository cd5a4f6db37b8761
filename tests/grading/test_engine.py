"""The engine: what a check says in the examiner is what it says in a plain kernel.

A plain kernel is this process here: the same graded cells, executed beside the student's code."""

import contextlib
import io
import json
import linecache
import os
import re
import signal
import time
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader import course, seeds
from grader import notebook as nb
from grader.errors import CourseError
from grader.examiner import engine, jail, scratch
from grader.examiner.engine import Lesson
from grader.examiner.settings import Settings, admit
from grader.lesson import Kind, grade_id, kind
from grader.names import names_bound
from grader.result import Result, Status
from tests.grading.hostile.court import code, lay_out_course, processes, solved

ENTRY = course.lesson("01-softmax")
SECRET = b"a secret for these tests"
BANK = Path(__file__).parents[1] / "bank"


@pytest.fixture(scope="module")
def lesson() -> Iterator[Lesson]:
    with Lesson(ENTRY, report=jail.probe(), secret=SECRET) as ready:
        yield ready


# --- a plain kernel -----------------------------------------------------------------------------


def run_cell(source: str, name: str, names: dict[str, Any]) -> None:
    """Execute a cell as a kernel does, with its lines known to tracebacks."""
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    exec(compile(source, name, "exec"), names)


def plainly(entry: course.Lesson, answers: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Status and message of each graded cell, the seeds as the examiner takes them."""
    told: dict[str, tuple[str, str]] = {}
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in nb.read(entry.released).cells:
        if kind(cell) is Kind.SETUP:
            run_cell(cell.source, "<set-up>", names)
        elif kind(cell) is Kind.ANSWER:
            run_cell(answers.get(grade_id(cell) or "", cell.source), f"<{grade_id(cell)}>", names)
        elif kind(cell) is Kind.GRADED:
            told[grade_id(cell) or ""] = verdict(cell.source, names)
    seeds.fold_in(b"")
    return told


def verdict(source: str, names: dict[str, Any]) -> tuple[str, str]:
    said = ""
    for secret in (b"", SECRET):
        seeds.fold_in(secret)
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                run_cell(source, "<graded>", names)
        except AssertionError as failed:
            return str(getattr(failed, "status", "failed")), str(failed)
        said = printed.getvalue()
    return "passed", said


def told_by(result: Result) -> dict[str, tuple[str, str]]:
    """The same of a result: a failed cell's message, or what a passed one printed."""
    told = {}
    for cell in result.graded:
        printed = [o.text for o in result.outputs[cell.grade_id] if o.output_type == "stream"]
        said = "".join(printed) if cell.status is Status.PASSED else cell.message
        told[cell.grade_id] = (str(cell.status), said)
    return told


# --- the same verdict and the same message ------------------------------------------------------


def bank(verdict: str) -> list[Path]:
    """Its files that bind what lesson 01 asks for, and nothing of other lessons."""
    files = sorted((BANK / verdict).glob("*.py"))
    return [path for path in files if path.stem.partition("__")[0] in ("softmax", "softmax_list")]


@pytest.mark.parametrize("path", bank("wrong"), ids=lambda path: str(path.stem))
def test_a_wrong_answer_is_told_the_same(path: Path, lesson: Lesson) -> None:
    answers = {path.stem.partition("__")[0]: path.read_text("utf-8")}
    result = lesson.grade(answers)
    assert told_by(result) == plainly(ENTRY, answers)
    exercise = [cell for cell in result.graded if cell.exercise in answers]
    assert any(cell.status is Status.FAILED for cell in exercise)


@pytest.mark.parametrize("path", bank("right"), ids=lambda path: str(path.stem))
def test_a_right_answer_gets_every_point(path: Path, lesson: Lesson) -> None:
    answers = {path.stem.partition("__")[0]: path.read_text("utf-8")}
    result = lesson.grade(answers)
    assert told_by(result) == plainly(ENTRY, answers)
    exercise = [cell for cell in result.graded if cell.exercise in answers]
    assert all(cell.status is Status.PASSED for cell in exercise)


def samples() -> list[Path]:
    """Students of the sample class who wrote one answer an exercise."""
    found = []
    for path in sorted(ENTRY.samples.glob("*.toml")):
        written = [cell.get("grade_id") for cell in sample(path)]
        if written in (["softmax"], ["softmax_list"], ["softmax_list", "softmax"]):
            found.append(path)
    return found


def sample(path: Path) -> list[dict[str, Any]]:
    cells: list[dict[str, Any]] = tomllib.loads(path.read_text("utf-8")).get("cell", [])
    return cells


@pytest.mark.parametrize("path", samples(), ids=lambda path: str(path.stem))
def test_the_sample_class_is_told_the_same(path: Path, lesson: Lesson) -> None:
    answers = {name: solved(ENTRY)[name] for name in ("softmax", "softmax_list")}
    answers |= {cell["grade_id"]: cell["source"].strip() for cell in sample(path)}
    assert told_by(lesson.grade(answers)) == plainly(ENTRY, answers)


RAISING = {
    "an error deep down": "def inner(x):\n    return x / 0\ndef softmax(scores, axis=-1):\n"
    "    return inner(1)",
    "an error in NumPy": "def softmax(scores, axis=-1):\n    return scores @ np.ones((9, 9))",
    "StopIteration": "def softmax(scores, axis=-1):\n    raise StopIteration('done')",
    "prints and warns": "import warnings\ndef softmax(scores, axis=-1):\n    print('mine')\n"
    "    warnings.warn('careful')\n    return scores / 0",
    "an object": "class Weights:\n    pass\ndef softmax(scores, axis=-1):\n    return Weights()",
    "a lambda": "softmax = lambda scores, axis=-1: [scores]",
    "no function": "softmax = [1.0, 2.0]",
    "a class": "class softmax:\n    def __init__(self, scores, axis=-1): self.value = scores",
    "a huge value": "def softmax(scores, axis=-1):\n    return np.zeros((5,) * 6)",
}


@pytest.mark.parametrize("what", RAISING)
def test_what_goes_wrong_is_told_the_same(what: str, lesson: Lesson) -> None:
    answers = {"softmax": RAISING[what]}
    result = lesson.grade(answers)
    plain = plainly(ENTRY, answers)
    assert told_by(result) == plain
    assert plain["softmax-values"][0] in ("failed", "not_written")


def test_untouched_is_not_written(lesson: Lesson) -> None:
    result = lesson.grade({})
    assert told_by(result) == plainly(ENTRY, {})
    assert {cell.status for cell in result.graded} == {Status.NOT_WRITTEN}


# --- a lesson of our own: functions that are lent, objects, memory --------------------------------

TRIAL = '''
import numpy as np
from grader.checks.ask import CheckFailed, asking
from grader.observe import observe

def tell(*seen):
    """Everything that was observed, as the message of a check that failed."""
    told = [(s.value, s.error and (s.error.kind, s.error.message, s.error.where), s.warnings,
             s.changed, s.printed) for s in seen]
    raise CheckFailed("told", "\\n".join(map(repr, told)))

def lend(apply):
    calls = []
    def double(x):
        calls.append(x)
        return 2 * x
    tell(observe(apply, double, 3), observe(apply, double, 4.5), observe(lambda: calls))

def fail(apply):
    def broken(x):
        return x / 0
    tell(observe(apply, broken, 3))

def objects(Counter):
    made = observe(Counter, 5)
    counter = made.value
    up, data = counter.method("up"), [1, 2]
    tell(observe(up), observe(up, by=3), observe(up, data), counter.get("count"), counter.length(),
         counter.get("missing"), observe(counter.method("missing")), observe(counter.method("me")),
         observe(Counter), observe(counter.method("plus"), counter))

def kept(Counter):
    counter = observe(Counter, 5).value
    array = counter.keep(np.ones(2)).value
    tell(observe(counter.method("take"), array), observe(array.method("fill"), 9.0),
         counter.get("taken"))

def is_data(Counter):
    counter = observe(Counter, 5).value
    for ask in (bool, len, iter, float, lambda c: c == 5, lambda c: c.count, lambda c: c()):
        try:
            ask(counter)
        except (TypeError, AttributeError) as error:
            print(type(error).__name__)

def peak(allocate):
    raise CheckFailed("told", str(observe(allocate, memory=True).peak))

def hangs(last):
    while observe(last).value == "for ever":
        while True:
            pass
'''
COUNTER = """class Counter:
    def __init__(self, start): self.count = start
    def up(self, by=1):
        if isinstance(by, list):
            by.append(self.count)
            raise ValueError("no list")
        self.count += by
        return self.count
    def me(self): return self
    def plus(self, other): return self.count + other.count
    def take(self, array): self.taken = array
    def __len__(self): return self.count
"""
CELLS = {
    "apply": ("def apply(f, x):\n    return f(x) + 1", ["lend", "fail"]),
    "Counter": (COUNTER, ["objects", "kept", "is_data"]),
    "allocate": ("def allocate():\n    return 1", ["peak"]),
    "last": ("def last():\n    return 1", ["hangs"]),
}


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lesson]:
    """A lesson whose checks tell what they observed."""
    root = tmp_path_factory.mktemp("trial")
    lay_out_course(root)
    (root / "grader/checks/trial.py").write_text(TRIAL)
    cells = [locked("setup", "import numpy as np\nfrom grader.checks import trial as check")]
    for name, (answer, checks) in CELLS.items():
        marks = {"grade": False, "grade_id": name, "solution": True, "locked": False}
        cells.append(code(answer, nbgrader=marks))
        for each in checks:
            cells.append(locked(f"{name}-{each}", f"check.{each}({name})", points=1))
    text = json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells})
    entry = replace(course.lesson("01-softmax", root), name="00-trial")
    for path in (entry.released, entry.solution):
        path.parent.mkdir()
        path.write_text(text)
    settings = Settings(call_seconds=3, cell_seconds=3, notebook_seconds=30)
    with Lesson(entry, settings, jail.probe(), SECRET) as ready:
        yield ready


def locked(name: str, source: str, **points: int) -> dict[str, Any]:
    marks = {"grade": bool(points), "grade_id": name, "solution": False, "locked": True}
    return code(source, nbgrader={**marks, **points})


def told_plainly(answers: dict[str, str], check: str) -> str:
    """What one check of the trial tells in a plain kernel."""
    names: dict[str, Any] = {"__name__": "__main__"}
    checks: dict[str, Any] = {"__name__": "trial"}
    exec(TRIAL, checks)
    run_cell("import numpy as np", "<set-up>", names)
    for name, source in answers.items():
        run_cell(source, f"<{name}>", names)
    exercise, _, asked = check.partition("-")
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            checks[asked](names[exercise])
    except AssertionError as failed:
        return str(failed)
    return printed.getvalue()


def told_in(trial: Lesson, answers: dict[str, str], check: str) -> str:
    return told_by(trial.grade(answers))[check][1]


APPLYING = {
    "as agreed": "def apply(f, x):\n    return f(x) + 1",
    "never": "def apply(f, x):\n    return 1",
    "often": "def apply(f, x):\n    return [f(n) for n in range(20)]",
    "with arrays": "def apply(f, x):\n    return f(np.array([x, x]))",
    "with an object": "def apply(f, x):\n    return f(object())",
    "with a name that is none": "def apply(f, x):\n    return f(y=x)",
    "too often": "def apply(f, x):\n    for _ in range(10_001): f(1)",
    "and returns it": "def apply(f, x):\n    return f",
    "and looks into it": "def apply(f, x):\n    return f.__name__, f.__doc__, f.__defaults__",
    "with an error of its own": "def apply(f, x):\n    return f(x) + None",
    "kept for later": "kept = []\ndef apply(f, x):\n    kept.append(f)\n    return kept[0](x)",
    "in a recursion": "def apply(f, x):\n    return apply(f, f(x) % 7)",
}


@pytest.mark.parametrize("what", APPLYING)
def test_lent_functions_do_the_same(what: str, trial: Lesson) -> None:
    answers = {"apply": APPLYING[what]}
    plain = told_plainly(answers, "apply-lend")
    inside = told_in(trial, answers, "apply-lend")
    if what == "in a recursion":  # how deep the stack is differs
        assert "RecursionError" in plain and "RecursionError" in inside
    else:
        assert without_addresses(inside) == without_addresses(plain)
    if what != "kept for later":  # there it matters that the trial asks a second time
        told = told_in(trial, answers, "apply-fail"), told_plainly(answers, "apply-fail")
        assert without_addresses(told[0]) == without_addresses(told[1])


def without_addresses(text: str) -> str:
    return re.sub(r"0x\w+", "", text)


def test_a_function_that_was_kept_is_dead(trial: Lesson) -> None:
    told = told_in(trial, {"apply": APPLYING["kept for later"]}, "apply-lend")
    assert told.count("that call is over") == 1  # the second call, with the first one's function


def test_a_function_that_was_kept_is_dead_in_cells_too(trial: Lesson) -> None:
    answers = {
        "apply": "kept = []\ndef apply(f, x):\n    kept.append(f)\n    return f(x)",
        "Counter": COUNTER + "\nkept[0](1)",
    }
    result = trial.grade(answers)
    assert "that call is over" in json.dumps(result.outputs["Counter"])


def test_a_call_budget_holds(trial: Lesson) -> None:
    told = told_in(trial, {"apply": APPLYING["too often"]}, "apply-lend")
    assert "called more than 10000 times" in told


def test_objects_do_the_same(trial: Lesson) -> None:
    answers = {"Counter": COUNTER}
    plain = without_addresses(told_plainly(answers, "Counter-objects"))
    assert without_addresses(told_in(trial, answers, "Counter-objects")) == plain
    assert len(plain.split("\n")) == 10
    plain = told_plainly(answers, "Counter-kept")
    assert told_in(trial, answers, "Counter-kept") == plain
    assert "array([9., 9.])" in plain
    same = told_plainly(answers, "Counter-is_data")
    assert told_in(trial, answers, "Counter-is_data") == same
    assert same.split("\n")[:-1] == ["NotData"] * 5 + ["AttributeError", "NotData"]


@pytest.mark.parametrize(
    ("body", "least", "most"),
    [("x = np.ones(50 * 2**17)\n    return x.sum()", 40e6, 80e6), ("return 1", 0, 5e6)],
    ids=["50 MB", "nothing"],
)
def test_peak_memory_is_measured(body: str, least: float, most: float, trial: Lesson) -> None:
    answers = {"allocate": f"def allocate():\n    {body}"}
    for told in (told_plainly(answers, "allocate-peak"), told_in(trial, answers, "allocate-peak")):
        assert least <= float(told) <= most


def test_a_process_that_dies_while_memory_is_measured(trial: Lesson) -> None:
    answers = {"allocate": "import os\ndef allocate():\n    os._exit(3)"}
    assert told_in(trial, answers, "allocate-peak") == "None"


def test_a_check_that_hangs_costs_time_and_no_other_cell(
    trial: Lesson, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Should a student ever find a value on which a check computes without end."""
    monkeypatch.setattr(trial, "settings", Settings(notebook_seconds=1.0))
    result = trial.grade({"last": "def last():\n    return 'for ever'"})
    last = result.graded[-1]
    assert (last.status, last.points) == (Status.TIMEOUT, 0)
    assert "The time for the whole notebook (1 s) was used up" in last.message
    assert result.graded[0].status is Status.FAILED
    assert result.reason == ""


def test_an_object_does_not_outlive_its_process(trial: Lesson) -> None:
    deadly = COUNTER.replace("def me(self): return self", "def me(self): import os; os._exit(1)")
    told = told_in(trial, {"Counter": deadly}, "Counter-objects")
    assert "the process that held this object has ended" in told


# --- plots, output, state -----------------------------------------------------------------------


def outputs_of(result: Result, cell: str) -> str:
    return json.dumps(result.outputs[cell])


def test_plots_are_kept_and_cost_nothing(lesson: Lesson) -> None:
    answers = solved(ENTRY)
    answers["softmax"] += "\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()\n"
    answers["softmax"] += "plt.plot([3, 4])\nprint('drawn')"
    result = lesson.grade(answers)
    assert result.points == 18
    pictures = [o for o in result.outputs["softmax"] if o.output_type == "display_data"]
    assert len(pictures) == 2
    assert all(set(picture.data) == {"image/png"} for picture in pictures)
    assert "drawn" in outputs_of(result, "softmax")


@pytest.mark.parametrize(
    ("line", "told"),
    [("!ls", "shell commands are not run"), ("%matplotlib tk", ""), ("%matplotlib widget", ""),
     ("name = input()", "input() has nobody to ask")],
)  # fmt: skip
def test_lines_that_only_a_kernel_knows(line: str, told: str, lesson: Lesson) -> None:
    answers = solved(ENTRY)
    answers["softmax"] += f"\n{line}"
    result = lesson.grade(answers)
    assert result.points == 18
    assert told in outputs_of(result, "softmax")


def test_two_notebooks_do_not_see_each_other(lesson: Lesson) -> None:
    answers = solved(ENTRY)
    lesson.grade({**answers, "softmax": answers["softmax"] + "\nnp.mine = math.mine = 1"})
    looking = "\nassert not hasattr(np, 'mine') and 'mine' not in globals()"
    assert lesson.grade({**answers, "softmax": answers["softmax"] + looking}).points == 18
    assert lesson.grade({"softmax_list": answers["softmax_list"]}).points == 5


def test_provenance(lesson: Lesson) -> None:
    told = lesson.grade({}).provenance
    assert set(told) == {"lesson", "grader", "python", "numpy", "secret"}
    assert all(told.values())
    assert SECRET.decode() not in json.dumps(told)
    assert Result.from_json(lesson.grade({}).as_json()).provenance == told


# --- levels, secrets, failures of the grader's own ----------------------------------------------


@pytest.mark.parametrize("landlock", [True, False])
def test_a_partial_jail_grades(landlock: bool) -> None:
    works = jail.probe()
    if works.level is not jail.Level.FULL:
        pytest.skip(works.sentence)
    report = jail.Report(works.landlock if landlock else 0, not landlock, True)
    with Lesson(ENTRY, report=report) as lesson:
        result = lesson.grade(solved(ENTRY))
    assert result.points == 18
    assert result.jail == "partial"
    with pytest.raises(CourseError, match="--jail partial"):
        admit(report, jail.Level.FULL)


def test_no_jail_grades() -> None:
    with Lesson(ENTRY, report=None) as lesson:
        result = lesson.grade(solved(ENTRY))
        assert lesson.grade({"softmax": "import os; os.kill(os.getpid(), 9)"}).points == 0
    assert (result.points, result.jail) == (18, "none")


def test_the_secret_changes_what_is_asked(lesson: Lesson) -> None:
    """Right for every public question, wrong for the course's own; the seed is named."""
    asked = set()
    source = solved(ENTRY)["softmax"]
    names: dict[str, Any] = {}
    exec("import numpy as np\n" + source, names)
    right = names["softmax"]

    def recording(scores: Any, axis: int = -1) -> Any:
        asked.add((scores.tobytes(), axis))
        return right(scores, axis)

    from grader.checks import softmax as check

    for each in (check.values, check.axis, check.large):
        with contextlib.redirect_stdout(io.StringIO()):
            each(recording)
    knows = f"\nknown = {asked!r}\nright = softmax\ndef softmax(scores, axis=-1):\n"
    knows += "    known_one = (scores.tobytes(), axis) in known\n"
    knows += "    return right(scores, axis) if known_one else scores * 0.0"
    result = lesson.grade({"softmax": source + knows})
    cells = {cell.grade_id: cell for cell in result.graded}
    for name in ("softmax-values", "softmax-axis", "softmax-large"):
        assert cells[name].status is Status.FAILED
    with Lesson(ENTRY, report=jail.probe(), secret=b"") as public:
        told = {c.grade_id: c.status for c in public.grade({"softmax": source + knows}).graded}
    assert told["softmax-values"] is told["softmax-axis"] is Status.PASSED


def test_a_lesson_whose_set_up_fails_is_one_clear_line(tmp_path: Path) -> None:
    entry = lay_out_course(tmp_path)
    notebook = json.loads(entry.released.read_text())
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == "setup":
            cell["source"] = "import no_such_module"
    entry.released.write_text(json.dumps(notebook))
    with pytest.raises(CourseError) as failed, Lesson(entry):
        pass
    told = str(failed.value)
    assert told.startswith("01-softmax cannot be graded: ")
    assert "no_such_module" in told and "\n" not in told
    assert gone(str(tmp_path))


def gone(word: str, seconds: float = 5.0) -> bool:
    """Whether no process with `word` in its command line is left before long."""
    deadline = time.monotonic() + seconds
    while processes(word) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not processes(word)


@pytest.mark.parametrize("role", ["student", "examiner"])
def test_a_server_that_dies_is_started_again(role: str, tmp_path: Path) -> None:
    """That notebook is not graded, which is no zero; the next one is."""
    entry = lay_out_course(tmp_path)
    with Lesson(entry, report=jail.probe()) as lesson:
        server = lesson._servers[role]._process
        os.kill(server.pid, signal.SIGKILL)
        result = lesson.grade(solved(entry))
        assert result.status is Status.NOT_GRADED
        assert "grade it once more" in result.reason
        assert all(cell.points is None for cell in result.graded)
        assert lesson.grade(solved(entry)).points == 18
    assert gone(str(tmp_path))


def test_a_notebook_that_cannot_be_rebuilt_leaves_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its processes were started while it was read."""

    def refused(*_: Any) -> Any:
        raise CourseError("this is no notebook")

    entry = lay_out_course(tmp_path)
    with Lesson(entry, report=jail.probe()) as lesson:
        idle = processes(str(entry.root))
        with monkeypatch.context() as patch:
            patch.setattr(engine, "rebuild", refused)
            with pytest.raises(CourseError, match="this is no notebook"):
                lesson.examine_submission(nb.read(entry.released))
        assert lesson.settle()
        assert processes(str(entry.root)) == idle
        assert lesson.grade(solved(entry)).points == 18


def test_what_could_not_be_deleted_is_for_no_other_student(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One folder serves student after student; if anything is left in it, the next gets another."""

    def refused(folder: Path) -> None:
        raise OSError("not permitted")

    entry = lay_out_course(tmp_path)
    with Lesson(entry, report=jail.probe()) as lesson:
        folder = lesson.scratch
        look = "import os; raise RuntimeError(os.listdir())"
        assert "RuntimeError: []" in str(lesson.grade({"softmax_list": look}).as_json())
        (folder / "a note").write_text("the answers are …")
        monkeypatch.setattr(scratch, "empty", refused)
        assert "RuntimeError: []" in str(lesson.grade({"softmax_list": look}).as_json())
        assert lesson.scratch != folder
        monkeypatch.undo()
    assert not lesson.scratch.exists()


def test_every_answer_cell_has_names(lesson: Lesson) -> None:
    for cell in nb.read(ENTRY.solution).cells:
        if kind(cell) is Kind.ANSWER:
            assert grade_id(cell) in names_bound(cell.source)
