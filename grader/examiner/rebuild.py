"""Reduces a submission to its answers and own cells, and lays them into the released notebook.

Everything else comes from the lesson. No code of a student is run here; nbgrader stays outside."""

import copy
import itertools
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from nbformat import NotebookNode

from grader.examiner import harmless
from grader.examiner.submission import usable
from grader.lesson import BY_STUDENTS, Kind, grade_id, kind, node
from grader.names import names_guessed, names_in

ELSEWHERE = "# Written in another cell."


@dataclass(frozen=True)
class Rebuilt:
    """A submission in the form that is graded.

    `notebook` is the released one with the student's answers and own cells in it, and its order is
    the order of running; an own code cell is one whose kind is None. `answers` holds the source of
    each answer cell by grade_id (the stub where nothing was written), and `notes` says to the
    student, a sentence each, what was not as it had been handed out.
    """

    notebook: NotebookNode
    answers: dict[str, str]
    notes: tuple[str, ...]


# --- what is recognised -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Cell:
    """One cell of the submission."""

    index: int
    type: str
    source: str
    grade_id: str | None
    marked: bool
    outputs: list[NotebookNode]

    @cached_property
    def _parsed(self) -> tuple[set[str], set[str]] | None:
        return names_in(self.source)

    @property
    def is_python(self) -> bool:
        return self._parsed is not None

    @cached_property
    def _names(self) -> tuple[set[str], set[str]]:
        return self._parsed or names_guessed(self.source)

    @property
    def binds(self) -> set[str]:
        return self._names[0]

    @property
    def reads(self) -> set[str]:
        return self._names[1]


def _submitted(notebook: NotebookNode) -> Iterator[_Cell]:
    for index, cell in enumerate(usable(notebook).cells):
        if cell.source.strip():
            yield _Cell(
                index=index,
                type=cell.cell_type,
                source=cell.source,
                grade_id=grade_id(cell),
                marked="nbgrader" in cell.metadata,
                outputs=cell.get("outputs", []),
            )


class _Released:
    """The lesson's cells by position, and what a submitted cell is recognised by."""

    def __init__(self, notebook: NotebookNode) -> None:
        self.cells: list[NotebookNode] = notebook.cells
        self.kinds = [kind(cell) for cell in self.cells]
        self.ids = [grade_id(cell) for cell in self.cells]
        self.by_id = {name: position for position, name in enumerate(self.ids) if name}
        self.by_source: dict[str, list[int]] = {}
        for position, cell in enumerate(self.cells):
            self.by_source.setdefault(_words(cell.source), []).append(position)
        self.setup = self.kinds.index(Kind.SETUP) if Kind.SETUP in self.kinds else -1

    def recognise(self, cell: _Cell, after: int) -> int | None:
        """The position of the released cell that `cell` comes from: by grade_id, or by its text.

        Of several cells with that text it is the next one below `after`.
        """
        if cell.grade_id in self.by_id:
            return self.by_id[cell.grade_id]
        alike = self.by_source.get(_words(cell.source), [])
        return next(
            (position for position in alike if position > after), alike[0] if alike else None
        )

    def untouched(self, cell: _Cell, position: int) -> bool:
        """Whether `cell` says what was handed out there."""
        return _words(cell.source) == _words(self.cells[position].source)

    def positions(self, *kinds: Kind) -> list[int]:
        return [position for position, one in enumerate(self.kinds) if one in kinds]

    @cached_property
    def names(self) -> dict[int, set[str]]:
        """What each answer and predict cell binds, as its stub does."""
        found = self.positions(Kind.ANSWER, Kind.PREDICT)
        return {at: (names_in(self.cells[at].source) or (set(), set()))[0] for at in found}

    @cached_property
    def own_names(self) -> dict[int, set[str]]:
        """The names that tell an answer: no other answer and no set-up cell binds them."""
        setups = [self.cells[at].source for at in self.positions(Kind.SETUP)]
        taken = set().union(*((names_in(source) or (set(),))[0] for source in setups))
        others = {at: [n for other, n in self.names.items() if other != at] for at in self.names}
        answers = self.positions(Kind.ANSWER)
        return {at: self.names[at] - taken - set().union(*others[at]) for at in answers}

    def first_graded(self, answer: int) -> int:
        """The first graded cell below an answer."""
        below = (at for at in self.positions(Kind.GRADED) if at > answer)
        return next(below, len(self.cells))


def _words(source: str) -> str:
    return " ".join(source.split())


# --- sorting ----------------------------------------------------------------------------------


@dataclass
class _Sorted:
    """The submission's cells: `parts` of a released cell by its position, and the student's own.

    `place` is the position of the released cell that an own cell comes after; `changed` are own
    cells that were a locked cell. The other fields are for the notes: `demos` that were changed,
    released cells that were `seen` how often, answers that were `retyped`, `found` in another
    cell, left `elsewhere`, or had a `broken` part.
    """

    released: _Released
    parts: dict[int, list[_Cell]] = field(default_factory=dict)
    own: list[_Cell] = field(default_factory=list)
    place: dict[_Cell, int] = field(default_factory=dict)
    changed: dict[_Cell, int] = field(default_factory=dict)
    demos: set[int] = field(default_factory=set)
    seen: Counter[int] = field(default_factory=Counter)
    retyped: set[int] = field(default_factory=set)
    found: set[int] = field(default_factory=set)
    elsewhere: set[int] = field(default_factory=set)
    broken: set[int] = field(default_factory=set)

    def code(self) -> list[_Cell]:
        """The student's own code cells."""
        return [cell for cell in self.own if cell.type == "code"]

    def all_code(self) -> Iterator[tuple[int, _Cell]]:
        """The code that will run, each cell with its place; own cells first."""
        yield from ((self.place[cell], cell) for cell in self.code())
        for position in self.released.positions(Kind.ANSWER):
            yield from ((position, cell) for cell in self.parts.get(position, []))

    def lacks(self, answer: int) -> bool:
        """Whether no cell found so far for `answer` binds what it must bind."""
        wanted, parts = self.released.names[answer], self.parts.get(answer, [])
        return not any(cell.binds & wanted for cell in parts) if wanted else not parts

    def take(self, cell: _Cell, position: int) -> None:
        """Make an own cell part of the released cell at `position`."""
        self.own.remove(cell)
        self.parts.setdefault(position, []).append(cell)
        self.parts[position].sort(key=lambda part: part.index)
        self.found.add(position)


def rebuild(submitted: NotebookNode, released: NotebookNode) -> Rebuilt:
    """Lay the answers and own cells of `submitted` into a copy of `released`.

    - A cell is recognised by its grade_id, or else by saying what a released cell says; everything
      else is the student's own. Of a locked cell the released one stands; a changed one is kept
      as an own cell too, since students experiment there, but not a changed demo: demos are not
      run when grading, for they may train for a minute.
    - Every cell with an answer's grade_id is part of that answer, in the order of the submission.
      If none of them binds the answer's names, the own cells that do and stand before the first
      graded cell are the answer; if there are none, the first one below.
    - Released cells stand in their own order, set-up first. An own cell follows the released cell
      that it followed in the submission, unless an answer below it there needs a name that it
      binds, directly or through other own cells: then it stands before that answer.

    So running from top to bottom gives what the student saw, and answers that were moved still
    find their helpers. Never raises on what `read` has returned.
    """
    cells = _sort(_submitted(submitted), _Released(released))
    _find_answers(cells)
    _find_written(cells)
    _helpers_before_answers(cells)
    notebook = copy.deepcopy(released)
    for position, cell in enumerate(notebook.cells):
        _fill(cell, position, cells)
    answers = {
        grade_id(cell) or "": cell.source for cell in notebook.cells if kind(cell) is Kind.ANSWER
    }
    notebook.cells = _with_own_cells(notebook.cells, cells)
    return Rebuilt(notebook, answers, tuple(_notes(cells)))


def _sort(submitted: Iterable[_Cell], released: _Released) -> _Sorted:
    """Walk the submission from top to bottom and tell the lesson's cells from the student's."""
    cells = _Sorted(released)
    walked = list(_recognised(submitted, released))
    stayed = _stayed([-1 if position is None else position for _, position in walked])
    at = -1
    for (cell, position), kept_its_place in zip(walked, stayed, strict=True):
        if position is not None:
            at = position if kept_its_place else at
            cells.seen[position] += 1
        if position is None or not _is_of_lesson(cell, position, cells):
            cells.own.append(cell)
            cells.place[cell] = max(at, released.setup)
    return cells


def _recognised(
    submitted: Iterable[_Cell], released: _Released
) -> Iterator[tuple[_Cell, int | None]]:
    last = -1
    for cell in submitted:
        position = released.recognise(cell, last)
        last = last if position is None else position
        yield cell, position


def _stayed(positions: list[int]) -> list[bool]:
    """Which cells kept their order: the longest rising chain of positions, -1 being none.

    A cell that was moved or copied far away says nothing about the place of its neighbours.
    """
    ends: list[int] = []  # of the chains of each length, the one with the lowest end
    before: dict[int, int] = {}
    for index, position in enumerate(positions):
        length = bisect_left(ends, position, key=lambda end: positions[end])
        if position >= 0:
            before[index] = ends[length - 1] if length else -1
            ends[length : length + 1] = [index]
    chain, index = set(), ends[-1] if ends else -1
    while index >= 0:
        chain.add(index)
        index = before[index]
    return [index in chain for index in range(len(positions))]


def _is_of_lesson(cell: _Cell, position: int, cells: _Sorted) -> bool:
    """Sort in a cell that was recognised; False if its text is one more cell of the student's."""
    released = cells.released
    if released.untouched(cell, position):
        return True
    if released.kinds[position] is Kind.DEMO:
        cells.demos.add(position)
        return True
    if released.kinds[position] not in BY_STUDENTS:
        cells.changed[cell] = position
        return False
    wanted = "markdown" if released.kinds[position] is Kind.WRITTEN else "code"
    if cell.type != wanted:
        if wanted == "code" and not (cell.is_python and cell.binds & released.names[position]):
            return False
        cells.retyped.add(position)
    cells.parts.setdefault(position, []).append(cell)
    return True


def _find_answers(cells: _Sorted) -> None:
    """For answers without a cell of their own, take the own cells that bind their names."""
    for answer, names in cells.released.own_names.items():
        if not cells.lacks(answer):
            continue
        found = [c for c in cells.code() if c.binds & names]
        graded = cells.released.first_graded(answer)
        for cell in [c for c in found if cells.place[c] < graded] or found[:1]:
            if not _needed_above(cell, answer, cells):
                cells.take(cell, answer)
        if cells.lacks(answer) and any(cell.binds & names for _, cell in cells.all_code()):
            cells.elsewhere.add(answer)  # its stub must not overwrite what stands there


def _needed_above(cell: _Cell, answer: int, cells: _Sorted) -> bool:
    """Whether code that runs before `answer` reads a name that `cell`, further up, binds."""
    return any(
        place < answer and other.index > cell.index and other.reads & cell.binds
        for place, other in cells.all_code()
    )


def _find_written(cells: _Sorted) -> None:
    """For a written answer without a cell of its own, take the student's text at that place."""
    for position in cells.released.positions(Kind.WRITTEN):
        if position not in cells.parts:
            for cell in [c for c in cells.own if c.type != "code"]:
                if cells.place[cell] in (position - 1, position):
                    cells.take(cell, position)


def _helpers_before_answers(cells: _Sorted) -> None:
    """Move own cells up to before the answers that need them, wherever those were moved to."""
    for answer in cells.released.positions(Kind.ANSWER):
        parts = cells.parts.get(answer, [])
        needed = set().union(*(part.reads for part in parts))
        for cell in reversed(cells.code()):
            if parts and cell.index < parts[-1].index and cell.binds & needed:
                cells.place[cell] = min(cells.place[cell], answer - 1)
                needed |= cell.reads


# --- laying in --------------------------------------------------------------------------------


def _fill(cell: NotebookNode, position: int, cells: _Sorted) -> None:
    """Put the student's answer into a cell of the lesson's, if it is there for one."""
    parts = cells.parts.get(position, [])
    if cells.released.kinds[position] is Kind.WRITTEN:
        texts = dict.fromkeys(harmless.markdown(part.source) for part in parts)
        cell.source = "\n\n".join(texts) or cell.source
    elif parts:
        cell.source = _program(parts, position, cells)
        cell.outputs = [output for part in parts for output in part.outputs]
    elif position in cells.elsewhere:
        cell.source = ELSEWHERE


def _program(parts: list[_Cell], position: int, cells: _Sorted) -> str:
    """The parts one after another, without broken ones that others make up for."""
    whole = "\n".join(part.source for part in parts)
    sound = [part for part in parts if part.is_python]
    bound = set().union(*(part.binds for part in sound))
    if len(parts) == 1 or names_in(whole) or not cells.released.names[position] <= bound:
        return whole
    cells.broken.add(position)
    return "\n".join(part.source for part in sound)


def _with_own_cells(laid: list[NotebookNode], cells: _Sorted) -> list[NotebookNode]:
    taken = {cell.get("id") for cell in laid}
    names = (name for n in itertools.count(1) if (name := f"own-{n}") not in taken)
    own: dict[int, list[_Cell]] = {}
    for cell in cells.own:
        own.setdefault(cells.place[cell], []).append(cell)
    mixed = [_own_cell(cell, next(names)) for cell in own.get(-1, [])]
    for position, released in enumerate(laid):
        mixed.append(released)
        mixed += [_own_cell(cell, next(names)) for cell in own.get(position, [])]
    return mixed


def _own_cell(cell: _Cell, name: str) -> NotebookNode:
    """A cell of the student's own, without a word of metadata.

    Raw text becomes Markdown: nbconvert puts raw cells into a page as they are.
    """
    common = {"id": name, "metadata": node()}
    if cell.type != "code":
        return node(cell_type="markdown", source=harmless.markdown(cell.source), **common)
    outputs = cell.outputs
    return node(
        cell_type="code", source=cell.source, execution_count=None, outputs=outputs, **common
    )


# --- words ------------------------------------------------------------------------------------


def _notes(cells: _Sorted) -> Iterator[str]:
    """What the student is told. No text of the submission is repeated here."""
    released, parts = cells.released, cells.parts
    answers = released.positions(Kind.ANSWER)
    named = {at for at, name in enumerate(released.ids) if name}
    locked = {at for at in named if released.kinds[at] not in BY_STUDENTS}
    copied = {at for at, found in parts.items() if len(found) > 1}
    changed = set(cells.changed.values()) & named
    absent = named - cells.seen.keys() - cells.found - cells.elsewhere
    foreign = [cell for cell in cells.own if cell.marked and cell not in cells.changed]
    told = [
        (
            copied & set(answers),
            "There was more than one cell with the answer {}; all of them were run in the order "
            "of your notebook, so the last definition counts.",
        ),
        (
            copied - set(answers),
            "There was more than one cell with the answer {}; they were put together.",
        ),
        (
            cells.broken,
            "One cell with the answer {} cannot be read as Python and was left out, since another "
            "one defines the same.",
        ),
        (
            cells.found,
            "The answer {} was not in the cell that was handed out for it; it was found in "
            "another one.",
        ),
        (
            cells.elsewhere,
            "What {} asks for is defined in another cell, so the empty answer cell was left out.",
        ),
        (
            cells.retyped,
            "The type of the cell {} had been changed; its text was taken as the answer.",
        ),
        (absent & set(answers), "The answer {} is not there and counts as not written."),
        (
            changed,
            "Locked cells had been changed ({}); the lesson's own were used, and your versions "
            "count as cells of your own.",
        ),
        (
            cells.demos & named,
            "Demo cells had been changed ({}); demo cells are not run when a notebook is graded.",
        ),
        (
            {at for at in locked - changed - cells.demos if cells.seen[at] > 1},
            "Copies of locked cells were left out ({}).",
        ),
        (absent - set(answers), "Cells of the lesson were not there and were put back ({})."),
    ]
    for positions, sentence in told:
        if positions:
            yield sentence.format(", ".join(released.ids[at] or "" for at in sorted(positions)))
    if foreign:
        yield (
            "Some cells carried marks of nbgrader that this lesson does not know "
            f"({len(foreign)}); they count as cells of your own and give no points."
        )
