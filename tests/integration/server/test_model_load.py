"""`/api/model/load` (mission R10, R11): POST loads the embedded model, GET follows it; both as data-only frames."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from tests.integration.server.conftest import Server

from stepwell.models import DEFAULT_LOCAL_MODEL, LocalModels
from stepwell.models.status import ModelEvent
from stepwell.server import model_loading
from stepwell.server.model_loading import ModelLoading


def frames(text: str) -> list[dict[str, object]]:
    assert "event:" not in text
    return [orjson.loads(frame.removeprefix("data: ")) for frame in text.split("\n\n") if frame.startswith("data: ")]


async def test_post_loads_the_model_and_sends_its_progress(
    server: Server, model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = LocalModels(model_folder)
    loading = ModelLoading(lambda: models, DEFAULT_LOCAL_MODEL)
    monkeypatch.setattr(server.app.state, "services", _with_loading(server, loading))
    first = frames((await server.http.post("/api/model/load", timeout=60)).text)
    assert first[0]["status"] == "loading"
    assert first[-1] == {
        "status": "ready", "progress": 100, "file": first[-1]["file"], "modelId": DEFAULT_LOCAL_MODEL, "dtype": "q4_1",
    }  # fmt: skip
    for method in ("POST", "GET"):
        again = frames((await server.http.request(method, "/api/model/load", timeout=60)).text)
        assert {frame["status"] for frame in again} == {"ready"}
    models.unload(DEFAULT_LOCAL_MODEL)


async def test_get_reports_the_status_and_starts_nothing(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = LocalModels(tmp_path / "models")
    monkeypatch.setattr(server.app.state, "services", _with_loading(server, ModelLoading(lambda: models, DEFAULT_LOCAL_MODEL)))
    answer = await server.http.get("/api/model/load", timeout=60)
    assert frames(answer.text) == [
        {"status": "idle", "progress": None, "file": None, "modelId": DEFAULT_LOCAL_MODEL, "dtype": None}
    ]
    assert models.status(DEFAULT_LOCAL_MODEL).status == "idle"
    assert not (tmp_path / "models").exists()


async def test_get_follows_a_load_that_is_under_way(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models = LocalModels(tmp_path / "models")
    monkeypatch.setattr(server.app.state, "services", _with_loading(server, ModelLoading(lambda: models, DEFAULT_LOCAL_MODEL)))
    models.board.publish(ModelEvent(DEFAULT_LOCAL_MODEL, "downloading", "a.gguf", 1, 4, "q4_1"))
    seen: list[dict[str, object]] = []
    async with server.http.stream("GET", "/api/model/load", timeout=60) as answer:
        async for line in answer.aiter_lines():
            if not line.startswith("data: "):
                continue
            seen.append(orjson.loads(line.removeprefix("data: ")))
            if len(seen) == 1:
                models.board.publish(ModelEvent(DEFAULT_LOCAL_MODEL, "loading", "a.gguf", 4, 4, "q4_1"))
                models.board.publish(ModelEvent(DEFAULT_LOCAL_MODEL, "ready", "a.gguf", 4, 4, "q4_1"))
    assert [(frame["status"], frame["progress"]) for frame in seen] == [("downloading", 25), ("loading", 100), ("ready", 100)]


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_page_of_another_site_cannot_have_a_model_loaded(server: Server, method: str) -> None:
    sent = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}
    answer = await server.http.request(method, "/api/model/load", headers=sent)
    assert (answer.status_code, answer.json()["type"]) == (403, "urn:stepwell:problem:foreign-origin")


async def test_without_the_extra_the_last_frame_says_how_to_get_it(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_loading, "find_spec", lambda name: None)
    (frame,) = frames((await server.http.get("/api/model/load")).text)
    assert frame["status"] == "error"
    assert "stepwell[local]" in str(frame["message"])


def _with_loading(server: Server, loading: ModelLoading) -> object:
    from dataclasses import replace

    return replace(server.services, parts=replace(server.services.parts, model_loading=loading))
