"""Several users on one server: what each may see and use, and that nobody's run uses another user's key."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.integration.connections.world import MODEL, User, address_of, chosen, keys_used, last_said, model_server, users

ADAS, BENS, SHARED = "sk-of-ada-0000000", "sk-of-ben-0000000", "sk-for-everyone-00"
BOTH = {"ada": True, "ben": True}
"""Both are operators, so that their own keys may go to loopback."""


async def stored(user: User) -> dict[str, dict[str, Any]]:
    return {entry["id"]: entry for entry in (await user.listed())["connections"] if entry["source"] == "stored"}


async def test_own_connections_are_seen_and_used_by_their_owner_alone(tmp_path: Path):
    with model_server() as server:
        async with users(tmp_path, BOTH) as people:
            ada, ben = people["ada"], people["ben"]
            hers = await ada.connect(address_of(server), ADAS)
            asked = await ben.run(await ben.thread(), models={"default": chosen(hers)})
            told = await ben.run(await ben.thread(stepwell_models={"default": chosen(hers)}))
            path = f"/api/connections/{hers['id']}"
            refused = [
                await ben.send("PATCH", path, json={"label": "Mine now"}),
                await ben.send("DELETE", path),
                await ben.send("POST", "/api/connections/test", json={"connection": hers["id"]}),
                await ben.send("PUT", "/api/connections/choice", json={"scope": "mine", "default": chosen(hers)}),
            ]
            seen = await stored(ben)
            everyone = await ada.send("PUT", "/api/connections/choice", json={"scope": "everyone", "default": chosen(hers)})
            own = await ada.run(await ada.thread())
    assert asked.status_code == 422
    assert "not yours to use" in asked.text
    assert "No model is configured" in told.text
    assert [each.status_code for each in refused] == [404, 404, 404, 422]
    assert seen == {}
    assert everyone.status_code == 422
    assert "only yours" in everyone.text
    assert last_said(own.json())["content"] == "ready"
    assert keys_used(server) == [ADAS]


async def test_what_an_operator_shares_everyone_uses_and_only_operators_change(tmp_path: Path):
    with model_server() as server:
        async with users(tmp_path, {"ada": True, "ben": False}) as people:
            ada, ben = people["ada"], people["ben"]
            made = await ada.connect(address_of(server), SHARED, shared=True, label="Ours")
            await ada.send("PUT", "/api/connections/choice", json={"scope": "everyone", "default": chosen(made)})
            answer = await ben.run(await ben.thread())
            listed = await ben.listed()
            seen = next(entry for entry in listed["connections"] if entry["id"] == made["id"])
            unlisted = await ben.run(await ben.thread(), models={"default": chosen(made, "expensive-one")})
            path = f"/api/connections/{made['id']}"
            refused = [
                await ben.send("PATCH", path, json={"label": "Mine"}),
                await ben.send("DELETE", path),
                await ben.send("PUT", "/api/connections/choice", json={"scope": "everyone", "default": None}),
                await ben.send("PUT", "/api/connections/allowed", json={"allowed": None}),
                await ben.send("POST", "/api/connections", json={"provider": "openai", "key": BENS, "shared": True}),
                await ben.send("GET", "/api/connections/spend", params={"user": "ada"}),
            ]
            await ada.send("PATCH", path, json={"shared": False})
            after = await ben.run(await ben.thread())
    assert last_said(answer.json())["response_metadata"]["stepwell_model"]["label"] == "Ours"
    assert keys_used(server) == [SHARED]
    assert listed["choice"]["default"]["reason"] == "set by the operator"
    assert (seen["base_url"], seen["key_hint"], seen["mine"], seen["editable"], seen["shared"]) == (
        None,
        None,
        False,
        False,
        True,
    )
    assert listed["found"] == []
    assert unlisted.status_code == 422
    assert "not offered" in unlisted.text
    assert [each.status_code for each in refused] == [403] * 6
    assert "No model is configured" in after.text


async def test_operators_say_which_models_may_be_used(tmp_path: Path):
    with model_server() as server:
        async with users(tmp_path, BOTH) as people:
            ada, ben = people["ada"], people["ben"]
            his = await ben.connect(address_of(server), BENS)
            await ada.send("PUT", "/api/connections/allowed", json={"allowed": ["anthropic:*", "openai-compatible:other"]})
            asked = await ben.run(await ben.thread(), models={"default": chosen(his)})
            default = await ben.run(await ben.thread())
            other = await ben.run(await ben.thread(), models={"default": chosen(his, "other")})
            wrong = await ada.send("PUT", "/api/connections/allowed", json={"allowed": ["nonsense:*"]})
            listed = await ben.listed()
            await ada.send("PUT", "/api/connections/allowed", json={"allowed": None})
            again = await ben.run(await ben.thread(), models={"default": chosen(his)})
    assert asked.status_code == 422
    assert f"does not allow the model '{MODEL}'" in asked.text
    assert "No model is configured" in default.text
    assert last_said(other.json())["response_metadata"]["stepwell_model"]["model"] == "other"
    assert wrong.status_code == 422
    assert listed["allowed"] == ["anthropic:*", "openai-compatible:other"]
    assert again.status_code == 200


async def test_an_answer_continues_with_the_models_of_the_one_who_answers(tmp_path: Path):
    """Threads belong to one user; the server's own runs (no caller) and copies are the ways in which another could come in."""
    with model_server() as server:
        async with users(tmp_path, BOTH) as people:
            ada, ben = people["ada"], people["ben"]
            hers = await ada.connect(address_of(server), ADAS)
            await ben.connect(address_of(server), BENS)
            thread = await ada.thread(stepwell_models={"default": chosen(hers)})
            await ada.run(thread, "asking")
            foreign = await ben.send(
                "POST", f"/threads/{thread}/runs/wait", json={"assistant_id": "asking", "command": {"resume": "yes"}}
            )
            copied = (await ada.send("POST", f"/threads/{thread}/copy")).json()["thread_id"]
            theirs = await ben.run(copied, "asking")
            resumed = await ada.send(
                "POST", f"/threads/{thread}/runs/wait", json={"assistant_id": "asking", "command": {"resume": "yes"}}
            )
            from stepwell.runs.starting import RunOrder

            engine = ada.server.services.engine
            order = RunOrder("talk", thread_id=await ada.thread(), input={"messages": [{"role": "user", "content": "Hi"}]})
            admitted = await engine.start(None, order)  # the server itself starts it
            nobody = await engine.result(None, admitted.run.thread_id, admitted.run.run_id)
    assert foreign.status_code == 404
    assert theirs.status_code == 404
    assert last_said(resumed.json())["content"] == "ready"
    assert b"No model is configured" in nobody
    assert keys_used(server) == [ADAS]


async def test_runs_of_two_users_at_once_use_the_key_of_each(tmp_path: Path):
    with model_server() as server:
        async with users(tmp_path, BOTH) as people:
            for name, key in (("ada", ADAS), ("ben", BENS)):
                await people[name].connect(address_of(server), key)
            threads = {name: [await user.thread() for _ in range(4)] for name, user in people.items()}
            orders = [(user, thread) for name, user in people.items() for thread in threads[name]]
            answers = await asyncio.gather(*(user.run(thread) for user, thread in orders))
    assert all(last_said(answer.json())["content"] == "ready" for answer in answers)
    assert sorted(keys_used(server)) == sorted([ADAS] * 4 + [BENS] * 4)


async def test_the_environments_key_serves_only_its_own_models_to_ordinary_users(tmp_path: Path):
    environment = {"ANTHROPIC_API_KEY": "sk-ant-of-the-operator-00", "STEPWELL_MODEL": "anthropic:claude-small"}
    async with users(tmp_path, {"ben": False}, environment=environment) as people:
        ben = people["ben"]
        other = await ben.run(await ben.thread(), models={"default": {"connection": "env:anthropic", "model": "claude-huge"}})
        listed = await ben.listed()
    assert other.status_code == 422
    shown = [entry for entry in listed["connections"] if entry["source"] == "environment"]
    assert [(entry["id"], [model["name"] for model in entry["models"]]) for entry in shown] == [
        ("env:anthropic", ["claude-small"])
    ]
    assert shown[0]["variable"] is None
