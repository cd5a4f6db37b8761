"""What a hostile function may return or raise: every object there is, none of it an answer."""

import unicodedata

import pytest

from grader.check import show
from tests.grading.hostile.court import Court, Graded, wrong

LONGEST = 6000  # characters of one message


def must_be_readable(graded: Graded) -> None:
    """Messages are short and hold nothing that a terminal would obey."""
    for cell in graded.result.graded:
        assert len(cell.message) < LONGEST, cell.message[:500]
        odd = {c for c in cell.message if unicodedata.category(c) in ("Cc", "Cf", "Cs")}
        assert odd <= {"\n"}, odd


# --- values -------------------------------------------------------------------------------------

CLASSES = """
import ctypes, types, enum
class Yes:
    "Says yes to everything."
    def yes(self, *_, **__): return True
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __contains__ = yes
    __hash__ = None
    def __len__(self): return 3
    def __float__(self): return 0.5
    def __int__(self): return 1
    __index__ = __int__
    def __iter__(self): return iter([1/6, 1/3, 1/2])
    def __getitem__(self, _): return 1/3
    def __getattr__(self, name): return self
    def __call__(self, *_, **__): return self
class Claims(Yes):
    "Claims to be an array, also when asked for its class."
    __class__ = np.ndarray
    dtype, shape, ndim, size = np.dtype(float), (3,), 1, 3
    def __array__(self, *_, **__): return np.array([1/6, 1/3, 1/2])
    def __array_ufunc__(self, *_, **__): return np.True_
    def __array_function__(self, *_, **__): return True
    def __array_priority__(self): return 1e9
    def astype(self, *_): return self
class Pointer:
    "Offers an address of foreign memory as an array."
    __array_interface__ = {"data": (id(None), False), "shape": (3,), "typestr": "<f8", "version": 3}
class Array(np.ndarray):
    def __eq__(self, _): return True
    def __array_ufunc__(self, *_, **__): return True
    def __array_finalize__(self, _): self.sly = 1
    shape = property(lambda self: (3,))
    def tobytes(self, *_): return b'1' * 24
    def astype(self, *_, **__): return np.array([1/6, 1/3, 1/2])
class List(list):
    def __len__(self): return 3
    def __iter__(self): return iter([1/6, 1/3, 1/2])
    def __eq__(self, _): return True
class Float(float):
    def __le__(self, _): return True
    __ge__ = __eq__ = __sub__ = __rsub__ = __abs__ = __le__
    def __float__(self): return 1/3
class Text(str):
    def __eq__(self, _): return True
    __hash__ = str.__hash__
class Odd(type):
    "A metaclass that lies."
    __name__ = property(lambda self: 1 / 0)
    def __instancecheck__(self, _): return True
    def __eq__(self, _): return True
    __hash__ = type.__hash__
class Strange(metaclass=Odd): pass
Long = type('[/red]\\x1b[2J<script>' + 'x' * 10**6, (), {})
loop = []; loop.append(loop)
deep = []
for _ in range(10**5): deep = [deep]
tricks = np.lib.stride_tricks
def generate(): yield from (1/6, 1/3, 1/2)
async def later(): return 1
"""
VALUES = {
    "an object that says yes": "Yes()",
    "a list of such": "[Yes(), Yes(), Yes()]",
    "one that claims to be an array": "Claims()",
    "a pointer": "Pointer()",
    "a subclass of array": "np.array([9.0, 9, 9]).view(Array)",
    "a subclass of list": "List([9.0])",
    "a subclass of float": "[Float(9)] * 3",
    "a subclass of str": "Text('no')",
    "an object with a lying type": "Strange()",
    "a type with a long odd name": "Long()",
    "True": "True",
    "merely truthy": "[1, 1, 1]",
    "NotImplemented": "NotImplemented",
    "Ellipsis": "...",
    "a view of 2**40 elements": "np.broadcast_to(0.3, (2**20, 2**20))",
    "a shape (0, 10**12)": "np.empty((0, 10**12))",
    "32 dimensions": "np.zeros((1,) * 32)",
    "64 dimensions": "np.zeros((1,) * 64)",
    "many short dimensions": "np.broadcast_to(False, (7,) * 9)",
    "very many short dimensions": "np.broadcast_to(False, (2,) * 26)",
    "many arrays": "[np.broadcast_to(0.1, (1000,)) for _ in range(8000)]",
    "arrays of many dimensions": "[np.broadcast_to(False, (6,) * 9)] * 3",
    "NaN": "np.full(3, np.nan)",
    "NaN among others": "[0.2, math.nan, 0.8]",
    "infinity": "np.full(3, np.inf)",
    "complex": "np.array([1/6, 1/3, 1/2], complex)",
    "objects": "np.array([1/6, 1/3, 1/2], object)",
    "dates": "np.array(['2024-01-01'] * 3, 'M8[D]')",
    "texts": "np.array(['0.1'] * 3)",
    "a structure": "np.zeros(3, [('a', float), ('b', object)])",
    "long doubles": "np.full(3, 9, np.longdouble)",
    "the other byte order": "np.full(3, 9, '>f8')",
    "a masked array": "np.ma.masked_all(3)",
    "a matrix": "np.asmatrix([9.0, 9, 9])",
    "records": "np.rec.array([(1.0, 2)])",
    "foreign memory": "tricks.as_strided(np.zeros(1), (3,), (64,)) * 0 + 9",
    "overlapping memory": "tricks.as_strided(np.zeros(9), (5, 5), (8, 8))",
    "a memoryview": "memoryview(np.zeros(3))",
    "bytes": "b'0.5' * 3",
    "a huge integer": "10**5000",
    "a huge text": "'x' * 10**8",
    "a long text": "'a-' * 3 * 10**6",
    "a text with half a character": "'\\ud800'",
    "markup": "'[/red][bold]</b><script>alert(1)</script>{{ 7*7 }}'",
    "orders for a terminal": "'\\x1b[2J\\x1b]0;title\\x07\\r\\x08\\x9b1m'",
    "text that runs backwards": "'\\u202e\\u2066 5 \\u200b'",
    "a list in itself": "loop",
    "a deep list": "deep",
    "a long list": "[0.1] * 10**6",
    "a list of many texts": "['x' * 10**5] * 70",
    "a dict of one hash": "{n * (2**61 - 1): n for n in range(1000)}",
    "a dict of objects": "{Yes: Yes(), 1: 2} if False else {(1, 2): Yes()}",
    "a set": "{1/6, 1/3, 1/2}",
    "a generator": "generate()",
    "a coroutine": "later()",
    "an iterator": "map(float, [1])",
    "a function": "softmax",
    "a class": "Yes",
    "a module": "np",
    "an exception": "AssertionError('no')",
    "a random generator": "np.random.default_rng()",
    "the shell": "get_ipython()",
    "all globals": "globals()",
    "Python's frame": "__import__('sys')._getframe()",
}


# As large as may be: returned from one of the functions, for it takes time.
HEAVY = {
    "many short dimensions", "very many short dimensions", "arrays of many dimensions",
    "many arrays", "a huge text", "a long text", "a list of many texts", "a long list",
}  # fmt: skip


@pytest.mark.parametrize("what", VALUES)
def test_no_object_is_an_answer(what: str, court: Court) -> None:
    answers = wrong(VALUES[what])
    if what in HEAVY:
        answers["softmax"] = wrong()["softmax"]
    graded = court.judge(answers, CLASSES)
    assert graded.points == 0, graded.messages()
    must_be_readable(graded)
    assert not graded.told_by("own-1")


# --- exceptions ---------------------------------------------------------------------------------

RAISED = """
class Dumb(Exception):
    def __str__(self): raise SystemExit
    __repr__ = __str__
class Endless(Exception):
    def __str__(self): return 'x' * 10**6
class NoText(Exception):
    def __str__(self): return 3
class Meta(type):
    __name__ = property(lambda self: 1 / 0)
class Nameless(Exception, metaclass=Meta): pass
def named(name, *bases, **fields): return type(name, bases or (Exception,), fields)('all is well')
passed = {'status': 'passed', 'misconception': None, 'title': 'passed'}
class Tangled(Exception):
    __cause__ = property(lambda self: self)
    __traceback__ = property(lambda self: 1 / 0)
"""
EXCEPTIONS = {
    "StopIteration": "StopIteration",
    "StopAsyncIteration": "StopAsyncIteration",
    "SystemExit": "SystemExit(0)",
    "KeyboardInterrupt": "KeyboardInterrupt",
    "MemoryError": "MemoryError",
    "GeneratorExit": "GeneratorExit",
    "RecursionError": "RecursionError",
    "AssertionError": "AssertionError",
    "BaseException": "BaseException",
    "a group": "ExceptionGroup('many', [ValueError(1)] * 1000)",
    "one whose text cannot be had": "Dumb()",
    "one with a megabyte of text": "Endless()",
    "one with a number for a text": "NoText()",
    "one without a name": "Nameless()",
    "one that is tangled": "Tangled()",
    "one with half a character": "ValueError('\\ud800')",
    "one with markup": "ValueError('[/red]</b><script>alert(1)</script>')",
    "one with orders for a terminal": "ValueError('\\x1b[2J\\x1b]0;x\\x07\\r\\u202e')",
    "a syntax error with odd fields": "SyntaxError('x', (1, 2, 3, 4))",
    "CheckFailed": "named('CheckFailed', AssertionError, **passed)",
    "NotWritten": "named('NotWritten', AssertionError, **passed)",
    "TimeLimit": "named('TimeLimit')",
    "ProcessDied": "named('ProcessDied')",
    "PassedError": "named('PassedError', **passed)",
    "Passed": "named('✓ softmax is right', **passed)",
    "StudentGone": "named('StudentGone')",
    "WireError": "__import__('grader.wire').wire.WireError('mine')",
    "ChannelTimeout": "__import__('grader.channel').channel.ChannelTimeout('mine')",
}


@pytest.mark.parametrize("what", EXCEPTIONS)
def test_no_exception_is_an_answer(what: str, court: Court) -> None:
    raising = f"(_ for _ in ()).throw({EXCEPTIONS[what]})"
    answers = {
        name: source.replace("return None", f"raise {EXCEPTIONS[what]}")
        for name, source in wrong().items()
    }
    graded = court.judge(answers, RAISED)
    assert graded.points == 0, graded.messages()
    assert graded.statuses("softmax") == {"failed"}, raising
    must_be_readable(graded)


@pytest.mark.parametrize("what", ["StopIteration", "one whose text cannot be had", "NotWritten",
                                  "one with orders for a terminal", "one with a megabyte of text",
                                  "TimeLimit", "one with markup", "one without a name",
                                  "CheckFailed"])  # fmt: skip
def test_nor_does_it_help_to_raise_it_at_top_level(what: str, court: Court) -> None:
    graded = court.judge({**court.answers, "softmax": f"raise {EXCEPTIONS[what]}"}, RAISED)
    assert graded.points == 5
    must_be_readable(graded)


def test_an_exception_that_says_not_written_is_believed(court: Court) -> None:
    answers = {"softmax": "def softmax(scores, axis=-1):\n    raise NotImplementedError('yet')"}
    graded = court.judge({**court.answers, **answers})
    assert graded.statuses("softmax") == {"not_written"}


@pytest.mark.parametrize("what", ["one with markup", "one with orders for a terminal"])
def test_the_terminal_shows_it_as_it_stands(
    what: str, court: Court, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = {"softmax": f"def softmax(scores, axis=-1):\n    raise {EXCEPTIONS[what]}"}
    show(court.judge(answers).result)
    shown = capsys.readouterr().out
    assert not set("\x1b\x07\u202e") & set(shown)
    assert ("[/red]</b><script>" in shown) is (what == "one with markup")


# --- what is printed ----------------------------------------------------------------------------


def test_what_a_call_prints_stands_beside_its_failure(court: Court) -> None:
    own = "import ctypes, os, subprocess"
    loud = (
        "def softmax(scores, axis=-1):\n"
        "    print('a word of mine [bold]\\x1b[31m')\n"
        "    ctypes.CDLL(None).puts(b'written in C'); ctypes.CDLL(None).fflush(None)\n"
        "    os.write(1, b'to the descriptor'); os.write(2, b'to the descriptor')\n"
        "    return None"
    )
    graded = court.judge({**court.answers, "softmax": loud}, own)
    assert "printed   a word of mine [bold]" in graded.messages("softmax")
    assert "in C" not in graded.everything()
    assert "to the descriptor" not in graded.everything()
    must_be_readable(graded)


@pytest.mark.parametrize(
    "flood",
    ["while True: print('x' * 1000)", "print('x' * 50_000_000)", "for n in range(10**4): print(n)",
     "import os\nfor _ in range(10**4): os.write(1, b'x' * 10**4)",
     "import sys\nsys.stdout.seek(10**9); sys.stdout.write('x' * 10**7)"],
    ids=["endless", "one line of 50 MB", "many lines", "to the descriptor", "after a seek"],
)  # fmt: skip
def test_a_flood_of_output_is_cut(flood: str, court: Court) -> None:
    graded = court.judge(court.answers, flood)
    assert graded.points == 18, graded.messages()
    assert len(graded.everything()) < 100_000
    in_a_call = flood.replace("\n", "\n    ")
    answers = {"softmax": f"def softmax(scores, axis=-1):\n    {in_a_call}\n    return 1"}
    graded = court.judge({**court.answers, **answers})
    assert graded.points == 5
    assert len(graded.everything()) < 100_000
    must_be_readable(graded)
