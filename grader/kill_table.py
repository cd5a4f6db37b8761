"""docs/kill-table.md: what the mutants command found, as a page that anyone can check.

Only words and tables; mutants.py does the grading."""

from collections import defaultdict
from pathlib import Path

from grader import course, mutants
from grader.mutants import NO_LESSON, Report, Wrong

PAGE = Path("docs/kill-table.md")
BANK = Path("tests/bank")

# Public tests of other courses, run on the 94 wrong implementations of our first bank in
# November 2026; the second number is how many of them the course has an exercise for.
PEERS = (
    ("TorchCode", 54, 79),
    ("pyre-code", 57, 79),
    ("CS336, assignment 1", 43, 51),
    ("CS336, assignment 2", 10, 15),
    ("ARENA", 29, 31),
    ("TinyTorch, its test suite", 41, 42),
    ("TinyTorch, its graded cells", 22, 42),
    ("tiny-llm", 41, 45),
    ("DeepLearning.AI C5W4", 18, 21),
    ("CS231n, assignment 3", 16, 18),
    ("EECS 498, assignment 5", 11, 14),
    ("Deep-ML", 23, 34),
    ("TorchLeet", 20, 33),
)

HEAD = """\
# Every known mistake, and the cell that catches it

Made by `python -m grader mutants --table`; a test holds it against what the command finds now.

A wrong implementation is put into the solved lesson in place of the right one and graded through
the graded cells that students have. *Caught* means that it loses points there, *named* that the
message says which mistake it is. Right implementations, usual and unusual, must get every point.
"""

PEERS_HEAD = """\
## Other courses

94 wrong implementations from public bug reports were put into each course's exercises and run
against its public tests, in November 2026. A course is asked only about exercises that it has.
Hardly any of these tests says which mistake it found.
"""


def write(root: Path = course.ROOT) -> Path:
    """Write the page anew."""
    page = text(mutants.of_misconceptions(root), mutants.of_bank(root / BANK, root))
    (root / PAGE).write_text(page, "utf-8")
    return PAGE


def text(built_in: Report, bank: Report) -> str:
    """The page, from what grading the misconceptions and the bank gave."""
    parts = [
        HEAD,
        _totals(built_in, bank),
        "## The course's misconceptions\n",
        _families(built_in.wrong),
        "## The bank of files\n",
        _files(bank),
        PEERS_HEAD,
        _peers(),
    ]
    return "\n".join(parts)


def _totals(*reports: Report) -> str:
    both = Report(
        [w for r in reports for w in r.wrong], [r for each in reports for r in each.right]
    )
    rows = [
        f"| `{exercise}` | {wrong} | {caught} | {named} | {full} of {right} |"
        for exercise, (wrong, caught, named, right, full) in mutants.totals(both).items()
    ]
    head = [
        "| exercise | wrong | caught | named | right ones at full points |",
        "|---|--:|--:|--:|--:|",
    ]
    return "\n".join([*head, *rows, ""])


def _families(wrong: list[Wrong]) -> str:
    found: dict[tuple[str, str], list[Wrong]] = defaultdict(list)
    for each in wrong:
        found[each.exercise, each.name.rpartition(", form ")[0]].append(each)
    rows = []
    for (exercise, name), forms in found.items():
        cells = ", ".join(f"`{cell}`" for cell in dict.fromkeys(str(f.killed_by) for f in forms))
        named = sum(form.misconception == name for form in forms)
        rows.append(f"| `{exercise}` | {name} | {len(forms)} | {named} | {cells} |")
    head = ["| exercise | misconception | forms | named so | caught in |", "|---|---|--:|--:|---|"]
    return "\n".join([*head, *rows, ""])


def _files(bank: Report) -> str:
    rows = [
        f"| `{wrong.exercise}` | {wrong.name.replace('_', ' ')} | {_cell(wrong)} "
        f"| {wrong.misconception or ''} |"
        for wrong in bank.wrong
        if wrong.killed_by != NO_LESSON
    ]
    waiting = sum(wrong.killed_by == NO_LESSON for wrong in bank.wrong)
    head = ["| exercise | wrong implementation | caught in | named |", "|---|---|---|---|"]
    note = f"{waiting} more wait for their lessons.\n" if waiting else ""
    return "\n".join([*head, *rows, "", note])


def _cell(wrong: Wrong) -> str:
    return f"`{wrong.killed_by}`" if wrong.killed_by else "**nowhere**"


def _peers() -> str:
    rows = [f"| {name} | {caught} of {asked} |" for name, caught, asked in PEERS]
    return "\n".join(["| course | caught |", "|---|--:|", *rows, ""])
