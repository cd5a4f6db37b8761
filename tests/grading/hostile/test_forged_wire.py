"""Student processes that know the wire and speak it: too much, too late, twice, or nonsense.

They find their channel among the open descriptors, as a student could."""

import pytest

from grader.examiner.settings import Settings
from tests.grading.hostile.court import MIB, Court, code, notebook, position, wrong
from tests.grading.hostile.test_resources import watched

SPEAK = """
import os, stat, struct, pickle, time, json, select
from grader import wire
def is_socket(number):
    try: return stat.S_ISSOCK(os.fstat(number).st_mode)
    except OSError: return False
(wire_fd,) = [number for number in range(3, 64) if is_socket(number)]
def raw(data):
    data = memoryview(data)
    while data:
        select.select([], [wire_fd], [])
        try: data = data[os.write(wire_fd, data):]
        except BlockingIOError: pass
def say(message): raw(struct.pack('>Q', len(message)) + message)
def header(text): return struct.pack('>I', len(text)) + text
def answer(outcome): say(b'=' + outcome)
def reply(*outcome): answer(wire.encode(list(outcome)))
def ask_back(number, arguments): say(b'?' + struct.pack('>I', number) + arguments)
class Evil:
    def __reduce__(self): return os.system, ('touch /tmp/pwned',)
fine = [[1/6, 1/3, 1/2], None, [], [], '']
print('ready to speak')
"""
# What the first call of softmax_list does before it returns None.
FORGERIES = {
    "a reply before the reply": "reply(*fine)",
    "many replies": "for _ in range(50): reply(*fine)",
    "a reply of another form": "reply(True)",
    "a reply that passed": "reply({'status': 'passed', 'points': 18})",
    "a reply with too much": "reply(*fine, 'more')",
    "an error that is none": "reply(None, {'kind': 'x'}, [], [], '')",
    "an error of arrays": "reply(None, [np.zeros(3)] * 3, [], [], '')",
    "warnings without end": "reply(None, None, ['w' * 10] * 50_000, [], '')",
    "warnings that are none": "reply([0.5], None, [1, 2], [], '')",
    "changes without end": "reply([0.5], None, [], list(range(90_000)), '')",
    "print that is none": "reply([0.5], None, [], [], 18)",
    "print of a megabyte": "reply([0.5], None, [], [], 'p' * 10**6)",
    "print with orders": "reply([0.5], ['[/red]', '\\x1b[2J', '<b>'], [], [], '\\x1b[2J\\u202e')",
    "a reference to another's object": (
        "answer(wire.encode([object(), None, [], [], ''],"
        " refer=lambda _: wire.Ref('object', 10**6 + 3, 'KVCache')))"
    ),
    "a reference to a function": (
        "answer(wire.encode([object(), None, [], [], ''],"
        " refer=lambda _: wire.Ref('function', 0, 'x')))"
    ),
    "a generator": "reply(np.random.default_rng(), None, [], [], '')",
    "a callback that was not lent": "ask_back(0, wire.encode([[], {}]))",
    "a callback of any number": ("for n in (7, 2**32 - 1): ask_back(n, wire.encode([[], {}]))"),
    "callbacks without end": "while True: ask_back(0, wire.encode([[], {}]))",
    "large callbacks": (
        "big = wire.encode([[np.zeros(60 * 2**20, np.uint8)], {}])\nwhile True: ask_back(0, big)"
    ),
    "a callback with nothing": "ask_back(0, b'')",
    "a callback without a number": "say(b'?')",
    "a callback of garbage": "ask_back(0, os.urandom(999))",
    "an empty frame": "say(b'')",
    "an empty answer": "answer(b'')",
    "an unknown word": "say(wire.encode(['finish', {'status': 'passed'}]))",
    "an order to the examiner": "say(wire.encode({'do': 'finish', 'outcomes': []}))",
    "an order in JSON": "raw(struct.pack('>I', 30) + json.dumps({'do': 'finish'}).encode())",
    "garbage": "raw(os.urandom(9999))",
    "zeros": "raw(bytes(9999))",
    "a length of 2**64": "raw(b'\\xff' * 8)",
    "a length of 2**63": "raw(struct.pack('>Q', 2**63) + b'x' * 100)",
    "just too long": "answer(bytes(64 * 2**20 + 9))",
    "as long as allowed": "answer(bytes(64 * 2**20))",
    "a long header": "answer(header(b'[' * (8 * 2**20)))",
    "a deep header": "answer(header(b'[' * 90_000 + b']' * 90_000))",
    "a header of digits": "answer(header(b'9' * 2**20))",
    "half a message": "raw(struct.pack('>Q', 100) + b'half'); time.sleep(99)",
    "a pickle": "answer(pickle.dumps(Evil()))",
    "a pickle in a message": "reply(pickle.dumps(Evil()).decode('latin-1'), None, [], [], '')",
    "an array beyond the message": (
        "answer(header(json.dumps([{'array': {'dtype': '<f8', 'shape':"
        " [2**23], 'order': 'C', 'repeated': [], 'writeable': True}}, None, [], [], '']).encode()))"
    ),
    "an array of objects": (
        "answer(header(json.dumps([{'array': {'dtype': '|O', 'shape':"
        " [1], 'order': 'C', 'repeated': [], 'writeable': True}}, None, [], [], '']).encode())"
        " + bytes(8))"
    ),
    "dripping": (
        "data = bytes(1000)\nraw(struct.pack('>Q', 1000))\n"
        "for n in range(1000): raw(data[n:n + 1]); time.sleep(0.01)"
    ),
    "silence": "time.sleep(99)",
    "a closed channel": "os.close(wire_fd)",
    "a channel that is something else": "os.dup2(os.open('/dev/null', os.O_RDWR), wire_fd)",
    "reading what is not for it": "try: os.read(wire_fd, 9)\nexcept BlockingIOError: pass",
}


@pytest.mark.parametrize("what", FORGERIES)
def test_no_forgery_earns_a_point(what: str, court: Court) -> None:
    body = "\n".join("    " + line for line in FORGERIES[what].split("\n"))
    answers = wrong()
    answers["softmax_list"] = answers["softmax_list"].replace("    return", f"{body}\n    return")
    with watched(court) as watch:
        graded = court.judge(answers, SPEAK)
    assert graded.told_by("own-1") == "ready to speak\n", graded.result.outputs["own-1"]
    assert graded.points == 0, graded.messages()
    assert not [c for c in "\x1b\u202e" if c in graded.everything()]
    assert len(graded.everything()) < 200_000
    assert watch.memory < 600 * MIB


def test_the_wire_is_really_spoken(court: Court) -> None:
    """Else the forgeries above would prove nothing: what is said here arrives as the answer."""
    forges = "def softmax_list(row):\n    reply([0.125, 0.25, 0.0625], None, [], [], '')"
    graded = court.judge({**wrong(), "softmax_list": forges}, SPEAK)
    assert "[0.125, 0.25, 0.0625]" in graded.cell("softmax_list-by-hand").message
    assert graded.points == 0


AT_TOP_LEVEL = (
    "many replies", "a callback that was not lent", "an unknown word", "an order in JSON",
    "garbage", "zeros", "a length of 2**64", "as long as allowed", "a pickle",
    "a closed channel", "a channel that is something else", "reading what is not for it",
)  # fmt: skip


@pytest.mark.parametrize("what", AT_TOP_LEVEL)
def test_no_forgery_at_top_level_costs_the_neighbours_anything(what: str, court: Court) -> None:
    """Spoken while a cell runs; right answers after it may suffer, for it was their process."""
    filled = notebook(court.entry, wrong(), SPEAK)
    filled["cells"].insert(position(filled, "setup") + 2, code(FORGERIES[what]))
    with watched(court) as watch:
        graded = court.judge_notebook(filled)
    assert graded.told_by("own-1") == "ready to speak\n", graded.result.outputs["own-1"]
    assert graded.points == 0, graded.messages()
    assert watch.memory < 600 * MIB


TOLD = {
    "a value for a function": "['value', [1/6, 1/3, 1/2]]",
    "a function and more": "['function', 'softmax']",
    "absent and more": "['absent', 1]",
    "a mere word": "'function'",
    "an array": "np.array(['function'] * 0)",
    "a nest": "['value', [[[[np.zeros((7,) * 3)]]]]]",
    "a foreign object": "['value', Foreign()]",
    "objects in a list": "['value', [Foreign()]]",
}


@pytest.mark.parametrize("what", TOLD)
def test_no_answer_to_a_fetch_earns_a_point(what: str, court: Court) -> None:
    forge = (
        "import grader.observe as o\nclass Foreign: pass\n"
        "o.Stage.fetch = lambda self, names: o.wire.encode("
        f"{{name: {TOLD[what]} for name in names}},"
        " refer=lambda _: o.Ref('object', 10**9, 'Foreign'))"
    )
    graded = court.judge(wrong(), forge)
    assert graded.points == 0
    assert "the check itself stops" not in graded.messages()


def test_a_slow_but_whole_reply_is_taken(court: Court) -> None:
    """What is right stays right, however the bytes arrive."""
    slow = court.answers["softmax_list"].replace(
        "highest = max(row)", "highest = max(row)\n    import time; time.sleep(0.05)", 1
    )
    assert court.judge({**court.answers, "softmax_list": slow}).points == 18


def test_the_defaults_bound_a_notebook(court: Court) -> None:
    settings = Settings()
    assert settings.call_seconds <= settings.cell_seconds <= settings.notebook_seconds <= 300
