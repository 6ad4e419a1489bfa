"""What a person keeps on the device as knowledge: read, searched and cited there; only the excerpts that the page shows leave it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page
from tests.integration.served.process import Server, serve

FIXTURE = json.loads((Path(__file__).parents[1] / "fixtures" / "minilm_vectors.json").read_text(encoding="utf-8"))
ASSETS = Path(__file__).parents[2] / "src/stepwell/server/page/static/assets"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Our own applications, demonstrations among them."""
    with serve(tmp_path_factory.mktemp("knowledge"), graphs=None) as started:
        yield started


def test_vectors_in_the_browser_are_those_of_python(page: Page):
    module = next(ASSETS.glob("embedder-*.js")).name
    found = page.evaluate(
        """async ([module, texts]) => {
            const made = await (await import(`/assets/${module}`)).embedder();
            const vectors = await made.embed(texts);
            return { id: made.id, vectors: vectors.map((vector) => [...vector]) };
        }""",
        [module, [entry["text"] for entry in FIXTURE["entries"]]],
    )
    assert found["id"] == FIXTURE["embedder_id"]
    apart = [
        max(abs(a - b) for a, b in zip(vector, entry["vector"], strict=True))
        for vector, entry in zip(found["vectors"], FIXTURE["entries"], strict=True)
    ]
    assert max(apart) < 1e-5, apart
