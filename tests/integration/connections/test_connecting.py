"""Connecting a model while the server runs: stored, listed, tested, chosen, used by the next run."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.integration.connections.world import (
    MODEL,
    NOTHING,
    address_of,
    answer,
    chosen,
    keys_used,
    last_said,
    model_server,
    one_user,
    users,
)
from tests.support.loopback import Asked, Reply

from stepwell.connections.service import MAX_CONNECTIONS
from stepwell.models import resolve_model
from stepwell.models.connected import ConnectedModel, RunModels, using
from stepwell.settings import Secret

KEY = "sk-test-0123456789-wXyZ"


async def test_a_model_that_is_connected_now_answers_the_next_run(tmp_path: Path):
    async with one_user(tmp_path) as user:
        thread = await user.thread()
        before = await user.run(thread)
        with model_server() as server:
            made = await user.connect(address_of(server), KEY, label="Our models")
            after = await user.run(thread)
            listed = await user.listed()
    assert "No model is configured" in before.text
    said = last_said(after.json())
    assert said["content"] == "ready"
    assert said["response_metadata"]["stepwell_model"] == {
        "provider": "openai-compatible",
        "model": MODEL,
        "label": "Our models",
    }
    assert set(keys_used(server)) == {KEY}
    assert (made["has_key"], made["key_hint"], made["mine"], made["editable"]) == (True, "…wXyZ", True, True)
    assert listed["choice"]["default"] == {
        **chosen(made),
        "label": "Our models",
        "reason": "the first model that was connected",
    }
    assert [entry["id"] for entry in listed["connections"] if entry["source"] == "stored"] == [made["id"]]
    assert listed["can_store"]
    assert listed["may_share"]


async def test_what_wrote_an_answer_is_in_the_stream_and_stays_with_the_thread(tmp_path: Path):
    with model_server() as server:
        async with one_user(tmp_path) as user:
            await user.connect(address_of(server), KEY)
            thread = await user.thread()
            body = {
                "assistant_id": "talk",
                "input": {"messages": [{"role": "user", "content": "Hi"}]},
                "stream_mode": ["values", "messages-tuple"],
            }
            streamed = (await user.send("POST", f"/threads/{thread}/runs/stream", json=body)).text
        async with one_user(tmp_path) as user:  # after a restart
            state = (await user.send("GET", f"/threads/{thread}/state")).json()
    said = {"provider": "openai-compatible", "model": MODEL, "label": "OpenAI-compatible server"}
    assert last_said(state["values"])["response_metadata"]["stepwell_model"] == said
    assert streamed.count('"stepwell_model"') >= 2


async def test_a_choice_counts_at_once_for_a_run_a_conversation_and_a_user(tmp_path: Path):
    with model_server() as server:
        async with one_user(tmp_path) as user:
            first = await user.connect(address_of(server), "sk-first-key-00000", models=["one", "two"])
            second = await user.connect(address_of(server), "sk-second-key-0000", models=["three"])
            await user.send("PUT", "/api/connections/choice", json={"scope": "mine", "default": chosen(second, "three")})
            plain, talking = await user.thread(), await user.thread(stepwell_models={"default": chosen(first, "two")})
            answers = [
                await user.run(plain),
                await user.run(talking),
                await user.run(talking, models={"default": chosen(first, "one")}),
            ]
            listed = await user.listed()
            await user.send("PUT", "/api/connections/choice", json={"scope": "mine", "default": None})
            cleared = await user.listed()
            kept = (await user.send("GET", f"/threads/{talking}")).json()["metadata"]
    assert [last_said(each.json())["response_metadata"]["stepwell_model"]["model"] for each in answers] == [
        "three",
        "two",
        "one",
    ]
    assert keys_used(server) == ["sk-second-key-0000", "sk-first-key-00000", "sk-first-key-00000"]
    assert listed["choice"]["default"]["reason"] == "your choice"
    assert cleared["choice"]["default"]["connection"] == first["id"]
    assert kept["stepwell_models"] == {"default": chosen(first, "two")}


async def test_the_environment_beats_stored_defaults_but_not_what_a_conversation_chose(tmp_path: Path):
    with model_server() as stored, model_server() as set_by_operator:
        environment = {
            "STEPWELL_MODEL": "openai:env-model",
            "OPENAI_API_KEY": "sk-of-the-environment",
            "OPENAI_BASE_URL": address_of(set_by_operator),
        }
        async with one_user(tmp_path, environment=environment) as user:
            made = await user.connect(address_of(stored), KEY)
            await user.send(
                "PUT", "/api/connections/choice", json={"scope": "mine", "default": chosen(made), "write": chosen(made)}
            )
            thread = await user.thread()
            defaults = await user.run(thread)
            explicit = await user.run(thread, models={"default": chosen(made)})
            listed = await user.listed()
    # The graph of this test reads no environment: it shows that nothing stored was put in the environment's place.
    assert "No model is configured" in defaults.text
    assert last_said(explicit.json())["response_metadata"]["stepwell_model"]["model"] == MODEL
    shown = {entry["id"]: entry for entry in listed["connections"]}
    assert (shown["env:openai"]["source"], shown["env:openai"]["variable"], shown["env:openai"]["editable"]) == (
        "environment",
        "OPENAI_API_KEY",
        False,
    )
    assert listed["choice"]["default"]["reason"] == "set by STEPWELL_MODEL"
    assert listed["choice"]["write"]["reason"] == "your choice"


async def test_a_connection_that_is_deleted_while_its_run_waits_is_named_by_the_run(tmp_path: Path):
    with model_server() as server:
        async with one_user(tmp_path) as user:
            made = await user.connect(address_of(server), KEY, label="Gone soon")
            thread = await user.thread(stepwell_models={"default": chosen(made)})
            body = {"assistant_id": "talk", "input": {"messages": [{"role": "user", "content": "Hi"}]}, "after_seconds": 1}
            run = (await user.send("POST", f"/threads/{thread}/runs", json=body)).json()["run_id"]
            deleted = await user.send("DELETE", f"/api/connections/{made['id']}")
            ended = (await user.send("GET", f"/threads/{thread}/runs/{run}/join")).json()
            again = await user.run(thread)
            state = await user.send("GET", f"/threads/{thread}/state")
    assert deleted.status_code == 204
    assert ended["__error__"]["message"] == (
        "The connection 'Gone soon' that this run was to use was deleted. Choose another model and send the message again."
    )
    assert "No model is configured" in again.text  # the choice of a connection that is gone is ignored
    assert state.status_code == 200
    assert not server.asked


async def test_a_test_says_what_a_model_can_do_and_is_limited(tmp_path: Path):
    with model_server() as server:
        async with one_user(tmp_path) as user:
            made = await user.connect(address_of(server), KEY)
            stored = (await user.send("POST", "/api/connections/test", json={"connection": made["id"], "model": MODEL})).json()
            entered = {
                "provider": "openai-compatible",
                "base_url": address_of(server),
                "key": "sk-entered-00000000",
                "model": MODEL,
            }
            new = (await user.send("POST", "/api/connections/test", json=entered)).json()
            both = await user.send(
                "POST", "/api/connections/test", json={"connection": made["id"], "base_url": address_of(server)}
            )
            more = [await user.send("POST", "/api/connections/test", json=entered) for _ in range(20)]
    assert (stored["ok"], stored["answers"], stored["tools"], stored["model"]) == (True, True, True, MODEL), stored
    assert new["ok"], new
    assert "sk-entered-00000000" in keys_used(server)
    assert both.status_code == 422
    assert more[-1].status_code == 429
    assert int(more[-1].headers["retry-after"]) > 0


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"provider": "openai"}, "OpenAI needs a key"),
        ({"provider": "openai-compatible"}, "needs an address"),
        ({"provider": "bedrock", "key": KEY}, "cannot be connected here"),
        ({"provider": "openai-compatible", "base_url": "http://models.example/v1"}, "cannot be used"),
        ({"provider": "openai-compatible", "base_url": "http://93.184.216.34/v1"}, "needs https://"),
        ({"provider": "openai-compatible", "base_url": "https://user:word@models.example/v1"}, "user name or password"),
        ({"provider": "openai-compatible", "base_url": "https://models.example/v1?api_key=x"}, "contains '?' or '#'"),
        ({"provider": "ollama", "base_url": "http://127.0.0.1:9/#x"}, "contains '?' or '#'"),
        ({"provider": "openai", "key": "sk with\nbreak"}, "a key has up to"),
    ],
)
async def test_what_cannot_be_connected_is_refused_with_the_way_out(tmp_path: Path, body: dict[str, str], sentence: str):
    async with one_user(tmp_path) as user:
        refused = await user.send("POST", "/api/connections", json=body)
    assert refused.status_code == 422
    assert sentence in refused.text
    assert "break" not in refused.text.replace("line breaks", "")


async def test_a_new_address_needs_the_key_again(tmp_path: Path):
    with model_server() as server, model_server() as elsewhere:
        async with one_user(tmp_path) as user:
            made = await user.connect(address_of(server), KEY)
            path = f"/api/connections/{made['id']}"
            moved = await user.send("PATCH", path, json={"base_url": address_of(elsewhere)})
            with_key = await user.send("PATCH", path, json={"base_url": address_of(elsewhere), "key": "sk-for-elsewhere-00"})
            await user.run(await user.thread())
            renamed = await user.send("PATCH", path, json={"label": "Elsewhere"})
    assert moved.status_code == 422
    assert with_key.status_code == 200
    assert (renamed.json()["label"], renamed.json()["has_key"]) == ("Elsewhere", True)
    assert keys_used(elsewhere) == ["sk-for-elsewhere-00"]
    assert not server.asked


@pytest.mark.parametrize(
    "provider", ["anthropic", "google_genai", "mistralai", "openai", "openai-compatible", "ollama", "lm-studio", "llamacpp"]
)
async def test_redirects_are_not_followed(provider: str):
    with (
        model_server(lambda asked: Reply(200, {})) as target,
        model_server(lambda asked: Reply(307, "", {"Location": f"{target.address}{asked.path}"})) as server,
    ):
        model = ConnectedModel("c", 1, provider, "some-model", "Elsewhere", Secret(KEY), server.address)
        with using(RunModels(model, explicit=True)), suppress(Exception):  # each SDK has its own error
            await resolve_model(None, settings=NOTHING).ainvoke("Hi")
    assert server.asked
    assert not target.asked


async def test_private_addresses_are_for_operators(tmp_path: Path):
    async with users(tmp_path, {"ada": True, "ben": False}) as people:
        body = {"provider": "openai-compatible", "base_url": "http://127.0.0.1:9/v1"}
        secure = {"provider": "openai-compatible", "base_url": "https://127.0.0.1:9/v1"}
        anthropic = {"provider": "anthropic", "key": KEY, "base_url": "https://93.184.216.34"}
        refused = [await people["ben"].send("POST", "/api/connections", json=each) for each in (body, secure, anthropic)]
        tested = await people["ben"].send("POST", "/api/connections/test", json=secure)
        allowed = await people["ada"].send("POST", "/api/connections", json=body)
        told = [(await people[name].listed())["may_use_private_addresses"] for name in ("ada", "ben")]
    assert [each.status_code for each in refused] == [422, 422, 403]
    assert "Only an operator" in refused[1].text
    assert tested.status_code == 422
    assert allowed.status_code == 201
    assert told == [True, False]


@pytest.mark.parametrize("provider", ["ollama", "lm-studio", "llamacpp"])
async def test_the_servers_own_computer_is_for_operators_also_without_an_address(tmp_path: Path, provider: str):
    async with users(tmp_path, {"ada": True, "ben": False}) as people:
        ada, ben = people["ada"], people["ben"]
        added = await ben.send("POST", "/api/connections", json={"provider": provider})
        tested = await ben.send("POST", "/api/connections/test", json={"provider": provider, "model": MODEL})
        allowed = await ada.send("POST", "/api/connections", json={"provider": provider})
        public = {"provider": provider, "base_url": "https://93.184.216.34/v1"}
        his = (await ben.send("POST", "/api/connections", json=public)).json()
        forgotten = await ben.send("PATCH", f"/api/connections/{his['id']}", json={"base_url": None})
        renamed = await ben.send("PATCH", f"/api/connections/{his['id']}", json={"label": "Mine"})
    assert [each.status_code for each in (added, tested, forgotten)] == [422] * 3
    assert all("Only an operator" in each.text for each in (added, tested, forgotten))
    assert allowed.status_code == 201
    assert (renamed.status_code, renamed.json()["base_url"]) == (200, his["base_url"])


async def test_an_address_that_is_needed_cannot_be_removed(tmp_path: Path):
    async with one_user(tmp_path) as user:
        made = await user.connect("http://127.0.0.1:9/v1", KEY)
        refused = await user.send("PATCH", f"/api/connections/{made['id']}", json={"base_url": None})
        kept = (await user.listed())["connections"]
    assert refused.status_code == 422
    assert "needs an address" in refused.text
    assert [entry["base_url"] for entry in kept if entry["id"] == made["id"]] == ["http://127.0.0.1:9/v1"]


async def test_no_file_of_the_server_is_a_model(tmp_path: Path):
    async with users(tmp_path, {"ben": False}) as people:
        ben = people["ben"]
        added = await ben.send("POST", "/api/connections", json={"provider": "local", "models": ["/etc/passwd"]})
        tested = await ben.send("POST", "/api/connections/test", json={"provider": "local", "model": "/etc/passwd"})
    assert [each.status_code for each in (added, tested)] == [422, 422]
    assert all("'local' cannot be connected here" in each.text for each in (added, tested))


@pytest.mark.parametrize(
    "change",
    [{"limit": {"month_usd": 5}}, {"limits": {"month": 5}}, {"limits": {"month_usd": True}}, {"limits": {"month_usd": "5"}}],
)
async def test_what_a_change_means_is_not_guessed(tmp_path: Path, change: dict[str, Any]):
    async with one_user(tmp_path) as user:
        made = await user.connect("http://127.0.0.1:9/v1", KEY)
        refused = await user.send("PATCH", f"/api/connections/{made['id']}", json=change)
    assert refused.status_code == 422


async def test_a_limit_for_a_model_without_a_price_is_saved_with_a_warning(tmp_path: Path):
    with model_server() as server:
        async with one_user(tmp_path) as user:
            made = await user.connect(address_of(server), KEY)
            path = f"/api/connections/{made['id']}"
            limited = (await user.send("PATCH", path, json={"limits": {"month_usd": 5}})).json()
            run = await user.run(await user.thread())
            freed = (await user.send("PATCH", path, json={"limits": {"month_usd": None}})).json()
    assert (made["warning"], freed["warning"]) == (None, None)
    assert limited["warning"].startswith(f"The price of {MODEL} is not known, so its calls are refused")
    assert "Remove the limit under Settings > Limits." in run.text
    assert not server.asked


async def test_a_user_has_so_many_connections_also_if_they_are_added_at_once(tmp_path: Path):
    async with one_user(tmp_path) as user:
        body = {"provider": "openai-compatible", "base_url": "http://127.0.0.1:9/v1"}
        adding = (user.send("POST", "/api/connections", json=body) for _ in range(MAX_CONNECTIONS + 5))
        codes = [each.status_code for each in await asyncio.gather(*adding)]
        mine = [entry for entry in (await user.listed())["connections"] if entry["mine"]]
        renamed = await user.send("PATCH", f"/api/connections/{mine[0]['id']}", json={"label": "Still mine"})
    assert (codes.count(201), codes.count(429), len(mine)) == (MAX_CONNECTIONS, 5, MAX_CONNECTIONS)
    assert renamed.status_code == 200


async def test_a_new_name_is_on_the_next_answer(tmp_path: Path):
    with model_server() as server:
        async with one_user(tmp_path) as user:
            made = await user.connect(address_of(server), KEY, label="Before")
            thread = await user.thread()
            await user.run(thread)
            await user.send("PATCH", f"/api/connections/{made['id']}", json={"label": "After"})
            said = last_said((await user.run(thread)).json())
    assert said["response_metadata"]["stepwell_model"]["label"] == "After"


async def test_a_key_that_a_server_lists_as_a_model_is_hidden(tmp_path: Path):
    def behave(asked: Asked) -> Reply:
        return Reply(200, {"data": [{"id": f"model-{KEY}", "object": "model"}]}) if asked.method == "GET" else answer(asked)

    with model_server(behave) as server:
        async with one_user(tmp_path) as user:
            body = {"provider": "openai-compatible", "base_url": address_of(server), "key": KEY}
            tested = await user.send("POST", "/api/connections/test", json=body)
    assert tested.json()["models"]
    assert KEY not in tested.text
