"""Starts JupyterLab as a person does, waits until it answers, and ends it by its id."""

import contextlib
import os
import re
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

ADDRESS = re.compile(r"http://(?:127\.0\.0\.1|localhost):\d+/\S*\?token=\w+")
PATIENCE = 180


@contextlib.contextmanager
def running(command: list[str], cwd: Path, env: Mapping[str, str], log: Path) -> Iterator[str]:
    """Run `command` until the block ends; yields the address with token that it printed."""
    with log.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(
            command, cwd=cwd, env={**env, "BROWSER": "true"}, stdin=subprocess.DEVNULL,
            stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            yield _address(process, log)
        finally:
            _end(process)


def _address(process: "subprocess.Popen[bytes]", log: Path) -> str:
    """Wait for the address; the log is the reason when none comes."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        if found := ADDRESS.search(log.read_text("utf-8")):
            return found[0].replace("localhost", "127.0.0.1")
        time.sleep(0.1)
    raise AssertionError(f"No address came:\n{log.read_text('utf-8')}")


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End the session that was started here: the command, its server and its kernels."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def page(address: str) -> str:
    """The page at `address`."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            with urllib.request.urlopen(address, timeout=30) as answer:
                return str(answer.read().decode("utf-8"))
        except ConnectionError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)
