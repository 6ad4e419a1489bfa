"""Items as vectors, so that a search can compare meanings.

```
put     value ──fields──> texts ──embed──> vectors, stored in the item's row with the id of the index
search  query ──embed──> vector ──cosine──> the best of each item's vectors is its score
```

An item has one vector per text that its fields contain. Fields are paths as in LangGraph (`text`, `notes[*].title`, `$` for the whole
value as JSON). Vectors are normalised when they are stored, so a score is one product.

Rule to keep: vectors are compared only if their index has the same id. A change of the embedding, of the dimensions or of the fields
changes the id, and `reindexing` embeds the items again.
"""

from __future__ import annotations

import asyncio
import logging
import math
import sys
from array import array
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from operator import mul
from typing import Any, TypeVar

import orjson
from langchain_core.embeddings import Embeddings
from langgraph.store.base import get_text_at_path, tokenize_path
from langgraph.store.base.embed import EmbeddingsLambda

from stepwell.errors import ModelCallError, ModelUnavailableError, StepwellError

WHOLE = "$"
_AT_ONCE = 512
"""How many items are compared in one step: enough for numpy, and only these vectors are in memory."""

T = TypeVar("T")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class StoreIndex:
    """How items become vectors. `name` is the embedding as the operator wrote it."""

    embeddings: Embeddings
    dims: int
    name: str
    fields: tuple[str, ...] = (WHOLE,)
    id: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", orjson.dumps([self.name, self.dims, self.fields]).decode())

    def texts(self, value: object, own_fields: Sequence[str] | None) -> list[str]:
        """The texts of a value that are embedded."""
        paths = self.fields if own_fields is None else own_fields
        return [text for path in paths for text in get_text_at_path(value, _tokens(path))]

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """`aembed` for code that is not async; it blocks."""
        if self._only_async:
            return _run(self.aembed(texts))
        with self._named_failure():
            return self._pack(self.embeddings.embed_documents(list(texts)), len(texts))

    async def aembed(self, texts: Sequence[str]) -> list[bytes]:
        """The vector of each text, as stored."""
        with self._named_failure():
            return self._pack(await self.embeddings.aembed_documents(list(texts)), len(texts))

    def embed_query(self, text: str) -> array[float]:
        if self._only_async:
            return _run(self.aembed_query(text))
        with self._named_failure():
            return _unpack(self._pack([self.embeddings.embed_query(text)], 1)[0])

    async def aembed_query(self, text: str) -> array[float]:
        with self._named_failure():
            return _unpack(self._pack([await self.embeddings.aembed_query(text)], 1)[0])

    @property
    def _only_async(self) -> bool:
        return isinstance(self.embeddings, EmbeddingsLambda) and not hasattr(self.embeddings, "func")

    @contextmanager
    def _named_failure(self) -> Iterator[None]:
        try:
            yield
        except StepwellError:
            raise
        except Exception as error:
            # The text of another library's error may contain a key: it only goes to the log.
            _log.warning("The embedding '%s' failed.", self.name, exc_info=True)
            raise ModelCallError(
                f"The embedding '{self.name}' failed with {type(error).__name__}, so nothing was stored or found. The log says more."
            ) from error

    def _pack(self, vectors: Sequence[Sequence[float]], count: int) -> list[bytes]:
        if len(vectors) != count:
            raise ModelUnavailableError(f"The embedding '{self.name}' returned {len(vectors)} vectors for {count} texts.")
        for vector in vectors:
            if len(vector) != self.dims:
                raise ModelUnavailableError(
                    f"The embedding '{self.name}' returned a vector of {len(vector)} numbers, and 'store.index.dims' is {self.dims}. "
                    f"Set it to {len(vector)}."
                )
        return [_pack(vector) for vector in vectors]

    def compare(self, query: array[float], found: Iterable[tuple[T, bytes | None]]) -> Iterator[tuple[float, T]]:
        """The score of each item that has vectors: the cosine with the closest of them."""
        score = _scorer(query)
        with_vectors = ((item, vectors) for item, vectors in found if vectors)
        while some := list(islice(with_vectors, _AT_ONCE)):
            yield from zip(score([vectors for _, vectors in some]), (item for item, _ in some), strict=True)


def _run(call: Coroutine[Any, Any, T]) -> T:
    """The result of an async call, for a caller that may itself be inside an event loop."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, call).result()


@lru_cache(maxsize=256)
def _tokens(path: str) -> str | list[str]:
    return WHOLE if path == WHOLE else tokenize_path(path)


def _pack(vector: Sequence[float]) -> bytes:
    numbers = [float(number) for number in vector]
    length = math.sqrt(sum(number * number for number in numbers))
    if not math.isfinite(length):
        raise ModelUnavailableError("The embedding returned a vector with numbers that are not finite.")
    packed = array("f", [number / length for number in numbers] if length else numbers)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def _unpack(content: bytes) -> array[float]:
    numbers = array("f", content)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _scorer(query: array[float]) -> Callable[[Sequence[bytes]], Sequence[float]]:
    """A function from the vectors of several items to their scores; with numpy if that is installed."""
    try:
        import numpy as np
    except ImportError:
        return lambda items: [_best(query, vectors) for vectors in items]
    asked = np.array(query, dtype=np.float32)

    def score(items: Sequence[bytes]) -> Sequence[float]:
        counts = [len(vectors) // (4 * len(query)) for vectors in items]
        matrix = np.frombuffer(b"".join(items), dtype="<f4").reshape(-1, len(query))
        starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
        scores: list[float] = np.maximum.reduceat(matrix @ asked, starts).tolist()
        return scores

    return score


def _best(query: array[float], vectors: bytes) -> float:
    numbers, dims = _unpack(vectors), len(query)
    return max(float(sum(map(mul, query, numbers[start : start + dims]))) for start in range(0, len(numbers), dims))
