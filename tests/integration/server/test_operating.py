"""What the page shows of models, health and usage."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integration.server.conftest import Server

from stepwell.errors import ModelUnavailableError
from stepwell.models import LocalModels, ModelChoice
from stepwell.server.model_loading import ModelLoading
from stepwell.server.schemas.models import ELSEWHERE, describe_models

pytestmark = pytest.mark.asyncio(loop_scope="module")


def loading(folder: Path, choice: ModelChoice | Exception) -> ModelLoading:
    def choose() -> ModelChoice:
        if isinstance(choice, Exception):
            raise choice
        return choice

    return ModelLoading(lambda: LocalModels(folder), "smollm2-135m", choose)


async def test_the_embedded_model_says_what_it_cannot_do_and_how_to_do_better(tmp_path: Path):
    told = describe_models(loading(tmp_path, ModelChoice("local", "smollm2-135m", "nothing else is configured")))
    current = told["current"]
    assert (current["id"], current["embedded"], current["tools"], current["status"]) == (
        "local:smollm2-135m",
        True,
        False,
        "idle",
    )
    assert (current["downloaded"], current["size_bytes"]) == (False, 98_362_432)
    assert "because nothing else is configured" in told["sentence"]
    assert "connect a model under Settings > Models" in told["sentence"]
    assert told["embedded"][0]["id"] == "local:smollm2-135m"


async def test_a_file_of_the_operators_is_named_without_its_place(tmp_path: Path):
    told = describe_models(loading(tmp_path, ModelChoice("local", "/models/private/mine.gguf", "named by STEPWELL_MODEL")))
    assert told["current"]["id"] == "local:mine.gguf"
    assert "/models" not in str(told["current"])


async def test_that_no_model_can_be_used_is_a_sentence(tmp_path: Path):
    told = describe_models(loading(tmp_path, ModelUnavailableError("Its key is missing.")))
    assert (told["current"], told["problem"]) == (None, "Its key is missing.")


async def test_graphs_of_others_choose_their_models_themselves(shared_server: Server):
    told = (await shared_server.http.get("/api/models")).json()
    assert (told["current"], told["sentence"]) == (None, ELSEWHERE)


async def test_graphs_say_whether_they_can_be_run(shared_server: Server):
    told = (await shared_server.http.get("/api/graphs")).json()
    assert {"graph_id": "echo", "ready": True, "problem": None, "run_modes": []} in told


async def test_only_models_of_the_catalogue_can_be_loaded(shared_server: Server):
    answer = await shared_server.http.post("/api/model/load", params={"model": "local:/etc/passwd"})
    assert answer.status_code == 404
    assert "smollm2-135m" in answer.json()["detail"]


async def test_the_operator_sees_what_goes_on(shared_server: Server):
    health = (await shared_server.http.get("/api/health")).json()
    assert health["ok"] is True
    assert health["problems"] == []
    assert {"driving runs", "cancelling runs"} <= {duty["name"] for duty in health["duties"]}
    assert health["database"]["bytes"] > 0
    assert health["runs"]["running"] == 0


@pytest.mark.parametrize("path", ["/api/usage", "/api/usage/all"])
async def test_usage_is_asked_for_by_day_since_a_day(shared_server: Server, path: str):
    answer = await shared_server.http.get(path, params={"group_by": "day", "since": "2026-01-01"})
    wrong = await shared_server.http.get(path, params={"since": "yesterday"})
    assert (answer.status_code, wrong.status_code) == (200, 422)
