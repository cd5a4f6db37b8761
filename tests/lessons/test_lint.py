"""No check touches student code by itself: it passes the function on, to `ask` or to a helper.

Why: `all(map(ok, …))` over a function that raises StopIteration, `assert f(x)` of any object, and
an expected value computed from an argument that the student had zeroed each gave full marks."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import grader.checks

FORBIDDEN_NAMES = {
    "catch_warnings", "tracemalloc", "time", "timeit", "perf_counter", "signal", "inspect",
    "exec", "eval",
}  # fmt: skip
LOOPS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
FOLDER = Path(grader.checks.__file__).parent
GRADED = "\n@graded("
FILES = [path for path in sorted(FOLDER.glob("*.py")) if GRADED in path.read_text("utf-8")]


class Module:
    """One file of checks, and which parameters of its functions hold the student's code."""

    def __init__(self, source: str) -> None:
        self.tree = ast.parse(source)
        self.functions = {f.name: f for f in self.tree.body if isinstance(f, ast.FunctionDef)}
        self.asks = {"observe": 1} | {  # and how many things of the student's each takes
            target.id: len(node.value.args)
            for node in self.tree.body
            if isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call)
            and ast.unparse(node.value.func) in ("asking", "scripting")
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        self.held: dict[str, set[int]] = {
            name: set(range(len(parameters(f))))
            for name, f in self.functions.items()
            if any("graded(" in ast.unparse(decorator) for decorator in f.decorator_list)
        }
        self._follow()

    def _follow(self) -> None:
        """A helper's parameter holds student code when some function passes it on there."""
        waiting = list(self.held)
        while waiting:
            for call in calls(self.functions[waiting[-1]]):
                callee = getattr(call.func, "id", "")
                if callee in self.functions:
                    held = self._student_names(waiting[-1])
                    passed = {i for i, a in enumerate(call.args) if getattr(a, "id", "") in held}
                    if passed - self.held.get(callee, set()):
                        self.held[callee] = self.held.get(callee, set()) | passed
                        waiting.insert(0, callee)
            waiting.pop()

    def _student_names(self, function: str) -> set[str]:
        names = parameters(self.functions[function])
        return {names[index] for index in self.held.get(function, ())}

    def faults(self) -> Iterator[str]:
        """Each place where student code is touched, or could be without `ask` knowing."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Try | ast.TryStar):
                yield f"line {node.lineno}: try"
            names = {getattr(node, part, "") for part in ("id", "attr", "name", "module")}
            for name in sorted(names & FORBIDDEN_NAMES, key=str):
                yield f"line {getattr(node, 'lineno', 0)}: {name}"
        for function in self.held:
            yield from self._function_faults(function)

    def _function_faults(self, function: str) -> Iterator[str]:
        held, node = self._student_names(function), self.functions[function]
        allowed = {
            id(argument)
            for call in calls(node)
            for position, argument in enumerate(call.args)
            if self._may_take(getattr(call.func, "id", ""), position)
        }
        for wrapper in (inner for inner in ast.walk(node) if isinstance(inner, LOOPS)):
            allowed -= {id(inner) for inner in ast.walk(wrapper)}
        for name in ast.walk(node):
            if isinstance(name, ast.Name) and name.id in held and id(name) not in allowed:
                yield f"line {name.lineno}: {function} touches {name.id}"

    def _may_take(self, callee: str, position: int) -> bool:
        return position < self.asks.get(callee, 0) or position in self.held.get(callee, ())


def parameters(function: ast.FunctionDef) -> list[str]:
    return [argument.arg for argument in [*function.args.posonlyargs, *function.args.args]]


def calls(function: ast.FunctionDef) -> list[ast.Call]:
    return [node for node in ast.walk(function) if isinstance(node, ast.Call)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_check_touches_student_code(path):
    module = Module(path.read_text("utf-8"))
    assert module.asks and module.held
    assert list(module.faults()) == []


def test_the_checks_of_every_lesson_are_linted(entry):
    imported = re.findall(r"from grader\.checks import (\w+)", entry.source.read_text("utf-8"))
    assert imported and set(imported) <= {path.stem for path in FILES}


# --- the lint finds what it must ----------------------------------------------------------------

GOOD = """
ask = asking("f")
@graded()
def check(f):
    for x in (1, 2):
        seen = ask(f, x)
    _helper(3, f)
    on_smallest(lambda y: ask(f, y), 4)
    def judge(z):
        return _helper(z, f)
def _helper(x, g):
    return ask(g, x)
"""
BAD = {
    "a call": "def check(f):\n    f(1)",
    "a call inside ask": "def check(f):\n    ask(ask, f(1))",
    "a truth test": "def check(f):\n    if f:\n        pass",
    "an assertion": "def check(f):\n    assert f",
    "getattr": "def check(f):\n    getattr(f, 'x')",
    "an attribute": "def check(f):\n    f.x",
    "a comparison": "def check(f):\n    f == 1",
    "a second name": "def check(f):\n    g = f\n    g(1)",
    "another argument of ask": "def check(f):\n    ask(len, f)",
    "a keyword of ask": "def check(f):\n    ask(function=f)",
    "a builtin": "def check(f):\n    list(map(f, [1]))",
    "a comprehension": "def check(f):\n    all([ask(f, x) for x in (1, 2)])",
    "a generator": "def check(f):\n    all(ask(f, x) for x in (1, 2))",
    "a lambda": "def check(f):\n    on_smallest(lambda x: f(x), 1)",
    "an inner function": "def check(f):\n    def g():\n        f(1)\n    g()",
    "a helper that calls": "def check(f):\n    _h(1, f)\ndef _h(x, g):\n    g(x)",
    "a helper's helper": "def check(f):\n    _h(f)\ndef _h(g):\n    _k(g)\ndef _k(h):\n    h()",
    "a foreign helper": "def check(f):\n    other.helper(f)",
    "try": "def check(f):\n    try:\n        ask(f)\n    except Exception:\n        pass",
    "catch_warnings": "def check(f):\n    with warnings.catch_warnings():\n        ask(f)",
    "tracemalloc": "import tracemalloc\ndef check(f):\n    ask(f)",
    "time": "import time\ndef check(f):\n    ask(f)",
    "from time": "from time import perf_counter\ndef check(f):\n    ask(f)",
    "an f-string": "def check(f):\n    print(f'{f}')",
    "a return": "def check(f):\n    return f",
}


def test_the_lint_finds_nothing_in_a_good_check():
    assert list(Module(GOOD).faults()) == []


@pytest.mark.parametrize("case", BAD)
def test_the_lint_finds(case):
    checks = BAD[case].replace("def check(", "@graded()\ndef check(")
    assert list(Module(f"ask = asking('f')\n{checks}").faults())
