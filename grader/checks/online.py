"""Lesson 07: what `online_softmax` and `online_attention` must do.

Expected values come from the oracle or from algebra; no check relies on another."""

from typing import Any

import numpy as np

from grader import oracle
from grader.checks.ask import FLOAT32, FLOAT64, Answer, Tolerance, asking, passed
from grader.checks.diagnose import graded, must_stay_below
from grader.checks.shrink import on_smallest
from grader.misconceptions import online as _named  # noqa: F401  (registers them)
from grader.seeds import generator

ask_softmax = asking("online_softmax")
ask = asking("online_attention")

NOTHING = -np.inf
LIMIT = 64 * 2**20  # bytes: half of one table of 4096 × 4096 float64
LONG = (4096, 64)

WHY_WHOLE = "The result is the softmax of the whole row, whatever the blocks are."
WHY_RISING = (
    "Here the scores rise, so that later blocks bring a new maximum. What was summed before was "
    "made with the old one."
)
WHY_TAIL = "The last block is as long as what is left: it may be shorter than the others."
WHY_ATTENTION = "The result is what attention without blocks gives."

# Mistakes are kept apart by the order of the scores: where they fall, the first block holds the
# maximum and nothing has to be rescaled; only the checks about rescaling let them rise. And where
# the width is 1, so is the scale: only `scale` asks for other widths.

# --- online_softmax ---------------------------------------------------------------------------


@graded("online_softmax", about="formula")
def softmax_start(online_softmax: Any) -> None:
    """The highest score in the first block: by hand, then random falling rows."""
    _must_weigh(online_softmax, np.log([4.0, 2.0, 1.0, 1.0]), 1, WHY_WHOLE)
    _must_weigh(online_softmax, np.array([0.0, 0.0, 0.0, 0.0]), 2, WHY_WHOLE)
    _must_weigh(online_softmax, np.array([1.0, 0.5]), 2, WHY_WHOLE)
    for block in (1, 2, 3):
        _on_smallest_row(online_softmax, _falling("softmax_start", 6), block, WHY_WHOLE)
    seen = _must_weigh(online_softmax, np.array([2.5]), 1, "One score gets the whole 1.")
    passed("online_softmax gives the softmax of the row when the maximum comes first", seen)


@graded("online_softmax", about="rescale", also=[(np.array([1000.0, 999.0]), 2)])
def softmax_rises(online_softmax: Any) -> None:
    """Rising scores: the old sum belongs to an old maximum."""
    seen = _must_weigh(online_softmax, np.log([1.0, 2.0, 4.0, 1.0]), 1, WHY_RISING)
    _must_weigh(online_softmax, np.log([1.0, 1.0, 2.0, 4.0]), 2, WHY_RISING)
    rising = _falling("softmax_rises", 6)[::-1].copy()
    for row, block in ((rising, 1), (rising, 3), (_mixed("softmax_rises", 6), 2)):
        _on_smallest_row(online_softmax, row, block, WHY_RISING)
    _must_weigh(online_softmax, np.array([0.0, 1000.0]), 1, WHY_RISING)
    passed("online_softmax keeps its sum on the scale of the running maximum", seen)


@graded("online_softmax", about="tail")
def softmax_tail(online_softmax: Any) -> None:
    """A last block that is shorter than the others, and a block longer than the row."""
    _must_weigh(online_softmax, np.array([-1.0, -1.0, -1.0]), 2, WHY_TAIL)
    low = _falling("softmax_tail", 5) - 9.0  # a score of 0 would weigh more than all of them
    for block in (2, 3):
        _on_smallest_row(online_softmax, low, block, WHY_TAIL)
    why = "A block may be longer than the row: then there is one block, the row."
    seen = _must_weigh(online_softmax, np.array([-1.0, -2.0, -3.0]), 4, why)
    passed("online_softmax takes a last block that is shorter than the others", seen)


@graded("online_softmax", about="masked")
def softmax_masked(online_softmax: Any) -> None:
    """Blocks that are −∞ throughout: the first, one between, the last, all of them."""
    why = "A block of −∞ adds nothing. What comes after it counts as if it were not there."
    a, b, c = _falling("softmax_masked", 3)
    for row in (
        [NOTHING, NOTHING, 0.0, 0.0],
        [NOTHING, NOTHING, a, NOTHING, b, c],
        [a, b, NOTHING, NOTHING, NOTHING, c],
        [a, b, c, NOTHING, NOTHING, NOTHING],
    ):
        _must_weigh(online_softmax, np.array(row), 2, why)
    why = "In a row of −∞ nothing may be chosen: all weights are 0, never NaN."
    seen = _must_weigh(online_softmax, np.full(3, NOTHING), 1, why)
    _must_weigh(online_softmax, np.full(4, NOTHING), 2, why)
    passed("online_softmax takes blocks that are −∞ throughout, and a row of −∞", seen)


@graded("online_softmax", about="range", also=[(np.array([NOTHING, 0.0]), 1)])
def softmax_range(online_softmax: Any) -> None:
    """Scores far from 0 on either side, also after a block of −∞."""
    why = (
        "Only differences of scores count: these weights are those of the same row with any number "
        "added to all scores."
    )
    near = _falling("softmax_range", 4)
    for row, block in (
        (near + 1e5, 2),
        (near - 780.0, 1),
        (near - 6e4, 2),
        (near - 1e6, 2),
        (np.array([1000.0, 999.0, 0.0, -1000.0]), 1),
    ):
        _must_weigh(online_softmax, row, block, why)
    why = "A block of −∞ comes first, and leaves no trace: whatever comes next is the maximum."
    for low in (-1000.0, -6e4):
        masked = np.concatenate([[NOTHING, NOTHING], near[:2] + low])
        seen = _must_weigh(online_softmax, masked, 2, why)
    passed("online_softmax takes scores of any size, also after a block of −∞", seen)


@graded("online_softmax", about="kinds")
def softmax_kinds(online_softmax: Any) -> None:
    """Integers, float32, a view with steps, a row that cannot be written to; none is changed."""
    near = _falling("softmax_kinds", 4)
    _must_weigh(online_softmax, near, 2, WHY_WHOLE).must_not_change()
    why = "Integers are scores like others; weights lie between 0 and 1."
    _must_weigh(online_softmax, np.array([2, 1, 1, -3]), 2, why)
    why = "A row of float32 is a row like another."
    _must_weigh(online_softmax, near.astype(np.float32), 2, why, FLOAT32)
    _must_weigh(online_softmax, np.repeat(near, 2)[::2], 2, WHY_WHOLE)
    locked = near.copy()
    locked.flags.writeable = False
    seen = ask_softmax(online_softmax, locked, 2, note="a row that cannot be written to")
    passed("online_softmax takes rows of any kind and leaves them as they were", seen)


def _must_weigh(
    online_softmax: Any, row: np.ndarray, block: int, why: str, tolerance: Tolerance = FLOAT64
) -> Answer:
    """The softmax of the row."""
    seen = ask_softmax(online_softmax, row, block)
    expected = oracle.softmax(row)
    values = seen.must_be_array(row.shape)
    seen.must_be_finite(values, why, expected)
    seen.must_equal(values, expected, "wrong weights", why, tolerance)
    return seen


def _on_smallest_row(online_softmax: Any, row: np.ndarray, block: int, why: str) -> None:
    """The same; a failure is told on the smallest row that shows it."""
    on_smallest(lambda smaller: _must_weigh(online_softmax, smaller, block, why), row)


def _mixed(name: str, length: int) -> np.ndarray:
    """A random row of scores."""
    return np.asarray(generator(name).normal(0.0, 1.5, length).round(2))


def _falling(name: str, length: int) -> np.ndarray:
    """A random row of scores with the highest first."""
    return np.sort(_mixed(name, length))[::-1].copy()


# --- online_attention -------------------------------------------------------------------------
# With V = np.eye(S_k) the output shows the weights.

# Calls by which mistakes are told apart that fail alike in a cell: blocks that fit, and masks that
# have as many rows, more rows or fewer than one block has keys.
_KEYS = np.array([[0.0], [-0.25], [-0.5], [-1.0]])
FITTING = (np.array([[1.0]]), _KEYS, np.eye(4), 2)


def _masked_call(queries: int, block: int) -> tuple[np.ndarray | int, ...]:
    allowed = np.add.outer(np.arange(queries), np.arange(4)) % 3 != 1
    return (np.ones((queries, 1)), _KEYS, np.eye(4), block, allowed)


NOT_FITTING = (np.array([[1.0]]), _KEYS, np.eye(4, 6), 3)
TWO_QUERIES = (np.array([[1.0], [0.5]]), *NOT_FITTING[1:])
HIGH = (np.array([[1.0]]), _KEYS + 1000, np.eye(4), 4)
HIDDEN_FIRST = (*FITTING, np.array([[False, False, True, True]]))
ONE_BLOCK, MORE_ROWS, SQUARE = _masked_call(3, 4), _masked_call(5, 4), _masked_call(4, 2)


@graded("online_attention", about="output", also=[NOT_FITTING, TWO_QUERIES])
def output(online_attention: Any) -> None:
    """All scores 0, so that each output is the mean of the values, however it is scaled."""
    why = "All scores are 0 here, so each output is the mean of all values."
    keys = generator("output keys").normal(0.0, 1.0, (4, 3)).round(2)
    values = generator("output").normal(0.0, 1.0, (4, 5)).round(2)
    for block in (4, 2, 1):
        _must_attend(online_attention, np.zeros((2, 3)), keys, values, block, why)
    seen = _must_attend(online_attention, np.zeros((3, 2)), np.ones((2, 2)), np.eye(2), 1, why)
    passed("online_attention returns one output for each query, made of the values", seen)


@graded("online_attention", about="scale")
def scale(online_attention: Any) -> None:
    """Ratios of weights show the scale, in every block the same."""
    for width, keys in ((3, 4), (5, 6)):
        random = generator(f"scale {width}")
        Q = random.uniform(0.2, 1.2, (2, width)).round(2)
        K = np.sort(random.normal(0.0, 1.0, (keys, width)).round(2), axis=0)[::-1].copy()
        why = (
            f"V is the identity, so the output shows the weights. For scores q·k / √{width} the "
            "weights of two keys have the ratio exp(difference of their scores)."
        )
        seen = _must_have_ratios(online_attention, Q, K, 2, why)
    passed("online_attention divides the scores by √d_k, in every block", seen)


@graded("online_attention", about="rescale", also=[HIGH])
def rescale(online_attention: Any) -> None:
    """Rising scores: sum and output belong to an old maximum."""
    rising = _falling("rescale", 4)[::-1, None].copy()
    mixed = _mixed("rescale", 6)[:, None]
    for keys, block in (
        (np.log([[1.0], [2.0], [4.0], [1.0]]), 1),
        (np.log([[1.0], [1.0], [2.0], [4.0]]), 2),
        (rising, 1),
        (rising, 2),
        (mixed, 2),
        (np.array([[0.0], [1000.0]]), 1),
    ):
        _on_smallest_keys(online_attention, keys, block, WHY_RISING)
    Q, values = np.array([[1.0], [0.5]]), generator("rescale V").normal(0.0, 1.0, (4, 3)).round(2)
    seen = _must_attend(online_attention, Q, rising, values, 2, WHY_RISING)
    passed("online_attention keeps sum and output on the scale of the running maximum", seen)


@graded("online_attention", about="tail", also=[FITTING])
def tail(online_attention: Any) -> None:
    """A last block that is shorter than the others, and a block longer than all keys."""
    low = _falling("tail", 5)[:, None] - 9.0  # a score of 0 would weigh more than all of them
    for keys, block in ((np.full((3, 1), -1.0), 2), (low, 2), (low, 3)):
        _on_smallest_keys(online_attention, keys, block, WHY_TAIL)
    why = "A block may be longer than there are keys: then there is one block."
    Q, K = np.array([[1.0]]), np.array([[-1.0], [-2.0], [-3.0]])
    seen = _must_attend(online_attention, Q, K, np.eye(3), 4, why)
    passed("online_attention takes a last block that is shorter than the others", seen)


@graded("online_attention", about="mask", also=[FITTING, ONE_BLOCK, MORE_ROWS, SQUARE])
def mask(online_attention: Any) -> None:
    """Hidden keys get exactly 0, also those that score highest; every query sees the first key."""
    random = generator("mask")
    some = np.array([[True, False, True, True], [True, True, False, False], [True] * 4])
    for allowed in (some, random.permutation(some), _with_first(random.random((3, 4)) < 0.5)):
        _must_hide(online_attention, np.zeros((4, 1)), allowed)
    keys = _falling("mask keys", 4)[:, None]
    _must_hide(online_attention, keys, some)
    outshining = np.where(some[1][:, None], keys, 2e4)  # keys 2 and 3 are hidden from query 1
    seen = _must_hide(online_attention, outshining, some[1:2])
    passed("online_attention hides keys, each block by its own columns of the mask", seen)


@graded("online_attention", about="masked", also=[FITTING])
def masked(online_attention: Any) -> None:
    """Whole blocks hidden from a query, the first among them."""
    keys = _falling("masked", 6)[:, None]
    later = np.array(
        [[False, False, True, True, False, True], [True] * 2 + [False] * 2 + [True] * 2]
    )
    last = np.array([[False] * 4 + [True, False], [False] * 2 + [True] * 4, [True] * 6])
    for allowed in (later, last, np.triu(np.ones((6, 6), dtype=bool)), last[:1]):
        why = (
            "A query that sees no key of a block goes on as if the block were not there. This is "
            f"the mask, query by query: {_rows(allowed)}"
        )
        Q = np.ones((len(allowed), 1))
        seen = _must_attend(online_attention, Q, keys, np.eye(6), 2, why, allowed)
    passed("online_attention takes blocks that are hidden from a query", seen)


@graded("online_attention", about="empty", also=[FITTING])
def empty(online_attention: Any) -> None:
    """A query that may attend to nothing gets zeros; the others see their keys as before."""
    why = "A query that may attend to nothing gets a zero output, never NaN. Others are as before."
    keys, values = (
        _falling("empty", 4)[:, None],
        generator("empty").normal(0.0, 1.0, (4, 3)).round(2),
    )
    allowed = np.array([[True, False, True, True], [False] * 4, [True, True, False, False]])
    for part in (allowed, allowed[1:2]):
        Q = np.ones((len(part), 1))
        seen = _must_attend(online_attention, Q, keys, values, 2, why, part)
    passed("online_attention gives zeros to a query that may attend to nothing", seen)


@graded("online_attention", about="range", also=[HIDDEN_FIRST])
def far(online_attention: Any) -> None:
    """Scores far from 0 on either side, also after a block that is hidden."""
    near, one = _falling("far", 4)[:, None], np.array([[1.0]])
    why = (
        "Only differences of scores count: these outputs are those of the same scores with any "
        "number added to all of them."
    )
    for low in (1e5, -780.0, -6e4, -1e6):
        _must_attend(online_attention, one, near + low, np.eye(4), 2, why)
    falls = np.array([[1000.0], [999.0], [0.0], [-1000.0]])
    _must_attend(online_attention, one, falls, np.eye(4), 1, why)
    why = "Each query has a maximum of its own, however high the scores of others are."
    Q, K = np.array([[1.0], [1000.0]]), np.array([[-1.0], [-1.001], [-1.002]])
    _must_attend(online_attention, Q, K, np.eye(3), 3, why)
    why = "The first block is hidden and leaves no trace: what comes next is the maximum."
    allowed = np.array([[False, False, True, True]])
    for low in (-1000.0, -6e4):
        seen = _must_attend(online_attention, one, near + low, np.eye(4), 2, why, allowed)
    why = "However low the visible scores are, a hidden key gets nothing."
    allowed = np.array([[True, False, True, False]])
    _must_attend(online_attention, one, near - 2e4, np.eye(4), 2, why, allowed)
    passed("online_attention takes scores of any size, also after a hidden block", seen)


@graded("online_attention", about="lead", also=[SQUARE])
def lead(online_attention: Any) -> None:
    """One and two leading axes, and masks of every shape that broadcasts."""
    why = "Every item of the leading axes is an attention of its own, under its part of the mask."
    for axes, shapes in (
        ((), [(4,)]),
        ((3,), [None, (2, 4), (3, 1, 4), (4,)]),
        ((2, 2), [None, (2, 1, 2, 4), (2, 1, 4)]),
    ):
        random = generator(f"lead {axes}")
        Q = random.uniform(0.2, 1.2, (*axes, 2, 1)).round(2)
        K = -np.sort(random.normal(0.0, 1.0, (*axes, 4, 1)).round(2), axis=-2)
        V = random.normal(0.0, 1.0, (*axes, 4, 3)).round(2)
        for shape in shapes:
            allowed = None if shape is None else _with_first(random.random(shape) < 0.5)
            seen = _must_attend(online_attention, Q, K, V, 2, why, allowed)
    passed("online_attention takes leading axes, and masks that broadcast", seen)


@graded("online_attention", about="kinds")
def kinds(online_attention: Any) -> None:
    """Integers, float32, views with steps, one query and one key; nothing is changed."""
    Q, K = np.array([[1.0], [0.5]]), _falling("kinds", 4)[:, None]
    V = generator("kinds").normal(0.0, 1.0, (4, 3)).round(2)
    allowed = np.array([[True, False, True, True], [True, True, True, False]])
    _must_attend(online_attention, Q, K, V, 2, WHY_ATTENTION).must_not_change()
    ask(online_attention, Q, K, V, 2, allowed).must_not_change()
    why = "Integers are numbers like others; the output lies between the values."
    whole = (np.array([[1], [2]]), np.array([[0], [-1], [-1]]), np.array([[5, 0], [1, 2], [4, 8]]))
    _must_attend(online_attention, *whole, 3, why)
    why = "Arrays of float32 are arrays like others."
    q, k, v = (part.astype(np.float32) for part in (Q, K, V))
    _must_attend(online_attention, q, k, v, 2, why, tolerance=FLOAT32)
    q, k, v = (np.repeat(part, 2, axis=0)[::2] for part in (Q, K, V))
    _must_attend(online_attention, q, k, v, 2, WHY_ATTENTION)
    one = np.array([[3.0]])
    _must_attend(online_attention, one, one, np.array([[2.0, 7.0]]), 1, WHY_ATTENTION)
    locked = [part.copy() for part in (Q, K, V, allowed)]
    for part in locked:
        part.flags.writeable = False
    seen = ask(online_attention, *locked[:3], 2, locked[3], note="arrays that cannot be written to")
    passed("online_attention takes arrays of any kind and leaves them as they were", seen)


@graded("online_attention", about="memory")
def memory(online_attention: Any) -> None:
    """4096 queries and keys in blocks of 32: the peak stays under half of one table of scores."""
    K = _falling("memory", 4)[:, None]
    _must_attend(online_attention, np.array([[1.0]]), K, np.eye(4), 2, WHY_ATTENTION)
    a, b, c = generator("memory").uniform(0.1, 1.0, 3).round(2)
    Q, K, V = (np.full(LONG, number) for number in (a, b, c))
    seen = ask(online_attention, Q, K, V, 32, memory=True)
    values = seen.must_be_array(LONG)
    why = "All values are the same here, so each output is that value."
    seen.must_be_finite(values, why)
    seen.must_equal(values, V, "wrong output", why)
    must_stay_below(seen, LIMIT)
    passed("online_attention never holds a table of all scores", seen)


def _must_attend(
    online_attention: Any,
    Q: np.ndarray,
    K: np.ndarray,
    V: np.ndarray,
    block: int,
    why: str,
    mask: np.ndarray | None = None,
    tolerance: Tolerance = FLOAT64,
) -> Answer:
    """What attention without blocks gives."""
    given = () if mask is None else (mask,)
    seen = ask(online_attention, Q, K, V, block, *given)
    expected = oracle.attention(Q, K, V, mask)[0]
    values = seen.must_be_array(expected.shape)
    seen.must_be_finite(values, why, expected)
    seen.must_equal(values, expected, "wrong output", why, tolerance)
    return seen


def _on_smallest_keys(online_attention: Any, K: np.ndarray, block: int, why: str) -> None:
    """The same for one query, whose weights the output shows; told on the fewest keys."""

    def judge(keys: np.ndarray) -> Answer:
        return _must_attend(
            online_attention, np.array([[1.0]]), keys, np.eye(len(keys)), block, why
        )

    on_smallest(judge, K)


def _must_have_ratios(
    online_attention: Any, Q: np.ndarray, K: np.ndarray, block: int, why: str
) -> Answer:
    """ln(w_j / w_0) is the difference of two scores, in every row, whatever the rows sum to."""
    seen = ask(online_attention, Q, K, np.eye(len(K)), block)
    expected = oracle.attention(Q, K, K)[1]
    values = seen.must_be_array(expected.shape)
    seen.must_be_finite(values, why, expected)
    seen.demand(bool((values > 0).all()), "wrong ratios", why, expected)
    logs, wanted = (np.log(each) - np.log(each[:, :1]) for each in (values, expected))
    seen.demand(bool((np.abs(logs - wanted) <= 1e-6).all()), "wrong ratios", why, expected)
    return seen


def _must_hide(online_attention: Any, K: np.ndarray, mask: np.ndarray) -> Answer:
    """Exactly 0 where hidden; the visible keys share the 1 as they should."""
    why = (
        "V is the identity, so the output shows the weights. Where the mask is False the weight is "
        f"exactly 0, and the others sum to 1. This is the mask, query by query: {_rows(mask)}"
    )
    seen = _must_attend(online_attention, np.ones((len(mask), 1)), K, np.eye(len(K)), 2, why, mask)
    hidden = seen.must_be_array(mask.shape)[~mask]
    seen.demand(bool((hidden == 0).all()), "hidden keys get weight", why)
    return seen


def _with_first(mask: np.ndarray) -> np.ndarray:
    """The mask with the first key visible to all."""
    mask[..., 0] = True
    return mask


def _rows(mask: np.ndarray) -> str:
    """The rows of a mask in letters: T for True, F for False."""
    return ", ".join("".join("T" if each else "F" for each in row) for row in mask) + "."
