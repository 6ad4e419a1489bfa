"""A2A 1.0 over HTTP, with the official client: cards, tasks, streams, questions, cancelling, and what is refused."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import suppress
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
from google.protobuf.json_format import ParseDict
from google.protobuf.struct_pb2 import Value
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph
from tests.integration.server.auth.test_auth_server import ASKING, add_key
from tests.integration.server.conftest import Server, serve
from tests.integration.server.graphs import GRAPHS
from typing_extensions import TypedDict

from stepwell import create_deep_agent
from stepwell.database.postgres.persistence import PostgresPersistence
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


COUNTS, HELD = asyncio.Event(), asyncio.Event()


@tool
async def count() -> str:
    """Count, until the test lets it end."""
    COUNTS.set()
    await HELD.wait()
    return "counted"


def listen(asked: Asked) -> Any:
    heard = [message.text for message in asked.messages if message.type == "human"]
    return say(f"Heard: {', '.join(heard)}") if any(each.type == "tool" for each in asked.messages) else call("count")


class Sum(TypedDict, total=False):
    a: int
    b: int
    total: int


def total(state: Sum) -> Sum:
    return {"total": state["a"] + state["b"]}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    graphs = {
        "agent": create_deep_agent(ScriptedModel.answering(play), [add]),
        "careful": create_deep_agent(ScriptedModel.answering(play), [add], interrupt_on={"add": True}),
        "hangs": create_deep_agent(ScriptedModel.answering(hang)),
        "steered": create_deep_agent(ScriptedModel.answering(listen), [count]),
        "adder": StateGraph(Sum).add_node("total", total).add_edge(START, "total").compile(),
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


def said(text: str, **names: str) -> dict[str, Any]:
    return {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": [{"text": text}], **names}


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


async def test_given_up_question_is_closed_for_good(server: Server) -> None:
    client = await connect(server, "careful", streaming=False)
    task = (await send(client, saying("1 + 2?")))[0].task
    await client.cancel_task(CancelTaskRequest(id=task.id))
    thread = await server.client.threads.get(task.context_id)
    assert (thread["status"], thread["interrupts"]) == ("idle", {})
    following = (await send(client, saying("yes", context_id=task.context_id)))[0].task
    assert following.id != task.id
    assert state_of(following) == "TASK_STATE_INPUT_REQUIRED"  # nothing was approved, so the agent asks again
    assert state_of(await client.get_task(GetTaskRequest(id=task.id))) == "TASK_STATE_CANCELED"
    done = (await send(client, saying("yes", task_id=following.id)))[0].task
    assert (state_of(done), done.artifacts[0].parts[0].text) == ("TASK_STATE_COMPLETED", "It is 3.")
    listed = await client.list_tasks(ListTasksRequest(context_id=task.context_id))
    assert {each.id: state_of(each) for each in listed.tasks} == {
        task.id: "TASK_STATE_CANCELED",
        following.id: "TASK_STATE_COMPLETED",
    }


async def test_question_of_another_assistant_is_not_answered(server: Server) -> None:
    asking = await connect(server, "careful", streaming=False)
    task = (await send(asking, saying("1 + 2?")))[0].task
    other = await connect(server, "echo", streaming=False)
    done = (await send(other, saying("yes", context_id=task.context_id)))[0].task
    assert (state_of(done), done.id != task.id) == ("TASK_STATE_COMPLETED", True)
    assert state_of(await asking.get_task(GetTaskRequest(id=task.id))) == "TASK_STATE_CANCELED"


async def test_second_of_two_answers_is_told_so(server: Server) -> None:
    client = await connect(server, "careful", streaming=False)
    task = (await send(client, saying("1 + 2?")))[0].task
    replies = [said(text, taskId=task.id) for text in ("yes", "no", "no, too dear")]
    answers = await asyncio.gather(*(rpc(server, "SendMessage", {"message": reply}, "careful") for reply in replies))
    errors = [each["error"] for each in answers if "error" in each]
    assert len(errors) < len(answers)
    assert all((each["code"] == -32004 and "GetTask" in each["message"]) or "ended" in each["message"] for each in errors)


async def test_subscriber_of_a_question_hears_that_it_was_given_up(server: Server) -> None:
    client = await connect(server, "careful", streaming=False)
    task = (await send(client, saying("1 + 2?")))[0].task
    listener = await connect(server, "careful")
    events = aiter(listener.subscribe(SubscribeToTaskRequest(id=task.id)))
    assert state_of((await anext(events)).task) == "TASK_STATE_INPUT_REQUIRED"
    await client.cancel_task(CancelTaskRequest(id=task.id))
    async with asyncio.timeout(60):
        rest = [event async for event in events]
    assert [event.status_update.status.state for event in rest] == [TaskState.TASK_STATE_CANCELED]


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


@pytest.mark.parametrize("name", ["hangs", "careful"])
async def test_deleted_conversation_ends_the_streams_of_its_tasks(server: Server, name: str) -> None:
    params = {"message": said("1 + 2?"), "configuration": {"returnImmediately": name == "hangs"}}
    task = (await rpc(server, "SendMessage", params, name))["result"]["task"]
    client = await connect(server, name)
    events = aiter(client.subscribe(SubscribeToTaskRequest(id=task["id"])))
    assert (await anext(events)).task.id == task["id"]
    await server.client.threads.delete(task["contextId"])
    rest = []
    async with asyncio.timeout(60):
        with suppress(TaskNotFoundError):  # unless the stream hears first that the run was stopped
            async for event in events:
                rest.append(event.status_update.status.state)
            assert rest == [TaskState.TASK_STATE_CANCELED]


async def test_message_id_that_was_used_before_overwrites_nothing(server: Server) -> None:
    first = (await rpc(server, "SendMessage", {"message": said("first", messageId="same")}, "echo"))["result"]["task"]
    again = said("second", messageId="same", contextId=first["contextId"])
    second = (await rpc(server, "SendMessage", {"message": again}, "echo"))["result"]["task"]
    assert [each["parts"][0]["text"] for each in second["history"]] == ["second", "You said: second"]
    values = (await server.client.threads.get_state(first["contextId"]))["values"]
    assert [each["content"] for each in values["messages"]] == ["first", "You said: first", "second", "You said: second"]
    read = (await rpc(server, "GetTask", {"id": second["id"]}, "echo"))["result"]
    assert read["history"] == second["history"]


async def test_message_enters_the_task_that_works(server: Server) -> None:
    COUNTS.clear()
    HELD.clear()
    params = {"message": said("count"), "configuration": {"returnImmediately": True}}
    task = (await rpc(server, "SendMessage", params, "steered"))["result"]["task"]
    await asyncio.wait_for(COUNTS.wait(), 60)
    more = said("and the sheep", taskId=task["id"], messageId=params["message"]["messageId"])  # clients use ids again
    joined = (await rpc(server, "SendMessage", {"message": more, "configuration": {"returnImmediately": True}}, "steered"))[
        "result"
    ]["task"]
    assert joined["id"] == task["id"]
    await rpc(server, "SendMessage", {"message": more, "configuration": {"returnImmediately": True}}, "steered")  # and retry
    HELD.set()
    await server.client.runs.join(task["contextId"], task["id"].partition(".")[2])
    client = await connect(server, "steered")
    done = await client.get_task(GetTaskRequest(id=task["id"]))
    assert state_of(done) == "TASK_STATE_COMPLETED"
    assert [part.text for artifact in done.artifacts for part in artifact.parts] == ["Heard: count, and the sheep"]
    listed = await client.list_tasks(ListTasksRequest(context_id=task["contextId"]))
    assert [each.id for each in listed.tasks] == [task["id"]]


async def test_graph_without_messages_takes_and_gives_data(server: Server) -> None:
    card = (await server.http.get("/a2a/adder/.well-known/agent-card.json")).json()
    assert card["defaultInputModes"] == ["application/json"]
    refused = await rpc(server, "SendMessage", {"message": said("1 + 2?")}, "adder")
    assert refused["error"]["code"] == -32005
    assert "a, b, total" in refused["error"]["message"]
    client = await connect(server, "adder", streaming=False)
    numbers = ParseDict({"a": 1, "b": 2}, Value())
    request = SendMessageRequest(message=Message(message_id="n1", role=Role.ROLE_USER, parts=[Part(data=numbers)]))
    task = (await send(client, request))[0].task
    assert state_of(task) == "TASK_STATE_COMPLETED"
    assert dict(task.artifacts[0].parts[0].data.struct_value) == {"a": 1, "b": 2, "total": 3}
    streamed = await send(await connect(server, "adder"), request)
    pieces = [event.artifact_update.artifact for event in streamed if event.HasField("artifact_update")]
    assert [dict(part.data.struct_value)["total"] for piece in pieces for part in piece.parts] == [3]


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
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {"status": []}}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {"status": {}}}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {"contextId": 5}}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {"statusTimestampAfter": "nonsense"}}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {"statusTimestampAfter": 5}}', -32602),
    ],
)
async def test_bad_requests_get_the_code_and_a_sentence(server: Server, body: bytes, code: int) -> None:
    headers = {"A2A-Version": "1.0", "Content-Type": "application/json"}
    error = (await server.http.post("/a2a/agent", content=body, headers=headers)).json()["error"]
    assert error["code"] == code
    assert error["message"].endswith(".")


@pytest.mark.parametrize(
    ("configuration", "code"),
    [
        ({"acceptedOutputModes": ["image/png"]}, -32005),
        ({"acceptedOutputModes": "text/plain"}, -32602),
        ({"acceptedOutputModes": [5]}, -32602),
        ({"pushNotificationConfig": {"url": "https://example.org"}}, -32003),
        ({"taskPushNotificationConfig": {"url": "https://example.org"}}, -32003),
        ({"blocking": False}, -32602),
        ({"returnImmediately": "yes"}, -32602),
    ],
)
async def test_what_cannot_be_honoured_is_refused(server: Server, configuration: dict[str, Any], code: int) -> None:
    found = await rpc(server, "SendMessage", {"message": said("hi"), "configuration": configuration}, "echo")
    assert found["error"]["code"] == code


async def test_modes_and_times_that_fit_are_taken(server: Server) -> None:
    for modes in ([], ["image/png", "text/*"], ["application/json"], ["*/*"]):
        params = {"message": said("hi"), "configuration": {"acceptedOutputModes": modes}}
        task = (await rpc(server, "SendMessage", params, "echo"))["result"]["task"]
    wanted = {"contextId": task["contextId"], "statusTimestampAfter": task["status"]["timestamp"]}
    assert (await rpc(server, "ListTasks", wanted, "echo"))["result"]["tasks"] == []
    wanted["statusTimestampAfter"] = "2020-01-01T00:00:00+02:00"
    assert len((await rpc(server, "ListTasks", wanted, "echo"))["result"]["tasks"]) == 1


async def test_unknown_assistant_is_404(server: Server) -> None:
    assert (await server.http.post("/a2a/nobody", json={})).status_code == 404
    assert (await server.http.get("/a2a/nobody/.well-known/agent-card.json")).status_code == 404


async def test_postgres_gives_the_same(tmp_path_factory: pytest.TempPathFactory, postgres_url: str) -> None:
    graphs = {"careful": create_deep_agent(ScriptedModel.answering(play), [add], interrupt_on={"add": True}), **GRAPHS}
    folder = tmp_path_factory.mktemp("postgres")
    async with serve(folder, graphs=graphs, persistence=PostgresPersistence(postgres_url)) as running:
        client = await connect(running, "careful")
        task = (await send(client, saying("1 + 2?")))[0].task
        assert state_of(await client.get_task(GetTaskRequest(id=task.id))) == "TASK_STATE_INPUT_REQUIRED"
        assert state_of(await client.cancel_task(CancelTaskRequest(id=task.id))) == "TASK_STATE_CANCELED"
        second = (await send(client, saying("yes", context_id=task.context_id)))[0].task
        events = await send(client, saying("yes", task_id=second.id))
        assert events[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED
        listed = await client.list_tasks(ListTasksRequest())
        assert [(each.id, state_of(each)) for each in listed.tasks] == [
            (second.id, "TASK_STATE_COMPLETED"),
            (task.id, "TASK_STATE_CANCELED"),
        ]
        first = (await rpc(running, "SendMessage", {"message": said("first", messageId="same")}, "echo"))["result"]["task"]
        again = said("second", messageId="same", contextId=first["contextId"])
        done = (await rpc(running, "SendMessage", {"message": again}, "echo"))["result"]["task"]
        assert [each["parts"][0]["text"] for each in done["history"]] == ["second", "You said: second"]


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
        refused = await ask("SendMessage", {"message": {**reply, "contextId": task["contextId"]}}, bert)
        assert refused["error"]["message"].startswith("There is no such conversation. Leave out contextId")
        for params in ({}, {"contextId": task["contextId"]}):
            assert (await ask("ListTasks", params, bert))["result"]["tasks"] == []
        own = (await ask("ListTasks", {}, anna))["result"]["tasks"]
        assert [(each["id"], each["status"]["state"]) for each in own] == [(task["id"], "TASK_STATE_INPUT_REQUIRED")]
