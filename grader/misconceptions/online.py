"""Lesson 07: how people get `online_softmax` and `online_attention` wrong, and what they are told.

Forms are whole implementations, right but for their one mistake; sources are public issues."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from grader.misconceptions.family import Form, misconception, right

Array = np.ndarray
SENTINELS = (-1e2, -1e3, -1e4, -5e4, -1e5, -5e5)

# --- pieces that the forms vary ---------------------------------------------------------------


def blocks(length: int, block: int) -> list[slice]:
    """Where each block lies; the last may be shorter."""
    return [slice(start, min(start + block, length)) for start in range(0, length, block)]


def running(old: Array, scores: Array) -> Array:
    """The maximum so far."""
    return np.maximum(old, scores.max(axis=-1, keepdims=True))


def of_block(old: Array, scores: Array) -> Array:
    """The maximum of the new block, whatever came before."""
    return np.asarray(scores.max(axis=-1, keepdims=True))


def zero_for_none(highest: Array) -> Array:
    """The maximum, 0 where there is none: what is subtracted."""
    return np.where(np.isneginf(highest), 0.0, highest)


def shifted(highest: Array, shift: Array) -> Array:
    """What was subtracted is kept as the maximum."""
    return shift


def as_it_is(value: Any) -> Any:
    """No change."""
    return value


def factor(old: Array, shift: Array) -> Array:
    """What old exponentials are multiplied by."""
    return np.exp(old - shift)


def corrected(old: Array, correction: Array, new: Array) -> Array:
    """The right step: the old part is corrected, the new one added."""
    return old * correction + new


def not_corrected(old: Array, correction: Array, new: Array) -> Array:
    """The old part as it was."""
    return old + new


def new_corrected(old: Array, correction: Array, new: Array) -> Array:
    """The correction on the wrong part."""
    return old + new * correction


def all_corrected(old: Array, correction: Array, new: Array) -> Array:
    """The correction on both parts."""
    return (old + new) * correction


def only_new(old: Array, correction: Array, new: Array) -> Array:
    """The old part forgotten."""
    return new


def over_total(values: Array, total: Array) -> Array:
    """Divide, zeros where the sum is 0; a sum that is NaN stays one."""
    return values / np.where(total == 0, 1.0, total)


def over_positive(values: Array, total: Array) -> Array:
    """Divide where the sum is above 0, zeros elsewhere."""
    return np.divide(values, total, out=np.zeros(np.shape(values)), where=total > 0)


def plainly(values: Array, total: Array) -> Array:
    """Divide by the sum, whatever it is."""
    with np.errstate(all="ignore"):
        return values / total


DIVISIONS = (over_total, over_positive, plainly)
Step = Callable[[Array, Array, Array], Array]


@dataclass(frozen=True)
class Rules:
    """How a softmax goes from one block to the next; a form differs in one of these."""

    first: float = -math.inf
    cut: Callable[[int, int], list[slice]] = blocks
    highest: Callable[[Array, Array], Array] = running
    shift: Callable[[Array], Array] = zero_for_none
    kept: Callable[[Array, Array], Array] = lambda highest, shift: highest
    factor: Callable[[Array, Array], Array] = factor
    total: Step = corrected
    output: Step = corrected
    divide: Callable[[Array, Array], Array] = over_total


RIGHT = Rules()
Block = tuple[Array, Array]  # scores (…, S_q, block), values (…, block, d_v)


def walk(rules: Rules, parts: Iterator[Block], shape: tuple[int, ...], width: int) -> Any:
    """Maximum, sum and output after all blocks."""
    highest, total = np.full((*shape, 1), rules.first), np.zeros((*shape, 1))
    output = np.zeros((*shape, width))
    with np.errstate(all="ignore"):
        for scores, values in parts:
            new = rules.highest(highest, scores)
            shift = rules.shift(new)
            exponentials, correction = np.exp(scores - shift), rules.factor(highest, shift)
            total = rules.total(total, correction, exponentials.sum(axis=-1, keepdims=True))
            output = rules.output(output, correction, exponentials @ values)
            highest = rules.kept(new, shift)
    return highest, total, output


def softmax_by(rules: Rules = RIGHT, shift: Callable[[Array], Array] = zero_for_none) -> Form:
    """An online softmax with one or more of its rules replaced."""

    def online_softmax(row: Any, block: int) -> Array:
        x = np.asarray(row, dtype=np.float64)
        parts = ((x[part], np.zeros((len(x[part]), 0))) for part in rules.cut(len(x), block))
        highest, total, _ = walk(rules, parts, (), 0)
        with np.errstate(all="ignore"):
            return rules.divide(np.exp(x - shift(highest)), total)

    return online_softmax


Scale = Callable[[Array, Array, Array, int], Any]
Hide = Callable[[Array, Array, slice], Array]
Look = Callable[[Array, Array, int], Any]


def by_root(Q: Array, K: Array, V: Array, number: int) -> float:
    """The right factor of every block: 1/√d_k."""
    return 1 / math.sqrt(Q.shape[-1])


def hide(scores: Array, mask: Array, part: slice) -> Array:
    """−∞ where this block's columns of the mask are False."""
    return np.where(mask[..., part], scores, -np.inf)


def filled(fill: float) -> Hide:
    """Hidden scores become `fill`."""
    return lambda scores, mask, part: np.where(mask[..., part], scores, fill)


@dataclass(frozen=True)
class Parts:
    """What an online attention is made of beside its rules."""

    rules: Rules = RIGHT
    scale: Scale = by_root
    hide: Hide = hide
    wide: Callable[[Array, Array, Array], Array] = lambda mask, Q, K: np.broadcast_to(
        mask, (*Q.shape[:-1], K.shape[-2])
    )
    length: Callable[[Array, Array], int] = lambda Q, K: K.shape[-2]
    finish: Callable[[Array, Array, Array], Any] = field(
        default=lambda output, total, highest: output
    )


def attention_by(parts: Parts | None = None, **changed: Any) -> Form:
    """An online attention with one or more of its parts replaced; rules may be named directly."""
    rules = {name: changed.pop(name) for name in list(changed) if hasattr(RIGHT, name)}
    made = replace(parts or Parts(), **changed)
    made = replace(made, rules=replace(made.rules, **rules))

    def online_attention(
        Q: Array, K: Array, V: Array, block: int, mask: Array | None = None
    ) -> Any:
        allowed = None if mask is None else made.wide(mask, Q, K)

        def computed() -> Iterator[Block]:
            for number, part in enumerate(made.rules.cut(made.length(Q, K), block)):
                keys = np.swapaxes(K[..., part, :], -1, -2)
                scores = Q @ keys * made.scale(Q, K, V, number)
                yield (
                    scores if allowed is None else made.hide(scores, allowed, part),
                    V[..., part, :],
                )

        state = walk(made.rules, computed(), Q.shape[:-1], V.shape[-1])
        highest, total, output = state
        return made.finish(made.rules.divide(output, total), total, highest)

    return online_attention


def after_all(change: Callable[[Array], Any], form: Form) -> Form:
    """The same with its result changed at the end."""

    def online(*args: Any, **kwargs: Any) -> Any:
        return change(form(*args, **kwargs))

    return online


def no_mask(form: Form) -> Form:
    """The same, for which every key is visible."""

    def online_attention(
        Q: Array, K: Array, V: Array, block: int, mask: Array | None = None
    ) -> Any:
        return form(Q, K, V, block)

    return online_attention


def on_changed(change: Callable[..., tuple[Any, ...]], form: Form | None = None) -> Form:
    """A right one, of changed arguments."""
    made = form or attention_by()

    def online_attention(
        Q: Array, K: Array, V: Array, block: int, mask: Array | None = None
    ) -> Any:
        return made(*change(Q, K, V, block, mask))

    return online_attention


@right("online_softmax")
def right_softmax(row: Any, block: int) -> Array:
    """Running maximum and sum over blocks."""
    return np.asarray(softmax_by()(row, block))


@right("online_attention")
def right_attention(Q: Array, K: Array, V: Array, block: int, mask: Array | None = None) -> Array:
    """Running maximum, sum and output over blocks of keys."""
    return np.asarray(attention_by()(Q, K, V, block, mask))


Make = Callable[..., Form]  # from changed rules


def softmax_of(**changed: Any) -> Form:
    """An online softmax by changed rules."""
    return softmax_by(replace(RIGHT, **changed))


def both(
    name: str, about: str, told: str, question: str, source: str = "", attention: str = ""
) -> Callable[[Callable[[Make], Iterator[Form]]], Callable[[Make], Iterator[Form]]]:
    """Register one misconception of both exercises, which share its rules.

    The decorated function is given what makes a form; `attention` is what the attention gets wrong
    by it, if that has another name than in the softmax.
    """

    def register(forms: Callable[[Make], Iterator[Form]]) -> Callable[[Make], Iterator[Form]]:
        def of(make: Make) -> Callable[[], Iterator[Form]]:
            return lambda: forms(make)

        misconception("online_softmax", name, about, told, question, source)(of(softmax_of))
        words = attention or about
        misconception("online_attention", name, words, told, question, source)(of(attention_by))
        return forms

    return register


# --- both: from block to block ----------------------------------------------------------------


@both(
    "sum not rescaled",
    about="rescale",
    told=(
        "When a block brings a higher maximum, your code adds its exponentials to a sum that was "
        "made with the old maximum. The two are not on the same scale, so the sum is too large."
    ),
    question="By what must the old sum be multiplied for it to belong to the new maximum?",
    source="facebookresearch/xformers#162; deepseek-ai/FlashMLA#177",
)
def sum_not_rescaled(make: Make) -> Iterator[Form]:
    yield make(total=not_corrected)


@both(
    "another correction than exp(old − new)",
    about="formula rescale",
    attention="output rescale",
    told=(
        "Your code corrects the old part by something else than exp(old maximum − new maximum): by "
        "the inverse of that, or by the maxima themselves. Where the maximum rises, exponentials "
        "must become smaller, and when it stays, they must stay."
    ),
    question="By what must exp(x − old) be multiplied to become exp(x − new)?",
)
def other_factor(make: Make) -> Iterator[Form]:
    def inverse(old: Array, shift: Array) -> Array:
        return np.exp(shift - old)

    def difference(old: Array, shift: Array) -> Array:
        return old - shift

    def ratio(old: Array, shift: Array) -> Array:
        return old / shift

    def at_first(correction: Callable[[Array, Array], Array], value: float) -> Callable[..., Array]:
        return lambda old, shift: np.where(np.isneginf(old), value, correction(old, shift))

    for correction in (inverse, difference, ratio):
        for divide in DIVISIONS:
            for used in (correction, at_first(correction, 0.0), at_first(correction, 1.0)):
                yield make(factor=used, divide=divide)


@both(
    "new block corrected instead of the old part",
    about="rescale",
    told=(
        "Your code corrects what has just been computed with the new maximum. It is the part from "
        "before that was made with another one."
    ),
    question="Which of the two parts was computed with a maximum that is out of date?",
)
def wrong_part(make: Make) -> Iterator[Form]:
    def one_at_first(old: Array, shift: Array) -> Array:
        return np.where(np.isneginf(old), 1.0, np.exp(old - shift))

    for step in (new_corrected, all_corrected):
        for correction in (factor, one_at_first):
            for divide in DIVISIONS:
                yield make(total=step, output=step, factor=correction, divide=divide)


@both(
    "earlier blocks forgotten",
    about="formula rescale",
    attention="output rescale",
    told=(
        "After each block your code holds the sum of that block alone. What the blocks before it "
        "had added is gone."
    ),
    question="After the last block, which scores must the sum have counted?",
)
def forgotten(make: Make) -> Iterator[Form]:
    yield make(total=only_new)
    yield make(total=only_new, output=only_new)


@both(
    "maximum of the block, never corrected",
    about="formula rescale",
    attention="scale rescale",
    told=(
        "Each block is shifted by its own maximum, and the parts are added as they are. Each block "
        "then counts as if its highest score were the highest of all."
    ),
    question="What do exponentials of two blocks have to share before they may be added?",
    source="pytorch/pytorch#147344",
)
def own_maximum(make: Make) -> Iterator[Form]:
    yield make(highest=of_block, total=not_corrected, output=not_corrected)
    yield make(highest=of_block, total=not_corrected)


@both(
    "maximum may fall again",
    about="range",
    told=(
        "Your maximum is that of the newest block, so it falls again when a block has lower "
        "scores. What was added before is then multiplied by a factor above 1, which overflows."
    ),
    question="Which numbers is the running maximum the maximum of?",
)
def may_fall(make: Make) -> Iterator[Form]:
    for divide in DIVISIONS:
        yield make(highest=of_block, divide=divide)


@both(
    "maximum of the first block kept",
    about="rescale",
    told=(
        "Your code takes the maximum of the first block and keeps it. When a later score is much "
        "higher, its exponential is too large for a float."
    ),
    question="What happens to the maximum when a later block holds a higher score?",
)
def first_kept(make: Make) -> Iterator[Form]:
    def of_first(old: Array, scores: Array) -> Array:
        return np.where(np.isneginf(old), scores.max(axis=-1, keepdims=True), old)

    for divide in DIVISIONS:
        yield make(highest=of_first, divide=divide)


# --- both: where the maximum starts -----------------------------------------------------------


@both(
    "maximum starts at zero",
    about="range",
    told=(
        "Your running maximum never lies below 0, as it starts there. When all scores are far "
        "below 0, all exponentials underflow and nothing is left to divide."
    ),
    question="Which number is below every score, so that the first block always replaces it?",
    source="Dao-AILab/flash-attention#2082; FluxML/NNlib.jl#43",
)
def starts_at_zero(make: Make) -> Iterator[Form]:
    for divide in DIVISIONS:
        yield make(first=0.0, divide=divide)


@both(
    "a finite number for −∞",
    about="range",
    told=(
        "Your running maximum cannot fall below a fixed number that stands for −∞. Scores that lie "
        "far below that number are legal, and all their exponentials underflow."
    ),
    question="What happens to a row whose scores are all lower than your starting value?",
    source="flashinfer-ai/flashinfer#4267",
)
def sentinel(make: Make) -> Iterator[Form]:
    for number in SENTINELS:
        for divide in DIVISIONS:
            yield make(first=number, divide=divide)


@both(
    "maximum of a masked block becomes 0",
    about="range",
    told=(
        "For a block without any visible score your code puts 0 in place of the maximum −∞ and "
        "keeps it. Later scores far below 0 then underflow, though nothing above them was seen."
    ),
    question="After a block in which nothing is visible, what is the maximum so far?",
    source="Dao-AILab/flash-attention#2082",
)
def zero_kept(make: Make) -> Iterator[Form]:
    for divide in DIVISIONS:
        yield make(kept=shifted, divide=divide)


@both(
    "no maximum subtracted",
    about="rescale range",
    told=(
        "Your code takes exponentials of the scores as they are. exp(710) is larger than any "
        "float64, and exp(−800) is 0."
    ),
    question="What is the running maximum there for?",
)
def no_maximum(make: Make) -> Iterator[Form]:
    for divide in DIVISIONS:
        yield make(
            shift=np.zeros_like, factor=lambda old, shift: np.ones_like(shift), kept=shifted,
            divide=divide,
        )  # fmt: skip


# --- both: cutting ----------------------------------------------------------------------------


@both(
    "last block dropped",
    about="tail",
    told=(
        "Your code visits whole blocks only. When the block size does not divide the length, the "
        "scores after the last whole block are never counted."
    ),
    question="With 5 scores and blocks of 2, which scores does your loop visit?",
)
def dropped(make: Make) -> Iterator[Form]:
    def whole(length: int, block: int) -> list[slice]:
        return blocks(length // block * block, block)

    for divide in DIVISIONS:
        yield make(cut=whole, divide=divide)


@both(
    "scores counted twice",
    about="formula tail rescale",
    attention="output scale tail",
    told=(
        "Your blocks overlap: some scores are in two of them, and their exponentials are added "
        "twice. The result no longer sums as it should."
    ),
    question="Where does each block begin, and where does the one before it end?",
)
def overlapping(make: Make) -> Iterator[Form]:
    def one_more(length: int, block: int) -> list[slice]:
        return [slice(start, start + block + 1) for start in range(0, length, block)]

    def every_start(length: int, block: int) -> list[slice]:
        return [slice(start, start + block) for start in range(length)]

    def from_the_end(length: int, block: int) -> list[slice]:
        starts = range(0, length, block)
        return [slice(max(0, min(start, length - block)), start + block) for start in starts]

    def numbered(length: int, block: int) -> list[slice]:
        return [slice(number, number + block) for number in range(length // block)]

    for cut in (one_more, every_start, from_the_end, numbered):
        yield make(cut=cut)


@both(
    "one score of every block left out",
    about="formula tail",
    attention="output scale tail",
    told="Your blocks end one score too early: the last one of each is never counted.",
    question="Which positions does a slice start:stop hold, and which one not?",
)
def one_short(make: Make) -> Iterator[Form]:
    yield make(
        cut=lambda length, block: [
            slice(start, min(start + block, length) - 1) for start in range(0, length, block)
        ]
    )


@both(
    "an empty block at the end",
    about="formula",
    attention="output",
    told=(
        "When the block size divides the length, your loop makes one block more than there are. It "
        "is empty, and an empty array has no maximum."
    ),
    question="How many blocks of 2 are there in 4 scores, and in 5?",
)
def empty_block(make: Make) -> Iterator[Form]:
    yield make(
        cut=lambda length, block: [
            slice(number * block, (number + 1) * block) for number in range(length // block + 1)
        ]
    )


@both(
    "whole blocks only",
    about="tail",
    told=(
        "Your code cuts the scores into equal blocks, and raises an error when the block size does "
        "not divide the length."
    ),
    question="What does a slice give that reaches beyond the end of an array?",
)
def equal_blocks(make: Make) -> Iterator[Form]:
    def reshaped(length: int, block: int) -> list[slice]:
        np.zeros(length).reshape(-1, block)
        return blocks(length, block)

    def asserted(length: int, block: int) -> list[slice]:
        assert length % block == 0
        return blocks(length, block)

    yield make(cut=reshaped)
    yield make(cut=asserted)


@both(
    "beyond the end",
    about="tail",
    told=(
        "Your code reads positions that do not exist: the last block is taken to be as long as the "
        "others."
    ),
    question="How many scores are left for the last block?",
)
def beyond(make: Make) -> Iterator[Form]:
    def indexed(length: int, block: int) -> Any:
        return [np.arange(start, start + block) for start in range(0, length, block)]

    yield make(cut=indexed)


# --- both: the end ----------------------------------------------------------------------------


@both(
    "never divided by the sum",
    about="formula",
    attention="output",
    told=(
        "Your result is made of exponentials that are not divided by their sum, so they do not sum "
        "to 1."
    ),
    question="What remains to be done after the last block?",
)
def never_divided(make: Make) -> Iterator[Form]:
    yield make(divide=lambda values, total: values + 0.0 * total)


@both(
    "large epsilon",
    about="formula",
    attention="output",
    told=(
        "A number added to the sum, to keep from dividing by 0, makes every weight too small: the "
        "weights no longer sum to 1."
    ),
    question="When can the sum be 0, and when not?",
)
def large_epsilon(make: Make) -> Iterator[Form]:
    for epsilon in (1e-5, 1e-4, 1e-3, 1e-2):
        yield make(divide=lambda values, total, e=epsilon: values / (total + e))


# --- online_softmax ---------------------------------------------------------------------------


def softmax_from(compute: Callable[[Array, int], Any]) -> Form:
    """Whatever `compute` makes of a float row."""

    def online_softmax(row: Any, block: int) -> Any:
        with np.errstate(all="ignore"):
            return compute(np.asarray(row, dtype=np.float64), block)

    return online_softmax


def zeros_if_empty(form: Form) -> Form:
    """The same, but a row that is −∞ throughout gives zeros at once."""

    def online_softmax(row: Any, block: int) -> Any:
        return np.zeros(len(row)) if np.isneginf(row).all() else form(row, block)

    return online_softmax


def numerators(row: Array, block: int, highest: Callable[[Array, Array], Array] = running) -> Array:
    """Each score's exponential with the maximum that was known when its block came."""
    found, so_far = np.zeros(row.shape), np.array([-np.inf])
    for part in blocks(len(row), block):
        so_far = highest(so_far, row[part])
        found[part] = np.exp(row[part] - zero_for_none(so_far))
    return found


def state(row: Array, block: int, rules: Rules = RIGHT) -> tuple[Array, Array]:
    """Maximum and sum after all blocks."""
    parts = ((row[part], np.zeros((len(row[part]), 0))) for part in rules.cut(len(row), block))
    highest, total, _ = walk(rules, parts, (), 0)
    return highest, total


def logs(row: Array, block: int) -> tuple[Array, Array]:
    """Maximum and logarithm of the sum after all blocks."""
    highest, total = state(row, block)
    return highest, np.log(total)


@misconception(
    "online_softmax",
    "numerators keep an old maximum",
    about="rescale",
    told=(
        "Your code keeps each block's exponentials as they were made, with the maximum known at "
        "that time. Later the maximum rises and the sum is corrected; these numbers are not."
    ),
    question="With which maximum was each numerator made, and with which one the sum?",
    source="deepseek-ai/FlashMLA#177",
)
def old_numerators() -> Iterator[Form]:
    yield softmax_from(lambda row, block: over_total(numerators(row, block), state(row, block)[1]))
    yield softmax_from(
        lambda row, block: over_total(numerators(row, block), numerators(row, block).sum())
    )
    yield softmax_from(
        lambda row, block: over_total(
            numerators(row, block, of_block), numerators(row, block, of_block).sum()
        )
    )
    yield softmax_from(
        lambda row, block: over_total(numerators(row, block, of_block), state(row, block)[1])
    )


def each_block(row: Array, block: int) -> Array:
    """The softmax of each block by itself."""
    parts = blocks(len(row), block)
    return np.concatenate([right_softmax(row[part], len(row[part])) for part in parts])


@misconception(
    "online_softmax",
    "each block a softmax of its own",
    about="formula rescale",
    told=(
        "Every block of your result is a softmax by itself. The row as a whole must be one: its "
        "weights sum to 1 over all blocks, and a block of low scores gets little."
    ),
    question="How much of the 1 does a block get whose scores are far below the others?",
)
def block_softmaxes() -> Iterator[Form]:
    yield softmax_from(each_block)
    yield softmax_from(lambda row, block: each_block(row, block) / len(blocks(len(row), block)))
    yield softmax_from(lambda row, block: over_total(each_block(row, block), np.array(
        each_block(row, block).sum())))  # fmt: skip


@misconception(
    "online_softmax",
    "divided by the sum so far",
    about="formula rescale",
    told=(
        "Your code finishes each block at once: it divides by the sum as it was at that moment. "
        "Later blocks raise the sum, and what was divided before has too much."
    ),
    question="When is the sum known by which every weight must be divided?",
)
def divided_early() -> Iterator[Form]:
    def by_sum_so_far(row: Array, block: int) -> Array:
        found = np.zeros(len(row))
        for part in blocks(len(row), block):
            highest, total = state(row[: part.stop], block)
            found[part] = over_total(np.exp(row[part] - zero_for_none(highest)), total)
        return found

    yield softmax_from(by_sum_so_far)


@misconception(
    "online_softmax",
    "sum starts at 1",
    about="formula rescale",
    told=(
        "Your sum is 1 before the loop, as if the first score had been counted. The loop then "
        "counts it again."
    ),
    question="How much has been summed before the first block?",
)
def starts_at_one() -> Iterator[Form]:
    def one_before(row: Array, block: int) -> Array:
        highest, total = state(np.concatenate([row[:1], row]), 1)
        return over_total(np.exp(row - zero_for_none(highest)), total)

    yield softmax_from(one_before)


@misconception(
    "online_softmax",
    "NaN after a masked first block",
    about="masked",
    told=(
        "After a block that is −∞ throughout, the maximum so far is −∞ too, and your code computes "
        "−∞ − (−∞). That is NaN, and it stays in the sum for good."
    ),
    question="Which number may be subtracted from scores that are all −∞, so that exp gives 0?",
    source="flashinfer-ai/flashinfer#4051; vllm-project/vllm#39148",
)
def masked_nan() -> Iterator[Form]:
    for divide in (over_total, plainly):
        for shift in (as_it_is, zero_for_none):
            made = softmax_by(replace(RIGHT, shift=as_it_is, divide=divide), shift)
            yield made
            yield zeros_if_empty(made)


@misconception(
    "online_softmax",
    "nothing after a masked first block",
    about="masked",
    told=(
        "When the first block is −∞ throughout, your weights are 0 for all that comes after it, "
        "too. Either the loop ends there, or −∞ − (−∞) made NaN and a guard turned that into 0."
    ),
    question="After a first block of −∞, which numbers does your code carry into the next one?",
    source="flashinfer-ai/flashinfer#4051; vllm-project/vllm#39148",
)
def masked_zeros() -> Iterator[Form]:
    for shift in (as_it_is, zero_for_none):
        for divide in DIVISIONS:
            made = softmax_by(replace(RIGHT, shift=as_it_is, divide=divide), shift)
            yield after_all(np.nan_to_num, made)
        yield zeros_if_empty(
            softmax_by(replace(RIGHT, shift=as_it_is, divide=over_positive), shift)
        )

    def compute(row: Array, block: int, divide: Any) -> Array:
        highest, total = state(row[:0] if np.isneginf(row[:block]).all() else row, block)
        return np.asarray(divide(np.exp(row - zero_for_none(highest)), total))

    for divide in (over_total, over_positive):
        yield softmax_from(partial(compute, divide=divide))


@misconception(
    "online_softmax",
    "NaN for a row of −∞",
    about="masked",
    told=(
        "When every score of the row is −∞ nothing was added, the sum is 0, and your code divides "
        "by it."
    ),
    question="Which weights does a row have in which nothing may be chosen?",
    source="iree-org/iree#24175; huggingface/candle#3632",
)
def empty_nan() -> Iterator[Form]:
    yield softmax_by(replace(RIGHT, divide=plainly))
    yield softmax_by(RIGHT, as_it_is)


@misconception(
    "online_softmax",
    "division by zero for a row of −∞",
    about="masked",
    told="When every score of the row is −∞ the sum is 0, and dividing by it stops Python.",
    question="Which weights does a row have in which nothing may be chosen?",
)
def empty_division() -> Iterator[Form]:
    def online_softmax(row: Any, block: int) -> Array:
        highest, total = state(np.asarray(row, dtype=np.float64), block)
        return np.array([math.exp(x - zero_for_none(highest)[0]) / float(total[0]) for x in row])

    yield online_softmax


@misconception(
    "online_softmax",
    "equal weights for a row of −∞",
    about="masked",
    told=(
        "When every score of the row is −∞ your code shares the 1 among all of them, although none "
        "may be chosen."
    ),
    question="Which weights does a row have in which nothing may be chosen?",
)
def empty_equal() -> Iterator[Form]:
    def online_softmax(row: Any, block: int) -> Array:
        found = right_softmax(row, block)
        return found if found.any() else np.full(len(row), 1 / len(row))

    yield online_softmax
    yield lambda row, block: right_softmax(np.maximum(row, -1e9), block)


@misconception(
    "online_softmax",
    "stops at a masked block",
    about="masked",
    told=(
        "At a block that is −∞ throughout your code leaves the loop. Blocks after it may hold "
        "scores."
    ),
    question="What is the difference between skipping one block and ending the loop?",
)
def stops() -> Iterator[Form]:
    def stopping(row: Array, block: int) -> Array:
        parts = blocks(len(row), block)
        masked = [number for number, part in enumerate(parts) if np.isneginf(row[part]).all()]
        seen = parts[: masked[0]] if masked else parts
        return row[: seen[-1].stop] if seen else row[:0]

    def compute(row: Array, block: int, divide: Any, shift: Any) -> Array:
        highest, total = state(stopping(row, block), block)
        return np.asarray(divide(np.exp(row - shift(highest)), total))

    for divide in DIVISIONS:
        for shift in (as_it_is, zero_for_none):
            form = softmax_from(partial(compute, divide=divide, shift=shift))
            yield form
            yield zeros_if_empty(form)


@misconception(
    "online_softmax",
    "blocks with one −∞ left out",
    about="masked",
    told=(
        "Your code leaves out a block as soon as one of its scores is −∞. The other scores of that "
        "block count all the same."
    ),
    question="When is there nothing at all to add from a block?",
)
def one_is_enough() -> Iterator[Form]:
    def compute(row: Array, block: int, keep: bool) -> Array:
        parts = [row[part] for part in blocks(len(row), block)]
        left = [part for part in parts if not np.isneginf(part).any()]
        highest, total = state(np.concatenate([*left, [-np.inf]]), 1)
        found = over_total(np.exp(row - zero_for_none(highest)), total)
        counted = np.concatenate([np.isfinite(part.sum()) * np.ones(len(part)) for part in parts])
        return np.asarray(found if keep else found * counted)

    for keep in (True, False):
        yield softmax_from(partial(compute, keep=keep))


@misconception(
    "online_softmax",
    "last block filled up with zeros",
    about="tail",
    told=(
        "Your code fills the last block up with zeros. A score of 0 is a score like any other: its "
        "exponential is added to the sum, and it can be the maximum."
    ),
    question="Which score adds nothing to a softmax?",
    source="flashinfer-ai/flashinfer#5090",
)
def padded_zeros() -> Iterator[Form]:
    def online_softmax(row: Any, block: int) -> Array:
        filled_up = np.pad(np.asarray(row, dtype=np.float64), (0, -len(row) % block))
        return right_softmax(filled_up, block)[: len(row)]

    yield online_softmax
    yield lambda row, block: right_softmax(
        np.pad(np.asarray(row, dtype=np.float64), (0, -len(row) % block)), block
    )


@misconception(
    "online_softmax",
    "result without the last block",
    about="tail",
    told="Your result holds whole blocks only; the scores after them get no weight at all.",
    question="With 5 scores and blocks of 2, how long must the result be?",
)
def short_result() -> Iterator[Form]:
    def whole(row: Array, block: int) -> Array:
        return right_softmax(row[: len(row) // block * block], block)

    def with_zeros(row: Array, block: int) -> Array:
        found = np.zeros(len(row))
        kept = len(row) // block * block
        found[:kept] = whole(row, block) if kept else 0.0
        return found

    yield softmax_from(lambda row, block: whole(row, block) if len(row) >= block else row[:0])
    yield softmax_from(with_zeros)


@misconception(
    "online_softmax",
    "maximum and sum returned",
    about="formula",
    told=(
        "Your code returns what it has gathered, maximum and sum. What is asked for are the "
        "weights: one for each score."
    ),
    question="How does a weight follow from a score, the maximum and the sum?",
)
def state_returned() -> Iterator[Form]:
    yield softmax_from(lambda row, block: tuple(float(x[0]) for x in state(row, block)))
    yield softmax_from(lambda row, block: float(state(row, block)[1][0]))
    yield softmax_from(lambda row, block: sum(float(x[0]) for x in logs(row, block)))
    yield softmax_from(lambda row, block: (right_softmax(row, block), *state(row, block)))


@misconception(
    "online_softmax",
    "logarithm of the weights",
    about="formula",
    told="Your code returns score − maximum − log(sum): the logarithms of the weights.",
    question="What turns the logarithm of a weight into the weight?",
)
def logarithms() -> Iterator[Form]:
    yield softmax_from(lambda row, block: np.log(right_softmax(row, block)))


@misconception(
    "online_softmax",
    "a list returned",
    about="formula",
    told="Your code returns a list; what is asked for is an array.",
    question="Which function makes an array of a list?",
)
def list_returned() -> Iterator[Form]:
    yield softmax_from(lambda row, block: right_softmax(row, block).tolist())
    yield softmax_from(lambda row, block: list(right_softmax(row, block)))
    yield softmax_from(
        lambda row, block: [right_softmax(row, block)[p] for p in blocks(len(row), block)]
    )


@misconception(
    "online_softmax",
    "too few digits",
    about="range",
    told=(
        "Your code computes in a narrow float type. At large scores its numbers lie so far apart "
        "that the differences between scores are lost."
    ),
    question="How many digits does the type keep in which you subtract the maximum?",
)
def narrow_softmax() -> Iterator[Form]:
    yield lambda row, block: right_softmax(np.asarray(row, dtype=np.float32), block)
    yield lambda row, block: softmax_by()(np.asarray(row, np.float32), block).astype(np.float32)


@misconception(
    "online_softmax",
    "weights as integers",
    about="kinds",
    told=(
        "For a row of integers your code puts the weights into an array of integers, which cuts "
        "each of them down to 0 or 1."
    ),
    question="Which dtype does np.zeros_like give to what it makes of integers?",
)
def integer_weights() -> Iterator[Form]:
    def online_softmax(row: Any, block: int) -> Array:
        found = np.zeros_like(row)
        found[:] = right_softmax(row, block)
        return found

    def by_numerators(row: Any, block: int) -> Array:
        found = np.zeros_like(row)
        highest, total = state(np.asarray(row, np.float64), block)
        found[:] = np.exp(row - zero_for_none(highest))
        return np.asarray(found / total)

    yield online_softmax
    yield by_numerators


@misconception(
    "online_softmax",
    "row changed in place",
    about="kinds",
    told=(
        "Your code writes into the row that it was given. The caller's scores are gone, and "
        "nothing says so."
    ),
    question="Which of your lines write into an array that you did not make?",
)
def row_changed() -> Iterator[Form]:
    def subtracted(row: Any, block: int) -> Array:
        highest, total = state(np.asarray(row, np.float64), block)
        row -= zero_for_none(highest)
        return over_total(np.exp(row), total)

    def exponentials(row: Any, block: int) -> Array:
        highest, total = state(np.asarray(row, np.float64), block)
        for part in blocks(len(row), block):
            row[part] = np.exp(row[part] - zero_for_none(highest))
        return over_total(row, total)

    def all_in_place(row: Any, block: int) -> Array:
        row[:] = right_softmax(row, block)
        return np.asarray(row)

    def float_in_place(row: Any, block: int) -> Array:
        x = np.asarray(row, dtype=np.float64)
        x[:] = right_softmax(x, block)
        return x

    yield from (subtracted, exponentials, all_in_place, float_in_place)


# --- online_attention: pieces that its forms vary ---------------------------------------------


def dividing(at_end: bool) -> Form:
    """The output is divided by the running sum after each block."""

    def online_attention(
        Q: Array, K: Array, V: Array, block: int, mask: Array | None = None
    ) -> Any:
        allowed = None if mask is None else np.broadcast_to(mask, (*Q.shape[:-1], K.shape[-2]))
        highest, total = np.full((*Q.shape[:-1], 1), -np.inf), np.zeros((*Q.shape[:-1], 1))
        output = np.zeros((*Q.shape[:-1], V.shape[-1]))
        for part in blocks(K.shape[-2], block):
            scores = Q @ np.swapaxes(K[..., part, :], -1, -2) * by_root(Q, K, V, 0)
            scores = scores if allowed is None else hide(scores, allowed, part)
            new = running(highest, scores)
            shift = zero_for_none(new)
            exponentials, correction = np.exp(scores - shift), np.exp(highest - shift)
            total = total * correction + exponentials.sum(axis=-1, keepdims=True)
            output = over_total(output * correction + exponentials @ V[..., part, :], total)
            highest = new
        return over_total(output, total) if at_end else output

    return online_attention


def separately(mean: bool) -> Form:
    """The attentions of all blocks, added or averaged."""

    def online_attention(
        Q: Array, K: Array, V: Array, block: int, mask: Array | None = None
    ) -> Any:
        allowed = None if mask is None else np.broadcast_to(mask, (*Q.shape[:-1], K.shape[-2]))
        parts = blocks(K.shape[-2], block)
        found = [
            right_attention(
                Q, K[..., part, :], V[..., part, :], block,
                None if allowed is None else allowed[..., part],
            )
            for part in parts
        ]  # fmt: skip
        return sum(found) / (len(parts) if mean else 1)

    return online_attention


def hiding_late(divide: Callable[[Array, Array], Array]) -> Form:
    """The mask is applied to the exponentials, after the maximum was taken."""

    def online_attention(
        Q: Array, K: Array, V: Array, block: int, mask: Array | None = None
    ) -> Any:
        shape = (*Q.shape[:-1], K.shape[-2])
        allowed = np.broadcast_to(True if mask is None else mask, shape)
        highest, total = np.full((*shape[:-1], 1), -np.inf), np.zeros((*shape[:-1], 1))
        output = np.zeros((*shape[:-1], V.shape[-1]))
        for part in blocks(shape[-1], block):
            scores = Q @ np.swapaxes(K[..., part, :], -1, -2) * by_root(Q, K, V, 0)
            new = running(highest, scores)
            exponentials = np.exp(scores - new) * allowed[..., part]
            correction = np.exp(highest - new)
            total = total * correction + exponentials.sum(axis=-1, keepdims=True)
            output = output * correction + exponentials @ V[..., part, :]
            highest = new
        return divide(output, total)

    return online_attention


def zero_if_all(highest: Array) -> Array:
    """0 for the maximum only if no query at all has seen a key: whole blocks are skipped."""
    return np.zeros_like(highest) if np.isneginf(highest).all() else highest


# --- online_attention: from block to block ----------------------------------------------------


@misconception(
    "online_attention",
    "output not rescaled",
    about="rescale",
    told=(
        "When the maximum rises your code corrects the sum, but not the output gathered so far: it "
        "still holds weights made with the old maximum, and they are too large."
    ),
    question="Which of the things that you carry from block to block were made with exponentials?",
    source="deepseek-ai/FlashMLA#177; facebookresearch/xformers#162",
)
def output_not_rescaled() -> Iterator[Form]:
    yield attention_by(output=not_corrected)


@misconception(
    "online_attention",
    "neither sum nor output rescaled",
    about="rescale",
    told=(
        "When the maximum rises your code goes on with the new one and leaves what it has gathered "
        "as it was. Early keys then count too much, in the sum and in the output."
    ),
    question="By what do exponentials change when the number that is subtracted rises?",
)
def nothing_rescaled() -> Iterator[Form]:
    yield attention_by(output=not_corrected, total=not_corrected)


@misconception(
    "online_attention",
    "divided at every block",
    about="output scale rescale",
    told=(
        "Your code divides the output by the sum after every block and goes on from there. Earlier "
        "blocks are then divided again and again."
    ),
    question="How often must the weighted sum of values be divided, and when?",
    source="a frequent slip in forum questions on tiled attention",
)
def divided_every_time() -> Iterator[Form]:
    for at_end in (True, False):
        yield dividing(at_end)


@misconception(
    "online_attention",
    "each block an attention of its own",
    about="output scale rescale",
    told=(
        "Your code computes a whole attention for each block and adds or averages the results. "
        "Every block then gets the same share, however low its scores are."
    ),
    question="How much of the 1 does a block get whose scores are far below the others?",
    source="pytorch/pytorch#147344",
)
def block_attentions() -> Iterator[Form]:
    for mean in (True, False):
        yield separately(mean)


@misconception(
    "online_attention",
    "one maximum for all queries",
    about="range",
    told=(
        "Your code takes one maximum over all queries. A query whose scores lie far below those of "
        "another has only exponentials that underflow to 0."
    ),
    question="What shape must the running maximum have, so that each query has its own?",
)
def one_for_all() -> Iterator[Form]:
    def of_all(old: Array, scores: Array) -> Array:
        return np.maximum(old, scores.max())

    def of_sequence(old: Array, scores: Array) -> Array:
        return np.maximum(old, scores.max(axis=(-1, -2), keepdims=True))

    for divide in DIVISIONS:
        yield attention_by(highest=of_all, divide=divide)
        yield attention_by(highest=of_sequence, divide=divide)


# --- online_attention: the scale --------------------------------------------------------------


@misconception(
    "online_attention",
    "an axis short",
    about="output",
    told=(
        "Maximum and sum have the shape (S_q,) in your code. NumPy lines shapes up from the right, "
        "so what belongs to the queries meets the keys of a block, or the columns of the output."
    ),
    question="Which shape can be subtracted from scores (S_q, block) row by row?",
)
def an_axis_short() -> Iterator[Form]:
    def flat(everywhere: bool) -> Form:
        def form(Q: Array, K: Array, V: Array, block: int, mask: Array | None = None) -> Array:
            highest, total = np.full(Q.shape[:-1], -np.inf), np.zeros(Q.shape[:-1])  # (..., S_q)
            output = np.zeros((*Q.shape[:-1], V.shape[-1]))
            for part in blocks(K.shape[-2], block):
                scores = Q @ np.swapaxes(K[..., part, :], -1, -2) / np.sqrt(Q.shape[-1])
                scores = scores if mask is None else np.where(mask[..., part], scores, -np.inf)
                higher = np.maximum(highest, scores.max(axis=-1))
                exponentials = np.exp(scores - (higher if everywhere else higher[..., None]))
                correction = np.exp(highest - higher)
                total = total * correction + exponentials.sum(axis=-1)
                output = output * correction + exponentials @ V[..., part, :]
                highest = higher
            return output / (total if everywhere else total[..., None])

        return form

    yield flat(everywhere=True)
    yield flat(everywhere=False)


@misconception(
    "online_attention",
    "not scaled",
    about="scale",
    told="Your scores are the plain dot products: nothing divides them by √d_k.",
    question="By what does attention divide the dot products?",
    source="Project-MONAI/GenerativeModels#146",
)
def not_scaled() -> Iterator[Form]:
    yield attention_by(scale=lambda Q, K, V, number: 1.0)


@misconception(
    "online_attention",
    "scaled twice",
    about="scale",
    told="Your scores are divided by d_k, the square of what they are to be divided by.",
    question="How often does your code multiply by the scale?",
    source="AI-Hypercomputer/maxtext#1349",
)
def scaled_twice() -> Iterator[Form]:
    yield attention_by(scale=lambda Q, K, V, number: by_root(Q, K, V, number) ** 2)


@misconception(
    "online_attention",
    "multiplied by √d_k",
    about="scale",
    told="Your code multiplies the dot products by √d_k. They are to be divided by it.",
    question="Do the products of long vectors have to become larger or smaller?",
)
def multiplied() -> Iterator[Form]:
    yield attention_by(scale=lambda Q, K, V, number: 1 / by_root(Q, K, V, number))


@misconception(
    "online_attention",
    "scale grows with every block",
    about="scale",
    told=(
        "Your scale changes inside the loop: each block multiplies it again, so that the blocks "
        "are not measured by the same rule."
    ),
    question="Which of your lines must run once, and which once a block?",
    source="flagos-ai/FlagGems#424",
)
def compounding() -> Iterator[Form]:
    for base in (math.log2(math.e), math.log(2)):
        yield attention_by(scale=lambda Q, K, V, number, b=base: by_root(Q, K, V, 0) * b**number)
        yield attention_by(
            scale=lambda Q, K, V, number, b=base: by_root(Q, K, V, 0) * b ** (number + 1)
        )
    yield attention_by(scale=lambda Q, K, V, number: by_root(Q, K, V, 0) ** (number + 1))
    yield attention_by(scale=lambda Q, K, V, number: by_root(Q, K, V, 0) ** number)
    yield attention_by(scale=lambda Q, K, V, number: by_root(Q, K, V, 0) ** (2**number))


@misconception(
    "online_attention",
    "base 2 for base e",
    about="scale",
    told=(
        "Your scores are off by log₂e ≈ 1.44: powers of 2 and of e are mixed. Kernels compute "
        "2^(x·log₂e) since that is faster; both changes belong together."
    ),
    question="For which y is 2 to the y the same as e to the x?",
    source="flagos-ai/FlagGems#424",
)
def base_two() -> Iterator[Form]:
    for base in (math.log2(math.e), math.log(2)):
        yield attention_by(scale=lambda Q, K, V, number, b=base: by_root(Q, K, V, 0) * b)


@misconception(
    "online_attention",
    "scaled by another size",
    about="scale",
    told=(
        "Your scale is made from another size than the width of the keys: from the number of keys "
        "or queries, the width of the values, or the block."
    ),
    question="Which axis of K is as long as a dot product has terms?",
    source="karpathy/nanoGPT#219",
)
def other_size() -> Iterator[Form]:
    for size in (
        lambda Q, K, V: K.shape[-2], lambda Q, K, V: Q.shape[-2], lambda Q, K, V: V.shape[-1],
        lambda Q, K, V: Q.size,
    ):  # fmt: skip
        yield attention_by(scale=lambda Q, K, V, number, of=size: 1 / math.sqrt(of(Q, K, V)))


@misconception(
    "online_attention",
    "scaled by a fixed number",
    about="scale",
    told="Your scale is a number that fits one width of the keys only.",
    question="What changes in your code when the keys become wider?",
)
def fixed_scale() -> Iterator[Form]:
    for width in (4, 8, 16, 32, 64, 128):
        yield attention_by(scale=lambda Q, K, V, number, w=width: 1 / math.sqrt(w))


# --- online_attention: the output -------------------------------------------------------------


@misconception(
    "online_attention",
    "keys used as values",
    about="output",
    told="Your code sums keys, each times its weight. What is looked up are the values.",
    question="Which array holds what the output is a mixture of?",
)
def keys_as_values() -> Iterator[Form]:
    keys_twice = on_changed(lambda Q, K, V, block, mask: (Q, K, K, block, mask))
    yield keys_twice

    def as_wide_as_values(
        Q: Array, K: Array, V: Array, block: int, mask: Array | None = None
    ) -> Any:
        return np.zeros((*Q.shape[:-1], V.shape[-1])) + keys_twice(Q, K, V, block, mask)

    yield as_wide_as_values


@misconception(
    "online_attention",
    "values not cut into blocks",
    about="output",
    told=(
        "Your code multiplies the exponentials of one block by all values. Those of a block belong "
        "to the values of the same keys."
    ),
    question="How many rows must the values have that one block of weights is multiplied by?",
)
def values_whole() -> Iterator[Form]:
    def online_attention(
        Q: Array, K: Array, V: Array, block: int, mask: Array | None = None
    ) -> Any:
        if K.shape[-2] > block:
            raise ValueError("matmul: Input operand 1 has a mismatch in its core dimension 0")
        return right_attention(Q, K, V, block, mask)

    yield online_attention


@misconception(
    "online_attention",
    "more than the output returned",
    about="output",
    told="Your code returns more than one thing. What is asked for is the output alone.",
    question="What does the docstring say that comes back?",
)
def pair_returned() -> Iterator[Form]:
    for finish in (
        lambda output, total, highest: (output, total),
        lambda output, total, highest: (output, highest, total),
        lambda output, total, highest: (output, highest + np.log(total)),
        lambda output, total, highest: (output, None),
    ):
        yield attention_by(finish=finish)

    def with_weights(Q: Array, K: Array, V: Array, block: int, mask: Array | None = None) -> Any:
        weights = right_attention(Q, K, np.eye(K.shape[-2]), block, mask)
        return right_attention(Q, K, V, block, mask), weights

    yield with_weights


@misconception(
    "online_attention",
    "output in the shape of another array",
    about="output",
    told=(
        "Your output has the shape of Q or of V. It has a row for each query, and as many columns "
        "as the values have."
    ),
    question="Of which array is the output a weighted sum?",
)
def as_queries() -> Iterator[Form]:
    def online_attention(
        Q: Array, K: Array, V: Array, block: int, mask: Array | None = None
    ) -> Any:
        found = np.zeros_like(Q, dtype=np.float64)
        found += right_attention(Q, K, V, block, mask)
        return found

    def sliced(Q: Array, K: Array, V: Array, block: int, mask: Array | None = None) -> Any:
        return np.zeros_like(Q, dtype=np.float64) + right_attention(Q, K, V, block, mask)

    def as_values(Q: Array, K: Array, V: Array, block: int, mask: Array | None = None) -> Any:
        return np.zeros_like(V, dtype=np.float64) + right_attention(Q, K, V, block, mask)

    def into_values(Q: Array, K: Array, V: Array, block: int, mask: Array | None = None) -> Any:
        found = np.zeros_like(V, dtype=np.float64)
        found += right_attention(Q, K, V, block, mask)
        return found

    yield from (online_attention, sliced, as_values, into_values)


@misconception(
    "online_attention",
    "blocks counted by the queries",
    about="output lead",
    told=(
        "Your loop ends at the number of queries. The blocks are blocks of keys, and there may be "
        "more keys than queries, or fewer."
    ),
    question="Along which array does your loop walk?",
)
def counted_by_queries() -> Iterator[Form]:
    yield attention_by(length=lambda Q, K: Q.shape[-2])


@misconception(
    "online_attention",
    "axes counted from the front",
    about="lead",
    told=(
        "Your code takes the first axis for the keys. With leading axes that is the batch: keys "
        "and width are the last two."
    ),
    question="Where do the keys stand in (..., S_k, d_k), counted from the end?",
)
def from_front() -> Iterator[Form]:
    def flat(form: Form, **wrong: bool) -> Form:
        def online_attention(
            Q: Array, K: Array, V: Array, block: int, mask: Array | None = None
        ) -> Any:
            if K.ndim > 2 and wrong.get("raises"):
                raise ValueError("operands could not be broadcast together")
            return form(Q, K, V, block, mask)

        return online_attention

    yield flat(attention_by(), raises=True)
    yield attention_by(length=lambda Q, K: len(K))
    yield attention_by(length=lambda Q, K: K.shape[1] if K.ndim > 2 else len(K))


# --- online_attention: the mask ---------------------------------------------------------------


@misconception(
    "online_attention",
    "mask ignored",
    about="mask",
    told="Your code gives hidden keys the weight that they would have without a mask.",
    question="Where does your code use `mask`?",
)
def mask_ignored() -> Iterator[Form]:
    yield no_mask(attention_by())


@misconception(
    "online_attention",
    "True taken for hidden",
    about="mask",
    told="Your code hides the keys where the mask is True. True means that a query may attend.",
    question="What does True mean in this course's masks?",
)
def true_hides() -> Iterator[Form]:
    for fill in (-np.inf, -1e9):
        yield attention_by(
            hide=lambda scores, mask, part, f=fill: np.where(mask[..., part], f, scores)
        )


@misconception(
    "online_attention",
    "first block's mask for every block",
    about="mask",
    told=(
        "Your code uses the mask's first columns at every block. Each block has its own columns, "
        "those of its keys."
    ),
    question="Which columns of the mask belong to the keys of the second block?",
    source="CHARM-Tx/linear_mem_attention_pytorch#1",
)
def mask_not_sliced() -> Iterator[Form]:
    for fill in (-np.inf, -1e9):
        yield attention_by(
            hide=lambda scores, mask, part, f=fill: np.where(
                mask[..., : scores.shape[-1]], scores, f
            )
        )


@misconception(
    "online_attention",
    "whole mask at every block",
    about="mask",
    told=(
        "Your code lays the whole mask over the scores of one block. The mask has a column for "
        "every key, the block only a few."
    ),
    question="Which columns of the mask belong to the keys of this block?",
)
def mask_whole() -> Iterator[Form]:
    yield attention_by(hide=lambda scores, mask, part: np.where(mask, scores, -np.inf))


@misconception(
    "online_attention",
    "rows of the mask cut, not columns",
    about="mask",
    told=(
        "Your code cuts the mask along the queries. A block is a block of keys, and the keys are "
        "the mask's last axis."
    ),
    question="Which axis of the mask belongs to the keys?",
)
def mask_rows() -> Iterator[Form]:
    yield attention_by(
        hide=lambda scores, mask, part: np.where(mask[..., part, :], scores, -np.inf)
    )
    yield attention_by(
        hide=lambda scores, mask, part: np.where(
            np.swapaxes(mask, -1, -2)[..., part], scores, -np.inf
        )
    )


@misconception(
    "online_attention",
    "hidden keys stay in the sum",
    about="mask",
    told=(
        "Your code sets the exponentials of hidden keys to 0 for the output, but their share stays "
        "in the sum. The visible keys then share less than 1."
    ),
    question="Whose exponentials may the sum hold?",
)
def hidden_in_sum() -> Iterator[Form]:
    def online_attention(
        Q: Array, K: Array, V: Array, block: int, mask: Array | None = None
    ) -> Any:
        if mask is None:
            return right_attention(Q, K, V, block)
        weights = right_attention(Q, K, np.eye(K.shape[-2]), block)
        return (weights * mask) @ V

    yield online_attention


@misconception(
    "online_attention",
    "hidden scores set to 0",
    about="mask range",
    told=(
        "Your code multiplies the scores by the mask, so that hidden ones become 0. A score of 0 "
        "is a score like any other and gets weight."
    ),
    question="Which score gives the weight 0?",
)
def scores_zero() -> Iterator[Form]:
    yield attention_by(hide=lambda scores, mask, part: scores * mask[..., part])


@misconception(
    "online_attention",
    "mask added as numbers",
    about="mask",
    told=(
        "Your code adds the mask to the scores. True counts as 1 and False as 0, which hides "
        "nothing."
    ),
    question="What must be added to a score for its weight to be 0?",
)
def mask_added() -> Iterator[Form]:
    yield attention_by(hide=lambda scores, mask, part: scores + mask[..., part])
    yield attention_by(hide=lambda scores, mask, part: scores + ~mask[..., part])


@misconception(
    "online_attention",
    "hidden scores not low enough",
    about="mask range",
    told=(
        "Your code gives hidden scores a fixed number, or takes one from them. Legal scores lie as "
        "low as that, or so high that a hidden one still wins."
    ),
    question="Which number is lower than every legal score, whatever is added to it?",
)
def not_low_enough() -> Iterator[Form]:
    for fill in (-10.0, -100.0, -1e3, -1e4):
        for divide in (over_total, plainly):
            yield attention_by(hide=filled(fill), divide=divide)
        yield attention_by(
            hide=lambda scores, mask, part, f=fill: scores + np.where(mask[..., part], 0.0, f)
        )


@misconception(
    "online_attention",
    "maximum over hidden keys too",
    about="mask",
    told=(
        "Your running maximum counts hidden keys. When a hidden key scores far above the visible "
        "ones, their exponentials underflow."
    ),
    question="Is the mask applied before or after your code takes the maximum?",
)
def hidden_maximum() -> Iterator[Form]:
    for divide in DIVISIONS:
        yield hiding_late(divide)


@misconception(
    "online_attention",
    "a mask of one shape only",
    about="lead",
    told=(
        "Your code expects a mask with certain axes. A mask may have any shape that broadcasts to "
        "(..., S_q, S_k): fewer axes than the scores, or axes of length 1."
    ),
    question="What do all legal masks have in common at their last axis?",
)
def one_shape() -> Iterator[Form]:
    def two_axes(mask: Array, Q: Array, K: Array) -> Array:
        return np.broadcast_to(mask, (Q.shape[-2], K.shape[-2]))

    def second_axis(scores: Array, mask: Array, part: slice) -> Array:
        return np.where(mask[:, part], scores, -np.inf)

    yield attention_by(wide=two_axes)
    yield attention_by(wide=lambda mask, Q, K: mask, hide=second_axis)
    yield attention_by(wide=lambda mask, Q, K: mask.reshape(*Q.shape[:-1], K.shape[-2]))


@misconception(
    "online_attention",
    "truth of a mask asked",
    about="mask",
    told=(
        "Your code asks whether the mask is true. An array of several numbers has no truth of its "
        "own, and NumPy raises an error."
    ),
    question="How does one ask whether an argument was given at all?",
)
def truth_asked() -> Iterator[Form]:
    def online_attention(Q: Array, K: Array, V: Array, block: int, mask: Any = None) -> Any:
        return right_attention(Q, K, V, block, mask if mask else None)

    yield online_attention


# --- online_attention: nothing visible --------------------------------------------------------


@misconception(
    "online_attention",
    "NaN after a masked first block",
    about="masked",
    told=(
        "For a query that sees no key of the first block the maximum so far is −∞, and your code "
        "computes −∞ − (−∞). That is NaN, and it stays in sum and output for good."
    ),
    question="Which number may be subtracted from scores that are all −∞, so that exp gives 0?",
    source="vllm-project/vllm#39148; flashinfer-ai/flashinfer#4051; tracel-ai/burn#4694",
)
def masked_nan_attention() -> Iterator[Form]:
    for divide in DIVISIONS:
        made = attention_by(shift=as_it_is, divide=divide)
        yield made
        yield after_all(np.nan_to_num, made)
        yield attention_by(shift=zero_if_all, divide=divide)


@misconception(
    "online_attention",
    "stops at a masked block",
    about="masked",
    told=(
        "At a block in which nothing is visible your code leaves the loop. Later blocks may hold "
        "visible keys."
    ),
    question="What is the difference between skipping one block and ending the loop?",
)
def stops_attention() -> Iterator[Form]:
    def online_attention(
        Q: Array, K: Array, V: Array, block: int, mask: Array | None = None
    ) -> Any:
        if mask is None:
            return right_attention(Q, K, V, block)
        allowed = np.broadcast_to(mask, (*Q.shape[:-1], K.shape[-2])).copy()
        for part in blocks(K.shape[-2], block):
            if not allowed[..., part].any():
                allowed[..., part.start :] = False
        return right_attention(Q, K, V, block, allowed)

    yield online_attention


@misconception(
    "online_attention",
    "block skipped for all when one query sees nothing",
    about="masked",
    told=(
        "Your code leaves out a block for every query as soon as it is masked for one of them, or "
        "at one place. The other queries lose keys that they may attend to."
    ),
    question="When may a block be left out for all queries at once?",
)
def skipped_for_all() -> Iterator[Form]:
    def skipping(skip: Callable[[Array], bool]) -> Form:
        def online_attention(
            Q: Array, K: Array, V: Array, block: int, mask: Array | None = None
        ) -> Any:
            if mask is None:
                return right_attention(Q, K, V, block)
            allowed = np.broadcast_to(mask, (*Q.shape[:-1], K.shape[-2])).copy()
            for part in blocks(K.shape[-2], block):
                if skip(allowed[..., part]):
                    allowed[..., part] = False
            return right_attention(Q, K, V, block, allowed)

        return online_attention

    yield skipping(lambda part: bool((~part).any()))
    yield skipping(lambda part: bool((~part.any(axis=-1)).any()))
    yield skipping(lambda part: not part[..., 0, :].any())
    yield skipping(lambda part: not part[..., -1, :].any())


@misconception(
    "online_attention",
    "NaN for a query without any key",
    about="empty",
    told=(
        "For a query that may attend to no key at all nothing was added, the sum is 0, and your "
        "code divides by it."
    ),
    question="What is the output of a query that may attend to nothing?",
    source="iree-org/iree#24175; huggingface/candle#3632",
)
def empty_nan_attention() -> Iterator[Form]:
    yield attention_by(divide=plainly)
    yield attention_by(shift=as_it_is)
    yield attention_by(shift=as_it_is, divide=plainly)


@misconception(
    "online_attention",
    "all keys for a query without any",
    about="empty",
    told=(
        "A query that may attend to nothing gets the mean of all values, as if all were visible. "
        "With one large negative number in place of every score, all of them are equal again."
    ),
    question="What is the output of a query that may attend to nothing?",
)
def empty_equal_attention() -> Iterator[Form]:
    for fill in (-1e9, -1e30, float(np.finfo(np.float64).min)):
        yield attention_by(hide=filled(fill))
    yield attention_by(
        hide=lambda scores, mask, part: scores + np.where(mask[..., part], 0.0, -1e9)
    )


# --- online_attention: what comes in, and memory ----------------------------------------------


@misconception(
    "online_attention",
    "last block filled up with zeros",
    about="tail",
    told=(
        "Your code fills keys and values up with zeros to a whole number of blocks. A key of zeros "
        "has the score 0, and its exponential is added to the sum."
    ),
    question="Which score must a key have that is not there?",
    source="flashinfer-ai/flashinfer#5090",
)
def padded_zeros_attention() -> Iterator[Form]:
    def filled_up(Q: Array, K: Array, V: Array, block: int, mask: Array | None) -> tuple[Any, ...]:
        more = [(0, 0)] * (K.ndim - 2) + [(0, -K.shape[-2] % block), (0, 0)]
        if mask is not None:
            mask = np.pad(mask, [(0, 0)] * (mask.ndim - 1) + [more[-2]])
        return Q, np.pad(K, more), np.pad(V, more), block, mask

    yield on_changed(filled_up)
    yield on_changed(filled_up, attention_by(divide=plainly))


@misconception(
    "online_attention",
    "too few digits",
    about="range",
    told=(
        "Your code computes in a narrow float type. At large scores its numbers lie so far apart "
        "that the differences between scores are lost."
    ),
    question="How many digits does the type keep in which you subtract the maximum?",
)
def narrow_attention() -> Iterator[Form]:
    def single(scores: Array) -> Array:
        return scores.astype(np.float32).astype(np.float64)

    def online_attention(
        Q: Array, K: Array, V: Array, block: int, mask: Array | None = None
    ) -> Any:
        parts = [np.asarray(part, dtype=np.float32) for part in (Q, K, V)]
        return right_attention(*parts, block, mask)

    def scores_only(scores: Array, mask: Array, part: slice) -> Array:
        return single(hide(scores, mask, part))

    def always(Q: Array, K: Array, V: Array, block: int, mask: Array | None = None) -> Any:
        allowed = np.ones((1, K.shape[-2]), dtype=bool) if mask is None else mask
        return attention_by(hide=scores_only)(Q, K, V, block, allowed)

    yield online_attention
    yield always


@misconception(
    "online_attention",
    "output as integers",
    about="kinds",
    told=(
        "For integer values your code gathers the output in an array of integers, which cuts off "
        "what comes after the point."
    ),
    question="Which dtype does your output array have when V holds integers?",
)
def integer_output() -> Iterator[Form]:
    def cut_off(Q: Array, K: Array, V: Array, block: int, mask: Array | None = None) -> Any:
        return right_attention(Q, K, V, block, mask).astype(V.dtype)

    def in_place(Q: Array, K: Array, V: Array, block: int, mask: Array | None = None) -> Any:
        output = np.zeros((*Q.shape[:-1], V.shape[-1]), dtype=V.dtype)
        output += right_attention(Q, K, V, block, mask)
        return output

    def as_query(Q: Array, K: Array, V: Array, block: int, mask: Array | None = None) -> Any:
        return right_attention(Q, K, V, block, mask).astype(Q.dtype)

    yield from (cut_off, in_place, as_query)


@misconception(
    "online_attention",
    "arguments changed in place",
    about="kinds",
    told=(
        "Your code writes into an array that it was given. The caller's data is gone, and nothing "
        "says so."
    ),
    question="Which of your lines write into an array that you did not make?",
)
def changed_in_place() -> Iterator[Form]:
    def scaled(*which: int) -> Form:
        def online_attention(
            Q: Array, K: Array, V: Array, block: int, mask: Array | None = None
        ) -> Any:
            for part in which:
                (Q, K, V)[part][...] *= 1 / math.sqrt(Q.shape[-1])
            return attention_by(scale=lambda *_: 1.0)(Q, K, V, block, mask)

        return online_attention

    def divided(Q: Array, K: Array, V: Array, block: int, mask: Array | None = None) -> Any:
        Q /= math.sqrt(Q.shape[-1])
        return attention_by(scale=lambda *_: 1.0)(Q, K, V, block, mask)

    yield from (scaled(0), scaled(1), divided)


@misconception(
    "online_attention",
    "memory that grows with S²",
    about="memory",
    told=(
        "While the call ran, more than 64 MiB were in use at once. That is half of one table of "
        "4096 × 4096 float64, and many times what one block needs. Something of the size of all "
        "scores exists at once: one table, or pieces kept for every block."
    ),
    question="After a block, which arrays does your code still hold, and how large are they?",
    source="vllm-project/semantic-router#2014; AI-Hypercomputer/maxtext#4564",
)
def quadratic_memory() -> Iterator[Form]:
    def full_table(Q: Array, K: Array, V: Array, block: int, mask: Array | None = None) -> Any:
        scores = Q @ np.swapaxes(K, -1, -2) * by_root(Q, K, V, 0)
        scores = scores if mask is None else np.where(mask, scores, -np.inf)
        scores -= zero_for_none(scores.max(axis=-1, keepdims=True))
        np.exp(scores, out=scores)
        return over_total(scores @ V, scores.sum(axis=-1, keepdims=True))

    def kept_blocks(Q: Array, K: Array, V: Array, block: int, mask: Array | None = None) -> Any:
        cut = blocks(K.shape[-2], block)
        tables = [Q @ np.swapaxes(K[..., p, :], -1, -2) * by_root(Q, K, V, 0) for p in cut]
        if mask is not None:
            tables = [hide(s, np.asarray(mask), p) for s, p in zip(tables, cut, strict=True)]
        parts = ((s, V[..., p, :]) for s, p in zip(tables, cut, strict=True))
        _, total, output = walk(RIGHT, parts, Q.shape[:-1], V.shape[-1])
        return over_total(output, total)

    yield from (full_table, kept_blocks)
