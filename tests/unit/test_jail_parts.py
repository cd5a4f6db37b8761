"""The parts of the jail that can be looked at from outside: table, filter, paths, report."""

import os
import platform
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.errors import CourseError
from grader.examiner import jail
from grader.examiner.jail import Level, calls, paths, seccomp
from grader.examiner.settings import admit

COURSE = Path(__file__).resolve().parents[2]
HEADERS = {
    "x86_64": ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"),
    "aarch64": ("/usr/include/asm-generic/unistd.h",),
}

# --- table and filter -------------------------------------------------------------------------


@pytest.mark.parametrize("architecture", calls.ARCHITECTURES)
def test_the_numbers_are_the_kernel_s(architecture: str) -> None:
    header = next((Path(each) for each in HEADERS[architecture] if Path(each).exists()), None)
    if header is None:
        pytest.skip(f"the kernel's header for {architecture} is not installed")
    text = header.read_text()
    numbers = {name: int(n) for name, n in re.findall(r"#define __NR\w*?_(\w+)\s+(\d+)", text)}
    for name, other in re.findall(r"#define __NR_(\w+)\s+__NR3264_(\w+)", text):
        if other in numbers:
            numbers[name] = numbers[other]
    column = calls.ARCHITECTURES.index(architecture)
    for name, both in calls.CALLS.items():
        assert both[column] == numbers.get(name), name


def verdict(program: tuple[seccomp.Instruction, ...], data: bytes) -> int:
    """What the kernel's machine makes of a program and a struct seccomp_data."""
    at, value = 0, 0
    while True:
        code, if_true, if_false, operand = program[at]
        at += 1
        match code:
            case 0x20:
                (value,) = struct.unpack_from("<I", data, operand)
            case 0x15:
                at += if_true if value == operand else if_false
            case 0x06:
                return operand


def allowed(architecture: str, number: int, arguments: list[int], arch: int | None = None) -> bool:
    found = seccomp.AUDIT_ARCH[architecture] if arch is None else arch
    data = struct.pack("<iIQ6Q", number, found, 0, *arguments)
    return verdict(seccomp.program(architecture), data) == seccomp.ALLOW[3]


architectures = st.sampled_from(calls.ARCHITECTURES)
words = st.lists(st.integers(0, 2**64 - 1), min_size=6, max_size=6)


@given(architectures, st.integers(0, 500) | st.integers(-(2**31), 2**31 - 1), words)
def test_only_calls_of_the_table_pass(architecture: str, number: int, arguments: list[int]) -> None:
    column = calls.ARCHITECTURES.index(architecture)
    table = {both[column]: name for name, both in calls.CALLS.items()}
    name = table.get(number)
    if name not in calls.ASKED:
        assert allowed(architecture, number, arguments) == (name is not None)


@given(architectures, st.integers(0, 2**32 - 1), st.sampled_from(sorted(calls.CALLS)), words)
def test_no_call_of_another_architecture_passes(
    architecture: str, arch: int, name: str, arguments: list[int]
) -> None:
    number = calls.CALLS[name][calls.ARCHITECTURES.index(architecture)]
    if number is not None and arch != seccomp.AUDIT_ARCH[architecture]:
        assert not allowed(architecture, number, arguments, arch)


@given(architectures, st.data())
def test_calls_with_conditions_pass_as_asked(architecture: str, data: st.DataObject) -> None:
    column = calls.ARCHITECTURES.index(architecture)
    here = [name for name in sorted(calls.ASKED) if calls.CALLS[name][column] is not None]
    name = data.draw(st.sampled_from(here))
    number = calls.CALLS[name][column] or 0
    arguments = data.draw(st.lists(st.integers(0, 2000) | words.map(max), min_size=6, max_size=6))
    halves = struct.unpack("<12I", struct.pack("<6Q", *arguments))
    met = all(
        halves[(place - calls.low(0)) // 4] in values for place, values in calls.ASKED[name].items()
    )
    assert allowed(architecture, number, arguments) == met


@pytest.mark.parametrize("architecture", calls.ARCHITECTURES)
def test_its_own_limits_may_be_asked_and_not_set(architecture: str) -> None:
    number = calls.CALLS["prlimit64"][calls.ARCHITECTURES.index(architecture)]
    assert number is not None
    assert allowed(architecture, number, [0, 9, 0, 4096, 0, 0])
    for arguments in ([1, 9, 0, 4096], [0, 9, 4096, 0], [0, 9, 1 << 32, 0]):
        assert not allowed(architecture, number, [*arguments, 0, 0])


# --- paths ------------------------------------------------------------------------------------


def test_nothing_of_the_course_or_of_a_home_is_readable() -> None:
    readable = paths.readable_paths()
    for closed in (COURSE, COURSE / "grader", Path.home(), Path("/proc"), Path("/etc"), Path("/")):
        assert not any(closed.is_relative_to(path) for path in readable), closed
    for path in (COURSE / "source", COURSE / "tests", COURSE / "grader" / "checks"):
        assert not any(each.is_relative_to(path) for each in readable), path
    assert Path("/dev/null") in readable
    assert any(Path(np.__file__).is_relative_to(path) for path in readable)


def test_a_virtual_environment_inside_the_course(tmp_path: Path) -> None:
    """Of the course's folder only the entries of site-packages become readable."""
    shutil.copytree(COURSE / "grader", tmp_path / "grader")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / ".venv"], check=True)
    site = next((tmp_path / ".venv/lib").glob("python*/site-packages"))
    for name in ("grader", "tests", "numpy", "__pycache__"):
        (site / name).mkdir()
    for name in (
        "__editable___attention_from_scratch_0_1_0_finder.py",
        "__editable__.attention_from_scratch-0.1.0.pth",
        "attention-from-scratch.egg-link",
        "__pycache__/__editable___attention_from_scratch_0_1_0_finder.cpython-311.pyc",
        "__pycache__/six.cpython-311.pyc",
        "six.py",
    ):
        (site / name).touch()
    (site / "link").symlink_to(tmp_path / "grader/checks")
    code = "from grader.examiner.jail import readable_paths as r; print(*r(), sep='\\n')"
    done = subprocess.run(
        [tmp_path / ".venv/bin/python", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    found = [Path(line) for line in done.stdout.splitlines()]
    inside = {str(each.relative_to(site)) for each in found if each.is_relative_to(tmp_path)}
    assert inside == {"numpy", "six.py", "__pycache__/six.cpython-311.pyc"}


trees = st.lists(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(lambda parts: Path(*parts)),
    min_size=1,
    max_size=12,
)


@given(trees, st.data())
def test_all_but_the_hidden_is_covered(folders: list[Path], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve()
        for folder in folders:
            (root / folder).mkdir(parents=True, exist_ok=True)
        every = [root, *root.rglob("*")]
        hidden = frozenset(data.draw(st.lists(st.sampled_from(every), max_size=3)))
        found = list(paths.without(root, hidden))
        for path in every:
            covered = any(path.is_relative_to(each) for each in found)
            closed = any(path.is_relative_to(each) or each.is_relative_to(path) for each in hidden)
            assert covered != closed


# --- report -----------------------------------------------------------------------------------


def test_a_full_jail_says_so_in_one_line() -> None:
    report = jail.Report(landlock=7, seccomp=True, limits=True)
    assert report.sentence == "Jail: full (Landlock ABI 7, seccomp, limits)."


@pytest.mark.parametrize(
    ("landlock", "seccomp", "limits", "level"),
    [
        (3, True, True, "full"),
        (2, True, True, "partial"),
        (0, True, True, "partial"),
        (7, False, True, "partial"),
        (0, False, True, "none"),
        (7, True, False, "none"),
    ],
)
def test_levels(landlock: int, seccomp: bool, limits: bool, level: str) -> None:
    assert jail.Report(landlock, seccomp, limits).level == level


@pytest.mark.parametrize(
    ("answer", "level", "said"),
    [
        ({"limits": "", "landlock": "too old", "seccomp": ""}, "partial", "read every file"),
        ({"limits": "", "landlock": "too old"}, "none", "the process was ended"),
        ({"limits": "no", "landlock": "no", "seccomp": "no"}, "none", "use up memory"),
        ({}, "none", "use the network"),
    ],
)
def test_what_is_missing_is_said(
    answer: dict[str, str], level: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jail, "_try_out", lambda: answer)
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(jail.seccomp, "machine", lambda: "x86_64")
    report = jail.probe.__wrapped__()
    assert report.level == level
    assert said in report.sentence
    assert "Way out: Linux" in report.sentence
    with pytest.raises(CourseError, match="--jail partial" if level == "partial" else "--unsan"):
        admit(report, Level.FULL)


def test_old_landlock_is_partial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jail.landlock, "abi", lambda: 2)
    report = jail._judge({"limits": "", "landlock": "", "seccomp": ""})
    assert (report.level, report.landlock) == ("partial", 2)
    assert "empty files" in report.sentence


def test_elsewhere_it_says_that_it_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    report = jail.probe.__wrapped__()
    assert report.level == "none"
    assert "this is Darwin on" in report.sentence
    with pytest.raises(CourseError, match="--unsandboxed"):
        admit(report, Level.PARTIAL)


def test_a_trial_that_cannot_be_started_is_no_jail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert "the trial failed" in jail._judge(jail._try_out()).sentence
