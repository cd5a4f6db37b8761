"""Lesson 08: how people get a cache of keys and values wrong, and what they are told.

Forms are whole implementations, right but for their one mistake; sources are public issues."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from grader import oracle
from grader.misconceptions.family import Form, misconception, right

Array = np.ndarray

right("KVCache")(oracle.KVCache)
right("decode_step")(oracle.decode_step)
right("position_ids")(oracle.position_ids)


# --- KVCache ----------------------------------------------------------------------------------

# (what is held, None at first; the new chunk) → what is held afterwards
Join = Callable[[Array | None, Array], Any]
Count = Callable[[Any], Any]  # of a cache: what len says
# How many tokens people set memory aside for.
ROOMS = (16, 20, 32, 50, 64, 100, 128, 200, 256, 500, 512, 1000, 1024)


def behind(held: Array | None, new: Array) -> Array:
    """The right way to join."""
    return np.array(new) if held is None else np.concatenate([held, new], axis=-2)


def along(axis: int | None) -> Join:
    """Chunks are joined along another axis."""

    def join(held: Array | None, new: Array) -> Array:
        return np.array(new) if held is None else np.concatenate([held, new], axis=axis)

    return join


def positions(cache: Any) -> int:
    """The right length."""
    return 0 if cache.keys is None else int(cache.keys.shape[-2])


def tokens(cache: Any) -> int:
    """The number of tokens that were given, whatever became of them."""
    return int(cache.tokens)


def calls(cache: Any) -> int:
    """The number of appends."""
    return int(cache.calls)


def cache_by(
    join: Join = behind,
    count: Count = positions,
    join_values: Join | None = None,
    told: Callable[[Any, Any], Any] = lambda cache, held: held,
    prepare: Callable[[Array, Array], tuple[Array, Array]] = lambda k, v: (k, v),
) -> Form:
    """A cache with one of its parts replaced; `told` makes what is read of what is held."""

    class KVCache:
        def __init__(self) -> None:
            self.held: Any = (None, None)
            self.tokens = self.calls = 0

        def append(self, k: Array, v: Array) -> None:
            self.tokens += k.shape[-2]
            self.calls += 1
            keys, values = prepare(k, v)
            self.held = (join(self.held[0], keys), (join_values or join)(self.held[1], values))

        @property
        def keys(self) -> Any:
            return None if self.held[0] is None else told(self, self.held[0])

        @property
        def values(self) -> Any:
            return None if self.held[1] is None else told(self, self.held[1])

        def __len__(self) -> int:
            return count(self)

    return KVCache


@misconception(
    "KVCache",
    "only the newest chunk",
    about="content batch long",
    told=(
        "Your append replaces what the cache held by the new chunk. The tokens before it are gone, "
        "and every later token has to look at them."
    ),
    question="After two appends: where in your code do the old keys and the new ones meet?",
    source="huggingface/transformers#23175",
)
def only_newest() -> Iterator[Form]:
    yield cache_by(lambda held, new: np.array(new))


@misconception(
    "KVCache",
    "the newest chunk in front",
    about="content batch",
    told=(
        "Your append puts the new chunk before the old ones. The queries of a causal mask are the "
        "last positions, so what is oldest must stand first."
    ),
    question="Which of the arrays that you join comes first?",
)
def newest_in_front() -> Iterator[Form]:
    yield cache_by(
        lambda held, new: np.array(new) if held is None else np.concatenate([new, held], axis=-2)
    )


@misconception(
    "KVCache",
    "joined along another axis",
    about="content batch long",
    told=(
        "Your append joins the chunks along an axis that is not the positions. The positions are "
        "axis −2, the one before the last, whatever stands in front."
    ),
    question="Keys of shape (2, 3, d) and (2, 1, d): which shape must they have together?",
    source="Blaizzy/mlx-vlm#1231; meta-llama/codellama#245",
)
def another_axis() -> Iterator[Form]:
    for axis in (0, 1, 2, -1, -3, None):
        yield cache_by(along(axis))
    yield cache_by(lambda held, new: np.array(new) if held is None else np.vstack([held, new]))
    yield cache_by(lambda held, new: np.array(new) if held is None else np.hstack([held, new]))

    def token_by_token(held: Array | None, new: Array) -> Array:
        chunk = np.array([new[position] for position in range(new.shape[0])])
        return chunk if held is None else np.concatenate([held, chunk], axis=0)

    yield cache_by(token_by_token)


def refusing(error: type[Exception]) -> Join:
    """The first chunk cannot be joined to what is there."""

    def join(held: Array | None, new: Array) -> Array:
        raise error("nothing is there yet")

    return join


def joined(chunks: list[Array]) -> Array:
    """The right thing to make of a list of chunks."""
    return np.concatenate(chunks, axis=-2)


def in_lists(
    told: Callable[[list[Array]], Any],
    count: Count = tokens,
    keep: Callable[[Array], Array] = np.array,
) -> Form:
    """A cache that keeps a list of chunks; `told` makes of it what is read."""
    return cache_by(
        lambda held, new: [*(held or []), keep(new)], count, told=lambda cache, held: told(held)
    )


@misconception(
    "KVCache",
    "empty slots shown",
    about="content batch",
    told=(
        "Your cache shows the whole buffer that it has set aside, the slots too that nothing was "
        "written to. Whoever reads it takes their zeros for tokens."
    ),
    question="After one append of one token: how many rows do your keys have?",
    source="meta-pytorch/gpt-fast#233",
)
def empty_slots_shown() -> Iterator[Form]:
    def filled_up(room: int) -> Callable[[Any, Array], Array]:
        def told(cache: Any, held: Array) -> Array:
            missing = max(0, room - held.shape[-2])
            return np.pad(held, [(0, 0)] * (held.ndim - 2) + [(0, missing), (0, 0)])

        return told

    for room in ROOMS:
        yield cache_by(count=tokens, told=filled_up(room))


@misconception(
    "KVCache",
    "chunks stacked on a new axis",
    about="content batch long",
    told=(
        "Your cache puts the chunks side by side on an axis of their own. They are pieces of one "
        "text, and become one array of positions."
    ),
    question="What is the difference between `np.stack` and `np.concatenate`?",
)
def stacked() -> Iterator[Form]:
    yield in_lists(np.stack)
    yield in_lists(np.array)
    yield in_lists(lambda chunks: np.stack(chunks, axis=-2))


@misconception(
    "KVCache",
    "a list of chunks",
    about="content batch long copies kinds separate",
    told="Your cache shows a Python list of chunks. `decode_step` needs one array of keys.",
    question="Which NumPy function makes one array of a list of chunks?",
)
def list_of_chunks() -> Iterator[Form]:
    yield in_lists(list)

    def of_tokens(chunks: list[Array]) -> list[Array]:
        return [chunk[..., i, :] for chunk in chunks for i in range(chunk.shape[-2])]

    yield in_lists(of_tokens)


@misconception(
    "KVCache",
    "keys and values mixed up",
    about="content batch",
    told="What your cache shows as keys or as values is not what was given as such.",
    question="append(k, v): under which name does each of the two end?",
)
def mixed_up() -> Iterator[Form]:
    yield cache_by(prepare=lambda k, v: (v, k))
    yield cache_by(prepare=lambda k, v: (k, k))
    yield cache_by(prepare=lambda k, v: (v, v))


@misconception(
    "KVCache",
    "the first chunk twice",
    about="content batch",
    told="The first chunk is in your cache twice: it is kept, and then joined to itself.",
    question="Which lines of append run on the first call, and which on every call?",
    source="skyzh/tiny-llm#46",
)
def first_twice() -> Iterator[Form]:
    def join(held: Array | None, new: Array) -> Array:
        return np.concatenate([new if held is None else held, new], axis=-2)

    yield cache_by(join)
    yield cache_by(join, tokens)


@misconception(
    "KVCache",
    "the first chunk lost",
    about="content batch",
    told="Your first append makes room and puts nothing into it: the first chunk is lost.",
    question="What does your cache hold after one append?",
)
def first_lost() -> Iterator[Form]:
    def join(held: Array | None, new: Array) -> Array:
        return new[..., :0, :] if held is None else np.concatenate([held, new], axis=-2)

    yield cache_by(join)
    yield cache_by(join, tokens)


for name, about, refusal in (
    ("joined to nothing", "separate content long copies kinds", np.exceptions.AxisError),
    # In later cells a store that is shared, with another text's shape in it, raises the same.
    ("joined to an empty table", "separate", ValueError),
):
    misconception(
        "KVCache",
        name,
        about,
        told=(
            "Your append joins the first chunk to an empty array (or to None), which has neither "
            "its axes nor its widths. There is nothing to join it to yet."
        ),
        question="What must append do when the cache is empty?",
    )(partial(iter, [cache_by(refusing(refusal), tokens)]))


@misconception(
    "KVCache",
    "one token of each chunk",
    about="content batch long",
    told="Your append keeps the last token of the chunk, and a chunk may hold many.",
    question="After one append of three tokens, how many keys are there to look at?",
)
def one_of_each_chunk() -> Iterator[Form]:
    yield cache_by(count=tokens, prepare=lambda k, v: (k[..., -1:, :], v[..., -1:, :]))


@misconception(
    "KVCache",
    "nothing kept",
    about="content batch long copies kinds",
    told="After an append your cache holds what it held before: the new arrays are kept nowhere.",
    question="Which line of append changes something that belongs to `self`?",
)
def nothing_kept() -> Iterator[Form]:
    yield cache_by(lambda held, new: None)
    yield cache_by(lambda held, new: np.empty(0))
    yield cache_by(lambda held, new: [], told=lambda cache, held: held)


@misconception(
    "KVCache",
    "joined once, at the first read",
    about="content",
    told="What your cache shows is made at the first read, and later appends do not change it.",
    question="Read the keys, append, and read them again: which line runs the second time?",
)
def joined_once() -> Iterator[Form]:
    def first_only(cache: Any, held: Any) -> Any:
        shown = cache.__dict__.setdefault("shown", {})
        return shown.setdefault(0 if held is cache.held[0] else 1, held)

    yield cache_by(told=first_only)


@misconception(
    "KVCache",
    "half precision",
    about="content batch",
    told="Your cache rounds what it is given to 16 bits. That is a choice for who asked for it.",
    question="Which dtype have the keys that come out, and which had those that went in?",
)
def half_precision() -> Iterator[Form]:
    yield cache_by(lambda held, new: behind(held, new).astype(np.float16))
    yield cache_by(
        lambda held, new: behind(held, new.astype(np.float16)).astype(np.float64),
    )


@misconception(
    "KVCache",
    "calls counted, not tokens",
    about="length content batch long",
    told=(
        "Your cache counts one for each append, but a chunk may hold many tokens: a whole prompt "
        "comes in one call."
    ),
    question="After one append of three tokens, what is len(cache)?",
    source="ml-explore/mlx-lm#1914",
)
def calls_counted() -> Iterator[Form]:
    yield cache_by(count=calls)

    def cut(cache: Any, held: Array) -> Array:
        return held[..., : cache.calls, :]

    yield cache_by(count=calls, told=cut)
    yield in_lists(joined, calls)

    class Overwriting:
        """Each chunk is written behind as many tokens as there were calls."""

        def __init__(self) -> None:
            self.calls = 0
            self.held: Any = (None, None)

        def append(self, k: Array, v: Array) -> None:
            before = self.calls
            self.held = tuple(
                np.array(new)
                if held is None
                else np.concatenate([held[..., :before, :], new], axis=-2)
                for held, new in zip(self.held, (k, v), strict=True)
            )
            self.calls += 1

        keys = property(lambda self: self.held[0][..., : self.calls, :])
        values = property(lambda self: self.held[1][..., : self.calls, :])

        def __len__(self) -> int:
            return self.calls

    yield Overwriting


def length_of(shape: Callable[[tuple[int, ...]], int]) -> Count:
    """A length read off the shape of the keys."""
    return lambda cache: 0 if cache.keys is None else shape(cache.keys.shape)


@misconception(
    "KVCache",
    "length of another axis",
    about="length",
    told=(
        "Your length is read off an axis that is not the positions: `len(array)` is its first "
        "axis, which is the batch as soon as there is one."
    ),
    question="Keys have shape (B, H, S, d): which index of `.shape` is S, with any axes in front?",
)
def length_of_another_axis() -> Iterator[Form]:
    for axis in (0, 1, 2, -1, -3):
        yield cache_by(count=length_of(lambda shape, axis=axis: shape[axis]))  # type: ignore[misc]
    yield cache_by(count=length_of(math.prod))
    yield cache_by(count=length_of(lambda shape: math.prod(shape[:-1])))


@misconception(
    "KVCache",
    "no length before the first append",
    about="length",
    told=(
        "A new cache has no length: your `__len__` asks for the shape of something that is not "
        "there yet."
    ),
    question="What do keys hold before the first append, and how many tokens is that?",
)
def no_length_at_first() -> Iterator[Form]:
    def failing(error: type[Exception]) -> Count:
        def count(cache: Any) -> int:
            if cache.keys is None:
                raise error
            return positions(cache)

        return count

    for error in (AttributeError, TypeError, IndexError, ValueError):
        yield cache_by(count=failing(error))
    yield cache_by(count=lambda cache: None if cache.keys is None else positions(cache))
    yield cache_by(refusing(np.exceptions.AxisError), failing(IndexError))


@misconception(
    "KVCache",
    "the caller's arrays kept",
    about="copies",
    told=(
        "Your cache keeps the caller's own array, or a view of it. When the caller uses it again "
        "for the next token, the past changes."
    ),
    question="Which NumPy function gives an array of its own, and where does your append call it?",
)
def not_copied() -> Iterator[Form]:
    yield cache_by(lambda held, new: new if held is None else np.concatenate([held, new], axis=-2))
    yield in_lists(joined, keep=np.asarray)
    yield in_lists(
        lambda chunks: chunks[0] if len(chunks) == 1 else joined(chunks), keep=np.asarray
    )


def tokens_in(chunks: list[Array]) -> int:
    """The number of tokens in a list of chunks."""
    return sum(chunk.shape[-2] for chunk in chunks)


def in_one_list(count: Callable[[list[Array]], int]) -> Form:
    """Caches that share two lists of chunks."""

    class KVCache:
        store: tuple[list[Array], list[Array]] = ([], [])

        def append(self, k: Array, v: Array) -> None:
            for held, new in zip(self.store, (k, v), strict=True):
                held.append(np.array(new))

        keys = property(lambda self: joined(self.store[0]))
        values = property(lambda self: joined(self.store[1]))

        def __len__(self) -> int:
            return count(self.store[0])

    return KVCache


def in_one_array() -> Form:
    """Caches that share two arrays, which are attributes of their class."""

    class KVCache:
        keys: Any = None
        values: Any = None

        def append(self, k: Array, v: Array) -> None:
            KVCache.keys = behind(KVCache.keys, k)
            KVCache.values = behind(KVCache.values, v)

        def __len__(self) -> int:
            return 0 if self.keys is None else int(self.keys.shape[-2])

    return KVCache


@misconception(
    "KVCache",
    "one store for all caches",
    about="separate",
    told=(
        "All your caches share one store: it belongs to the class (or is a default argument), "
        "and not to each object. The second text sees the first."
    ),
    question="Where is your store made, and how often does that line run when two caches are made?",
    source="Soul-AILab/SoulX-LiveAct#8; microsoft/onnxruntime-genai#1057",
)
def one_store() -> Iterator[Form]:
    yield in_one_list(tokens_in)
    yield in_one_list(len)
    yield in_one_array()


def full_after(room: int, error: type[Exception]) -> Form:
    """A cache that raises when it is full."""

    def join(held: Array | None, new: Array) -> Array:
        joined = behind(held, new)
        if joined.shape[-2] > room:
            raise error
        return joined

    return cache_by(join)


@misconception(
    "KVCache",
    "room for so many tokens",
    about="long",
    told=(
        "Your cache has room for a fixed number of tokens, and forgets the others (or fails) when "
        "it is full. How long a text becomes is known to nobody when the cache is made."
    ),
    question="How many tokens does your cache hold at most, and what happens to one more?",
    source="Lightning-AI/litgpt#2215",
)
def fixed_room() -> Iterator[Form]:
    def cut_later(room: int) -> Join:
        return lambda held, new: new if held is None else behind(held, new)[..., -room:, :]

    for room in (4, 5, 6, 8, 10, 12, 16, 20, 24):
        yield cache_by(cut_later(room))
        yield cache_by(lambda held, new, room=room: behind(held, new)[..., -room:, :])  # type: ignore[misc]
        yield cache_by(lambda held, new, room=room: behind(held, new)[..., :room, :])  # type: ignore[misc]
        yield full_after(room, ValueError)
        yield full_after(room, IndexError)
    for room in (4, 5, 8, 10):
        yield cache_by(
            lambda held, new, room=room: [*(held or []), np.array(new)][-room:],  # type: ignore[misc]
            told=lambda cache, held: joined(held),
        )


@misconception(
    "KVCache",
    "fractions cut off",
    about="kinds",
    told=(
        "Your cache keeps the dtype of the first chunk. When that held integers, the fractions of "
        "all later ones are cut off."
    ),
    question="Which dtype has your store, and who decided that?",
)
def fractions_cut() -> Iterator[Form]:
    def into_first(held: Array | None, new: Array) -> Array:
        if held is None:
            return np.array(new)
        return np.concatenate([held, new], axis=-2).astype(held.dtype)

    yield cache_by(into_first)
    yield cache_by(lambda held, new: behind(held, new).astype(np.int64))


# --- decode_step ------------------------------------------------------------------------------

# (number of new tokens, number of keys) → which of them each new token may see
Rule = Callable[[int, int], Array]


def bottom_right(new: int, keys: int) -> Array:
    """The right rule."""
    return np.tri(new, keys, keys - new, dtype=bool)


def seen_by(rule: Callable[[Array, Array, int, int], Any]) -> Rule:
    """A rule in (new token, key, number of new tokens, number of keys)."""

    def mask(new: int, keys: int) -> Array:
        i, j = np.arange(new)[:, None], np.arange(keys)
        return np.broadcast_to(rule(i, j, new, keys), (new, keys))

    return mask


def soft(scores: Array) -> Array:
    """A softmax that gives zeros where every score is −∞."""
    highest = scores.max(axis=-1, keepdims=True)
    exponentials = np.exp(scores - np.where(np.isneginf(highest), 0.0, highest))
    total = exponentials.sum(axis=-1, keepdims=True)
    return np.asarray(exponentials / np.where(total == 0, 1.0, total))


def naive(scores: Array) -> Array:
    """A softmax that gives NaN where every score is −∞."""
    with np.errstate(invalid="ignore"):
        exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True))


def look(
    q: Array,
    K: Array,
    V: Array,
    rule: Rule = bottom_right,
    scale: Callable[[Array, Array, Array], float] = lambda q, K, V: 1 / math.sqrt(q.shape[-1]),
    soften: Callable[[Array], Array] = soft,
    fill: float = -np.inf,
) -> tuple[Array, Array]:
    """Attention of the new tokens: output and weights."""
    scores = q @ np.swapaxes(K, -1, -2) * scale(q, K, V)
    weights = soften(np.where(rule(q.shape[-2], K.shape[-2]), scores, fill))
    return weights @ V, weights


def step_by(
    finish: Callable[[Array, Array], Any] = lambda output, weights: output,
    store: Callable[[Any, Array, Array], None] = lambda cache, k, v: cache.append(k, v),
    prepare: Callable[[Array, Array, Array], tuple[Array, Array, Array]] = lambda q, K, V: (
        q,
        K,
        V,
    ),
    **looking: Any,
) -> Form:
    """A decode_step with one of its parts replaced."""  # fmt: skip

    def decode_step(q: Array, k: Array, v: Array, cache: Any) -> Any:
        store(cache, k, v)
        return finish(*look(*prepare(q, cache.keys, cache.values), **looking))

    return decode_step


def past_only(at_first: Callable[[Array, Array, Array], Array], masked: bool = False) -> Form:
    """A decode_step that looks at the cache before it appends; `at_first` when that is empty."""

    def decode_step(q: Array, k: Array, v: Array, cache: Any) -> Array:
        if len(cache) == 0:
            output = at_first(q, k, v)
            cache.append(k, v)
            return output
        keys, values = cache.keys, cache.values
        cache.append(k, v)
        rule = seen_by(lambda i, j, new, n: (j <= i + n - new) | (not masked))
        return look(q, keys, values, rule)[0]

    return decode_step


def zeros_at_first(q: Array, k: Array, v: Array) -> Array:
    """Nothing to see: zeros."""
    return np.zeros((*q.shape[:-1], v.shape[-1]))


def alone_at_first(q: Array, k: Array, v: Array) -> Array:
    """The chunk sees itself."""
    return look(q, k, v)[0]


@misconception(
    "decode_step",
    "a chunk without a mask",
    about="chunk chunking",
    told=(
        "Each token of your chunk sees the whole chunk, the tokens after it too. One token alone "
        "needs no mask, but a prompt comes as a chunk of many."
    ),
    question="Three new tokens behind two old ones: which keys may the first new one see?",
    source="Mikyx-1/TinyLLM#17; meta-pytorch/torchtune#959",
)
def chunk_unmasked() -> Iterator[Form]:
    def everything(new: int, keys: int) -> Array:
        return np.ones((new, keys), dtype=bool)

    yield step_by(rule=everything)
    yield step_by(rule=lambda new, keys: bottom_right(new, keys) | (keys > new))
    yield step_by(rule=lambda new, keys: bottom_right(new, keys) | (keys == new))


@misconception(
    "decode_step",
    "a square mask",
    about="chunk chunking",
    told=(
        "Your mask has as many columns as there are new tokens. Behind a cache there are more keys "
        "than that, and scores and mask no longer fit."
    ),
    question="Three new tokens behind four old ones: which shape have the scores?",
    source="huggingface/candle#3743",
)
def square_mask() -> Iterator[Form]:
    yield step_by(rule=lambda new, keys: np.tri(new, dtype=bool))

    def repeated(new: int, keys: int) -> Array:
        return np.pad(np.tri(new, dtype=bool), [(0, 0), (0, keys - new)], constant_values=True)

    yield step_by(rule=repeated)
    yield step_by(
        rule=lambda new, keys: np.tri(new, dtype=bool) if new > 1 else np.ones((1, keys), bool)
    )


@misconception(
    "decode_step",
    "only the newest tokens looked at",
    about="token chunk chunking",
    told=(
        "Your new tokens see a fixed number of tokens and nothing further back. Here every token "
        "before them is seen."
    ),
    question="How many keys does the last of ten tokens look at?",
)
def newest_only() -> Iterator[Form]:
    for window in (2, 3, 4, 5, 8, 10, 16, 32, 64):
        yield step_by(
            rule=seen_by(
                lambda i, j, n, keys, w=window: (j <= i + keys - n) & (j > i + keys - n - w)  # type: ignore[misc]
            )
        )
        for soften in (soft, naive):
            yield step_by(
                prepare=lambda q, K, V, w=window: (q, K[..., -w:, :], V[..., -w:, :]),  # type: ignore[misc]
                soften=soften,
            )


@misconception(
    "decode_step",
    "a number of axes assumed",
    about="chunk form chunking",
    told=(
        "Your step counts on a fixed number of axes, and any may stand in front of the last two. "
        "`len(array)` is the first axis, `.T` turns all of them round, and a fixed transposition "
        "fits one number only."
    ),
    question="q of shape (B, H, n, d): what is `len(q)`, and what is the shape of `q.T`?",
)
def axes_assumed() -> Iterator[Form]:
    def turned(turn: Callable[[Array], Array]) -> Form:
        def decode_step(q: Array, k: Array, v: Array, cache: Any) -> Array:
            cache.append(k, v)
            K, V = cache.keys, cache.values
            scores = q @ turn(K) / math.sqrt(q.shape[-1])
            rule = bottom_right(scores.shape[-2], scores.shape[-1])
            return np.asarray(soft(np.where(rule, scores, -np.inf)) @ V)

        return decode_step

    yield turned(np.transpose)
    yield turned(lambda K: np.transpose(K, (0, 2, 1)) if K.ndim > 2 else K.T)
    yield turned(lambda K: np.transpose(K, (0, 1, 3, 2)) if K.ndim > 2 else K.T)
    yield turned(lambda K: np.swapaxes(K, 0, 1))

    def first_axis_counted(q: Array, k: Array, v: Array, cache: Any) -> Array:
        cache.append(k, v)
        return look(q, cache.keys, cache.values, lambda _, keys: bottom_right(len(q), keys))[0]

    yield first_axis_counted


@misconception(
    "decode_step",
    "new tokens counted from the first position",
    about="token chunk chunking",
    told=(
        "Your mask takes the new tokens for positions 0, 1, 2 …, so they see the beginning of the "
        "text and not what came just before them. They are the last positions."
    ),
    question="Two new tokens behind three old ones: at which positions do they stand?",
    source="pytorch/executorch#21749; gittensor-ai-lab/sparkinfer#3",
)
def top_left() -> Iterator[Form]:
    yield step_by(rule=lambda new, keys: np.tri(new, keys, dtype=bool))
    yield step_by(rule=lambda new, keys: np.tri(new, keys, dtype=bool) | (new == 1))


@misconception(
    "decode_step",
    "one future token",
    about="chunk chunking",
    told="In your chunk each token also sees the one after it: the very token it is to predict.",
    question="Which tokens of the chunk does its first token see?",
)
def one_future_token() -> Iterator[Form]:
    yield step_by(rule=seen_by(lambda i, j, new, keys: j <= i + keys - new + 1))


@misconception(
    "decode_step",
    "not even itself",
    about="token chunk chunking",
    told=(
        "Your new tokens do not see themselves: they look at what was there before they came. The "
        "very first one then sees nothing at all."
    ),
    question="Is the new key in the cache when your scores are computed?",
)
def not_itself() -> Iterator[Form]:
    for soften in (soft, naive):
        yield step_by(rule=seen_by(lambda i, j, n, keys: j < i + keys - n), soften=soften)
        yield step_by(
            rule=seen_by(lambda i, j, n, keys: (j < i + keys - n) | (n == 1)), soften=soften
        )
    yield past_only(zeros_at_first)
    yield past_only(alone_at_first)
    yield past_only(zeros_at_first, masked=True)
    yield past_only(alone_at_first, masked=True)


@misconception(
    "decode_step",
    "an empty cache read",
    about="token chunk",
    told=(
        "Your step looks at the cache, or asks for its length, before the new tokens are in it. At "
        "first it is empty, and later the new tokens' own keys are missing."
    ),
    question="Which line comes first in your step: reading the cache, or appending to it?",
)
def empty_cache_read() -> Iterator[Form]:
    def raising(error: type[Exception]) -> Callable[[Array, Array, Array], Array]:
        def at_first(q: Array, k: Array, v: Array) -> Array:
            raise error("nothing is there yet")

        return at_first

    for error in (AttributeError, TypeError, ValueError, IndexError, np.exceptions.AxisError):
        yield past_only(raising(error))
    yield step_by(rule=lambda new, keys: bottom_right(new, keys - new))


@misconception(
    "decode_step",
    "the past is not looked at",
    about="token chunk chunking",
    told="Your new tokens look at each other only. The keys in the cache are stored and not used.",
    question="Which keys are in your scores: k, or those of the cache?",
    source="huggingface/candle#3743",
)
def past_ignored() -> Iterator[Form]:
    def decode_step(q: Array, k: Array, v: Array, cache: Any) -> Array:
        cache.append(k, v)
        return look(q, k, v)[0]

    def unmasked(q: Array, k: Array, v: Array, cache: Any) -> Array:
        cache.append(k, v)
        return look(q, k, v, lambda new, keys: np.ones((new, keys), dtype=bool))[0]

    yield from (decode_step, unmasked)
    yield step_by(rule=seen_by(lambda i, j, n, keys: (j <= i + keys - n) & (j >= keys - n)))
    yield step_by(
        rule=seen_by(lambda i, j, n, keys: (j <= i + keys - n) & ((j >= keys - n) | (n == 1)))
    )


@misconception(
    "decode_step",
    "stored twice",
    about="stored token chunk chunking",
    told="Your step appends the new keys and values twice, and each counts twice afterwards.",
    question="How often does your step call append?",
    source="skyzh/tiny-llm#46",
)
def stored_twice() -> Iterator[Form]:
    def twice(cache: Any, k: Array, v: Array) -> None:
        cache.append(k, v)
        cache.append(k, v)

    def again_afterwards(q: Array, k: Array, v: Array, cache: Any) -> Array:
        cache.append(k, v)
        output = look(q, cache.keys, cache.values)[0]
        cache.append(k, v)
        return output

    def joined_to_the_cache(q: Array, k: Array, v: Array, cache: Any) -> Array:
        cache.append(k, v)
        K = np.concatenate([cache.keys, k], axis=-2)
        V = np.concatenate([cache.values, v], axis=-2)
        return look(q, K, V)[0]

    yield step_by(store=twice)
    yield again_afterwards
    yield joined_to_the_cache


@misconception(
    "decode_step",
    "nothing stored",
    about="stored token chunk chunking",
    told=(
        "Your step uses the new keys and values and does not leave them in the cache. The next "
        "token will not find them."
    ),
    question="What is len(cache) before your step, and after it?",
)
def nothing_stored() -> Iterator[Form]:
    def both(cache: Any, k: Array, v: Array) -> tuple[Array, Array]:
        if len(cache) == 0:
            return k, v
        keys = np.concatenate([cache.keys, k], axis=-2)
        return keys, np.concatenate([cache.values, v], axis=-2)

    yield lambda q, k, v, cache: look(q, *both(cache, k, v))[0]
    yield lambda q, k, v, cache: look(q, k, v)[0]

    def one_of_the_chunk(which: slice) -> Form:
        def decode_step(q: Array, k: Array, v: Array, cache: Any) -> Array:
            K, V = both(cache, k, v)
            cache.append(k[..., which, :], v[..., which, :])
            return look(q, K, V)[0]

        return decode_step

    yield one_of_the_chunk(slice(-1, None))
    yield one_of_the_chunk(slice(0, 1))


@misconception(
    "decode_step",
    "scaled otherwise",
    about="token chunk chunking",
    told="Your scores are not the dot products divided by √d_k, the root of the width of the keys.",
    question="By what does your step divide the scores?",
)
def scaled_otherwise() -> Iterator[Form]:
    for scale in (
        lambda q, K, V: 1.0,
        lambda q, K, V: 1 / q.shape[-1],
        lambda q, K, V: math.sqrt(q.shape[-1]),
        lambda q, K, V: 1 / math.sqrt(V.shape[-1]),
        lambda q, K, V: 1 / math.sqrt(K.shape[-2]),
        lambda q, K, V: 1 / math.sqrt(q.shape[-2]),
    ):
        yield step_by(scale=scale)


@misconception(
    "decode_step",
    "empty slots looked at",
    about="token chunk chunking",
    told=(
        "Your step looks at the whole buffer, the slots too that nothing was written to. They hold "
        "zeros, score 0, and take weight from the real tokens."
    ),
    question="How many rows has the array that your queries look at, and how many are tokens?",
    source="meta-pytorch/gpt-fast#233; flashinfer-ai/flashinfer#5090",
)
def empty_slots() -> Iterator[Form]:
    def filled_up(room: int) -> Callable[[Array, Array, Array], tuple[Array, Array, Array]]:
        def fill(array: Array) -> Array:
            missing = max(0, room - array.shape[-2])
            return np.pad(array, [(0, 0)] * (array.ndim - 2) + [(0, missing), (0, 0)])

        return lambda q, K, V: (q, fill(K), fill(V))

    def with_rule(room: int) -> Form:
        def decode_step(q: Array, k: Array, v: Array, cache: Any) -> Array:
            cache.append(k, v)
            new, keys = q.shape[-2], len(cache)
            mask = np.pad(bottom_right(new, keys), [(0, 0), (0, max(0, room - keys))],
                          constant_values=True)  # fmt: skip
            parts = filled_up(room)(q, cache.keys, cache.values)
            return look(*parts, lambda *_: mask)[0]

        return decode_step

    for room in ROOMS:
        yield with_rule(room)
        yield step_by(
            prepare=filled_up(room), rule=lambda new, keys: np.ones((new, keys), dtype=bool)
        )


@misconception(
    "decode_step",
    "a gap behind each chunk",
    about="stored chunking",
    told=(
        "After a chunk of several tokens your step moves the place of the next token on a second "
        "time. The slots between stay empty, and are looked at like tokens."
    ),
    question="Who counts the tokens, the cache or the step? Does only one of them do it?",
    source="skyzh/tiny-llm#46",
)
def gap_behind_chunk() -> Iterator[Form]:
    def counted_again(least: int) -> Form:
        def decode_step(q: Array, k: Array, v: Array, cache: Any) -> Array:
            gap = getattr(cache, "gap", 0)
            if gap:
                empty = (np.zeros((*part.shape[:-2], gap, part.shape[-1])) for part in (k, v))
                cache.append(*empty)
            cache.append(k, v)
            cache.gap = k.shape[-2] if k.shape[-2] >= least else 0
            return look(q, cache.keys, cache.values)[0]

        return decode_step

    yield counted_again(2)
    yield counted_again(1)


@misconception(
    "decode_step",
    "keys used as values",
    about="token chunk chunking",
    told="Your output is a mixture of keys: its last axis has the width of the keys.",
    question="Which of the two does the cache keep for the output?",
)
def keys_as_values() -> Iterator[Form]:
    yield step_by(prepare=lambda q, K, V: (q, K, K))


@misconception(
    "decode_step",
    "softmax along the new tokens",
    about="token chunk chunking",
    told="Your weights sum to 1 over the new tokens, and must sum to 1 over the keys of each.",
    question="Which axis of the scores belongs to the keys?",
)
def softmax_along_queries() -> Iterator[Form]:
    def along_queries(scores: Array) -> Array:
        return np.swapaxes(soft(np.swapaxes(scores, -1, -2)), -1, -2)

    yield step_by(soften=along_queries)
    yield step_by(soften=lambda scores: np.exp(scores) / np.exp(scores).sum())


@misconception(
    "decode_step",
    "only the last token answered",
    about="chunk chunking form",
    told=(
        "Your step gives the output of the last token only. Each token of the chunk has one, and "
        "training and checking a prompt need them all."
    ),
    question="Three new tokens come in: how many rows must the output have?",
)
def only_last() -> Iterator[Form]:
    yield step_by(lambda output, weights: output[..., -1:, :])
    yield step_by(lambda output, weights: output[..., -1, :])
    yield step_by(prepare=lambda q, K, V: (q[..., -1:, :], K, V))


@misconception(
    "decode_step",
    "the weights as well",
    about="form",
    told="Your step returns a pair. The promise is the output alone.",
    question="What does your attention return, and which part of it is asked for here?",
)
def weights_as_well() -> Iterator[Form]:
    yield step_by(lambda output, weights: (output, weights))
    yield step_by(lambda output, weights: [output, weights])


@misconception(
    "decode_step",
    "axes of length 1 lost",
    about="form",
    told="Your output has lost an axis of length 1. Whoever joins the outputs counts on it.",
    question="One new token: what must the shape of its output be?",
)
def axes_lost() -> Iterator[Form]:
    yield step_by(lambda output, weights: output.squeeze())
    yield step_by(lambda output, weights: output.squeeze(-2) if output.shape[-2] == 1 else output)


@misconception(
    "decode_step",
    "outputs cut to the input's dtype",
    about="kinds",
    told=(
        "Your outputs are put into an array of the input's dtype. With integers the fractions are "
        "cut off."
    ),
    question="Which dtype does `np.zeros_like(v)` have?",
)
def cut_to_integers() -> Iterator[Form]:
    def decode_step(q: Array, k: Array, v: Array, cache: Any) -> Array:
        cache.append(k, v)
        return look(q, cache.keys, cache.values)[0].astype(v.dtype)

    yield decode_step


# --- position_ids -----------------------------------------------------------------------------

# (places (k,), lengths (B, 1), k) → position of each place
Counted = Callable[[Array, Array, int], Array]


def from_front(place: Array, length: Array, k_len: int) -> Array:
    """The right positions for padding on the right."""
    return np.where(place < length, place, 0)


def from_text(place: Array, length: Array, k_len: int) -> Array:
    """The right positions for padding on the left."""
    return np.maximum(place - (k_len - length), 0)


def positions_by(
    on_right: Counted = from_front,
    on_left: Counted = from_text,
    finish: Callable[[Array], Any] = lambda ids: ids,
) -> Form:
    """Positions by other rules for the two sides, or in another form."""

    def position_ids(lengths: Any, k_len: int, side: str = "right") -> Any:
        rule = on_right if side == "right" else on_left
        length = np.array(lengths)[:, None]
        ids = rule(np.arange(k_len), length, k_len)
        return finish(np.array(np.broadcast_to(ids, (len(length), k_len))))

    return position_ids


def cumulated(place: Array, length: Array, k_len: int, right: bool) -> Array:
    """The running number of real tokens, 1 at the first."""
    return np.cumsum(place < length if right else place >= k_len - length, axis=-1)


def of_sum(change: Callable[[Array], Array], finish: Callable[[Array], Any] = lambda i: i) -> Form:
    """Positions made of the running number of real tokens, on both sides."""
    return positions_by(
        lambda p, n, k: change(cumulated(p, n, k, True)),
        lambda p, n, k: change(cumulated(p, n, k, False)),
        finish,
    )


@misconception(
    "position_ids",
    "counted from the start of the array",
    about="left",
    told=(
        "Your positions count places in the array. With padding on the left the text begins "
        "further back, and its first token gets a position that depends on the padding."
    ),
    question="Padded on the left to 4, a text of 2: at which position does its first token stand?",
    source="huggingface/transformers#33095; tloen/alpaca-lora#315; ndif-team/nnsight#673",
)
def from_array() -> Iterator[Form]:
    yield positions_by(lambda p, n, k: p, lambda p, n, k: p)
    yield positions_by(on_left=lambda p, n, k: p)
    yield positions_by(on_left=lambda p, n, k: np.where(p >= k - n, p, 0))


@misconception(
    "position_ids",
    "the side ignored",
    about="left padding",
    told="Your positions are the same for both sides: the last tokens get 0, and padding counts.",
    question="Where does your code look at `side`?",
)
def side_ignored() -> Iterator[Form]:
    yield positions_by(on_left=from_front)
    yield positions_by(on_left=lambda p, n, k: np.minimum(p, n - 1))


@misconception(
    "position_ids",
    "counted from 1",
    about="right left",
    told="Your first real token is at position 1. Positions are counted from 0, like places.",
    question="What is the running sum of ones at the first one?",
    source="Physical-Intelligence/openpi#762",
)
def from_one() -> Iterator[Form]:
    yield of_sum(lambda ids: ids)
    yield positions_by(
        lambda p, n, k: np.where(p < n, p + 1, 0), lambda p, n, k: np.maximum(p + 1 - (k - n), 0)
    )


@misconception(
    "position_ids",
    "counted backwards",
    about="right left",
    told="Your positions fall where they must rise: the newest token gets the smallest.",
    question="Which real token is at position 0?",
)
def backwards() -> Iterator[Form]:
    yield positions_by(
        lambda p, n, k: np.maximum(n - 1 - p, 0), lambda p, n, k: np.where(p >= k - n, k - 1 - p, 0)
    )
    yield positions_by(on_left=lambda p, n, k: np.where(p >= k - n, k - 1 - p, 0))
    yield positions_by(on_left=lambda p, n, k: from_front(p, n, k)[:, ::-1])


@misconception(
    "position_ids",
    "padding counted on",
    about="padding",
    told="Your count goes on over the padding, as if there were tokens.",
    question="What do the places behind the last real token hold?",
)
def padding_counted() -> Iterator[Form]:
    yield positions_by(lambda p, n, k: p)
    yield positions_by(lambda p, n, k: p, lambda p, n, k: p)


@misconception(
    "position_ids",
    "the last position repeated",
    about="padding",
    told="Your running sum stays at its last value on the padding behind the text.",
    question="What is a running sum where nothing is added?",
)
def repeated() -> Iterator[Form]:
    yield positions_by(lambda p, n, k: np.minimum(p, n - 1))
    yield positions_by(lambda p, n, k: np.minimum(p, np.maximum(n - 1, 0)))
    yield of_sum(lambda ids: np.maximum(ids - 1, 0))
    yield of_sum(lambda ids: ids - 1)


@misconception(
    "position_ids",
    "negative positions",
    about="padding",
    told=(
        "Your padding on the left gets negative positions. As an index they count from the end of "
        "the table, and nothing complains."
    ),
    question="What does `table[-1]` give?",
)
def negative() -> Iterator[Form]:
    yield positions_by(on_left=lambda p, n, k: p - (k - n))
    yield positions_by(lambda p, n, k: p, lambda p, n, k: p - (k - n))
    yield positions_by(
        lambda p, n, k: np.where(p < n, p, -1), lambda p, n, k: np.maximum(p - (k - n), -1)
    )
    yield positions_by(on_left=lambda p, n, k: np.maximum(p - (k - n), -1))


@misconception(
    "position_ids",
    "1 on padding",
    about="padding",
    told="Your padding gets 1. Other libraries do that too; here padding is promised to get 0.",
    question="Which number fills the places without a token in your code?",
    source="unslothai/unsloth#3795",
)
def one_on_padding() -> Iterator[Form]:
    yield positions_by(
        lambda p, n, k: np.where(p < n, p, 1), lambda p, n, k: np.where(p >= k - n, p - (k - n), 1)
    )


@misconception(
    "position_ids",
    "length 0 on the left",
    about="left padding",
    told=(
        "For padding on the left your code counts from the end with a minus sign. For a sequence "
        "of length 0 that is −0, which is 0: the slice is the whole row."
    ),
    question="What is `row[-n:]` for n = 0?",
)
def zero_from_end() -> Iterator[Form]:
    def position_ids(lengths: Any, k_len: int, side: str = "right") -> Array:
        ids = np.zeros((len(lengths), k_len), dtype=np.int64)
        for row, n in zip(ids, lengths, strict=True):
            if side == "right":
                row[:n] = np.arange(n)
            else:
                row[-n:] = np.arange(n)
        return ids

    yield position_ids


@misconception(
    "position_ids",
    "one row for all",
    about="right left padding form",
    told="Your positions are the same for every sequence, or there is one row for all of them.",
    question="Two sequences of different lengths: how many rows are there, and are they alike?",
    source="unslothai/unsloth#3803",
)
def one_row() -> Iterator[Form]:
    def of_first(finish: Callable[[Array, int], Array], pick: Callable[[Any], int]) -> Form:
        def position_ids(lengths: Any, k_len: int, side: str = "right") -> Array:
            ids = oracle.position_ids([pick(lengths)], k_len, side)
            return finish(ids, len(lengths))

        return position_ids

    for pick in (lambda lengths: int(lengths[0]), lambda lengths: int(np.max(lengths))):
        yield of_first(lambda ids, batch: np.repeat(ids, batch, axis=0), pick)
        yield of_first(lambda ids, batch: ids[0], pick)
        yield of_first(lambda ids, batch: ids, pick)
    yield lambda lengths, k_len, side="right": np.arange(k_len)


@misconception(
    "position_ids",
    "not integers",
    about="form",
    told="Your positions are not integers. An array cannot be indexed by them.",
    question="Which dtype has your result, and where did it come from?",
)
def not_integers() -> Iterator[Form]:
    for dtype in (np.float64, np.float32):
        yield positions_by(finish=lambda ids, dtype=dtype: ids.astype(dtype))  # type: ignore[misc]
    yield positions_by(finish=lambda ids: ids.astype(bool))


@misconception(
    "position_ids",
    "another shape",
    about="form",
    told="Your result has an axis too many. There is one position for each place of each sequence.",
    question="A mask has an axis for the queries. Does a position have one?",
)
def another_shape() -> Iterator[Form]:
    yield positions_by(finish=lambda ids: ids[:, None, :])
    yield positions_by(finish=lambda ids: ids[:, :, None])
    yield positions_by(finish=lambda ids: ids[None])


@misconception(
    "position_ids",
    "a list of lists",
    about="right left padding form",
    told="Your function returns a list. It must return an array.",
    question="Which NumPy function makes an array of a list of lists?",
)
def list_of_lists() -> Iterator[Form]:
    yield positions_by(finish=lambda ids: ids.tolist())
    yield positions_by(finish=list)


@misconception(
    "position_ids",
    "the mask itself",
    about="right left",
    told="Your result says which tokens are real, not where they stand: it holds 0 and 1 only.",
    question="What is the position of the third real token?",
)
def mask_itself() -> Iterator[Form]:
    yield positions_by(
        lambda p, n, k: (p < n).astype(int), lambda p, n, k: (p >= k - n).astype(int)
    )
    yield positions_by(lambda p, n, k: p < n, lambda p, n, k: p >= k - n)


@misconception(
    "position_ids",
    "lists not taken",
    about="right left padding form",
    told="Your code indexes or compares the lengths like an array, but a list may come as well.",
    question="Which NumPy function takes a list or an array, and gives an array?",
)
def lists_not_taken() -> Iterator[Form]:
    def position_ids(lengths: Any, k_len: int, side: str = "right") -> Array:
        lengths[:, None]
        return oracle.position_ids(lengths, k_len, side)

    def attribute(lengths: Any, k_len: int, side: str = "right") -> Array:
        lengths.shape  # noqa: B018
        return oracle.position_ids(lengths, k_len, side)

    yield from (position_ids, attribute)
