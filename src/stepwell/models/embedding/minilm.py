"""Embeds by meaning: all-MiniLM-L6-v2 with int8 weights, run by onnxruntime in this process.

```
text -> tokens (at most 256, [CLS] first, [SEP] last) -> network -> mean over the real tokens -> length 1
```

Loaded once, on first use. `aembed` does everything in worker threads, including loading. The browser computes the same vectors with the
same files; `tests/fixtures/minilm_vectors.json` checks both, so a change of any number here needs a new `MINILM_ID`.

Only the weights are int8: the computation uses floats, so a text's vector depends on its batch only by rounding (1e-7).
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from stepwell.errors import MissingExtraError
from stepwell.models.embedding.minilm_files import TOKENIZER, WEIGHTS, read_verified
from stepwell.models.local.catalogue import LocalModel

MINILM_ID = "all-minilm-l6-v2-int8-256"
MAX_TOKENS = 256
"""The length that the model was trained for. The tokenizer's own file says 128, so we and the browser both set this value."""
DEFAULT_THREADS = 2
RUNTIME = ("onnxruntime", "tokenizers", "numpy")

_WINDOW = 32
"""How many texts are handled at a time. It limits the memory, and the work that a cancelled `aembed` still finishes."""
_BATCH_TOKENS = 1024
"""Padded tokens per run. Larger batches are no faster on a CPU and take hundreds of megabytes."""
_MOST_REMEMBERED = 4_000
"""How many vectors are remembered, of 1.5 kB each: a research compares the same passages several times."""
_FIRST_CHARACTERS = 8_192
"""Nearly always enough of a text for 256 tokens; tokenizing a whole megabyte takes 2 s and 150 MB."""


def missing_runtime() -> list[str]:
    """The packages of the extra that are not installed."""
    return [name for name in RUNTIME if importlib.util.find_spec(name) is None]


def require_runtime() -> None:
    """Raise `MissingExtraError` if the packages are not installed."""
    if missing_runtime():
        raise MissingExtraError("The MiniLM embedder", "local")


class MiniLMEmbedder:
    """See the module docstring. `path_of` returns the path of each of the two files when they are loaded; it may fetch them."""

    id = MINILM_ID
    dimensions = 384
    is_semantic = True

    def __init__(self, path_of: Callable[[LocalModel], Path], *, threads: int = DEFAULT_THREADS) -> None:
        self._path_of = path_of
        self._threads = threads
        self._loading = threading.Lock()
        self._loaded: _Network | None = None
        self._remembered = _Vectors()

    def describe(self) -> str:
        return (
            "MiniLM (all-MiniLM-L6-v2) compares texts by meaning. It knows English best and reads the first 256 tokens of a "
            "text, about 180 words. It runs on this machine; no text leaves it."
        )

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [vector for window in _windows(texts) for vector in self._embed_window(window)]

    async def aembed(self, texts: Sequence[str]) -> list[list[float]]:
        vectors: list[list[float]] = []
        for window in _windows(texts):
            vectors += await asyncio.to_thread(self._embed_window, window)
        return vectors

    def _embed_window(self, texts: Sequence[str]) -> list[list[float]]:
        known = [self._remembered.get(text) for text in texts]
        new = list(dict.fromkeys(text for text, vector in zip(texts, known, strict=True) if vector is None))
        found = dict(zip(new, self._network().embed(new), strict=True)) if new else {}
        for text, vector in found.items():
            self._remembered.keep(text, vector)
        return [vector or found[text] for text, vector in zip(texts, known, strict=True)]

    def _network(self) -> _Network:
        # A failed load leaves nothing behind: the next call tries again.
        with self._loading:
            if self._loaded is None:
                require_runtime()
                self._loaded = _Network(self._path_of, self._threads)
            return self._loaded


class _Vectors:
    """The vectors of the latest texts, by hash."""

    def __init__(self) -> None:
        self._held: OrderedDict[bytes, array[float]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, text: str) -> list[float] | None:
        key = _hash(text)
        with self._lock:
            vector = self._held.get(key)
            if vector is None:
                return None
            self._held.move_to_end(key)
        return vector.tolist()

    def keep(self, text: str, vector: Sequence[float]) -> None:
        with self._lock:
            self._held[_hash(text)] = array("f", vector)
            if len(self._held) > _MOST_REMEMBERED:
                self._held.popitem(last=False)


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


class _Network:
    """The loaded files."""

    def __init__(self, path_of: Callable[[LocalModel], Path], threads: int) -> None:
        self._tokenizer = _load_tokenizer(read_verified(path_of(TOKENIZER), TOKENIZER))
        self._session = _load_session(read_verified(path_of(WEIGHTS), WEIGHTS), threads)
        # Several threads could use the session at once, but each would take a few hundred megabytes and its own share of CPU.
        self._running = threading.Lock()

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        tokens = [self._tokens(text) for text in texts]
        vectors: list[list[float]] = [[] for _ in texts]
        for batch in _batches(tokens):
            for index, vector in zip(batch, self._run([tokens[index] for index in batch]), strict=True):
                vectors[index] = vector
        return vectors

    def _tokens(self, text: str) -> list[int]:
        whole = _without_lone_surrogates(text)
        start = self._tokenizer.encode(whole[:_FIRST_CHARACTERS])
        enough = len(whole) <= _FIRST_CHARACTERS or _ends_before_the_cut(start)
        ids: list[int] = start.ids if enough else self._tokenizer.encode(whole).ids
        return ids

    def _run(self, rows: Sequence[Sequence[int]]) -> list[list[float]]:
        import numpy as np

        ids = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)  # 0 is [PAD]
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(rows):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        with self._running:
            hidden = self._session.run(["last_hidden_state"], inputs)[0]
        weights = mask[:, :, None].astype(np.float32)
        mean = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
        vectors: list[list[float]] = (mean / np.linalg.norm(mean, axis=1, keepdims=True)).tolist()
        return vectors


def _load_tokenizer(content: bytes) -> Any:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_buffer(content)
    tokenizer.enable_truncation(MAX_TOKENS)  # counts [CLS] and [SEP], so [SEP] stays
    tokenizer.no_padding()
    return tokenizer


def _load_session(content: bytes, threads: int) -> Any:
    # Not an import statement: the package has no types for the checker to find.
    ort: Any = importlib.import_module("onnxruntime")
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # A memory plan per batch shape costs 70 MB and saves no time here.
    options.enable_mem_pattern = False
    # Threads that spin while they wait doubled the time for short texts on a busy machine.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return ort.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def _windows(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    if isinstance(texts, str):
        raise TypeError("embed takes a list of texts, not one text. Write embed([text]).")
    return (texts[start : start + _WINDOW] for start in range(0, len(texts), _WINDOW))


def _batches(tokens: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Indexes of rows to run together: rows of similar length, to keep padding small."""
    batch: list[int] = []
    for index in sorted(range(len(tokens)), key=lambda index: len(tokens[index])):
        if batch and (len(batch) + 1) * len(tokens[index]) > _BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def _ends_before_the_cut(start: Any) -> bool:
    """Whether the start of a long text gave all 256 tokens, none of them from a word that may have been cut in two.

    Such a word begins within 100 characters of the cut. If it is longer, the tokenizer makes it one unknown token that ends at the cut.
    """
    return len(start.ids) == MAX_TOKENS and bool(start.offsets[-2][1] <= _FIRST_CHARACTERS - 100)


def _without_lone_surrogates(text: str) -> str:
    """A lone surrogate cannot be tokenized; a replacement character can, and counts for nothing."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
