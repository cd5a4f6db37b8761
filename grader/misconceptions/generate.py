"""Lesson 09: how people get `generate` wrong, the loop that writes, and what they are told.

Forms are a right loop with one piece exchanged; sources are public issues."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from grader import oracle
from grader.misconceptions.family import Form, misconception, right

Array = np.ndarray
right("generate")(oracle.generate)

Step = Callable[[Any], Array]
# (prompt, all tokens so far, the token just chosen) → what step gets next
Feed = Callable[[list[int], list[int], int], Any]
Row = Callable[[Array], Any]
# (row of logits, temperature) → the weights to draw with
Weigh = Callable[[Array, float], Array]
Draw = Callable[[Any, Array], int]


# --- pieces that the forms vary ---------------------------------------------------------------


def new_token(prompt: list[int], tokens: list[int], token: int) -> Any:
    """What step gets after the prompt."""
    return [token]


def last_row(logits: Array) -> Any:
    """The logits after the last token."""
    return logits[-1]


def softmax(row: Array) -> Array:
    """The softmax of one row with at least one finite number."""
    exponentials = np.exp(row - row.max())
    return exponentials / exponentials.sum()


def heated(row: Array, temperature: float) -> Array:
    """The right weights."""
    return softmax(row / temperature)


def by_choice(rng: Any, weights: Array) -> int:
    """NumPy's own draw."""
    return int(rng.choice(len(weights), p=weights))


def by_cumsum(rng: Any, weights: Array) -> int:
    """One uniform number, looked up among the cumulative weights."""
    return min(int(np.searchsorted(np.cumsum(weights), rng.random())), len(weights) - 1)


DRAWS: tuple[Draw, ...] = (by_choice, by_cumsum)


def largest(row: Array) -> int:
    """The choice at temperature 0."""
    return int(np.argmax(row))


def loop(
    first: Callable[[Step, list[int]], Array] = lambda step, prompt: step(prompt),
    feed: Feed = new_token,
    row: Row = last_row,
    weigh: Weigh = heated,
    draw: Draw = by_choice,
    cold: Callable[[Array], int] | None = largest,
    rng_of: Callable[[Any], Any] = lambda rng: rng,
    count: Callable[[int], int] = lambda n: n,
    give: Callable[[list[int], list[int]], Any] = lambda prompt, new: new,
    each_rng: Callable[[Any], Any] = lambda rng: rng,
    default: float = 1.0,
) -> Form:
    """A generate made of these pieces."""

    def generate(
        step: Step, prompt: Sequence[int], n_tokens: int, rng: Any, temperature: float = default
    ) -> Any:
        prompt = list(prompt)
        tokens = list(prompt)
        new: list[int] = []
        with np.errstate(all="ignore"):
            rng = rng_of(rng)
            logits = first(step, prompt)
            for number in range(count(n_tokens)):
                if number:
                    logits = step(feed(prompt, tokens, new[-1]))
                chosen = row(logits)
                if temperature == 0 and cold:
                    token = cold(chosen)
                else:
                    token = draw(each_rng(rng), weigh(chosen, temperature))
                new.append(token)
                tokens.append(token)
        return give(prompt, new)

    return generate


def plain_and_numpy(**pieces: Any) -> Iterator[Form]:
    """The same mistake with ids as Python's integers, and as NumPy's."""
    given = pieces.pop("give", lambda prompt, new: new)
    yield loop(**pieces, give=given)
    yield loop(**pieces, give=lambda prompt, new: [np.int64(each) for each in given(prompt, new)])


def in_kinds(**pieces: Any) -> Iterator[Form]:
    """The same, and with the ids in an array."""
    yield from plain_and_numpy(**pieces)
    given = pieces.pop("give", lambda prompt, new: new)
    yield loop(**pieces, give=lambda prompt, new: np.array(given(prompt, new)))


def drawn(**pieces: Any) -> Iterator[Form]:
    """The same, with each way to draw."""
    for draw in DRAWS:
        yield from plain_and_numpy(draw=draw, **pieces)


# --- what step gets ---------------------------------------------------------------------------


@misconception(
    "generate",
    "the whole sequence every time",
    about="calls",
    told="Your code passes everything again at each step. step has a cache: what it gets is "
    "appended to what it has, so that it sees the prompt twice, then three times.",
    question="What is in the cache when step gets the second call, and what should be added?",
    source="iCog-Labs-Dev/PC-Transformers#129",
)
def whole_sequence() -> Iterator[Form]:
    yield from in_kinds(feed=lambda prompt, tokens, token: list(tokens))
    yield from in_kinds(feed=lambda prompt, tokens, token: tokens[len(prompt) :])


@misconception(
    "generate",
    "the prompt not in one call",
    about="calls",
    told="Your code does not pass the prompt once and whole: it goes in a token a call, or only "
    "one of its tokens does, or its last one goes in again. Then the model is slow, or sees "
    "another text than you gave it.",
    question="Which tokens does the first call of step get, and which are in the cache after it?",
)
def prompt_not_in_one_call() -> Iterator[Form]:
    def one_by_one(step: Step, prompt: list[int]) -> Array:
        for token in prompt:
            logits = step([token])
        return logits

    def all_but_last_first(step: Step, prompt: list[int]) -> Array:
        if prompt[:-1]:
            step(prompt[:-1])
        return step(prompt[-1:])

    firsts: list[Callable[[Step, list[int]], Array]] = [
        one_by_one,
        all_but_last_first,
        lambda step, prompt: np.concatenate([step([token]) for token in prompt]),
        lambda step, prompt: step(prompt[-1:]),
        lambda step, prompt: step(prompt[:1]),
        lambda step, prompt: (step(prompt), step(prompt[-1:]))[1],
    ]
    for first in firsts:
        yield from in_kinds(first=first)


@misconception(
    "generate",
    "new tokens not passed",
    about="calls",
    told="Your code never passes the token that was just chosen: the model does not see what it "
    "has written, and goes on from the prompt each time.",
    question="Which token is the newest when step gets its second call?",
)
def not_fed() -> Iterator[Form]:
    yield from in_kinds(feed=lambda prompt, tokens, token: list(prompt))
    yield from in_kinds(feed=lambda prompt, tokens, token: prompt[-1:])
    yield from in_kinds(feed=lambda prompt, tokens, token: tokens[-2:-1])

    def once(
        step: Step, prompt: Sequence[int], n_tokens: int, rng: Any, temperature: float = 1.0
    ) -> Any:
        row = step(list(prompt))[-1]
        weights = heated(row, temperature or 1.0)
        return [by_choice(rng, weights) for _ in range(n_tokens)]

    yield once


@misconception(
    "generate",
    "two tokens at a time",
    about="calls",
    told="Your code passes the token before the newest as well. step has it already.",
    question="Which tokens are in the cache when step gets its second call?",
)
def two_tokens() -> Iterator[Form]:
    yield from in_kinds(feed=lambda prompt, tokens, token: tokens[-2:])


@misconception(
    "generate",
    "a number instead of a list",
    about="calls",
    told="Your code passes a bare number to step. It takes a list of token ids, also for one.",
    question="What is the difference between 3 and [3]?",
)
def bare_number() -> Iterator[Form]:
    yield loop(feed=lambda prompt, tokens, token: token)
    yield loop(feed=lambda prompt, tokens, token: [[token]])
    yield loop(first=lambda step, prompt: step([prompt]))


# --- which row --------------------------------------------------------------------------------


@misconception(
    "generate",
    "the first row of the logits",
    about="rows",
    told="Your code takes the logits after the first token of the call. They say what comes second "
    "in the prompt, which is known.",
    question="Row i is what the model expects after token i: which row is about the new token?",
)
def first_row() -> Iterator[Form]:
    yield from in_kinds(row=lambda logits: logits[0])


@misconception(
    "generate",
    "the last row but one",
    about="rows",
    told="Your code takes the row before the last one: it guesses the last token of the prompt.",
    question="Row i is what the model expects after token i: which row is about the new token?",
)
def last_but_one() -> Iterator[Form]:
    yield from in_kinds(row=lambda logits: logits[-2] if len(logits) > 1 else logits[-1])
    yield loop(row=lambda logits: logits[-2])


@misconception(
    "generate",
    "rows mixed",
    about="rows",
    told="Your code makes one row of the logits of all tokens in the call: a sum, a mean, a "
    "largest value, or all of them in one line.",
    question="Of which shape are the logits of a prompt of three tokens, and which part is needed?",
)
def rows_mixed() -> Iterator[Form]:
    rows: list[Row] = [
        lambda logits: logits.mean(axis=0),
        lambda logits: logits.sum(axis=0),
        lambda logits: logits.max(axis=0),
        lambda logits: logits.reshape(-1),
    ]
    for row in rows:
        yield from in_kinds(row=row)


@misconception(
    "generate",
    "a column of the logits",
    about="rows",
    told="Your code takes a column of the logits: one token's logit after every token of the call.",
    question="Along which axis of (n, V) do the candidates for the next token lie?",
)
def column() -> Iterator[Form]:
    yield loop(row=lambda logits: logits[:, -1])


# --- what is returned -------------------------------------------------------------------------


@misconception(
    "generate",
    "the prompt returned too",
    about="form",
    told="Your code returns the prompt and the new tokens. Only the new ones are asked for.",
    question="How many numbers must the result hold when n_tokens is 1?",
)
def prompt_too() -> Iterator[Form]:
    yield from in_kinds(give=lambda prompt, new: prompt + new)


@misconception(
    "generate",
    "one token too few or too many",
    about="form",
    told="Your loop runs once too often, or once too little: the number of new tokens is off by "
    "one.",
    question="How many tokens does the call for the prompt yield?",
)
def off_by_one() -> Iterator[Form]:
    yield from in_kinds(count=lambda n: n + 1)
    yield from in_kinds(count=lambda n: n - 1)
    yield from in_kinds(give=lambda prompt, new: prompt[-1:] + new)
    yield from in_kinds(give=lambda prompt, new: new[1:])


@misconception(
    "generate",
    "only the last token",
    about="form",
    told="Your code returns one token. All the new ones are asked for.",
    question="Where do the tokens go that your loop chooses before the last one?",
)
def only_last() -> Iterator[Form]:
    yield loop(give=lambda prompt, new: new[-1:])
    yield loop(give=lambda prompt, new: new[-1])
    yield loop(give=lambda prompt, new: np.int64(new[-1]))


@misconception(
    "generate",
    "nothing returned",
    about="form",
    told="Your function ends without handing anything back.",
    question="Which line of your function returns the tokens?",
)
def nothing_returned() -> Iterator[Form]:
    yield loop(give=lambda prompt, new: None)


@misconception(
    "generate",
    "text instead of token ids",
    about="form",
    told="Your code returns a text, or each id as one. Asked are the ids, as whole numbers.",
    question="Who knows which character an id stands for?",
)
def as_text() -> Iterator[Form]:
    yield loop(give=lambda prompt, new: "".join(map(str, new)))
    yield loop(give=lambda prompt, new: " ".join(map(str, new)))
    yield loop(give=lambda prompt, new: list(map(str, new)))


# --- temperature ------------------------------------------------------------------------------


@misconception(
    "generate",
    "temperature 0 divided by",
    about="greedy",
    told="Your code divides by a temperature of 0. In NumPy that gives infinities and NaN, "
    "and nothing sensible is chosen; in plain Python it raises an error.",
    question="Which token is the most probable as the temperature falls towards 0?",
    source="google-deepmind/gemma#562, karpathy/nanoGPT#546",
)
def divided_by_zero() -> Iterator[Form]:
    for draw in DRAWS:
        yield from in_kinds(cold=None, weigh=lambda row, t: softmax(row / t), draw=draw)

    def in_python(row: Array, temperature: float) -> Array:
        return softmax(np.array([float(each) / temperature for each in row]))

    yield from in_kinds(cold=None, weigh=in_python)


@misconception(
    "generate",
    "draws at temperature 0",
    about="greedy",
    told="Your code draws at temperature 0 as it does at temperature 1: a 0 is taken for no "
    "temperature at all, or for a 1.",
    question="What is `temperature or 1.0` when the temperature is 0?",
    source="Lightning-AI/litgpt#2239, inclusionAI/LLaDA2.X#6",
)
def draws_when_cold() -> Iterator[Form]:
    yield from drawn(cold=None, weigh=lambda row, t: softmax(row / (t or 1.0)))


@misconception(
    "generate",
    "draws evenly at temperature 0",
    about="greedy",
    told="Your code gives all tokens the same weight at temperature 0, as an endlessly high "
    "temperature would.",
    question="Does a low temperature make the choice more certain, or less?",
)
def even_when_cold() -> Iterator[Form]:
    yield from drawn(cold=None, weigh=lambda row, t: softmax(row * t))


@misconception(
    "generate",
    "the smallest logit",
    about="greedy",
    told="At temperature 0 your code takes the token with the smallest logit.",
    question="Does a large logit make a token probable, or a small one?",
)
def smallest() -> Iterator[Form]:
    yield from in_kinds(cold=lambda row: int(np.argmin(row)))


@misconception(
    "generate",
    "the largest absolute logit",
    about="greedy",
    told="At temperature 0 your code takes the logit that lies farthest from 0.",
    question="Is a logit of −5 more probable than one of 3?",
)
def largest_absolute() -> Iterator[Form]:
    yield from in_kinds(cold=lambda row: int(np.argmax(np.abs(row))))


@misconception(
    "generate",
    "the largest of all rows",
    about="greedy",
    told="At temperature 0 your code looks for the largest logit among all rows of the call. What "
    "it finds may stand in another token's row, and its place in the whole table is no token id.",
    question="What does `np.argmax` return for a table when it is given no axis?",
)
def largest_of_all_rows() -> Iterator[Form]:
    for draw in DRAWS:
        yield from in_kinds(
            row=lambda logits: logits,
            cold=lambda logits: int(np.argmax(logits)),
            weigh=lambda logits, t: softmax(logits[-1] / t),
            draw=draw,
        )


@misconception(
    "generate",
    "weights that do not sum to 1",
    about="sampling temperature",
    told="Your code draws with numbers that do not sum to 1: the logits as they are, or a softmax "
    "that sums over the tokens of the call and not over the candidates.",
    question="What must the weights of all candidates sum to, and along which axis do they lie?",
)
def not_summing_to_one() -> Iterator[Form]:
    yield from drawn(weigh=lambda row, t: row / t)
    yield from drawn(weigh=lambda row, t: np.ones_like(row))


@misconception(
    "generate",
    "always the largest",
    about="sampling temperature",
    told="Your code takes the most probable token, whatever the temperature. It never draws, so it "
    "writes the same text again and again.",
    question="Where does your code use rng?",
)
def always_largest() -> Iterator[Form]:
    yield from in_kinds(draw=lambda rng, weights: int(np.argmax(weights)))


@misconception(
    "generate",
    "all tokens alike",
    about="sampling temperature",
    told="Your code draws every token with the same chance. The logits have no say.",
    question="What does rng.choice or rng.integers do when it is given no weights?",
)
def all_alike() -> Iterator[Form]:
    yield from in_kinds(draw=lambda rng, weights: int(rng.choice(len(weights))))
    yield from in_kinds(draw=lambda rng, weights: int(rng.integers(len(weights))))
    yield from in_kinds(draw=lambda rng, weights: int(rng.integers(0, len(weights))))


@misconception(
    "generate",
    "logits taken for weights",
    about="sampling temperature",
    told="Your code draws with the logits themselves, divided by their sum or made positive. "
    "They become weights by a softmax.",
    question="What must be done to logits so that they are positive and sum to 1?",
)
def logits_as_weights() -> Iterator[Form]:
    def absolute(row: Array, t: float) -> Array:
        return np.abs(row / t) / np.abs(row / t).sum()

    def from_zero(row: Array, t: float) -> Array:
        up = row / t - (row / t).min()
        return up / up.sum()

    def clipped(row: Array, t: float) -> Array:
        up = np.maximum(row / t, 0)
        return up / up.sum()

    weighs: list[Weigh] = [lambda row, t: row / t / (row / t).sum(), absolute, from_zero]
    for weigh in weighs:
        yield from drawn(weigh=weigh)
    yield from plain_and_numpy(weigh=clipped)


@misconception(
    "generate",
    "the sign of the logits turned",
    about="sampling temperature",
    told="Your code makes the least probable token the most probable one: a sign is turned round.",
    question="Which of two tokens must come more often, the one with logit 1 or with logit 0?",
)
def sign_turned() -> Iterator[Form]:
    yield from drawn(weigh=lambda row, t: softmax(-row / t))


@misconception(
    "generate",
    "temperature ignored",
    about="temperature",
    told="The temperature has no effect in your code: it is not used, or it is divided by after "
    "the exponential, where it cancels out.",
    question="What becomes of a factor that all weights share when they are made to sum to 1?",
    source="google/gemma.cpp#981",
)
def temperature_ignored() -> Iterator[Form]:
    yield from drawn(weigh=lambda row, t: softmax(row))


@misconception(
    "generate",
    "temperature multiplied",
    about="temperature",
    told="Your code multiplies the logits by the temperature: a high one sharpens the choice, "
    "where it should even it out.",
    question="Do logits come closer together or move apart when they are multiplied by 4?",
)
def temperature_multiplied() -> Iterator[Form]:
    yield from drawn(weigh=lambda row, t: softmax(row * t))


@misconception(
    "generate",
    "temperature twice",
    about="temperature",
    told="Your code divides by the temperature twice, or by its square.",
    question="How often is the temperature divided by, from the logits to the draw?",
    source="RL-Align/RL-Kernel#81",
)
def temperature_twice() -> Iterator[Form]:
    yield from drawn(weigh=lambda row, t: softmax(row / t / t))


@misconception(
    "generate",
    "the root of the temperature",
    about="temperature",
    told="Your code divides by the root of the temperature.",
    question="By what does the formula divide the logits?",
)
def temperature_root() -> Iterator[Form]:
    yield from drawn(weigh=lambda row, t: softmax(row / math.sqrt(t)))


@misconception(
    "generate",
    "weights divided before a second softmax",
    about="sampling temperature",
    told="Your code takes a softmax of weights: of numbers between 0 and 1, which makes all tokens "
    "nearly as probable as each other.",
    question="How many softmaxes stand between the logits and the draw?",
)
def softmax_twice() -> Iterator[Form]:
    yield from drawn(weigh=lambda row, t: softmax(softmax(row) / t))
    yield from drawn(weigh=lambda row, t: softmax(softmax(row / t)))


# --- size of the logits -----------------------------------------------------------------------


@misconception(
    "generate",
    "maximum not subtracted",
    about="range",
    told="Your code takes the exponential of the logits as they are. Beyond about 709 it is "
    "infinite, and far below 0 it is 0 for all.",
    question="What did lesson 1 do to a row before the exponential?",
)
def no_maximum() -> Iterator[Form]:
    def plain(row: Array, t: float) -> Array:
        exponentials = np.exp(row / t)
        return exponentials / exponentials.sum()

    yield from drawn(weigh=plain)

    def in_python(row: Array, t: float) -> Array:
        exponentials = [math.exp(each / t) for each in row]
        return np.array([each / sum(exponentials) for each in exponentials])

    yield from in_kinds(weigh=in_python)


@misconception(
    "generate",
    "weight for tokens that are ruled out",
    about="range",
    told="Your code gives some weight to every token: infinities are replaced by numbers, or a "
    "little is added to each weight.",
    question="Which chance has a token whose logit is −inf?",
)
def some_for_all() -> Iterator[Form]:
    def nan_to_zero(row: Array, t: float) -> Array:
        return softmax(np.where(np.isfinite(row), row, 0.0) / t)

    yield from drawn(weigh=nan_to_zero)


# --- where the draws come from ----------------------------------------------------------------


NEW_ONES: list[Callable[[Any], Any]] = [
    *(lambda rng, seed=seed: np.random.default_rng(seed) for seed in (0, 1, 42, 123, 1234)),
    *(lambda rng, seed=seed: np.random.RandomState(seed) for seed in (0, 42)),
]


@misconception(
    "generate",
    "a generator of its own",
    about="rng",
    told="Your code makes its own generator from a fixed seed, and draws the same numbers at every "
    "call, whatever rng it is given.",
    question="Which of your lines uses the rng that was handed over?",
)
def own_generator() -> Iterator[Form]:
    for new in NEW_ONES:
        yield from drawn(rng_of=new)


@misconception(
    "generate",
    "a new generator for every token",
    about="sampling temperature",
    told="Your code makes a generator from the same seed for every token, so that each draw is the "
    "same number.",
    question="How many random numbers does your code draw from one generator?",
)
def new_generator_each() -> Iterator[Form]:
    for new in NEW_ONES:
        yield from drawn(each_rng=new)


# --- changes ----------------------------------------------------------------------------------


@misconception(
    "generate",
    "the prompt grows",
    about="changes",
    told="Your code appends the new tokens to the caller's own prompt.",
    question="Which line makes a list of your own before anything is appended?",
)
def prompt_grows() -> Iterator[Form]:
    def growing(give: Callable[[list[int], int], Any]) -> Form:
        def generate(
            step: Step, prompt: Any, n_tokens: int, rng: Any, temperature: float = 1.0
        ) -> Any:
            length = len(prompt)
            logits = step(list(prompt))
            for number in range(n_tokens):
                if number:
                    logits = step([prompt[-1]])
                row = logits[-1]
                if temperature == 0:
                    prompt.append(largest(row))
                else:
                    prompt.append(by_choice(rng, heated(row, temperature)))
            return give(prompt, length)

        return generate

    yield growing(lambda prompt, length: prompt[length:])
    yield growing(lambda prompt, length: prompt)
    yield growing(lambda prompt, length: np.array(prompt[length:]))
