"""`GET|POST /api/model/load` (mission R10, R11): progress of the embedded model as data-only frames."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from tests.integration.server.conftest import Server

from stepwell.models import DEFAULT_LOCAL_MODEL, LocalModels
from stepwell.server import model_loading
from stepwell.server.model_loading import ModelLoading


def frames(text: str) -> list[dict[str, object]]:
    assert "event:" not in text
    return [orjson.loads(frame.removeprefix("data: ")) for frame in text.split("\n\n") if frame.startswith("data: ")]


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_the_model_is_loaded_and_its_progress_told(
    server: Server, model_folder: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    models = LocalModels(model_folder)
    loading = ModelLoading(lambda: models, DEFAULT_LOCAL_MODEL)
    monkeypatch.setattr(server.app.state, "services", _with_loading(server, loading))
    first = frames((await server.http.request(method, "/api/model/load", timeout=60)).text)
    assert first[0]["status"] == "loading"
    assert first[-1] == {
        "status": "ready", "progress": 100, "file": first[-1]["file"], "modelId": DEFAULT_LOCAL_MODEL, "dtype": "q4_1",
    }  # fmt: skip
    again = frames((await server.http.request(method, "/api/model/load", timeout=60)).text)
    assert {frame["status"] for frame in again} == {"ready"}
    models.unload(DEFAULT_LOCAL_MODEL)


async def test_without_the_extra_the_last_frame_says_how_to_get_it(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_loading, "find_spec", lambda name: None)
    (frame,) = frames((await server.http.get("/api/model/load")).text)
    assert frame["status"] == "error"
    assert "stepwell[local]" in str(frame["message"])


def _with_loading(server: Server, loading: ModelLoading) -> object:
    from dataclasses import replace

    return replace(server.services, model_loading=loading)
