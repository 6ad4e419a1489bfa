"""Texts as vectors: what an embedder promises, and which one this machine gets.

```
choose_embedder = MiniLM    where its runtime is installed and its files are here, or may be fetched
                  lexical   otherwise; `describe()` says that it is the fallback, and why
```

Nothing is loaded or fetched here: an embedder does that at its first use. Searching and storing vectors is not here either.

Rule to keep: a vector is stored with the `id` of its embedder, and vectors of different ids are never compared. Whatever
changes the numbers (weights, tokenizer, length, pooling, hashing) changes the id.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from stepwell.errors import ConfigurationError
from stepwell.models.lexical import LexicalEmbedder
from stepwell.models.minilm import MiniLMEmbedder, missing_runtime, require_runtime
from stepwell.models.minilm_files import Fetch, MiniLMFiles

Kind = Literal["auto", "minilm", "lexical"]


class Embedder(Protocol):
    """Turns texts into vectors of one length. Safe from several threads at once."""

    @property
    def id(self) -> str:
        """Names the numbers: vectors are comparable only under the same id."""

    @property
    def dimensions(self) -> int:
        """The length of every vector."""

    @property
    def is_semantic(self) -> bool:
        """Near means alike in meaning. False: near means that words are shared."""

    def describe(self) -> str:
        """For a person: what this embedder compares, and why it was chosen if it is the fallback."""

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector of length 1 for each text, in their order. A text's vector does not depend on its neighbours."""

    async def aembed(self, texts: Sequence[str]) -> list[list[float]]:
        """The same off the event loop."""


@dataclass(frozen=True)
class EmbeddingSettings:
    """What may be chosen."""

    kind: Kind = "auto"
    """`auto` falls back; a kind that is named is had, or is an error."""
    threads: int = 2
    """Threads that MiniLM may compute with."""
    folder: Path | None = None
    """Where files of models are kept."""

    def __post_init__(self) -> None:
        if self.kind not in ("auto", "minilm", "lexical"):
            raise ConfigurationError(f"Unknown embedder '{self.kind}'. Choose one of: auto, minilm, lexical.")
        if self.threads < 1:
            raise ConfigurationError(f"The embedder cannot compute with {self.threads} threads. Give it 1 or more.")


def choose_embedder(settings: EmbeddingSettings | None = None, *, fetch: Fetch | None = None) -> Embedder:
    """The best embedder this machine can run. `fetch` may download MiniLM's files when first needed; without it nothing is."""
    settings = settings or EmbeddingSettings()
    if settings.kind == "lexical":
        return LexicalEmbedder("the settings ask for it")
    if settings.kind == "minilm":
        require_runtime()
    elif missing := missing_runtime():
        return LexicalEmbedder(f"MiniLM needs {' and '.join(missing)}; install them with: pip install 'stepwell[local]'")
    files = MiniLMFiles(settings.folder, fetch)
    if settings.kind == "auto" and not files.obtainable():
        return LexicalEmbedder("the files of MiniLM are not on this machine")
    return MiniLMEmbedder(files.path_of, threads=settings.threads)
