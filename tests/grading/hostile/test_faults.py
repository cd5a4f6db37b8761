"""Honest mistakes: notebooks that are broken, cut, mixed up, or whose cells stop or never end."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.errors import CourseError
from tests.grading.hostile.court import QUICK, Court, code, name_of, notebook, position, solved

Filled = dict[str, Any]


# --- files that cannot be read ------------------------------------------------------------------

UNREADABLE = {
    "not JSON": (b"softmax = 1", "is not JSON"),
    "empty": (b"", "the file is empty"),
    "white space": (b"\n \n", "the file is empty"),
    "truncated": (b'{"cells": [{"cell_type": "code", "sour', "ends in the middle"),
    "not UTF-8": ('{"cells": [], "é": 1}'.encode("latin-1"), "not UTF-8"),
    "no notebook": (b'{"answer": 42}', "JSON but no notebook"),
    "brackets without end": (b'{"cells": ' + b"[" * 10**6, "JSON that no notebook has"),
    "too many cells": (json.dumps({"cells": [{"cell_type": "raw"}] * 2001}).encode(), "2001 cells"),
}


@pytest.mark.parametrize("what", UNREADABLE)
def test_an_unreadable_file_is_refused_with_the_reason(what: str, court: Court) -> None:
    data, reason = UNREADABLE[what]
    with pytest.raises(CourseError) as refused:
        court.grade(data)
    assert reason in str(refused.value)
    assert "handed-in.ipynb" in str(refused.value)
    assert "\n" not in str(refused.value)
    court.must_pass(court.grade(notebook(court.entry, court.answers)))


def test_a_huge_file_is_refused_unread(court: Court) -> None:
    path = court.root / "handed-in.ipynb"
    with path.open("wb") as file:
        file.truncate(200 * 10**6)
    with pytest.raises(CourseError, match="larger than 20 MB"):
        court.grade_file(path)


# --- notebooks in disorder ----------------------------------------------------------------------


def delete(filled: Filled, *names: str) -> None:
    filled["cells"] = [cell for cell in filled["cells"] if name_of(cell) not in names]


def cell_of(filled: Filled, name: str) -> dict[str, Any]:
    found: dict[str, Any] = filled["cells"][position(filled, name)]
    return found


def deleted_test(filled: Filled) -> None:
    delete(filled, "softmax-values", "softmax-large", "softmax_list-large")


def edited_test(filled: Filled) -> None:
    cell_of(filled, "softmax-values")["source"] = "check.values(42); 1/0"


def retyped_test(filled: Filled) -> None:
    cell = cell_of(filled, "softmax-values")
    cell["cell_type"] = "markdown"
    del cell["outputs"], cell["execution_count"]


def retyped_answer(filled: Filled) -> None:
    cell = cell_of(filled, "softmax")
    cell["cell_type"] = "raw"
    del cell["outputs"], cell["execution_count"]


def changed_points(filled: Filled) -> None:
    for cell in filled["cells"]:
        if "points" in cell["metadata"].get("nbgrader", {}):
            cell["metadata"]["nbgrader"] |= {"points": 1000, "locked": False}


def changed_metadata(filled: Filled) -> None:
    for cell in filled["cells"]:
        marks = cell["metadata"].get("nbgrader", {})
        marks |= {"grade": not marks.get("grade"), "solution": False, "task": True}


def lost_metadata(filled: Filled) -> None:
    for cell in filled["cells"]:
        cell["metadata"] = {}


def copied_test(filled: Filled) -> None:
    filled["cells"].insert(0, cell_of(filled, "softmax-values"))


def copied_answer(filled: Filled) -> None:
    """The copy above is a first try; the last definition counts."""
    at = position(filled, "softmax")
    first = {**filled["cells"][at], "source": "def softmax(scores, axis=-1):\n    return 1"}
    filled["cells"].insert(at, first)


def split_answer(filled: Filled) -> None:
    at = position(filled, "softmax")
    half = {**filled["cells"][at], "source": "import math\nPLACE = -1", "id": "half"}
    filled["cells"].insert(at, half)


def same_cell_ids(filled: Filled) -> None:
    for cell in filled["cells"]:
        cell["id"] = "one"


def old_nbformat(filled: Filled) -> None:
    cells = [
        {**cell, "input": cell["source"], "language": "python"} if cell["cell_type"] == "code"
        else cell
        for cell in filled.pop("cells")
    ]  # fmt: skip
    for cell in cells:
        if cell["cell_type"] == "code":
            del cell["source"]
    filled |= {"nbformat": 3, "nbformat_minor": 0, "worksheets": [{"cells": cells}]}


def old_schema(filled: Filled) -> None:
    for cell in filled["cells"]:
        if "nbgrader" in cell["metadata"]:
            cell["metadata"]["nbgrader"] |= {"schema_version": 1}
            cell["metadata"]["nbgrader"].pop("task")


def written_below(filled: Filled) -> None:
    """The answer stands in a new cell, and the stub stays above it."""
    at = position(filled, "softmax")
    filled["cells"].insert(at + 1, code(filled["cells"][at]["source"]))
    filled["cells"][at]["source"] = "def softmax(scores, axis=-1):\n    raise NotImplementedError"


def moved_answer(filled: Filled) -> None:
    cell = filled["cells"].pop(position(filled, "softmax"))
    filled["cells"].append(cell)


def foreign_kernel(filled: Filled) -> None:
    filled["metadata"]["kernelspec"] = {"name": "julia-9", "display_name": "?", "language": "J"}


def no_metadata(filled: Filled) -> None:
    filled["metadata"] = {}


def older_release(filled: Filled) -> None:
    """Exercises and cells that are no more, others missing, in another order."""
    delete(filled, "softmax-rows", "softmax-dtype", "picture")
    gone = {"nbgrader": {"grade": True, "grade_id": "gone", "points": 5, "solution": False}}
    filled["cells"].insert(3, code("check.gone(softmax)", **gone))
    gone = {"nbgrader": {"grade": False, "grade_id": "gone-too", "solution": True}}
    filled["cells"].insert(4, code("def gone(): return 1", **gone))


DISORDER: list[Callable[[Filled], None]] = [
    deleted_test, edited_test, retyped_test, retyped_answer, changed_points, changed_metadata,
    lost_metadata, copied_test, copied_answer, split_answer, same_cell_ids, old_nbformat,
    old_schema, written_below, moved_answer, foreign_kernel, no_metadata, older_release,
]  # fmt: skip
NOTED = (
    deleted_test, edited_test, retyped_answer, copied_test, copied_answer, split_answer,
    lost_metadata, older_release,
)  # fmt: skip


@pytest.mark.parametrize("disturb", DISORDER, ids=lambda each: str(each.__name__))
def test_disorder_costs_no_point_of_a_right_answer(
    disturb: Callable[[Filled], None], court: Court
) -> None:
    filled = notebook(court.entry, court.answers)
    disturb(filled)
    graded = court.judge_notebook(filled)
    assert graded.points == graded.result.max_points == 18, graded.messages()
    assert bool(graded.result.notes) is (disturb in NOTED), graded.result.notes


def test_a_deleted_answer_costs_its_own_points_only(court: Court) -> None:
    filled = notebook(court.entry, court.answers)
    delete(filled, "softmax_list")
    graded = court.judge_notebook(filled)
    assert graded.statuses("softmax_list") == {"not_written"}
    assert graded.statuses("softmax") == {"passed"}
    assert any("softmax_list is not there" in note for note in graded.result.notes)


def test_a_demo_cell_that_was_changed_is_not_run(court: Court) -> None:
    filled = notebook(court.entry, court.answers)
    cell_of(filled, "picture")["source"] = "while True: pass"
    graded = court.judge_notebook(filled)
    assert graded.points == 18
    assert graded.starts == 1
    assert "picture" in " ".join(graded.result.notes)


# --- cells that stop ----------------------------------------------------------------------------

STOPS = {
    "a syntax error": ("def softmax(scores:\n", "SyntaxError"),
    "an exception": ("{right}\n1 / 0", "ZeroDivisionError"),
    "sys.exit()": ("import sys\nsys.exit(3)\n{right}", "SystemExit"),
    "exit()": ("exit()\n{right}", "exit"),
    "quit()": ("quit()\n{right}", "quit"),
    "os._exit()": ("import os\nos._exit(0)\n{right}", "ended itself (exit status 0)"),
    "a segmentation fault": ("import ctypes\nctypes.string_at(0)\n{right}", "segmentation fault"),
    "a kill of itself": ("import os\nos.kill(os.getpid(), 9)\n{right}", "PermissionError"),
    "a kill of its parent": ("import os\nos.kill(os.getppid(), 9)\n{right}", "PermissionError"),
    "an abort": ("import os\nos.abort()\n{right}", "Python itself crashed"),
    "KeyboardInterrupt": ("raise KeyboardInterrupt\n{right}", "KeyboardInterrupt"),
    "GeneratorExit": ("raise GeneratorExit\n{right}", "GeneratorExit"),
    "MemoryError": ("raise MemoryError\n{right}", "MemoryError"),
    "input()": ("name = input('your name? ')\n{right}", "input() has nobody to ask"),
    "a deep recursion": ("def f(n): return f(n + 1)\nf(0)\n{right}", "RecursionError"),
    "too deep a nest": ("(" * 300 + ")" * 300 + "\n{right}", "SyntaxError"),
    "a cell that is no Python": ("%%bash\nls /\n", ""),
}


@pytest.mark.parametrize("what", STOPS)
def test_a_cell_that_stops_costs_its_own_exercise_with_the_reason(what: str, court: Court) -> None:
    source, reason = STOPS[what]
    stops = source.replace("{right}", court.answers["softmax"])
    if what == "an exception":  # the function was defined before
        stops = source.replace("{right}", "x = 1")
    graded = court.judge({**court.answers, "softmax": stops})
    assert graded.statuses("softmax_list") == {"passed"}
    assert "passed" not in graded.statuses("softmax")
    assert reason in graded.messages("softmax")


@pytest.mark.parametrize("what", ["os._exit()", "a segmentation fault", "an abort"])
def test_cells_before_and_after_a_fatal_one_count(what: str, court: Court) -> None:
    """The process is started again and the cells before the fatal one are replayed."""
    fatal = STOPS[what][0].replace("{right}", "")
    filled = notebook(court.entry, court.answers)
    filled["cells"].insert(position(filled, "softmax"), code(fatal))
    filled["cells"].insert(position(filled, "softmax_list") + 1, code("between = 1"))
    graded = court.judge_notebook(filled)
    assert graded.points == 18, graded.messages()
    assert graded.starts == 2


def test_a_call_that_ends_the_process_fails_that_cell_alone(court: Court) -> None:
    dies = court.answers["softmax"].replace(
        "scores = np.asarray(scores)", "scores = np.asarray(scores)\n"
        "    if scores.dtype == np.int8:\n        import os; os._exit(7)", 1,
    )  # fmt: skip
    graded = court.judge({**court.answers, "softmax": dies})
    assert graded.points == 17, graded.messages()
    assert "exit status 7" in graded.cell("softmax-integers").message


def test_a_process_that_always_dies_is_not_started_for_ever(court: Court) -> None:
    dies = "import os\ndef softmax(scores, axis=-1):\n    os._exit(1)"
    graded = court.judge({**court.answers, "softmax": dies})
    assert graded.points == 5
    assert graded.starts <= court.lesson.settings.restarts + 1


# --- cells and functions that never end ---------------------------------------------------------

LOOPS = {
    "bare": "while True: pass",
    "one that catches interrupts": (
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass"
    ),
    "one that sleeps": "import time\nwhile True: time.sleep(9)",
    "one that ignores signals": (
        "import signal\nfor n in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGXCPU):\n"
        "    signal.signal(n, signal.SIG_IGN)\nwhile True: pass"
    ),
    "one in C": "sum(1 for _ in iter(int, 1))",
}


@pytest.mark.parametrize("loop", LOOPS)
def test_an_endless_cell_is_stopped_once(loop: str, court: Court) -> None:
    graded = court.judge({**court.answers, "softmax": LOOPS[loop]})
    assert graded.statuses("softmax_list") == {"passed"}
    assert graded.statuses("softmax") == {"timeout"}
    assert "did not end within 2.5 s" in graded.messages("softmax")
    assert graded.starts == 2


def test_an_endless_function_is_waited_for_once(court: Court) -> None:
    answers = {
        "softmax": court.answers["softmax"],
        "softmax_list": "def softmax_list(row):\n    while True: pass",
    }
    graded = court.judge(answers)
    assert graded.statuses("softmax_list") == {"timeout"}
    assert graded.statuses("softmax") == {"passed"}
    assert graded.starts == 2  # one process was lost, so one call was waited for
    assert "did not end within 1.5 s" in graded.messages("softmax_list")


def test_a_new_definition_is_tried_again(court: Court) -> None:
    """What was slow was the old function; the new one is not punished for it."""
    filled = notebook(court.entry, court.answers)
    filled["cells"].insert(
        position(filled, "softmax_list-large"), code(court.answers["softmax_list"])
    )
    cell_of(filled, "softmax_list")["source"] = "def softmax_list(row):\n    while True: pass"
    graded = court.judge_notebook(filled)
    assert graded.statuses("softmax") == {"passed"}
    assert graded.cell("softmax_list-masked").points == 1, graded.messages()


def test_the_whole_notebook_is_bounded(court: Court, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many endless cells: what is left is not waited for, and is told so."""
    short = replace(QUICK, cell_seconds=1.0, notebook_seconds=4.0)
    monkeypatch.setattr(court.lesson, "settings", short)
    filled = notebook(court.entry, court.answers)
    at = position(filled, "setup") + 1
    filled["cells"][at:at] = [code(f"while {n}: pass") for n in range(1, 30)]
    graded = court.judge_notebook(filled)
    assert graded.points == 0
    assert graded.starts <= 5  # 4 s in all, 1 s a cell
    assert {str(cell.status) for cell in graded.result.graded} == {"timeout"}
    assert "The time for the whole notebook (4 s) was used up" in graded.messages()


# --- right code with company --------------------------------------------------------------------

COMPANY = {
    "warnings": "import warnings\nwarnings.warn('careful')",
    "stderr": "import sys\nprint('noise', file=sys.stderr)",
    "warnings as errors": "import warnings\nwarnings.simplefilter('error')",
    "errors of NumPy": "np.seterr(all='raise')",
    "%matplotlib tk": "%matplotlib tk",
    "%matplotlib inline": "%matplotlib inline",
    "a plot": "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()",
    "another backend": "import matplotlib\nmatplotlib.use('TkAgg')\n",
    "a huge plot": "import matplotlib.pyplot as plt\nplt.figure(figsize=(900, 900))\nplt.show()",
    "a shell command": "!ls /",
    "an output of one": "files = !ls /",
    "a magic": "%time x = 1",
    "an unknown magic": "%nosuchmagic",
    "an unknown package": "import nosuchpackage",
    "another lesson's import": "from grader.checks import attention\nattention.check_all()",
    "a display": "from IPython.display import display, HTML\ndisplay(HTML('<b>'))\n1",
    "threads": "import threading\nthreading.Thread(target=print).start()",
    "a process pool": "import multiprocessing\nmultiprocessing.Pool(2)",
    "a file": "open('notes.txt', 'w').write('mine')\nopen('notes.txt').read()",
    "a leftover": "del figures, check\nmath = np = None\nimport math, numpy as np",
}


@pytest.mark.parametrize("what", COMPANY)
def test_right_code_earns_everything_whatever_stands_beside_it(what: str, court: Court) -> None:
    graded = court.judge(court.answers, COMPANY[what])
    assert graded.points == 18, graded.messages()
    assert graded.starts == 1


NOISY = "    import sys, warnings; print('noise', file=sys.stderr); warnings.warn('careful')\n"


def test_right_functions_that_warn_and_print_earn_everything(court: Court) -> None:
    noisy = {
        name: source.replace('"""\n    ', f'"""\n{NOISY}    ', 1)
        for name, source in court.answers.items()
    }
    assert NOISY in noisy["softmax"]
    assert court.judge(noisy).points == 18


def test_modules_of_the_students_own_shadow_nothing(court: Court, tmp_path: Path) -> None:
    for name in ("numpy.py", "random.py", "ipykernel_launcher.py", "sitecustomize.py"):
        (court.root / name).write_text("raise SystemExit")
    try:
        court.kept = court.state()
        own = (
            "for name in ('numpy', 'random', 'math', 'json'):\n"
            "    open(name + '.py', 'w').write('raise SystemExit')\n"
            "import sys, os, importlib\nsys.path.insert(0, os.getcwd())\nsys.path.insert(0, '')\n"
            "importlib.invalidate_caches()\nimport random"
        )
        graded = court.judge(court.answers, own)
    finally:
        for name in ("numpy.py", "random.py", "ipykernel_launcher.py", "sitecustomize.py"):
            (court.root / name).unlink()
    assert graded.points == 18, graded.messages()


def test_own_cells_that_carry_points_give_none(court: Court) -> None:
    stub = {"softmax": "def softmax(scores, axis=-1):\n    raise NotImplementedError"}
    filled = notebook(court.entry, {**court.answers, **stub})
    for number in range(3):
        marks = {"grade": True, "locked": True, "points": 50, "solution": False,
                 "grade_id": f"bonus-{number}", "schema_version": 3, "task": False}  # fmt: skip
        filled["cells"].append(code("50", nbgrader=marks))
    graded = court.judge_notebook(filled)
    assert graded.points == 5
    assert graded.result.max_points == 18
    assert "give no points" in " ".join(graded.result.notes)


def test_the_solved_notebook_is_worth_everything(court: Court) -> None:
    assert court.judge(solved(court.entry)).points == 18
