"""JupyterLab in Chromium: opened, driven and read as a person would."""

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tests.course_copy import environment
from tests.jupyter import running

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
    "--disable-component-update", "--no-first-run",
]  # fmt: skip
# All outputs stay in the page, and nothing pops up over it.
SETTINGS = {
    "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/apputils-extension/themes": {"theme": "JupyterLab Light"},
}
SECOND = 1000  # Playwright counts milliseconds
PATIENCE = 60 * SECOND


def chromium() -> str | None:
    """Where this machine's Chromium is, if it has one."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """A Chromium without a window."""
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        try:
            yield opened
        finally:
            opened.close()


def _prepared(course: Path) -> dict[str, str]:
    env = environment(course)
    for plugin, settings in SETTINGS.items():
        file = Path(env["JUPYTERLAB_SETTINGS_DIR"]) / f"{plugin}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(settings), "utf-8")
    return env


def students_lab(course: Path) -> contextlib.AbstractContextManager[str]:
    """What `make lab` starts: JupyterLab on work/. Yields its address with token."""
    command = [sys.executable, "-m", "grader", "lab"]
    return running(command, course, _prepared(course), course.parent / "students-lab.log")


def instructors_lab(course: Path, class_folder: str) -> contextlib.AbstractContextManager[str]:
    """JupyterLab on the root of the course, with nbgrader's panels on `class_folder`."""
    env = _prepared(course) | {"GRADER_CLASS": class_folder}
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--ServerApp.port=0"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    return running(command, course, env, course.parent / "instructors-lab.log")


def open_notebook(page: Page, address: str, path: str, mode: str = "lab") -> None:
    """Open a notebook in a workspace of its own and wait until its kernel is idle."""
    base, _, token = address.partition("/lab")
    workspace = path.replace("/", "-").removesuffix(".ipynb")
    where = f"{mode}/workspaces/{workspace}" if mode == "lab" else mode
    page.goto(f"{base}/{where}/tree/{path}{token}")
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=PATIENCE)
    wait_until_idle(page)


def wait_until_idle(page: Page) -> None:
    """Wait until the kernel is there and has nothing to do, and no cell is waiting for it."""
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=PATIENCE)
    page.wait_for_function(
        "() => ![...document.querySelectorAll('.jp-InputPrompt')]"
        ".some(prompt => prompt.textContent.includes('*'))",
        timeout=PATIENCE,
    )


def run_all(page: Page) -> None:
    """Run > Run All Cells, until every cell has run or one has failed, which stops the rest."""
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Run All Cells", exact=True).click()
    page.wait_for_function(
        "() => [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')]"
        ".some(prompt => /\\[\\d+\\]/.test(prompt.textContent))",
        timeout=PATIENCE,
    )
    wait_until_idle(page)


def outputs(page: Page) -> list[str]:
    """The text of every output area, in order."""
    return page.locator(".jp-OutputArea-output").all_inner_texts()
