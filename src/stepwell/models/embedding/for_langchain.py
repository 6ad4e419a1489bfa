"""Our embedder as LangChain's `Embeddings`, for code that expects those: the store's index."""

from __future__ import annotations

from langchain_core.embeddings import Embeddings

from stepwell.models.embedding.embedder import Embedder, choose_embedder
from stepwell.models.embedding.minilm_files import fetch_into
from stepwell.settings import Settings


class EmbedderEmbeddings(Embeddings):
    """See the module docstring."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._embedder.embed(texts)

    def embed_query(self, text: str) -> list[float]:
        return self._embedder.embed([text])[0]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return await self._embedder.aembed(texts)

    async def aembed_query(self, text: str) -> list[float]:
        return (await self._embedder.aembed([text]))[0]


def open_minilm(settings: Settings) -> Embeddings:
    """MiniLM on this machine. Missing files are downloaded on first use; missing packages are an error now."""
    return EmbedderEmbeddings(choose_embedder(settings, kind="minilm", fetch=fetch_into(settings.data_folder / "models")))
