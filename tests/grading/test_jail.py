"""The jail from inside: each attack, and each honest piece of work, in a fresh process.

Attacks that can succeed outside are also tried there, so that none is refused for another reason.
Everything runs as the user who tests and, if that is root, as an ordinary user too."""

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from grader.examiner import jail

HERE = Path(__file__).resolve().parent
COURSE = HERE.parents[1]
ORDINARY = 65534
ROOT = os.getuid() == 0 if hasattr(os, "getuid") else False
REPORT = jail.probe()
DEFAULTS = jail.Limits()

full_jail = pytest.mark.skipif(REPORT.level is not jail.Level.FULL, reason=REPORT.sentence)


# --- people and places ------------------------------------------------------------------------


@dataclass(frozen=True)
class Person:
    """Somebody who runs Python: the command, and where the course lies for them."""

    uid: int
    python: tuple[str, ...]
    course: Path
    libraries: Path | None = None

    @property
    def environment(self) -> dict[str, str]:
        found = {"LD_LIBRARY_PATH": str(self.libraries)} if self.libraries else {}
        return {
            **found,
            "OPENBLAS_NUM_THREADS": "1",
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(self.course),
        }


@dataclass(frozen=True)
class Outcome:
    """How a run ended: what it answered, or the signal that ended it."""

    answer: dict[str, Any]
    status: int
    complaints: str

    @property
    def done(self) -> bool:
        return "result" in self.answer


@dataclass
class Place:
    """A scratch folder, and beside it a file that must stay as it is."""

    person: Person
    root: Path

    @property
    def outside(self) -> Path:
        return self.root / "outside"

    @property
    def scratch(self) -> Path:
        return self.root / "scratch"

    def run(
        self,
        code: str,
        *,
        before: str = "",
        jailed: bool = True,
        report: jail.Report = REPORT,
        limits: jail.Limits = DEFAULTS,
    ) -> Outcome:
        order = {
            "before": before,
            "code": code,
            "limits": asdict(limits),
            "outside": str(self.outside),
            "report": asdict(report) if jailed else None,
            "scratch": str(self.scratch),
        }
        done = subprocess.run(
            [
                *self.person.python,
                str(self.person.course / "tests/grading/inmate.py"),
                json.dumps(order),
            ],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd="/",
            env={**self.person.environment, "TMPDIR": str(self.root)},
            timeout=120,
        )
        answer = json.loads(done.stdout) if done.stdout else {}
        return Outcome(answer, done.returncode, done.stderr)


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _tree(source: Path, target: Path, *left_out: str) -> None:
    shutil.copytree(
        source,
        target,
        symlinks=True,
        copy_function=_link_or_copy,
        ignore=shutil.ignore_patterns(*left_out),
        dirs_exist_ok=True,
    )


@pytest.fixture(scope="session")
def ordinary() -> Iterator[Person]:
    """An ordinary user with an interpreter of their own: root's may lie where they cannot go.

    Its packages lie inside the standard library's folder, as they do without a virtual
    environment, and the course is a copy.
    """
    if not ROOT:
        pytest.skip("only root can become an ordinary user; the other runs are one already")
    if not shutil.which("setpriv"):
        pytest.skip("setpriv is not there to become an ordinary user")
    root = Path(tempfile.mkdtemp())
    root.chmod(0o755)
    try:
        library = Path("lib") / f"python{sys.version_info.major}.{sys.version_info.minor}"
        base = root / "python"
        (base / "bin").mkdir(parents=True)
        (base / "lib").mkdir()
        python = base / "bin" / "python3"
        _link_or_copy(os.path.realpath(sys.executable), str(python))
        for shared in (Path(sys.base_prefix) / "lib").glob("libpython*"):
            _link_or_copy(str(shared), str(base / "lib" / shared.name))
        _tree(
            Path(sysconfig.get_path("stdlib")), base / library, "site-packages", "test", "idlelib"
        )
        site = base / library / "site-packages"
        _tree(
            Path(sysconfig.get_path("purelib")),
            site,
            *("*attention_from_scratch*", "playwright", "jupyterlab", "mypy", "*.pth", "notebook"),
        )
        _tree(COURSE / "grader", root / "course/grader")
        _tree(HERE, root / "course/tests/grading")
        (site / "grader").mkdir()
        (site / "grader/oracle.py").write_text("answer = 42\n")
        become = ("setpriv", f"--reuid={ORDINARY}", f"--regid={ORDINARY}", "--clear-groups")
        person = Person(ORDINARY, (*become, str(python)), root / "course", base / "lib")
        tried = subprocess.run(
            [*person.python, "-c", "import numpy, IPython, matplotlib"],
            capture_output=True,
            cwd="/",
            env=person.environment,
        )
        if tried.returncode:
            pytest.skip(f"no interpreter for an ordinary user: {tried.stderr.decode()}")
        yield person
    finally:
        shutil.rmtree(root)


@pytest.fixture(params=["the one who tests", "ordinary"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """A place for one person; deleted afterwards."""
    if request.param == "ordinary":
        person: Person = request.getfixturevalue("ordinary")
    else:
        person = Person(os.getuid(), (sys.executable,), COURSE)
    root = Path(tempfile.mkdtemp())
    for folder in (root, root / "outside", root / "scratch"):
        folder.mkdir(exist_ok=True)
        os.chown(folder, person.uid, -1)
    canary = root / "outside/canary"
    canary.write_text("alive")
    os.chown(canary, person.uid, -1)
    (root / "scratch/link").symlink_to(canary)
    yield Place(person, root)
    shutil.rmtree(root)


# --- attacks ----------------------------------------------------------------------------------

ANYONE, AS_ROOT, NEVER = "anyone", "as root", "never"  # who can do it outside the jail


@dataclass(frozen=True)
class Attack:
    """What is tried, in words and in code; `before` runs before the door closes."""

    what: str
    code: str
    before: str = ""
    outside: str = ANYONE
    errors: tuple[str, ...] = ("EPERM", "EACCES")
    raises: str = "OSError"

    def __str__(self) -> str:
        return self.what


READING = [
    Attack("read the course's source", "(course / 'grader/oracle.py').read_text()"),
    Attack("list the course", "os.listdir(course)"),
    Attack("list the checks", "os.listdir(course / 'grader/checks')"),
    Attack("read a file beside the scratch folder", "(outside / 'canary').read_text()"),
    Attack("list other scratch folders", "os.listdir(os.path.dirname(os.getcwd()))"),
    Attack("read through a link", "open('link').read()"),
    Attack(
        "read relative to an open folder",
        "os.open('canary', os.O_RDONLY, dir_fd=folder)",
        "folder = os.open(outside, os.O_PATH)",
    ),
    Attack("read a home", "os.listdir(os.path.expanduser('~'))", outside=AS_ROOT),
    Attack("read accounts", "open('/etc/passwd').read()"),
    Attack("list the root folder", "os.listdir('/')"),
    Attack("list temporary files", "os.listdir('/tmp')"),
    Attack("read its own memory", "open('/proc/self/mem', 'rb')"),
    Attack("read its own environment", "open('/proc/self/environ').read()"),
    Attack("read the parent's environment", "open(f'/proc/{parent}/environ').read()", "", AS_ROOT),
    Attack("list processes", "os.listdir('/proc')"),
    Attack("read the kernel's settings", "open('/proc/sys/kernel/ostype').read()"),
    Attack("look at devices", "os.listdir('/sys/devices')"),
    Attack("open a device", "open('/dev/zero', 'rb')"),
    Attack("map physical memory", "open('/dev/mem', 'rb')", "", NEVER, ("EACCES", "ENOENT")),
    Attack("open a terminal", "open('/dev/tty')", "", NEVER),
    Attack("open with openat2", "call('openat2', -100, b'/etc/passwd', bytes(24), 24)"),
    Attack("open by handle", "call('open_by_handle_at', -100, bytes(16), 0)", "", NEVER),
]
CANARY = "outside / 'canary'"
WRITING = [
    Attack("write", f"({CANARY}).write_text('dead')"),
    Attack("append", f"open({CANARY}, 'a').write('dead')"),
    Attack("write through a link", "open('link', 'w')"),
    Attack("make a file", "open(outside / 'new', 'w')"),
    Attack("make a folder", "os.mkdir(outside / 'new')"),
    Attack("truncate by name", f"os.truncate({CANARY}, 0)"),
    Attack("unlink", f"os.unlink({CANARY})"),
    Attack(
        "rename out", "os.rename('f', outside / 'f')", "f = open(outside / '../scratch/f', 'w')"
    ),
    Attack("rename in", f"os.rename({CANARY}, 'canary')", errors=("EACCES", "EXDEV")),
    Attack("hard link in", f"os.link({CANARY}, 'hard')"),
    Attack("make a link", "os.symlink('/', 'soft')"),
    Attack("make a pipe with a name", "os.mkfifo('pipe')"),
    Attack("make a device", "os.mknod('device', 0o20666, os.makedev(1, 3))", "", AS_ROOT),
    Attack("change the mode", f"os.chmod({CANARY}, 0o777)"),
    Attack("change the mode of its own file", "open('f', 'w'); os.chmod('f', 0o6777)"),
    Attack("change times", f"os.utime({CANARY}, (0, 0))"),
    Attack("change the owner", f"os.chown({CANARY}, os.getuid(), os.getgid())"),
    Attack("set an attribute", f"os.setxattr({CANARY}, 'user.x', b'1')"),
    Attack("write into the standard library", "open(os.__file__, 'a')", "", AS_ROOT),
    Attack("write into the packages", "open(numpy.__file__, 'a')", "import numpy", AS_ROOT),
    Attack("watch a folder", "call('inotify_init1', 0)"),
    Attack("watch a file system", "call('fanotify_init', 0, 0)", "", NEVER),
]
NETWORK = [
    Attack(f"socket {family} {kind}", f"socket.socket(socket.{family}, socket.{kind})", needs, who)
    for needs in ("import socket",)
    for family, kind, who in (
        ("AF_INET", "SOCK_STREAM", ANYONE),
        ("AF_INET", "SOCK_DGRAM", ANYONE),
        ("AF_INET", "SOCK_RAW", NEVER),
        ("AF_INET6", "SOCK_STREAM", NEVER),
        ("AF_UNIX", "SOCK_STREAM", ANYONE),
        ("AF_UNIX", "SOCK_DGRAM", ANYONE),
        ("AF_NETLINK", "SOCK_RAW", NEVER),
        ("AF_PACKET", "SOCK_RAW", NEVER),
    )
] + [
    Attack("pair of sockets", "socket.socketpair()", "import socket"),
    Attack(
        "bind an open socket",
        "s.bind(('127.0.0.1', 0))",
        "import socket; s = socket.socket()",
    ),
    Attack(
        "bind an open socket to an abstract name",
        r"s.bind('\0name')",
        "import socket; s = socket.socket(socket.AF_UNIX)",
    ),
    Attack("listen through asyncio", "asyncio.new_event_loop()", "import asyncio"),
]
PROCESSES = [
    Attack("fork", "os.fork() or os._exit(0)"),
    Attack("vfork", "call('vfork')", "", NEVER),
    Attack("clone", "call('clone', 17, 0, 0, 0, 0) or os._exit(0)"),
    Attack("clone3", "call('clone3', bytes(88), 88)", "", NEVER),
    Attack("exec", "os.execv(sys.executable, ['python'])", "", NEVER),
    Attack("exec a shell", "os.execv('/bin/sh', ['sh'])", "", NEVER),
    Attack("exec what it wrote", "os.execv('f', ['f'])", "", NEVER, ("EPERM", "EACCES", "ENOENT")),
    Attack(
        "posix_spawn",
        "os.waitpid(os.posix_spawn(sys.executable, ['python', '-c', ''], {}), 0)",
    ),
    Attack("subprocess", "subprocess.run([sys.executable, '-c', ''])", "import subprocess"),
    Attack("multiprocessing", "m.Process().start()", "import multiprocessing as m"),
    Attack(
        "thread",
        "threading.Thread(target=print).start()",
        "import threading",
        errors=(),
        raises="RuntimeError",
    ),
    Attack("signal the parent", "os.kill(parent, 0)", "", AS_ROOT),
    Attack("signal itself", "os.kill(os.getpid(), 0)"),
    Attack("signal its group", "os.killpg(group, 0)", "group = os.getpgrp()"),
    Attack("signal everybody", "os.kill(-1, 0)", "", NEVER),
    Attack("signal a thread", "call('tgkill', os.getpid(), os.getpid(), 0)"),
    Attack(
        "have the parent signalled by a file",
        "fcntl.fcntl(r, fcntl.F_SETOWN, parent)",
        "import fcntl; r, w = os.pipe()",
    ),
    Attack(
        "hold up others by a lock", "fcntl.lockf(f, 2)", "import fcntl; f = open('/dev/null','w')"
    ),
    Attack("open a process", "os.pidfd_open(parent)"),
    Attack("take another's file", "call('pidfd_getfd', 0, 0, 0)", "", NEVER),
    Attack("wait for a child", "os.wait()", "", NEVER),
    Attack("be traced", "call('ptrace', 0, 0, 0, 0)"),
    Attack("trace the parent", "call('ptrace', 16, parent, 0, 0)", "", NEVER),
    Attack("read another's memory", "call('process_vm_readv', parent, 0, 0, 0, 0, 0)"),
    Attack("write another's memory", "call('process_vm_writev', parent, 0, 0, 0, 0, 0)"),
    Attack("ask for another's limits", "resource.prlimit(parent, 7)", "import resource", AS_ROOT),
    Attack("set another's limits", "resource.prlimit(parent, 7, (9, 9))", "import resource", NEVER),
    Attack("yield to others", "os.nice(1)"),
    Attack("be scheduled first", "os.sched_setscheduler(0, 1, os.sched_param(1))", "", NEVER),
    Attack("move to a processor", "os.sched_setaffinity(0, os.sched_getaffinity(0))"),
]
RIGHTS = [
    Attack(
        "raise its own limits",
        "resource.setrlimit(resource.RLIMIT_AS, (-1, -1))",
        "import resource",
        errors=(),
        raises="ValueError",
    ),
    Attack("become another user", f"os.setuid({ORDINARY - 1})", "", AS_ROOT),
    Attack("become root", "os.setuid(0)", "", AS_ROOT),
    Attack("change groups", "os.setgroups([])", "", AS_ROOT),
    Attack("change the root folder", "os.chroot('.')", "", AS_ROOT),
    Attack("unshare a user namespace", "call('unshare', 0x10000000)", "", NEVER),
    Attack("join a namespace", "call('setns', 0, 0)", "", NEVER),
    Attack("mount", "call('mount', b'none', b'.', b'tmpfs', 0, 0)", "", NEVER),
    Attack("allow new privileges", "prctl(38, 1)", "from grader.examiner.jail.kernel import prctl"),
    Attack("be dumped", "prctl(4, 1)", "from grader.examiner.jail.kernel import prctl"),
    Attack("change its personality", "call('personality', 0)"),
]
KERNEL = [
    Attack("io_uring", "call('io_uring_setup', 1, bytes(120))", "", NEVER),
    Attack("memory file", "os.memfd_create('m')"),
    Attack("secret memory", "call('memfd_secret', 0)", "", NEVER),
    Attack("shared memory", "call('shmget', 0, 4096, 0o600)", "", NEVER),
    Attack("semaphore", "call('semget', 0, 1, 0o600)", "", NEVER),
    Attack("message queue", "call('msgget', 0, 0o600)", "", NEVER),
    Attack("keyring", "call('keyctl', 0, -3, 0)", "", NEVER),
    Attack("key", "call('add_key', b'user', b'k', b'v', 1, -3)", "", NEVER),
    Attack("bpf", "call('bpf', 0, bytes(128), 128)", "", NEVER),
    Attack("perf", "call('perf_event_open', bytes(128), 0, -1, -1, 0)", "", NEVER),
    Attack("userfaultfd", "call('userfaultfd', 0)", "", NEVER),
    Attack("poison memory", "call('madvise', 0, 4096, 100)", "", NEVER),
    Attack(
        "type into a terminal",
        "import fcntl; fcntl.ioctl(0, 0x5412, b'x')",
        outside=NEVER,
    ),
    Attack("x32 call", "call(0x40000000 + 39)", "", NEVER),
]
ATTACKS = READING + WRITING + NETWORK + PROCESSES + RIGHTS + KERNEL


@full_jail
@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_an_attack_is_refused(attack: Attack, place: Place) -> None:
    outcome = place.run(attack.code, before=attack.before)
    assert attack.raises in outcome.answer.get("raised", ()), outcome
    assert not attack.errors or outcome.answer["errno"] in attack.errors, outcome
    assert (place.outside / "canary").read_text() == "alive"
    assert [each.name for each in place.outside.iterdir()] == ["canary"]


@full_jail
@pytest.mark.parametrize("attack", [a for a in ATTACKS if a.outside != NEVER], ids=str)
def test_the_attack_works_outside(attack: Attack, place: Place) -> None:
    may = attack.outside != AS_ROOT or place.person.uid == 0  # some things only root can do
    outcome = place.run(attack.code, before=attack.before, jailed=False)
    assert outcome.done is may, outcome


I386_GETPID = """
import mmap
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex("53 b814000000 cd80 5b c3"))  # getpid by the 32-bit gate
start = ctypes.addressof(ctypes.c_char.from_buffer(code))
result = ctypes.CFUNCTYPE(ctypes.c_int)(start)()
assert result > 0, result
"""


@full_jail
def test_calls_of_a_foreign_architecture_are_refused(place: Place) -> None:
    if os.uname().machine != "x86_64":
        pytest.skip("only x86_64 has a second door, int 0x80")
    if not place.run(I386_GETPID, before="import ctypes", jailed=False).done:
        pytest.skip("this kernel answers no 32-bit calls")
    outcome = place.run(I386_GETPID, before="import ctypes")
    assert outcome.answer["text"] == "-1", outcome


# --- limits -----------------------------------------------------------------------------------

SMALL = jail.Limits(cpu_seconds=1, memory_bytes=2**28, file_bytes=2**20, open_files=24)


@full_jail
@pytest.mark.parametrize(
    ("code", "raises", "number"),
    [
        ("bytearray(300 * 2**20)", "MemoryError", None),
        ("import mmap; mmap.mmap(-1, 300 * 2**20)", "OSError", "ENOMEM"),
        ("with open('big', 'wb') as f: f.write(bytes(2**20 + 1))", "OSError", "EFBIG"),
        ("os.truncate(os.open('big', os.O_CREAT | os.O_RDWR), 2**21)", "OSError", "EFBIG"),
        ("files = [open('f%d' % n, 'w') for n in range(30)]", "OSError", "EMFILE"),
    ],
)
def test_a_limit_raises(code: str, raises: str, number: str | None, place: Place) -> None:
    outcome = place.run(code, limits=SMALL)
    assert raises in outcome.answer.get("raised", ()), outcome
    assert outcome.answer["errno"] == number
    assert place.run(code).done


@full_jail
def test_an_endless_loop_is_ended_by_its_own_signal(place: Place) -> None:
    assert place.run("while True: pass", limits=SMALL).status == -signal.SIGXCPU


@full_jail
def test_a_loop_that_ignores_the_signal_is_killed(place: Place) -> None:
    ignore = "import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass"
    assert place.run(ignore, limits=SMALL).status == -signal.SIGKILL


@full_jail
def test_processor_time_before_the_jail_does_not_count(place: Place) -> None:
    burn = "import time\nwhile time.process_time() < 1.5: pass"
    assert place.run("result = 1", before=burn, limits=SMALL).done


# --- honest work ------------------------------------------------------------------------------

NUMPY = """
rng = np.random.default_rng(0)
a = rng.normal(size=(200, 200))
np.linalg.svd(a @ a.T); np.linalg.solve(a, a); np.linalg.eigh(a @ a.T)
np.einsum("ij,jk->ik", a, a, optimize=True); np.fft.fft(a); np.sort(a, axis=0)
big = rng.normal(size=(2000, 2000)); big @ big; del big
np.save("a.npy", a); assert (np.load("a.npy", mmap_mode="r") == a).all()
a.tofile("a.bin"); assert (np.fromfile("a.bin").reshape(a.shape) == a).all()
np.savetxt("a.txt", a); np.savez_compressed("a.npz", a=a)
np.random.seed(); np.random.default_rng().normal(size=3)
"""
FIGURE = """
import io
fig, ax = plt.subplots()
ax.plot([1, 2, 3], label=r"$\\sqrt{d_k}$")
ax.set_title(r"$\\frac{QK^\\top}{\\sqrt{d_k}}$ und ä"); ax.set_yscale("log"); ax.legend()
out = io.BytesIO(); fig.savefig(out, format="png"); plt.close(fig)
assert out.getvalue().startswith(b"\\x89PNG")
"""
SHELL = """
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config
config = Config(); config.HistoryManager.enabled = False
shell = InteractiveShell.instance(config=config, colors="NoColor")
"""
CELLS = """
assert shell.run_cell("x = 20 + 1\\nx * 2").result == 42
assert shell.run_cell("1 / 0").error_in_exec is not None
assert shell.run_cell("def f(: pass").error_before_exec is not None
assert shell.run_cell("%timeit -n1 -r1 x").success
assert shell.run_cell("import numpy as np\\nnp.ones(3)").success
"""
FILES = """
import io, pathlib, tempfile
pathlib.Path("d/e").mkdir(parents=True)
pathlib.Path("d/f").write_text("hello")
os.rename("d/f", "d/e/g"); os.replace("d/e/g", "h")
assert sorted(os.listdir()) == ["d", "h", "link"] and open("h").read() == "hello"
with tempfile.TemporaryDirectory() as d: open(d + "/x", "w").write("x" * 100_000)
with tempfile.NamedTemporaryFile() as f: f.write(b"x")
with tempfile.TemporaryFile() as f: f.write(b"x")
with open("h", "r+") as f: f.truncate(2)
with open(os.devnull, "w") as f: print("gone", file=f)
assert len(os.urandom(8)) == 8 and [e.name for e in os.scandir("d")] == ["e"]
r, w = os.pipe(); os.write(w, b"x"); assert os.read(r, 1) == b"x"
import shutil; shutil.rmtree("d"); os.unlink("h")
"""
STANDARD_LIBRARY = """
import argparse, ast, bisect, calendar, colorsys, csv, ctypes.util, dataclasses, datetime, decimal
import difflib, doctest, email.message, fractions, getpass, gettext, glob, graphlib, gzip, hashlib
import heapq, hmac, html.parser, http.client, imaplib, inspect, lzma, mimetypes, pdb, pickle, pprint
import profile, random, secrets, sched, shelve, socket, sqlite3, ssl, statistics, string, sysconfig
import tarfile, textwrap, timeit, tokenize, trace, tracemalloc, unittest.mock, urllib.request
import uuid, wave, xml.etree.ElementTree, zipfile, zoneinfo
hashlib.sha256(b"x").hexdigest(); mimetypes.guess_type("a.png"); secrets.token_hex()
zoneinfo.ZoneInfo("Europe/Berlin"); datetime.datetime.now().astimezone(); ssl.create_default_context
statistics.fmean([1, 2]); uuid.uuid4(); random.random()
"""
HONEST = {
    "numpy": ("import numpy as np", NUMPY),
    "numpy, imported late": ("", "import numpy as np\n" + NUMPY),
    "threads in numpy, only one": ("", "import numpy as np; np.ones((900, 900)) @ np.ones(900)"),
    "a figure": (
        "import matplotlib; matplotlib.use('agg'); from matplotlib import pyplot as plt",
        FIGURE,
    ),
    "a figure, imported late": (
        "",
        "import matplotlib; matplotlib.use('agg'); from matplotlib import pyplot as plt" + FIGURE,
    ),
    "a figure of the course": (
        "import matplotlib; matplotlib.use('agg'); from grader import figures",
        "figures.softmax_steps([1.0, 2.0, 3.0])",
    ),
    "cells in IPython": (SHELL, CELLS),
    "files": ("", FILES),
    "modules of the standard library": ("", STANDARD_LIBRARY),
    "packages": ("", "import packaging.version, traitlets, dateutil.tz, PIL.Image"),
    "versions of packages": ("", "from importlib.metadata import version; version('numpy')"),
    "packages after caches are dropped": (
        "import numpy",
        "import importlib; importlib.invalidate_caches(); import kiwisolver",
    ),
    "a traceback": (
        "import traceback; from grader import figures",
        "try: figures.softmax_steps(None)\n"
        "except TypeError: assert 'softmax_steps' in traceback.format_exc()",
    ),
    "time": (
        "import time",
        "time.sleep(0.01); time.perf_counter(); time.process_time(); time.ctime()",
    ),
    "tracemalloc": ("", "import tracemalloc as t; t.start(); x = [0] * 9; t.get_traced_memory()"),
    "asking about itself": (
        "",
        "import platform, resource, warnings; platform.platform(); os.cpu_count(); os.getuid()\n"
        "resource.getrlimit(resource.RLIMIT_AS); resource.getrusage(resource.RUSAGE_SELF)\n"
        "os.getcwd(); os.path.realpath('.'); os.path.exists('x'); os.chdir('.')",
    ),
    "signal handlers": (
        "",
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)",
    ),
    "a deep recursion": (
        "",
        "def f(n): return f(n + 1)\ntry: f(0)\nexcept RecursionError: result = 1\nassert result",
    ),
    "too much memory, then going on": (
        "import numpy as np",
        "try: np.ones(2**33)\nexcept MemoryError: result = np.ones(9).sum()\nassert result == 9",
    ),
    "input, which fails at once": ("", "try: input()\nexcept EOFError: result = 1\nassert result"),
}


@full_jail
@pytest.mark.parametrize("what", HONEST)
def test_honest_work_runs(what: str, place: Place) -> None:
    before, code = HONEST[what]
    outcome = place.run(code, before=before)
    assert outcome.done, outcome


@full_jail
def test_temporary_files_lie_in_the_scratch_folder(place: Place) -> None:
    outcome = place.run("import tempfile; result = tempfile.mkdtemp()")
    assert Path(eval(outcome.answer["result"])).parent == place.scratch.resolve()


# --- going in ---------------------------------------------------------------------------------

DENY = """
from grader.examiner.jail.seccomp import ALLOW, REFUSE, load
column = int(os.uname().machine == "aarch64")
def deny(*calls):
    tests = [each for number in calls for each in ((0x15, 0, 1, number), REFUSE)]
    load([(0x20, 0, 0, 0), *tests, ALLOW])
"""


@full_jail
def test_it_needs_no_namespace(place: Place) -> None:
    """It goes in, and is as tight, where unshare, setns, mount and clone are forbidden."""
    forbid = "deny(*((272, 97)[column], (308, 268)[column], (165, 40)[column], (56, 220)[column]))"
    before = DENY + forbid + "\ntry: os.fork()\nexcept PermissionError: print(end='')"
    assert place.run("open('f', 'w')", before=before).done
    assert place.run("os.listdir(course)", before=before).answer["errno"] == "EACCES"


@full_jail
@pytest.mark.parametrize(
    "call", [(157, 167), (444, 444), (302, 261)], ids=["prctl", "landlock", "limits"]
)
def test_a_part_that_fails_is_an_error(call: tuple[int, int], place: Place) -> None:
    outcome = place.run("result = 1", before=DENY + f"deny({call}[column])")
    assert not outcome.answer
    assert "JailError" in outcome.complaints


@full_jail
def test_a_process_with_threads_is_not_let_in(place: Place) -> None:
    before = (
        "import threading; wait = threading.Event().wait\n"
        "threading.Thread(target=wait, daemon=True).start()"
    )
    outcome = place.run("result = 1", before=before)
    assert not outcome.answer
    assert "several threads" in outcome.complaints


@full_jail
def test_a_missing_scratch_folder_is_an_error(place: Place) -> None:
    shutil.rmtree(place.scratch)
    assert "JailError" in place.run("result = 1").complaints


@full_jail
def test_landlock_alone_keeps_files_and_tcp(place: Place) -> None:
    report = jail.Report(REPORT.landlock, seccomp=False, limits=True)
    assert report.level is jail.Level.PARTIAL
    assert place.run("os.listdir(course)", report=report).answer["errno"] == "EACCES"
    assert place.run("os.symlink('/', 'soft')", report=report).answer["errno"] == "EACCES"
    if REPORT.landlock >= 4:
        connect = "import socket; socket.create_connection(('127.0.0.1', 9))"
        assert place.run(connect, report=report).answer["errno"] == "EACCES"
    if REPORT.landlock >= 6:
        assert place.run("os.kill(parent, 0)", report=report).answer["errno"] == "EPERM"


@full_jail
def test_the_filter_alone_keeps_calls(place: Place) -> None:
    report = jail.Report(0, seccomp=True, limits=True)
    assert report.level is jail.Level.PARTIAL
    assert place.run("os.listdir(course)", report=report).done
    assert place.run("os.fork()", report=report).answer["errno"] == "EPERM"


@full_jail
def test_limits_alone_keep_an_ordinary_user_from_forking(place: Place) -> None:
    report = jail.Report(0, seccomp=False, limits=True)
    assert report.level is jail.Level.NONE
    if place.person.uid == 0:  # it does not bind root, and so the level is none
        assert place.run("os.waitpid(os.fork() or os._exit(0), 0)", report=report).done
    else:
        assert place.run("os.fork()", report=report).answer["errno"] == "EAGAIN"


@full_jail
def test_a_file_that_may_be_read_cannot_be_emptied_by_opening_it(place: Place) -> None:
    empty = "os.open(outside / 'canary', os.O_RDONLY | os.O_TRUNC)"
    before = (
        "from grader.examiner.jail import landlock\n"
        "landlock.restrict([outside / 'canary'], [Path('/dev/null')])"
    )
    read = "result = open(outside / 'canary').read()"
    assert place.run(read, before=before, report=jail.Report(0, False, False)).done
    outcome = place.run(empty, before=before, report=jail.Report(0, False, False))
    assert outcome.answer["errno"] == "EACCES"
    assert (place.outside / "canary").read_text() == "alive"


@full_jail
def test_the_probe_says_the_same_for_everybody(place: Place) -> None:
    outcome = place.run("from grader.examiner import jail; result = jail.probe()", jailed=False)
    assert outcome.answer["result"] == repr(REPORT)


@full_jail
def test_the_probe_of_a_jailed_process_finds_nothing(place: Place) -> None:
    outcome = place.run(
        "result = jail.probe().level.value", before="from grader.examiner import jail"
    )
    assert outcome.answer["result"] == "'none'"
