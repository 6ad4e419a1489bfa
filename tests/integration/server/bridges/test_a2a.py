"""A2A 1.0 over HTTP, with the official client: cards, tasks, streams, questions, cancelling, and what is refused."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio
from a2a.client import ClientConfig, create_client
from a2a.client.card_resolver import A2ACardResolver
from a2a.types.a2a_pb2 import (
    CancelTaskRequest,
    GetExtendedAgentCardRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskState,
)
from a2a.utils.errors import TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError
from langchain_core.tools import tool
from tests.integration.server.auth.test_auth_server import ASKING, add_key
from tests.integration.server.conftest import Server, serve
from tests.integration.server.graphs import GRAPHS

from stepwell import create_deep_agent
from stepwell.testing import Asked, ScriptedModel, call, say

pytestmark = pytest.mark.asyncio(loop_scope="module")


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def play(asked: Asked) -> Any:
    return say("It is 3.") if asked.messages[-1].type == "tool" else call("add", a=1, b=2)


async def hang(asked: Asked) -> Any:
    await asyncio.Event().wait()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    graphs = {
        "agent": create_deep_agent(ScriptedModel.answering(play), [add]),
        "careful": create_deep_agent(ScriptedModel.answering(play), [add], interrupt_on={"add": True}),
        "hangs": create_deep_agent(ScriptedModel.answering(hang)),
        **GRAPHS,
    }
    async with serve(tmp_path_factory.mktemp("server"), graphs=graphs) as running:
        yield running


async def connect(server: Server, name: str, *, streaming: bool = True) -> Any:
    return await create_client(f"{server.url}/a2a/{name}", ClientConfig(streaming=streaming, httpx_client=server.http))


def saying(text: str, **names: str) -> SendMessageRequest:
    return SendMessageRequest(
        message=Message(message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=[Part(text=text)], **names)
    )


async def send(client: Any, request: SendMessageRequest) -> list[Any]:
    return [event async for event in client.send_message(request)]


def state_of(task: Any) -> str:
    return TaskState.Name(task.status.state)


async def rpc(server: Server, method: str, params: Any = None, name: str = "agent", **headers: str) -> dict[str, Any]:
    body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params or {}}
    response = await server.http.post(f"/a2a/{name}", json=body, headers={"A2A-Version": "1.0", **headers})
    assert response.status_code == 200
    found: dict[str, Any] = response.json()
    assert found["id"] == 7
    return found


async def test_card_names_the_endpoint_that_answers(server: Server) -> None:
    async with httpx.AsyncClient() as http:
        for base in (f"{server.url}/a2a/agent", server.url):
            card = await A2ACardResolver(http, base).get_agent_card()
            (interface,) = card.supported_interfaces
            assert (interface.protocol_binding, interface.protocol_version) == ("JSONRPC", "1.0")
            assert interface.url.startswith(f"{server.url}/a2a/")
            assert card.capabilities.streaming
            assert not card.capabilities.push_notifications
            assert [skill.id for skill in card.skills] == ["agent"]
            assert not card.security_schemes
        answer = await http.post(interface.url, json={"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}})
        assert "result" in answer.json()
    client = await connect(server, "agent")
    assert (await client.get_extended_agent_card(GetExtendedAgentCardRequest())).name == "agent"


async def test_message_becomes_a_task_with_its_answer(server: Server) -> None:
    client = await connect(server, "agent", streaming=False)
    (event,) = await send(client, saying("1 + 2?"))
    task = event.task
    assert state_of(task) == "TASK_STATE_COMPLETED"
    assert [part.text for artifact in task.artifacts for part in artifact.parts] == ["It is 3."]
    assert [(Role.Name(each.role), each.parts[0].text) for each in task.history] == [
        ("ROLE_USER", "1 + 2?"),
        ("ROLE_AGENT", "It is 3."),
    ]
    again = await client.get_task(GetTaskRequest(id=task.id, history_length=1))
    assert again.context_id == task.context_id
    assert [each.parts[0].text for each in again.history] == ["It is 3."]
    thread = await server.client.threads.get(task.context_id)
    assert thread["status"] == "idle"


async def test_stream_begins_with_the_task_and_ends_with_its_state(server: Server) -> None:
    client = await connect(server, "agent")
    events = await send(client, saying("1 + 2?"))
    assert events[0].HasField("task")
    assert events[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED
    pieces = [event.artifact_update for event in events if event.HasField("artifact_update")]
    assert "".join(part.text for piece in pieces for part in piece.artifact.parts) == "It is 3."
    assert [piece.append for piece in pieces] == [False] + [True] * (len(pieces) - 1)
    tools = [dict(event.status_update.metadata["tool"]) for event in events if event.status_update.HasField("metadata")]
    assert [(each["name"], each["event"]) for each in tools] == [("add", "started"), ("add", "ended")]


async def test_question_is_input_required_and_the_same_task_goes_on(server: Server) -> None:
    client = await connect(server, "careful", streaming=False)
    task = (await send(client, saying("1 + 2?")))[0].task
    assert state_of(task) == "TASK_STATE_INPUT_REQUIRED"
    words, data = task.status.message.parts
    assert "Run add" in words.text
    assert data.data.struct_value["questions"][0]["interrupt_id"]
    unclear = await rpc(
        server,
        "SendMessage",
        {"message": {"messageId": "m", "role": "ROLE_USER", "taskId": task.id, "parts": [{"text": "hm"}]}},
        "careful",
    )
    assert unclear["error"]["code"] == -32602
    assert state_of(await client.get_task(GetTaskRequest(id=task.id))) == "TASK_STATE_INPUT_REQUIRED"
    done = (await send(client, saying("yes", task_id=task.id, context_id=task.context_id)))[0].task
    assert (done.id, state_of(done)) == (task.id, "TASK_STATE_COMPLETED")
    assert done.artifacts[0].parts[0].text == "It is 3."
    with pytest.raises(UnsupportedOperationError):
        await send(client, saying("more", task_id=task.id))
    listed = await client.list_tasks(ListTasksRequest(context_id=task.context_id))
    assert [each.id for each in listed.tasks] == [task.id]


async def test_answer_may_be_data_and_come_without_the_task(server: Server) -> None:
    client = await connect(server, "careful", streaming=False)
    task = (await send(client, saying("1 + 2?")))[0].task
    answer = {"decisions": [{"type": "reject", "message": "too dear"}]}
    message = {"messageId": "r1", "role": "ROLE_USER", "contextId": task.context_id, "parts": [{"data": answer}]}
    done = (await rpc(server, "SendMessage", {"message": message}, "careful"))["result"]["task"]
    assert (done["id"], done["status"]["state"]) == (task.id, "TASK_STATE_COMPLETED")


async def test_context_continues_the_conversation_as_another_task(server: Server) -> None:
    client = await connect(server, "agent", streaming=False)
    first = (await send(client, saying("1 + 2?")))[0].task
    second = (await send(client, saying("And again?", context_id=first.context_id)))[0].task
    assert second.context_id == first.context_id
    assert second.id != first.id
    assert [each.parts[0].text for each in second.history] == ["And again?", "It is 3."]
    listed = await client.list_tasks(ListTasksRequest(context_id=first.context_id, page_size=1, include_artifacts=True))
    assert [each.id for each in listed.tasks] == [second.id]
    assert (listed.total_size, listed.next_page_token) == (2, "1")
    assert listed.tasks[0].artifacts


async def test_repeated_request_starts_one_run(server: Server) -> None:
    message = {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": [{"text": "1 + 2?"}]}
    key = {"Idempotency-Key": str(uuid.uuid4())}
    first, second = [await rpc(server, "SendMessage", {"message": message}, **key) for _ in range(2)]
    assert first["result"]["task"]["id"] == second["result"]["task"]["id"]
    other = await rpc(server, "SendMessage", {"message": {**message, "parts": [{"text": "else"}]}}, **key)
    assert other["error"]["code"] == -32602


async def test_card_may_be_kept(server: Server) -> None:
    first = await server.http.get("/.well-known/agent-card.json")
    assert "max-age" in first.headers["cache-control"]
    assert first.headers["last-modified"].endswith("GMT")
    again = await server.http.get("/.well-known/agent-card.json", headers={"If-None-Match": first.headers["etag"]})
    assert again.status_code == 304


async def test_files_come_and_go_as_parts(server: Server) -> None:
    picture = {"raw": "iVBORw0KGgo=", "mediaType": "image/png", "filename": "a.png"}
    message = {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": [{"text": "See"}, picture]}
    task = (await rpc(server, "SendMessage", {"message": message}, "echo"))["result"]["task"]
    assert task["history"][0]["parts"] == [{"text": "See", "mediaType": "text/plain"}, picture]
    message["parts"][1] = {"raw": "no base64!"}
    assert (await rpc(server, "SendMessage", {"message": message}, "echo"))["error"]["code"] == -32602


async def test_cancel_stops_the_run_and_subscribers_hear_it(server: Server) -> None:
    params = {
        "message": {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": [{"text": "wait"}]},
        "configuration": {"returnImmediately": True},
    }
    begun = (await rpc(server, "SendMessage", params, "hangs"))["result"]["task"]
    assert begun["status"]["state"] in ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING")
    client = await connect(server, "hangs")

    async def listen() -> list[Any]:
        return [event async for event in client.subscribe(SubscribeToTaskRequest(id=begun["id"]))]

    listening = asyncio.create_task(listen())
    async with asyncio.timeout(60):
        while not server.services.streams:  # noqa: ASYNC110 - open streams have no event
            await asyncio.sleep(0.01)
    assert state_of(await client.cancel_task(CancelTaskRequest(id=begun["id"]))) == "TASK_STATE_CANCELED"
    events = await listening
    assert events[0].HasField("task")
    assert events[-1].status_update.status.state == TaskState.TASK_STATE_CANCELED
    with pytest.raises(TaskNotCancelableError):
        await client.cancel_task(CancelTaskRequest(id=begun["id"]))
    with pytest.raises(UnsupportedOperationError):
        await listen()


async def test_open_question_can_be_given_up(server: Server) -> None:
    client = await connect(server, "careful", streaming=False)
    task = (await send(client, saying("1 + 2?")))[0].task
    assert state_of(await client.cancel_task(CancelTaskRequest(id=task.id))) == "TASK_STATE_CANCELED"
    assert state_of(await client.get_task(GetTaskRequest(id=task.id))) == "TASK_STATE_CANCELED"


async def test_subscriber_of_a_question_hears_what_follows_its_answer(server: Server) -> None:
    client = await connect(server, "careful", streaming=False)
    task = (await send(client, saying("1 + 2?")))[0].task
    listener = await connect(server, "careful")
    events = aiter(listener.subscribe(SubscribeToTaskRequest(id=task.id)))
    assert state_of((await anext(events)).task) == "TASK_STATE_INPUT_REQUIRED"
    await send(client, saying("yes", task_id=task.id))
    rest = [event async for event in events]
    assert rest[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED
    assert "".join(part.text for event in rest for part in event.artifact_update.artifact.parts) == "It is 3."


async def test_names_of_fields_may_have_underscores(server: Server) -> None:
    message = {"message_id": "m1", "role": "ROLE_USER", "parts": [{"text": "1 + 2?", "media_type": "text/plain"}]}
    sent = await rpc(server, "SendMessage", {"message": message, "configuration": {"history_length": 1}})
    assert [each["role"] for each in sent["result"]["task"]["history"]] == ["ROLE_AGENT"]


async def test_failed_run_is_a_failed_task(server: Server) -> None:
    client = await connect(server, "fails", streaming=False)
    task = (await send(client, saying("go")))[0].task
    assert state_of(task) == "TASK_STATE_FAILED"
    assert task.status.message.parts[0].text


@pytest.mark.parametrize("task_id", ["nothing", f"{uuid.UUID(int=1)}.{uuid.UUID(int=2)}"])
async def test_unknown_task_is_not_found(server: Server, task_id: str) -> None:
    client = await connect(server, "agent")
    with pytest.raises(TaskNotFoundError):
        await client.get_task(GetTaskRequest(id=task_id))


async def test_task_of_another_assistant_is_not_found(server: Server) -> None:
    client = await connect(server, "agent", streaming=False)
    task = (await send(client, saying("1 + 2?")))[0].task
    other = await connect(server, "careful")
    with pytest.raises(TaskNotFoundError):
        await other.get_task(GetTaskRequest(id=task.id))


async def test_versions(server: Server) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}}
    for version, code in {"1.0": None, "1.0.2": None, "": None, "0.3": -32009, "2.0": -32009, "x": -32009}.items():
        found = (await server.http.post("/a2a/agent", json=body, headers={"A2A-Version": version})).json()
        assert found.get("error", {}).get("code") == code, version
    early = (await server.http.post("/a2a/agent", json={**body, "method": "message/send"}, headers={"A2A-Version": ""})).json()[
        "error"
    ]
    assert early["code"] == -32009
    assert "SendMessage" in early["message"]
    assert early["data"][0]["reason"] == "VERSION_NOT_SUPPORTED"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"[]", -32600),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "GetTask"}', -32600),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "GetTask"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "Nothing"}', -32601),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "CreateTaskPushNotificationConfig"}', -32003),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": []}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {}}', -32001),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {}}', -32602),
        (
            b'{"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": '
            b'{"message": {"messageId": "x", "role": "ROLE_USER", "parts": [{}]}}}',
            -32602,
        ),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {"pageSize": 0}}', -32602),
    ],
)
async def test_bad_requests_get_the_code_and_a_sentence(server: Server, body: bytes, code: int) -> None:
    headers = {"A2A-Version": "1.0", "Content-Type": "application/json"}
    error = (await server.http.post("/a2a/agent", content=body, headers=headers)).json()["error"]
    assert error["code"] == code
    assert error["message"].endswith(".")


async def test_unknown_assistant_is_404(server: Server) -> None:
    assert (await server.http.post("/a2a/nobody", json={})).status_code == 404
    assert (await server.http.get("/a2a/nobody/.well-known/agent-card.json")).status_code == 404


async def test_tenants_do_not_see_each_other(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("tenants")
    anna, bert = [(await add_key(folder, name)).text for name in ("anna", "bert")]
    graphs = {"careful": create_deep_agent(ScriptedModel.answering(play), [add], interrupt_on={"add": True})}
    async with serve(folder, ASKING, graphs) as running:
        body = {"jsonrpc": "2.0", "id": 7, "method": "ListTasks", "params": {}}
        for credentials in ({}, {"x-api-key": "wrong"}):
            assert (await running.http.post("/a2a/careful", json=body, headers=credentials)).status_code == 401
            assert (await running.http.get("/.well-known/agent-card.json", headers=credentials)).status_code == 401
        card = (await running.http.get("/a2a/careful/.well-known/agent-card.json", headers={"x-api-key": anna})).json()
        assert card["securitySchemes"].keys() == {"bearer", "apiKey"}
        assert [next(iter(each["schemes"])) for each in card["securityRequirements"]] == ["bearer", "apiKey"]

        async def ask(method: str, params: Any, key: str) -> dict[str, Any]:
            return await rpc(running, method, params, "careful", Authorization=f"Bearer {key}")

        message = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "1 + 2?"}]}
        task = (await ask("SendMessage", {"message": message}, anna))["result"]["task"]
        for method in ("GetTask", "CancelTask", "SubscribeToTask"):
            assert (await ask(method, {"id": task["id"]}, bert))["error"]["code"] == -32001
        reply = {**message, "parts": [{"text": "yes"}]}
        assert (await ask("SendMessage", {"message": {**reply, "taskId": task["id"]}}, bert))["error"]["code"] == -32001
        assert "error" in await ask("SendMessage", {"message": {**reply, "contextId": task["contextId"]}}, bert)
        for params in ({}, {"contextId": task["contextId"]}):
            assert (await ask("ListTasks", params, bert))["result"]["tasks"] == []
        own = (await ask("ListTasks", {}, anna))["result"]["tasks"]
        assert [(each["id"], each["status"]["state"]) for each in own] == [(task["id"], "TASK_STATE_INPUT_REQUIRED")]
