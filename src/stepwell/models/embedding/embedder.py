"""Texts as vectors: the embedder protocol, and which embedder this machine gets.

```
choose_embedder = MiniLM    if its runtime is installed and its files are here, or may be fetched
                  lexical   otherwise; `describe()` says that it is the fallback, and why
```

Nothing is loaded or fetched here: an embedder does that on first use. Searching and storing vectors is done elsewhere.

Rule to keep: a vector is stored with the `id` of its embedder, and vectors of different ids are never compared. Any change of the numbers
(weights, tokenizer, length, pooling, hashing) changes the id.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, get_args

from stepwell.errors import ConfigurationError
from stepwell.models.embedding.lexical import LexicalEmbedder
from stepwell.models.embedding.minilm import DEFAULT_THREADS, MiniLMEmbedder, missing_runtime, require_runtime
from stepwell.models.embedding.minilm_files import Fetch, MiniLMFiles
from stepwell.settings import Settings

EmbedderKind = Literal["auto", "minilm", "lexical"]


class Embedder(Protocol):
    """Turns texts into vectors of one length. Thread-safe."""

    @property
    def id(self) -> str:
        """Vectors are comparable only under the same id."""

    @property
    def dimensions(self) -> int:
        """The length of every vector."""

    @property
    def is_semantic(self) -> bool:
        """True if close vectors indicate similar meaning; False if they indicate shared words."""

    def describe(self) -> str:
        """For a person: what this embedder compares, and why it was chosen if it is the fallback."""

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector of length 1 per text, in order. A text's vector does not depend on the other texts."""

    async def aembed(self, texts: Sequence[str]) -> list[list[float]]:
        """`embed` for async code; does not block the event loop."""


def choose_embedder(settings: Settings, *, kind: EmbedderKind = "auto", fetch: Fetch | None = None) -> Embedder:
    """The best embedder that this machine can run. If a specific `kind` is requested and cannot be used, raises an error.

    `fetch` (see `fetch_into`) may download MiniLM's files on first use; without it nothing is downloaded.
    """
    if kind not in get_args(EmbedderKind):
        raise ConfigurationError(f"Unknown embedder '{kind}'. Choose one of: {', '.join(get_args(EmbedderKind))}.")
    if kind == "lexical":
        return LexicalEmbedder("it was asked for")
    if kind == "minilm":
        require_runtime()
    elif missing := missing_runtime():
        return LexicalEmbedder(f"MiniLM needs {' and '.join(missing)}; install them with: pip install 'stepwell[local]'")
    files = MiniLMFiles(settings.data_folder / "models", fetch)
    if kind == "auto" and not files.obtainable():
        return LexicalEmbedder("the files of MiniLM are not on this machine")
    return MiniLMEmbedder(files.path_of, threads=settings.count_local_threads() or DEFAULT_THREADS)
