"""Canaries in everything that must stay secret; thieves who know where to look and how to tell.

The same thieves find them without the jail, so what they do is no empty gesture."""

import re
import threading
import time
from pathlib import Path

import pytest

from grader.examiner import jail
from tests.grading.hostile.court import CANARY, PLANTED, Court, code, notebook, position, processes

THIEF = """
import builtins, gc, os, sys
from pathlib import Path
found = []
def note(thing):
    text = repr(thing)
    at = text.find('-'.join(['canary', '7d1f']))  # not to be found in this very source
    if at >= 0: found.append(text[at:at + 40])
def steal(*ways):
    for way in ways:
        try: note(way())
        except BaseException as error: note(error)
course = Path({course!r})
"""
FILES = "\n".join(f"steal(lambda: (course / {name!r}).read_text())" for name in PLANTED) + (
    "\nsteal(lambda: (course / 'grader/checks/softmax.py').read_text(),\n"
    "      lambda: (course / 'grader/oracle.py').read_bytes(),\n"
    "      lambda: [p.read_text() for p in course.rglob('*.py')])"
)
WAYS = {
    "files": FILES,
    "imports": (
        "import importlib\nsys.path.insert(0, str(course))\n"
        "for name in ('grader.checks.softmax', 'grader.oracle', 'grader.misconceptions.planted',\n"
        "             'tests.planted'):\n"
        "    sys.modules.pop(name, None)\n"
        "    steal(lambda: vars(importlib.import_module(name)),\n"
        "          lambda: importlib.import_module(name).PLANTED)\n"
        "import pkgutil, runpy, inspect, linecache\n"
        "steal(lambda: runpy.run_path(str(course / 'grader/oracle.py')),\n"
        "      lambda: pkgutil.get_data('grader', 'oracle.py'),\n"
        "      lambda: inspect.getsource(sys.modules['grader.checks.softmax']),\n"
        "      lambda: linecache.getlines(str(course / 'grader/oracle.py')))"
    ),
    "the environment": (
        "steal(lambda: dict(os.environ), lambda: Path('/proc/self/environ').read_text(),\n"
        "      lambda: Path(f'/proc/{os.getppid()}/environ').read_text(),\n"
        "      lambda: os.popen('env').read())\n"
        "import ctypes\n"
        "environ = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), 'environ')\n"
        "n = 0\nwhile environ[n]: note(environ[n]); n += 1"
    ),
    "descriptors": (
        "for number in range(1024):\n"
        "    steal(lambda: os.pread(number, 999, 0),\n"
        "          lambda: Path(f'/proc/self/fd/{number}').read_text(),\n"
        "          lambda: Path(f'/proc/{os.getppid()}/fd/{number}').read_text())"
    ),
    "memory": (
        "for thing in gc.get_objects():\n"
        "    if type(thing) in (dict, list, tuple): steal(lambda: repr(thing)[:10**6])\n"
        "steal(lambda: open('/proc/self/mem', 'rb').read(9),\n"
        "      lambda: open('/proc/self/maps').read())"
    ),
    "the call stack": (
        "frame = sys._getframe()\nwhile frame:\n"
        "    steal(lambda: frame.f_globals, lambda: frame.f_locals,\n"
        "          lambda: frame.f_code.co_consts)\n"
        "    frame = frame.f_back\n"
        "steal(lambda: get_ipython().user_ns, lambda: In, lambda: Out,\n"
        "      lambda: sys.argv, lambda: sys.orig_argv)"
    ),
}
# How a thief tells: by print, error, value, argument, picture, file, warning, exception class.
TELL = """
def told(): return ' '.join(found) or 'nothing found'
print(told(), file=sys.stderr)
import warnings; warnings.warn(told())
open('told', 'w').write(told())
try:
    import matplotlib.pyplot as plt
    plt.figure(); plt.title(told()); plt.show()
except Exception: pass
"""
TELLING = {
    "softmax_list": "def softmax_list(row):\n    row.append(told())\n    return [told()] * 3",
    "softmax": "def softmax(scores, axis=-1):\n    print(told())\n"
    "    raise type('E' + told(), (Exception,), {})(told())",
}


def thief(court: Court, way: str, when: str = "at once") -> tuple[str, dict[str, str]]:
    """A cell and answers that steal in this way, in the cell or in each call, and tell."""
    base = THIEF.replace("{course!r}", repr(str(court.entry.root)))
    if when == "at once":
        return base + WAYS[way] + TELL, TELLING
    body = "\n".join("    " + line for line in WAYS[way].split("\n"))
    in_calls = {
        name: source.replace("):\n", "):\n    thieve()\n", 1) for name, source in TELLING.items()
    }
    return f"{base}def thieve():\n{body}\n{TELL}", in_calls


@pytest.mark.parametrize("when", ["at once", "in a call"])
@pytest.mark.parametrize("way", WAYS)
def test_nothing_secret_gets_out(way: str, when: str, court: Court) -> None:
    own, answers = thief(court, way, when)
    graded = court.judge(answers, own)
    assert graded.points == 0
    assert "nothing found" in graded.messages("softmax"), graded.messages()


def test_without_the_jail_the_thieves_do_find_it(tmp_path: Path) -> None:
    """In the same place, so the jail is what keeps them out; still they earn nothing."""
    unguarded = Court(tmp_path, None)
    unguarded.lesson.__enter__()
    try:
        for way in ("files", "imports"):
            own, answers = thief(unguarded, way)
            graded = unguarded.grade(notebook(unguarded.entry, answers, own))
            assert CANARY in graded.everything()
            assert graded.points == 0
        honest = unguarded.grade(notebook(unguarded.entry, unguarded.answers))
        assert (honest.points, honest.result.jail) == (18, "none")
    finally:
        unguarded.close()


# --- looking from outside -----------------------------------------------------------------------


def memory_of(pid: int, wanted: bytes) -> set[bytes]:
    """Which words that begin with `wanted` stand anywhere in the memory of a process."""
    found: set[bytes] = set()
    maps = (Path("/proc") / str(pid) / "maps").read_text().splitlines()
    with (Path("/proc") / str(pid) / "mem").open("rb", buffering=0) as memory:
        for line in maps:
            area, rights = line.split()[:2]
            start, end = (int(part, 16) for part in area.split("-"))
            if "r" not in rights or line.endswith(("[vvar]", "[vsyscall]", "[vvar_vclock]")):
                continue
            try:
                memory.seek(start)
                data = memory.read(end - start)
            except (OSError, ValueError, OverflowError):
                continue
            found |= set(re.findall(re.escape(wanted) + rb"[a-z]+", data))
    return found


def test_the_students_process_holds_no_secret(court: Court) -> None:
    """Its memory and descriptors, searched from outside while it sleeps; the examiner has them."""
    seen: dict[int, tuple[set[bytes], list[str]]] = {}
    wanted = CANARY.encode()

    def look() -> None:
        time.sleep(1.0)
        for pid in processes(str(court.entry.root)):
            links = []
            for descriptor in (Path("/proc") / str(pid) / "fd").iterdir():
                links.append(str(descriptor.readlink()))
            role = (Path("/proc") / str(pid) / "cmdline").read_bytes().split(b"\0")[-4]
            seen[pid] = (memory_of(pid, wanted), [role.decode(), *sorted(links)])

    looking = threading.Thread(target=look)
    filled = notebook(court.entry, court.answers)
    filled["cells"].insert(position(filled, "softmax-values"), code("import time; time.sleep(2.2)"))
    looking.start()
    try:
        graded = court.judge_notebook(filled)
    finally:
        looking.join()
    assert graded.points == 18
    students = {pid: told for pid, told in seen.items() if told[1][0] == "student"}
    examiners = {pid: told for pid, told in seen.items() if told[1][0] == "examiner"}
    assert len(students) == len(examiners) == 2  # the server, and its child
    for secrets, _ in students.values():
        assert secrets == set()
    for secrets, _ in examiners.values():
        # The search does find things; memory that was freed may also hold half a word of them.
        own = {wanted + b"checks", wanted + b"oracle"}
        assert own <= secrets
        assert all(any(word.startswith(found) for word in own) for found in secrets)
    (child,) = students.keys() - court.idle  # the other one is the server
    kinds = [re.sub(r"\d+", "", link) for link in students[child][1][1:]]
    assert sorted(kinds) == ["/dev/null"] * 3 + ["socket:[]"]


def test_the_probe_is_what_the_court_relies_on(court: Court) -> None:
    assert jail.probe().level is jail.Level.FULL
    assert court.grade(notebook(court.entry, court.answers)).result.jail == "full"
