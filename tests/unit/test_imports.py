"""Imports run one way: the code, the table here and the one in docs/how-it-works.md agree."""

import ast
import json
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "how-it-works.md"
CELLS = "a lesson's cells"
CONFIG = "nbgrader_config.py"

# Each room with those that it may import, and does. Outside of the project only nbgrader counts.
ARROWS = {
    "cli": "build check classroom doctor errors examiner/jail kill_table mutants term work",
    "classroom": (
        "build course errors examiner examiner/jail lesson nbgrader nbgrader_steps notebook result "
        "secret term"
    ),
    "build": "course errors lesson nbgrader nbgrader_steps notebook term",
    "check": "course errors examiner examiner/jail lesson notebook result secret term",
    "kill_table": "course mutants",
    "mutants": (
        "course errors examiner examiner/jail lesson misconceptions names notebook result seeds "
        "term"
    ),
    "doctor": "course examiner/jail",
    "work": "course errors",
    "nbgrader_steps": "errors nbgrader",
    "examiner": (
        "__init__ ahead channel course errors examiner/jail lesson names notebook observe result "
        "seeds wire"
    ),
    "examiner/jail": "errors",
    "checks": "ahead misconceptions observe oracle seeds",
    "misconceptions": "oracle",
    "oracle": "",
    "observe": "wire",
    "channel": "wire",
    "wire": "",
    "secret": "",
    "seeds": "",
    "ahead": "seeds",
    "result": "",
    "course": "errors",
    "lesson": "errors names",
    "names": "",
    "notebook": "errors",
    "figures": "",
    "term": "",
    "errors": "",
    "__init__": "",
    "__main__": "cli",
    CELLS: "checks figures",
    CONFIG: "classroom nbgrader",
}
ALLOWED = {room: set(arrows.split()) for room, arrows in ARROWS.items()}
ANSWERS = {"checks", "misconceptions", "oracle", "seeds", "build", "classroom", "mutants"}


# --- reading imports --------------------------------------------------------------------------


def imported(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every import with its line; `from a import b` counts as a.b."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted((ROOT / "grader").rglob("*.py"))}


def target(dotted: str) -> str | None:
    """The module of ours that an import leads to, `nbgrader`, or None: not our business."""
    if dotted.partition(".")[0] == "nbgrader":
        return "nbgrader"
    if dotted.startswith("."):
        return dotted
    while dotted and dotted not in MODULES:
        dotted = dotted.rpartition(".")[0]
    return dotted or None


def room(module: str) -> str:
    """`grader.examiner.jail.paths` lies in `examiner/jail`, `grader.lesson` in `lesson`."""
    parts = module.split(".")[1:]
    if parts[:2] == ["examiner", "jail"]:
        return "examiner/jail"
    return parts[0] if parts else "nbgrader" if module == "nbgrader" else "__init__"


def sources() -> Iterator[tuple[str, str, str]]:
    """Room, place and text of all that imports something of ours."""
    for module, path in MODULES.items():
        yield room(module), str(path.relative_to(ROOT)), path.read_text("utf-8")
    yield CONFIG, CONFIG, (ROOT / CONFIG).read_text("utf-8")
    for path in sorted(ROOT.glob("solutions/*/*.ipynb")):
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            if cell["cell_type"] == "code":
                place = f"{path.relative_to(ROOT)}, cell {cell['id']}"
                yield CELLS, place, "".join(cell["source"])


def arrows() -> Iterator[tuple[str, str, str]]:
    """Who imports which other room, and where."""
    for here, place, text in sources():
        for line, dotted in imported(ast.parse(text)):
            there = target(dotted)
            if there and room(there) != here:
                yield here, room(there), f"{place}:{line}"


# --- tests ------------------------------------------------------------------------------------


def test_every_import_follows_an_arrow() -> None:
    wrong = [
        f"{place} imports `{there}`; the room `{here}` may import: "
        + (", ".join(sorted(ALLOWED[here])) or "nothing" if here in ALLOWED else "not in the table")
        for here, there, place in arrows()
        if there not in ALLOWED.get(here, ())
    ]
    assert not wrong, "\n".join(wrong)


def test_every_room_and_every_arrow_is_there() -> None:
    rooms = {here for here, _, _ in sources()}
    assert rooms == ALLOWED.keys(), f"not in both: {sorted(rooms ^ ALLOWED.keys())}"
    used = {(here, there) for here, there, _ in arrows()}
    idle = sorted({(here, there) for here in ALLOWED for there in ALLOWED[here]} - used)
    assert not idle, "\n".join(f"nothing in `{a}` imports `{b}` any more" for a, b in idle)


def test_no_circle() -> None:
    TopologicalSorter(ALLOWED).prepare()  # a CycleError names the rooms of the circle


def test_the_document_shows_the_same_table() -> None:
    text = DOCUMENT.read_text("utf-8")
    (table,) = re.findall(r"<!-- rooms -->\n(.*?)<!-- /rooms -->", text, re.DOTALL)
    rows = [row.strip("|").split("|") for row in table.splitlines()[2:]]
    shown = {name.strip().strip("`"): set(re.findall(r"`([^`]+)`", to)) for name, _, to in rows}
    differ = [
        f"`{name}`: the document says {shown.get(name)}, the test {ALLOWED.get(name)}"
        for name in sorted(shown.keys() | ALLOWED.keys())
        if shown.get(name) != ALLOWED.get(name)
    ]
    assert not differ, "\n".join(differ)


def reached_from(module: str) -> dict[str, set[str]]:
    """Every module of ours that importing this one imports, and all that each of them imports."""
    reached: dict[str, set[str]] = {}
    waiting = [module]
    while waiting:
        module = waiting.pop()
        if module not in reached:
            reached[module] = {name for _, name in imported(ast.parse(MODULES[module].read_text()))}
            found = map(target, reached[module])
            waiting += [each for each in found if each in MODULES]
    return reached


def test_the_students_process_imports_nothing_that_knows_an_answer() -> None:
    reached = reached_from("grader.examiner.student")
    assert "grader.observe" in reached
    knowing = sorted(module for module in reached if room(module) in ANSWERS)
    assert not knowing, f"the student's process imports {', '.join(knowing)}"


def test_the_servers_start_without_nbformat_which_takes_a_second() -> None:
    for role in ("student", "session"):
        reached = reached_from(f"grader.examiner.{role}")
        assert "grader.wire" in reached
        slow = sorted(m for m, names in reached.items() if any("nbformat" in n for n in names))
        assert not slow, f"the {role}'s server imports nbformat through {', '.join(slow)}"
