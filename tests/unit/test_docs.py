"""What the documents name is there: links, headings, commands, settings, files."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import typer.main

from grader.classroom.nbgrader_plugin import Examine
from grader.cli import app

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
BY_NAME = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in DOCUMENTS}
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
every_document = pytest.mark.parametrize("name", BY_NAME)


# --- reading Markdown -------------------------------------------------------------------------


def prose(text: str) -> str:
    """The text without blocks of code."""
    return FENCE.sub("", text)


def code(text: str) -> Iterator[str]:
    """Each line of a block of code, and each piece of code inside the prose."""
    for block in FENCE.findall(text):
        yield from block.splitlines()[1:-1]
    yield from re.findall(r"`([^`\n]+)`", prose(text))


def headings(text: str) -> list[tuple[int, str]]:
    """Level and words of every heading."""
    return [(len(m[1]), m[2]) for m in re.finditer(r"^(#+) +(.+)$", prose(text), re.MULTILINE)]


def anchor(heading: str) -> str:
    """The name by which a heading can be linked to."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def links(text: str) -> list[str]:
    """Where the links and pictures of a document lead, web addresses left out."""
    found = re.findall(r"\]\(([^)\s]+)\)", prose(text))
    return [link for link in found if not re.match(r"[a-z]+:", link)]


def words(pieces: Iterator[str], start: str) -> Iterator[list[str]]:
    """The words behind `start` in pieces of code, without brackets that mean: may be left out."""
    for piece in pieces:
        for found in re.findall(rf"(?:^|[\s/\\]){re.escape(start)}( [^#|&;]*|$)", piece):
            yield re.sub(r"[\[\]…]", " ", found).split()


# --- links and headings -----------------------------------------------------------------------


@every_document
def test_links_lead_somewhere(name: str) -> None:
    for link in links(BY_NAME[name]):
        path, _, heading = link.partition("#")
        target = ((ROOT / name).parent / path).resolve() if path else ROOT / name
        assert target.exists(), f"{name}: {link} leads nowhere"
        if heading:
            known = [anchor(each) for _, each in headings(target.read_text("utf-8"))]
            assert heading in known, f"{name}: {link}: no such heading among {known}"


@every_document
def test_no_heading_skips_a_level(name: str) -> None:
    levels = [level for level, _ in headings(BY_NAME[name])]
    assert levels[0] == 1
    assert levels.count(1) == 1
    for above, below in pairwise(levels):
        assert below <= above + 1, f"{name}: a heading of level {below} follows one of {above}"


# --- commands ---------------------------------------------------------------------------------


def commands() -> dict[str, set[str]]:
    """The command line's commands, each with its options."""
    group: Any = typer.main.get_command(app)
    return {
        name: {flag for each in command.params for flag in (*each.opts, *each.secondary_opts)}
        for name, command in group.commands.items()
    }


def test_commands_of_the_grader_are_there() -> None:
    known, seen = commands(), set()
    for name, text in BY_NAME.items():
        for given in words(code(text), "python -m grader"):
            if not given:
                continue  # the command line as such
            command, *arguments = given
            assert command in known, f"{name}: python -m grader {command}"
            seen.add(command)
            for flag in (word.partition("=")[0] for word in arguments if word.startswith("--")):
                assert flag in known[command], f"{name}: python -m grader {command} {flag}"
    assert seen == known.keys(), f"in no document: {sorted(known.keys() - seen)}"


def test_targets_of_make_are_there() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    variables = set(re.findall(r"^([A-Z]+) *[?:]=", makefile, re.MULTILINE))
    seen = set()
    for name, text in BY_NAME.items():
        for target, *settings in words(code(text), "make"):
            assert target in targets, f"{name}: make {target}"
            seen.add(target)
            for setting in settings:
                assert setting.partition("=")[0] in variables, f"{name}: make {target} {setting}"
    assert {"setup", "lab", "grade", "test"} <= seen


# --- settings and files -----------------------------------------------------------------------

SETTINGS = {
    name: trait for name, trait in Examine.class_own_traits().items() if trait.metadata["config"]
}


def test_settings_of_the_examiner_are_there() -> None:
    for name, text in BY_NAME.items():
        for setting in re.findall(r"c\.Examine\.(\w+)", text):
            assert setting in SETTINGS, f"{name}: c.Examine.{setting}"


def test_the_table_of_limits_has_every_limit_with_its_default() -> None:
    rows = re.findall(r"^\| `c\.Examine\.(\w+)` \| (\S+) \|", BY_NAME["docs/security.md"], re.M)
    limits = SETTINGS.keys() - {"jail", "secret_file"}
    assert {name: float(told) for name, told in rows} == {
        name: float(SETTINGS[name].default_value) for name in limits
    }


@every_document
def test_files_of_the_grader_are_there(name: str) -> None:
    for piece in code(BY_NAME[name]):
        for path in re.findall(r"(?<![\w/.])grader/[\w/.]*", piece):
            assert (ROOT / path).exists(), f"{name}: {path}"
