"""Notebooks that use up memory, disk, descriptors or time: capped, named, all given back.

The machine is watched from outside while they run."""

import contextlib
import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.grading.hostile.court import (
    MIB,
    QUICK,
    Court,
    code,
    notebook,
    position,
    processes,
    wrong,
)


class Watch(threading.Thread):
    """Notes the most that the court's processes and their files ever took."""

    def __init__(self, court: Court) -> None:
        super().__init__(daemon=True)
        self.court, self.over = court, threading.Event()
        self.memory = self.disk = 0

    def run(self) -> None:
        while not self.over.wait(0.02):
            for pid in processes(str(self.court.entry.root)):
                self.memory = max(self.memory, resident(pid))
            self.disk = max(self.disk, sum(sizes(self.court.temporary)))


def sizes(folder: Path) -> Iterator[int]:
    """What each file takes on disk; too deep a folder is nobody's to measure."""
    waiting = [str(folder)]
    while waiting:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                yield entry.stat(follow_symlinks=False).st_blocks * 512
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)


def resident(pid: int) -> int:
    """Memory of its own, without what it shares with the server that it was forked from."""
    try:
        fields = (Path("/proc") / str(pid) / "statm").read_text().split()
    except OSError:
        return 0
    return (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture
def patient(court: Court, monkeypatch: pytest.MonkeyPatch) -> None:
    """Time enough to run into another limit first."""
    settings = replace(QUICK, cell_seconds=60.0, notebook_seconds=120.0)
    monkeypatch.setattr(court.lesson, "settings", settings)


@contextlib.contextmanager
def watched(court: Court) -> Iterator[Watch]:
    watch = Watch(court)
    watch.start()
    try:
        yield watch
    finally:
        watch.over.set()
        watch.join()


# --- memory -------------------------------------------------------------------------------------

BOMBS = {
    "one array": "data = np.ones(20 * 2**27)",
    "a list that grows": "data = []\nwhile True: data.append(np.ones(2**20))",
    "text that doubles": "data = 'x'\nwhile True: data += data",
    "an integer": "data = 1 << 10**12",
    "shared memory": "import mmap\ndata = [mmap.mmap(-1, 2**28) for _ in range(80)]",
}


def test_a_process_that_starves_says_so(court: Court) -> None:
    """Nearly all of its memory stays taken, so that not even an answer can be made."""
    hoards = (
        "class Hoard:\n    kept = []\n"
        "def softmax(scores, axis=-1):\n    try:\n"
        "        while True: Hoard.kept.append(bytes(9999))\n"
        "    except MemoryError:\n        return [Hoard.kept.append(0.5) for _ in range(10**5)]"
    )
    graded = court.judge({**court.answers, "softmax": hoards})
    assert graded.points == 5
    assert "memory" in graded.messages("softmax")


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_memory_bomb_is_stopped_with_the_reason(bomb: str, court: Court) -> None:
    with watched(court) as watch:
        graded = court.judge({**court.answers, "softmax": BOMBS[bomb]})
    assert graded.statuses("softmax_list") == {"passed"}
    assert graded.points == 5
    assert "MemoryError" in graded.messages("softmax") or "memory" in graded.messages("softmax")
    assert watch.memory < 1000 * MIB


def test_memory_that_a_call_takes_is_capped_too(court: Court) -> None:
    greedy = "def softmax(scores, axis=-1):\n    return np.ones(20 * 2**27)"
    graded = court.judge({**court.answers, "softmax": greedy})
    assert graded.points == 5
    assert "MemoryError" in graded.messages("softmax")


def test_large_answers_again_and_again_do_not_grow_the_examiner(court: Court) -> None:
    """Messages as large as they may be, for every call and from many cells."""
    large = (
        "import grader.examiner.plots as plots\n"
        "def large(): return [np.zeros(2**20 * 60, np.uint8)]\n"
        "get_ipython().run_cell\nplots.take = large"
    )
    answers = {**wrong(), "softmax_list": wrong("np.zeros((60, 2**20), np.uint8)")["softmax_list"]}
    filled = notebook(court.entry, answers)
    at = position(filled, "setup") + 1
    filled["cells"][at:at] = [code(large), *(code(f"more = {n}") for n in range(2))]
    with watched(court) as watch:
        graded = court.judge_notebook(filled)
    assert graded.points == 0
    assert watch.memory < 1200 * MIB  # a GiB for what checks keep, and what they began with


def test_only_so_many_pictures_are_kept(court: Court) -> None:
    """Real PNGs, as large as allowed, from more cells than there is room for."""
    pictures = (
        "import struct, zlib, grader.examiner.plots as plots\n"
        "png = b'\\x89PNG\\r\\n\\x1a\\n' + struct.pack('>I4sII', 13, b'IHDR', 9, 9)\n"
        "png += bytes(900_000)\n"
        "plots.take = lambda: [png] * 60"
    )
    filled = notebook(court.entry, court.answers)
    at = position(filled, "setup") + 1
    filled["cells"][at:at] = [code(pictures), *(code(f"more = {n}") for n in range(5))]
    graded = court.judge_notebook(filled)
    assert graded.points == 18
    assert 10_000_000 < len(graded.everything()) < 50_000_000


@pytest.mark.parametrize(
    "forged",
    ["10**12", "[10**12]", "[10**10]", "'text'", "{1: 2}", "None", "[np.zeros(9)]", "np.zeros(9)",
     "[b'<svg onload=1>']", "[np.broadcast_to(False, (7,) * 9)]"],
)  # fmt: skip
def test_what_is_no_picture_is_none(forged: str, court: Court) -> None:
    own = (
        "import grader.examiner.student as s, grader.wire as w\nencode = w.encode\n"
        f"def forge(value, **more):\n    w.encode = encode\n"
        f"    return encode([None, '', {forged}])\nw.encode = forge"
    )
    with watched(court) as watch:
        graded = court.judge(court.answers, own)
    assert graded.points == 18, graded.messages()
    assert not [o for o in graded.result.outputs["own-1"] if o["output_type"] == "display_data"]
    assert watch.memory < 500 * MIB


# --- disk ---------------------------------------------------------------------------------------

WRITERS = {
    "many files": "for n in range(99):\n    open(f'f{n}', 'wb').write(bytes(2**20))\n",
    "deleted but open": (
        "kept = []\nfor n in range(40):\n    kept.append(open('f', 'wb'))\n    os.unlink('f')\n"
        "    kept[-1].write(bytes(2**20)); kept[-1].flush(); time.sleep(0.01)\n"
    ),
    "deleted but mapped": (
        "import mmap\nkept = []\nfor n in range(40):\n    with open('f', 'wb+') as file:\n"
        "        file.write(bytes(2**20)); file.flush()\n"
        "        kept.append(mmap.mmap(file.fileno(), 2**20))\n    os.unlink('f')\n"
        "    time.sleep(0.01)\n"
    ),
    "names without content": (
        "for n in range(10**6):\n    open(f'{n:0200}', 'w').close()\n"
        "    if n % 1000 == 999: time.sleep(0.05)\n"
    ),
    "folders": "for n in range(10**6):\n    os.mkdir(f'{n}')\n",
    "a deep nest": "for n in range(3000):\n    os.mkdir('d'); os.chdir('d')\n",
    "a deep nest of long names": (
        "d = 'd' * 250\nfor n in range(99):\n    os.mkdir(d); os.chdir(d)\n"
    ),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_a_full_scratch_folder_ends_the_process(writer: str, court: Court, patient: None) -> None:
    own = "import os, time\n" + WRITERS[writer] + "time.sleep(99)"
    with watched(court) as watch:
        graded = court.judge({**court.answers, "softmax": own})
    assert graded.statuses("softmax_list") == {"passed"}
    assert "it wrote more than 8 MiB to its folder" in graded.messages("softmax")
    assert watch.disk < 300 * MIB


@pytest.mark.parametrize("mode", ["0o000", "0o300", "0o1777"])
def test_no_folder_is_made_that_cannot_be_looked_into(mode: str, court: Court) -> None:
    own = f"import os\ntry: os.mkdir('closed', {mode})\nexcept PermissionError: print('refused')"
    graded = court.judge(court.answers, own)
    assert graded.told_by("own-1") == "refused\n"


def test_a_nest_within_the_limits_is_cleaned_up(court: Court) -> None:
    own = "import os\nfor n in range(900):\n    os.mkdir('d'); os.chdir('d')\nopen('f', 'w')"
    assert court.judge(court.answers, own).points == 18


def test_one_large_file_is_cut_short(court: Court) -> None:
    own = "with open('f', 'wb') as file: file.write(bytes(5 * 2**20))"
    graded = court.judge({**court.answers, "softmax": own})
    assert "File too large" in graded.messages("softmax")


def test_temporary_files_of_honest_work_are_welcome(court: Court) -> None:
    own = (
        "import tempfile\nwith tempfile.TemporaryDirectory() as folder:\n"
        "    np.save(folder + '/a.npy', np.ones(9))\n    print(np.load(folder + '/a.npy').sum())\n"
        "with tempfile.TemporaryFile() as file: file.write(b'x')"
    )
    graded = court.judge(court.answers, own)
    assert graded.told_by("own-1") == "9.0\n"
    assert graded.points == 18


# --- descriptors, processes, processor ----------------------------------------------------------


def test_open_files_are_limited(court: Court) -> None:
    own = "files = []\nwhile True: files.append(open('f', 'w'))"
    graded = court.judge({**court.answers, "softmax": own})
    assert "Too many open files" in graded.messages("softmax")


@pytest.mark.parametrize(
    ("before", "reason"),
    [("", "it used more than 4 s of processor time"),
     ("import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)", "the process was ended")],
    ids=["as it is", "with the signal ignored"],
)  # fmt: skip
def test_processor_time_is_limited(before: str, reason: str, court: Court, patient: None) -> None:
    graded = court.judge({**court.answers, "softmax": f"{before}\nwhile True: pass"})
    assert graded.points == 5
    assert reason in graded.messages("softmax")


def test_nothing_adds_up_over_many_notebooks(court: Court) -> None:
    """Descriptors, zombies and memory of servers and grader, over a class of two hundred."""
    stubs = notebook(court.entry, {})
    dies = notebook(court.entry, {}, "import os\nos._exit(1)")
    court.grade(dies)
    before = servers_hold(court), descriptors(os.getpid())
    for number in range(200):
        court.grade(dies if number % 8 == 0 else stubs)
    assert (servers_hold(court), descriptors(os.getpid())) == before
    assert list(court.temporary.rglob("*")) == [court.lesson.scratch]
    assert not zombies()


def servers_hold(court: Court) -> list[tuple[int, int]]:
    """Each server's process and how many descriptors it has."""
    found = sorted(processes(str(court.entry.root)))
    return [(pid, descriptors(pid)) for pid in found]


def descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def zombies() -> list[str]:
    """Dead processes whose parent is this one or one of its children."""
    found = []
    states = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
                states[folder.name] = (state, parent)
    own = str(os.getpid())
    for pid, (state, parent) in states.items():
        if state == "Z" and own in (parent, states.get(parent, ("", ""))[1]):
            found.append(pid)
    return found
