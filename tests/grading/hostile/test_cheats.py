"""Cheats that change the world around a wrong answer: none earns a point, none leaves a trace."""

import pytest

from grader.lesson import Kind, grade_id, kind
from tests.grading.hostile.court import SECRET, Court, wrong

RIGHT = """
def right(row):
    highest = max(row)
    if highest == -math.inf:
        return [0.0 for _ in row]
    terms = [math.exp(score - highest) for score in row]
    return [term / sum(terms) for term in terms]
"""
DONE = "\nprint('attacked')"

CHEATS = {
    "NumPy's assertions": (
        "import numpy.testing\n"
        "for name in dir(numpy.testing):\n"
        "    if name.startswith('assert'): setattr(numpy.testing, name, lambda *_, **__: None)"
    ),
    "NumPy's comparisons": (
        "for name in ('allclose', 'isclose', 'array_equal', 'all', 'any', 'isfinite', 'abs'):\n"
        "    setattr(np, name, lambda *_, **__: True)"
    ),
    "builtins": (
        "import builtins\n"
        "builtins.all = builtins.any = builtins.isinstance = lambda *_: True\n"
        "builtins.abs = lambda _: 0.0\nbuiltins.max = builtins.min = lambda *_, **__: 0"
    ),
    "more builtins": (
        "import builtins\nbuiltins.AssertionError = builtins.Exception = ArithmeticError\n"
        "builtins.compile = builtins.exec = lambda *_, **__: None\nbuiltins.len = lambda _: 3"
    ),
    "the checks module": (
        "import sys, types\nfake = types.ModuleType('grader.checks.softmax')\n"
        "fake.__getattr__ = lambda name: lambda *_, **__: None\n"
        "sys.modules['grader.checks.softmax'] = sys.modules['grader.checks'] = check = fake"
    ),
    "the oracle": (
        "import sys, types\nfake = types.ModuleType('grader.oracle')\n"
        "fake.softmax = fake.softmax_row = lambda *_, **__: None\n"
        "sys.modules['grader.oracle'] = fake"
    ),
    "a cell after each": (
        "get_ipython().events.register('post_run_cell', lambda *_: print('18/18'))"
    ),
    "an input transformer": (
        "get_ipython().input_transformers_cleanup.append(lambda lines: ['pass\\n'])\n"
        "get_ipython().input_transformers_post.append(lambda lines: ['pass\\n'])"
    ),
    "an AST transformer": (
        "import ast\nclass Nothing(ast.NodeTransformer):\n"
        "    def visit_Module(self, node): return ast.Module([ast.Pass()], [])\n"
        "get_ipython().ast_transformers.append(Nothing())"
    ),
    "an exception handler": (
        "get_ipython().set_custom_exc((BaseException,), lambda *_, **__: print('18/18'))"
    ),
    "run_cell": "get_ipython().run_cell = lambda *_, **__: None",
    "run_cell_async": "get_ipython().run_cell_async = lambda *_, **__: None",
    "do_execute": "get_ipython().do_execute = lambda *_, **__: {'status': 'ok'}",
    "showtraceback": "get_ipython().showtraceback = lambda *_, **__: print('score: 18')",
    "In and Out": "In = Out = _ih = ['check.values(softmax)'] * 99\nget_ipython().reset()",
    "a trace": (
        "import sys\ndef trace(frame, event, argument):\n"
        "    if event == 'return' and frame.f_code.co_name == 'perform': frame.f_lineno = 1\n"
        "    return trace\nsys.settrace(trace); sys.setprofile(trace)"
    ),
    "atexit": "import atexit, os\natexit.register(lambda: open('late', 'w'))",
    "json and struct": (
        "import json, struct, os\njson.dumps = json.loads = lambda *_, **__: [True]\n"
        "json.JSONEncoder.encode = lambda *_: 'true'\nstruct.pack = lambda *_: b''"
    ),
    "os.write": "import os\nos.write = lambda fd, data: len(data)",
    "import": (
        "import sys\nclass Finder:\n    def find_spec(self, *_): raise SystemExit\n"
        "sys.meta_path.insert(0, Finder())\nsys.path_hooks.clear(); sys.path[:] = []\n"
        "for name in list(sys.modules):\n"
        "    if name.startswith('grader'): sys.modules[name] = None"
    ),
    "recursion limit": "import sys\nsys.setrecursionlimit(60)",
    "its own names": "__name__ = 'examiner'; check = figures = None; np = math = 3",
    "a score of its own": (
        "from IPython.display import display\nprint('18 of 18 points')\n"
        "display({'application/vnd.grade+json': {'points': 18}, 'text/html': '<script>1</script>'},"
        " raw=True)"
    ),
    "the grader's own stage": (
        "import grader.observe as o\n"
        "o._changed = lambda *_: []\no.describe = lambda _: None\n"
        "o.Stage._report = lambda self, *_: o.wire.encode([[1/6, 1/3, 1/2], None, [], [], ''])"
    ),
    "the stage itself": (
        "import grader.observe as o\nright = o.wire.encode([[1/6, 1/3, 1/2], None, [], [], ''])\n"
        "o.Stage.perform = lambda self, *_, **__: (right, 0)"
    ),
    "the encoding": "import grader.wire as w\nw.encode = lambda *_, **__: b'\\0\\0\\0\\4true'",
    "the channel": "import grader.channel as c\nc.Channel.send = lambda *_: None",
    "the channel's twin": (
        "import grader.channel as c\nsend = c.Channel.send\n"
        "def twice(self, *_):\n    send(self, *_); send(self, *_)\nc.Channel.send = twice"
    ),
    "the fetch": (
        "import grader.observe as o\no.Stage.fetch = lambda self, names: o.wire.encode("
        "{name: ['value', [True, 1.0]] for name in names})"
    ),
    "a fetch that ends the process": (
        "import grader.observe as o, os\no.Stage.fetch = lambda self, names: os._exit(1)"
    ),
    "a fetch of nonsense": (
        "import grader.observe as o\no.Stage.fetch = lambda self, names: o.wire.encode([18.0])"
    ),
    "a fetch of arrays": (
        "import grader.observe as o\no.Stage.fetch = lambda self, names: o.wire.encode("
        "{name: np.array([[1, 2], [3, 4]]) for name in names})"
    ),
    "a fetch of nothing": (
        "import grader.observe as o\no.Stage.fetch = lambda self, names: o.wire.encode("
        "{name: [] for name in names})"
    ),
    "collected objects": (
        "import gc, types\nfor thing in gc.get_objects():\n"
        "    if type(thing) is dict and 'status' in thing: thing['status'] = 'passed'"
    ),
    "the call stack": (
        "import sys\nframe = sys._getframe()\nwhile frame:\n"
        "    frame.f_globals['status'] = frame.f_locals['status'] = 'passed'\n"
        "    frame = frame.f_back"
    ),
    "a collector that never rests": "import gc\ngc.set_threshold(1)\ngc.unfreeze()",
}
LOST = {"failed", "error", "timeout", "not_written"}
# These break the student's own process on the way out, so that nothing of the cell comes back.
FATAL = {"the channel", "the encoding", "run_cell", "json and struct", "recursion limit",
         "more builtins", "os.write", "builtins"}  # fmt: skip


@pytest.mark.parametrize("what", CHEATS)
def test_no_cheat_earns_a_point(what: str, court: Court) -> None:
    graded = court.judge(wrong(), CHEATS[what] + DONE)
    assert graded.points == 0, graded.messages()
    assert {str(cell.status) for cell in graded.result.graded} <= LOST
    if what not in FATAL:
        assert "attacked" in graded.told_by("own-1"), graded.result.outputs["own-1"]


@pytest.mark.parametrize("what", ["NumPy's assertions", "builtins", "the checks module",
                                  "an exception handler", "collected objects"])  # fmt: skip
def test_a_cheat_inside_the_call_earns_none_either(what: str, court: Court) -> None:
    body = "\n".join("    " + line for line in CHEATS[what].split("\n"))
    answers = {
        name: source.replace("    return", f"{body}\n    return")
        for name, source in wrong().items()
    }
    assert court.judge(answers).points == 0


# --- answers that know the test -----------------------------------------------------------------


def test_answers_that_differ_when_asked_twice_are_found_out(court: Court) -> None:
    once = RIGHT + (
        "asked = set()\n"
        "def first(key):\n    known = key in asked\n    asked.add(key)\n    return not known\n"
    )
    answers = {
        "softmax_list": "def softmax_list(row):\n"
        "    return right(row) if first(tuple(row)) else [9.0] * len(row)",
        "softmax": court.answers["softmax"].replace("def softmax", "def honest")
        + "\ndef softmax(scores, axis=-1):\n"
        "    key = (scores.tobytes(), scores.shape, scores.dtype.str, axis)\n"
        "    return honest(scores, axis) if first(key) else scores * 0 + 9",
    }
    graded = court.judge(answers, once)
    passed = {cell.grade_id for cell in graded.result.graded if cell.points}
    assert passed == set()


def recorded(court: Court, secret: bytes) -> dict[str, dict[str, str]]:
    """What each graded cell asks under a seed, and the right answers, as Python text."""
    from grader import seeds
    from grader.checks import softmax as check

    seeds.fold_in(secret)
    asked: dict[str, dict[str, str]] = {}
    names: dict[str, object] = {"check": check}
    for source in court.answers.values():
        if source.startswith("def"):
            exec("import math, numpy as np\n" + source, names)
    for name in ("softmax_list", "softmax"):
        names[name] = _recorder(names[name], lambda: asked[current])
    for cell in court.lesson.released.cells:
        if kind(cell) is Kind.GRADED:
            current = grade_id(cell) or ""
            asked[current] = {}
            exec(cell.source, names)
    seeds.fold_in(b"")
    return asked


def _recorder(function, table):  # type: ignore[no-untyped-def]
    def record(given, axis=None):  # type: ignore[no-untyped-def]
        answer = function(given) if axis is None else function(given, axis)
        data = answer if isinstance(answer, list) else (answer.tolist(), str(answer.dtype))
        table()[_key(given, axis)] = repr(data)
        return answer

    return record


def _key(given, axis):  # type: ignore[no-untyped-def]
    held = given if isinstance(given, list) else (given.tolist(), str(given.dtype))
    return repr((held, axis))


TABLE = """
inf, nan = math.inf, math.nan
table = {table}
def known(given, axis=None):
    held = given if isinstance(given, list) else (given.tolist(), str(given.dtype))
    return eval(table[repr((held, axis))])
"""
FROM_TABLE = {
    "softmax_list": "def softmax_list(row):\n    return known(row)",
    "softmax": "def softmax(scores, axis=None):\n    data, kind = known(scores, axis)\n"
    "    return np.array(data, kind)",
}


def test_a_table_of_the_public_questions_answers_no_other(court: Court) -> None:
    """Every cell that draws anything at random is lost: the course's secret asks it as well."""
    public, private = recorded(court, b""), recorded(court, SECRET)
    random = {name for name in public if public[name].keys() != private[name].keys()}
    assert {"softmax-values", "softmax-axis", "softmax-large", "softmax_list-by-hand"} <= random
    table = {key: answer for asked in public.values() for key, answer in asked.items()}
    graded = court.judge(FROM_TABLE, TABLE.replace("{table}", repr(table)))
    for name in random:
        assert graded.cell(name).points == 0, name
        assert "KeyError" in graded.cell(name).message
    # That the table is right, and the attack a real one: it answers what is asked of everybody.
    for name in public.keys() - random:
        assert graded.cell(name).points, graded.cell(name).message


# --- arguments ----------------------------------------------------------------------------------


def test_zeroed_arguments_do_not_change_what_is_expected(court: Court) -> None:
    answers = {
        "softmax_list": "def softmax_list(row):\n"
        "    row[:] = [0.0] * len(row)\n    return [1 / len(row) for _ in row]",
        "softmax": "def softmax(scores, axis=-1):\n    scores.setflags(write=True)\n"
        "    scores.fill(0)\n"
        "    return np.full(scores.shape, 1 / scores.shape[axis], scores.dtype)",
    }
    graded = court.judge(answers)
    assert graded.points == 0, graded.messages()


# --- the network, signals, processes, files ------------------------------------------------------

TRIED = """
import os, signal, socket, ctypes, threading, subprocess, multiprocessing, tempfile, sys
from pathlib import Path
def attempt(*attempts):
    for number, one in enumerate(attempts):
        try:
            print('SUCCESS', number, one())
        except (OSError, RuntimeError, AttributeError) as error:
            print(type(error).__name__)
"""
WORLD = {
    "TCP": "attempt(lambda: socket.create_connection(('127.0.0.1', {tcp})),\n"
    "        lambda: socket.create_server(('127.0.0.1', 0)))",
    "UDP": "attempt(lambda: socket.socket(2, 2).sendto(b'x', ('127.0.0.1', {udp})))",
    "a unix socket": "attempt(lambda: socket.socket(1).connect({unix!r}),\n"
    "        lambda: socket.socketpair())",
    "a download": "import urllib.request\n"
    "attempt(lambda: urllib.request.urlopen('http://127.0.0.1:{tcp}/'))",
    "signals": "attempt(*[lambda p=p, s=s: os.kill(p, s) for s in (0, 9, 15)\n"
    "          for p in (os.getppid(), -1, 0, 1, os.getpid(), {grader})],\n"
    "        lambda: os.killpg(0, 9), lambda: signal.pidfd_send_signal(0, 9))",
    "alarms": "attempt(lambda: signal.setitimer(signal.ITIMER_REAL, 0.01),\n"
    "        lambda: os.setpriority(0, 0, -5))",
    "forks": "attempt(*[os.fork for _ in range(200)], lambda: os.forkpty())",
    "daemons": "attempt(lambda: subprocess.Popen(['sleep', '99']), lambda: os.setsid(),\n"
    "        lambda: os.system('sleep 99 &') and 1 / 0 if False else os.posix_spawn(\n"
    "            '/bin/sleep', ['sleep', '99'], {{}}))",
    "threads": "attempt(*[threading.Thread(target=print, daemon=True).start for _ in range(9)],\n"
    "        lambda: multiprocessing.Process(target=print).start())",
    "another program": "attempt(lambda: os.execv(sys.executable, ['python', '-c', '1']))",
    "the course": "attempt(*[lambda f=f, m=m: open('{course}/' + f, m) for m in 'wax' for f in (\n"
    "    'source/01-softmax/01-softmax.md', 'class/gradebook.db', 'grader/oracle.py', 'new',\n"
    "    'class/submitted/s09/01-softmax/01-softmax.ipynb', 'sitecustomize.py')],\n"
    "    lambda: os.rename('{course}/class', '{course}/gone'),\n"
    "    lambda: os.truncate('{course}/class/gradebook.db', 0),\n"
    "    lambda: os.chmod('{course}/class/gradebook.db', 0o777),\n"
    "    lambda: os.utime('{course}/class/gradebook.db'),\n"
    "    lambda: os.link('{course}/class/gradebook.db', 'here'),\n"
    "    lambda: os.symlink('{course}/class/gradebook.db', 'here'),\n"
    "    lambda: os.unlink('{course}/class/gradebook.db'))",
    "Python's start": "import site, sysconfig\n"
    "places = [sysconfig.get_path('purelib'), sysconfig.get_path('stdlib'), '/etc', '/usr/lib',\n"
    "          os.path.expanduser('~'), '/tmp', '/var/tmp', '/dev/shm', '{temporary}', '..']\n"
    "attempt(*[lambda p=p, n=n: open(os.path.join(p, n), 'w') for p in places\n"
    "          for n in ('sitecustomize.py', 'hostile.pth', 'usercustomize.py')],\n"
    "        lambda: os.mkdir('{temporary}/new'))",
    "a shared library": "attempt(lambda: ctypes.CDLL('./evil.so'),\n"
    "        lambda: ctypes.CDLL(None).system(b'true') == 0 or os.stat('none'))",
}


@pytest.mark.parametrize("what", WORLD)
def test_nothing_outside_is_reached(what: str, court: Court) -> None:
    import os

    tcp, udp = court.harbour.ports
    attack = WORLD[what].format(
        tcp=tcp, udp=udp, unix=str(court.harbour.path), course=court.entry.root,
        temporary=court.temporary, grader=os.getpid(),
    )  # fmt: skip
    graded = court.judge(wrong(), TRIED + attack + DONE)
    told = graded.told_by("own-1")
    assert "attacked" in told
    assert "SUCCESS" not in told, told
    assert graded.points == 0
    inside = {name: source + "\n" for name, source in wrong().items()}
    inside["softmax"] = (
        "def softmax(scores, axis=-1):\n"
        + "\n".join("    " + line for line in attack.split("\n"))
        + "\n    return scores"
    )
    assert court.judge(inside, TRIED).points == 0


def test_what_a_notebook_leaves_behind_the_next_one_does_not_find(court: Court) -> None:
    own = (
        "import os, builtins\nopen('left', 'w').write('x')\nos.makedirs('deep/er')\n"
        "builtins.left = np.left = 1\nos.umask\nprint(sorted(os.listdir('.')))"
    )
    court.judge(court.answers, own)
    look = (
        "import os, builtins as b\nprint(os.listdir('.'), hasattr(b, 'left'), hasattr(np, 'left'))"
    )
    graded = court.judge(court.answers, look)
    assert graded.told_by("own-1") == "[] False False\n"
