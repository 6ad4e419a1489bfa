"""The official MCP client against a server process: tools, calls, progress, questions, cancellation, a killed server."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from mcp import ClientSession, McpError
from mcp import types as mcp_types
from mcp.client.streamable_http import streamable_http_client
from tests.integration.served.process import Server, serve
from tests.support.waiting import wait_until

HERE = Path(__file__).parent
HELLO = {"messages": [{"role": "user", "content": "hello"}]}


@asynccontextmanager
async def connected(server: Server, answers: Any = None, path: str = "/mcp") -> AsyncIterator[ClientSession]:
    """A client; `answers` gives it the ability to be asked."""
    async with (
        streamable_http_client(f"{server.url}{path}") as (read, write, _),
        ClientSession(read, write, timedelta(seconds=60), elicitation_callback=answers) as session,
    ):
        await session.initialize()
        yield session


class Person:
    """Answers forms with what it was given, and remembers what it was asked."""

    def __init__(self, *answers: mcp_types.ElicitResult) -> None:
        self.asked: list[mcp_types.ElicitRequestParams] = []
        self._answers = list(answers)

    async def __call__(self, context: Any, params: mcp_types.ElicitRequestParams) -> mcp_types.ElicitResult:
        self.asked.append(params)
        return self._answers.pop(0)


def accept(**content: Any) -> mcp_types.ElicitResult:
    return mcp_types.ElicitResult(action="accept", content=content)


def text_of(result: mcp_types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, mcp_types.TextContent)
    return content.text


async def test_each_assistant_is_a_tool_with_a_short_schema(served: Server) -> None:
    async with connected(served) as session:
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        await session.send_ping()
    assert {"echo", "agent", "careful", "adder", "slow"} <= tools.keys()
    schema = tools["agent"].inputSchema
    assert set(schema["properties"]["messages"]["items"]["properties"]) == {"role", "content"}
    assert len(str(schema)) < 2000
    assert set(tools["adder"].inputSchema["properties"]) >= {"a", "b", "thread_id"}


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
async def test_the_last_message_is_the_text_and_the_values_are_structured(served: Server, path: str) -> None:
    async with connected(served, path=path) as session:
        said = await session.call_tool("agent", HELLO)
        added = await session.call_tool("adder", {"a": 2, "b": 3})
        loud = await session.call_tool("shouter", {"input": "hey"})
    assert (said.isError, text_of(said)) == (False, "It is 3.")
    assert said.structuredContent is not None
    assert said.structuredContent["messages"] == [{"role": "assistant", "content": "It is 3."}]
    assert added.structuredContent == {"a": 2, "b": 3, "total": 5}
    assert (text_of(loud), loud.structuredContent) == ("HEY", {"value": "HEY"})


async def test_a_conversation_is_continued_by_its_thread(served: Server) -> None:
    thread_id = str(uuid4())
    async with connected(served) as session:
        await session.call_tool("echo", {**HELLO, "thread_id": thread_id})
        again = await session.call_tool("echo", {**HELLO, "thread_id": thread_id})
        newest = await session.call_tool("echo", {"thread_id": thread_id})
    assert text_of(again) == text_of(newest) == "You said: hello (after 2)"


async def test_progress_tells_which_tools_run(served: Server) -> None:
    told: list[tuple[float, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message))

    async with connected(served) as session:
        await session.call_tool("agent", HELLO, progress_callback=hear)
    assert [message for _, message in told] == ["Running add", "add is done"]
    assert told == sorted(told)


async def test_failures_are_results_that_a_model_can_read(served: Server) -> None:
    async with connected(served) as session:
        failed = await session.call_tool("failing", HELLO)
        invalid = await session.call_tool("agent", {"massages": "hello"})
        with pytest.raises(McpError, match="There is no tool of this name"):
            await session.call_tool("nobody", {})
    assert (failed.isError, text_of(failed)) == (True, "The assistant failed: the node fell over")
    assert invalid.isError
    assert "takes an object with some of: files, messages" in text_of(invalid)


@pytest.mark.parametrize(
    ("name", "arguments", "sentence"),
    [
        ("echo", {}, "Send 'messages'"),
        ("echo", {"messages": []}, "Send 'messages'"),
        ("echo", {"messages": 5}, "'messages' is a list"),
        ("echo", {"messages": [{"role": "clown", "content": "x"}]}, "messages[0] cannot be read"),
        (
            "echo",
            {"messages": [{"role": "user", "content": [{"type": "text", "text": 5}]}]},
            "messages[0].content[0] cannot be read",
        ),
        ("echo", {**HELLO, "thread_id": "x"}, "The thread's id is a UUID"),
        ("echo", {**HELLO, "thread_id": 5}, "The thread's id is a UUID"),
        ("echo", {"thread_id": "6a0c2b1e-5d0f-4c55-9d5e-0d7b8a6f3c11"}, "Send messages too, to begin it."),
        ("adder", {"a": "two", "b": 3}, "'a' does not fit the tool's inputSchema: it must be of the type integer"),
        ("shouter", {"input": 5}, "'input' does not fit the tool's inputSchema"),
    ],
)
async def test_arguments_that_do_not_fit_start_nothing(
    served: Server, name: str, arguments: dict[str, Any], sentence: str
) -> None:
    async with connected(served) as session, httpx.AsyncClient(base_url=served.url) as http:
        before = (await http.post("/threads/count", json={})).json()
        said = await session.call_tool(name, arguments)
        assert (await http.post("/threads/count", json={})).json() == before
    assert (said.isError, sentence in text_of(said)) == (True, True), text_of(said)


async def test_an_approval_is_a_form(served: Server) -> None:
    person = Person(accept(decision="approve"))
    async with connected(served, person) as session:
        said = await session.call_tool("careful", HELLO)
    assert text_of(said) == "It is 3."
    (asked,) = person.asked
    assert isinstance(asked, mcp_types.ElicitRequestFormParams)
    assert asked.message == 'Run add({"a": 1, "b": 2})?'
    assert asked.requestedSchema["properties"]["decision"]["enum"] == ["approve", "reject"]


async def test_declining_an_approval_rejects_the_call(served: Server) -> None:
    async with connected(served, Person(mcp_types.ElicitResult(action="decline"))) as session:
        said = await session.call_tool("careful", HELLO)
    assert text_of(said).startswith("No sum: ")


@pytest.mark.parametrize(
    "reply",
    [mcp_types.ElicitResult(action="cancel"), mcp_types.ErrorData(code=-32603, message="no window")],
    ids=["cancel", "error"],
)
async def test_a_form_that_nobody_decided_on_rejects_nothing(served: Server, reply: Any) -> None:
    async with connected(served, Person(reply)) as session:
        said = await session.call_tool("careful", HELLO)
    assert (said.isError, "waits for an answer" in text_of(said)) == (True, True)
    thread_id = (said.structuredContent or {})["thread_id"]
    async with connected(served, Person(accept(decision="approve"))) as session:
        assert text_of(await session.call_tool("careful", {"thread_id": thread_id})) == "It is 3."


async def test_two_open_questions_are_asked_one_after_the_other(served: Server) -> None:
    person = Person(accept(answer="one"), accept(answer="two"))
    async with connected(served, person) as session:
        said = await session.call_tool("two", {"name": "pair"})
    assert (said.isError, len(person.asked)) == (False, 2)
    answers = {asked.message.split("?")[0].split()[-1]: word for asked, word in zip(person.asked, ("one", "two"), strict=True)}
    assert said.structuredContent == {"name": "pair", **answers}


async def test_a_question_that_is_answered_elsewhere_is_not_asked_twice(served: Server) -> None:
    """Somebody answers one of two questions on the page while the other one's form is shown."""
    asked: list[str] = []

    async def answer(context: Any, params: mcp_types.ElicitRequestParams) -> mcp_types.ElicitResult:
        asked.append(params.message)
        async with httpx.AsyncClient(base_url=served.url, timeout=60) as http:
            thread = (await http.get(f"/threads/{thread_id}")).json()
            waiting = [each for found in thread["interrupts"].values() for each in found]
            other = next(each["id"] for each in waiting if each["value"] not in params.message)
            order = {"assistant_id": "two", "command": {"resume": {other: "elsewhere"}}}
            assert (await http.post(f"/threads/{thread_id}/runs/wait", json=order)).status_code == 200
        return accept(answer="here")

    thread_id = str(uuid4())
    async with connected(served, answer) as session:
        said = await session.call_tool("two", {"name": "pair", "thread_id": thread_id})
    assert len(asked) == 1
    assert sorted((said.structuredContent or {}).values()) == ["elsewhere", "here", "pair"]


async def test_a_conversation_that_goes_on_without_an_answer_ends_the_call(served: Server) -> None:
    async def go_on(context: Any, params: mcp_types.ElicitRequestParams) -> mcp_types.ElicitResult:
        async with httpx.AsyncClient(base_url=served.url, timeout=60) as http:
            order = {"assistant_id": "echo", "input": HELLO}
            assert (await http.post(f"/threads/{thread_id}/runs/wait", json=order)).status_code == 200
        return mcp_types.ElicitResult(action="cancel")

    thread_id = str(uuid4())
    async with connected(served, go_on) as session:
        said = await session.call_tool("careful", {**HELLO, "thread_id": thread_id})
    assert (said.isError, "went on without an answer" in text_of(said)) == (True, True)


async def test_a_thread_that_is_deleted_while_it_waits_ends_the_call(served: Server) -> None:
    async def delete(context: Any, params: mcp_types.ElicitRequestParams) -> mcp_types.ElicitResult:
        async with httpx.AsyncClient(base_url=served.url, timeout=60) as http:
            assert (await http.delete(f"/threads/{thread_id}")).status_code == 204
        return accept(decision="approve")

    thread_id = str(uuid4())
    before = len(served.output)
    async with connected(served, delete) as session:
        said = await session.call_tool("careful", {**HELLO, "thread_id": thread_id})
    assert (said.isError, "was deleted during the call" in text_of(said)) == (True, True)
    assert "a stream broke off" not in served.output[before:]


async def test_a_client_that_comes_back_to_a_deleted_thread_hears_it(served: Server) -> None:
    arguments = {**HELLO, "thread_id": str(uuid4())}
    call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "careful", "arguments": arguments}}
    async with httpx.AsyncClient(base_url=served.url, timeout=60) as http:
        headers = await began(http, {"elicitation": {}})
        async with http.stream("POST", "/mcp", json=call, headers=headers) as stream:
            place = await anext(name async for name, message in events(stream) if "method" in message)
        assert (await http.delete(f"/threads/{arguments['thread_id']}")).status_code == 204
        async with http.stream("GET", "/mcp", headers={**headers, "Last-Event-ID": place}) as stream:
            ((_, answer),) = [each async for each in events(stream)]
    assert (answer["id"], answer["result"]["isError"]) == (7, True)


async def test_a_program_that_never_fills_the_form_in_is_not_asked_for_ever(served: Server) -> None:
    person = Person(*[accept(wrong="field") for _ in range(9)])
    async with connected(served, person) as session:
        said = await session.call_tool("namer", {"a": 1})
    assert (said.isError, len(person.asked)) == (True, 5)


async def test_a_question_takes_words(served: Server) -> None:
    async with connected(served, Person(accept(response="blue"))) as session:
        assert text_of(await session.call_tool("curious", HELLO)) == "You like The user answers: blue."


async def test_a_form_that_does_not_fit_is_asked_again(served: Server) -> None:
    person = Person(accept(name=3), accept(name="total"))
    async with connected(served, person) as session:
        said = await session.call_tool("namer", {"a": 1})
    assert said.structuredContent == {"a": 1, "name": "total"}
    assert "does not fit" in person.asked[1].message


async def test_a_declined_question_stays_open_and_the_call_says_how_to_go_on(served: Server) -> None:
    async with connected(served, Person(mcp_types.ElicitResult(action="decline"))) as session:
        said = await session.call_tool("namer", {"a": 1})
    assert said.isError
    thread_id = (said.structuredContent or {})["thread_id"]
    async with connected(served, Person(accept(name="one"))) as session:
        again = await session.call_tool("namer", {"thread_id": thread_id})
    assert again.structuredContent == {"a": 1, "name": "one"}


async def test_a_client_that_cannot_be_asked_gets_the_thread(served: Server) -> None:
    async with connected(served) as session:
        said = await session.call_tool("careful", HELLO)
    assert said.isError
    thread_id = (said.structuredContent or {})["thread_id"]
    assert f"Its thread is {thread_id}" in text_of(said)
    assert 'Run add({"a": 1, "b": 2})?' in text_of(said)
    async with httpx.AsyncClient(base_url=served.url) as http:
        thread = (await http.get(f"/threads/{thread_id}")).json()
    assert thread["status"] == "interrupted"


async def test_a_cancelled_call_stops_its_run(served: Server) -> None:
    async with connected(served) as session, httpx.AsyncClient(base_url=served.url) as http:
        thread_id = str(uuid4())
        calling = asyncio.create_task(session.call_tool("slow", {**HELLO, "thread_id": thread_id}))
        exists = f"{served.url}/threads/{thread_id}"
        await asyncio.to_thread(wait_until, lambda: httpx.get(exists).status_code == 200, "the call has begun")
        request_id = session._request_id - 1
        params = mcp_types.CancelledNotificationParams(requestId=request_id)
        await session.send_notification(mcp_types.ClientNotification(mcp_types.CancelledNotification(params=params)))
        said = await calling
        assert (said.isError, text_of(said)) == (True, "The call was cancelled.")
        (run,) = (await http.get(f"/threads/{thread_id}/runs")).json()
        assert run["status"] == "interrupted"


async def test_cancelling_a_call_leaves_other_runs_of_its_thread_alone(served: Server) -> None:
    thread_id = str(uuid4())

    def runs() -> list[dict[str, Any]]:
        return list(httpx.get(f"{served.url}/threads/{thread_id}/runs", timeout=60).json())

    params = {"name": "slow", "arguments": {**HELLO, "thread_id": thread_id}}
    call = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params}
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}}
    async with httpx.AsyncClient(base_url=served.url, timeout=60) as http:
        order = {"assistant_id": "slow", "input": HELLO, "if_not_exists": "create"}
        page = (await http.post(f"/threads/{thread_id}/runs", json=order)).json()["run_id"]
        headers = await began(http, {})
        async with http.stream("POST", "/mcp", json=call, headers=headers) as stream:
            await asyncio.to_thread(wait_until, lambda: len(runs()) == 2, "the call's run waits")
            assert (await http.post("/mcp", json=cancelled, headers=headers)).status_code == 202
            ((_, answer),) = [each async for each in events(stream)]
        found = runs()
        await http.delete(f"/threads/{thread_id}")
    assert answer["result"]["content"][0]["text"] == "The call was cancelled."
    statuses = {"page" if run["run_id"] == page else "call": run["status"] for run in found}
    assert (statuses["page"] in ("pending", "running"), statuses["call"]) == (True, "interrupted")


async def test_cancelling_a_call_that_asks_ends_its_stream_and_not_the_question(served: Server) -> None:
    thread_id = str(uuid4())
    params = {"name": "careful", "arguments": {**HELLO, "thread_id": thread_id}}
    call = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params}
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}}
    async with httpx.AsyncClient(base_url=served.url, timeout=60) as http:
        headers = await began(http, {"elicitation": {}})
        async with http.stream("POST", "/mcp", json=call, headers=headers) as stream:
            told = events(stream)
            assert (await anext(told))[1]["method"] == "elicitation/create"
            assert (await http.post("/mcp", json=cancelled, headers=headers)).status_code == 202
            assert (await anext(told))[1]["result"]["isError"]
        assert (await http.get(f"/threads/{thread_id}")).json()["status"] == "interrupted"


async def test_the_official_client_outlives_a_restart_that_takes_a_while(tmp_path: Path) -> None:
    with serve(tmp_path, graphs=HERE / "langgraph.json") as server:

        async def restart(context: Any, params: mcp_types.ElicitRequestParams) -> mcp_types.ElicitResult:
            await asyncio.to_thread(server.kill)
            await asyncio.sleep(4)  # longer than clients wait by themselves
            await asyncio.to_thread(server.start)
            return accept(decision="approve")

        async with connected(server, restart) as session:
            said = await session.call_tool("careful", HELLO, timedelta(seconds=240))
    assert text_of(said) == "It is 3."


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
async def test_a_call_outlives_a_killed_server(tmp_path: Path, database: str, request: pytest.FixtureRequest) -> None:
    """The server dies while its question is on the screen; the answer and the rest of the stream go to the next one."""
    options = ["--database-url", request.getfixturevalue("postgres_url")] if database == "postgres" else []
    call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "careful", "arguments": HELLO}}
    with serve(tmp_path, *options, graphs=HERE / "langgraph.json") as server:
        async with httpx.AsyncClient(base_url=server.url, timeout=60) as http:
            headers = await began(http, {"elicitation": {}})
            async with http.stream("POST", "/mcp", json=call, headers=headers) as stream:
                place, question = await anext(each async for each in events(stream) if each[1])
        assert question["method"] == "elicitation/create"
        server.kill()
        server.start()
        back = {**headers, "Last-Event-ID": place}
        async with (
            httpx.AsyncClient(base_url=server.url, timeout=60) as http,
            http.stream("GET", "/mcp", headers=back) as stream,
        ):
            reply = {
                "jsonrpc": "2.0",
                "id": question["id"],
                "result": {"action": "accept", "content": {"decision": "approve"}},
            }
            assert (await http.post("/mcp", json=reply, headers=headers)).status_code == 202
            assert (await http.post("/mcp", json=reply, headers=headers)).status_code == 202, "it may come twice"
            told = [message async for _, message in events(stream)]
    (answer,) = told
    assert (answer["id"], answer["result"]["content"][0]["text"]) == (7, "It is 3.")


async def test_the_tools_of_research_check_claims_and_bundles(served: Server) -> None:
    claims = [
        {"text": "The well is 30 metres deep.", "quotes": ["The well is 30 metres deep."]},
        {"text": "The well is 90 metres deep.", "quotes": ["The well is 30 metres deep."]},
    ]
    async with connected(served) as session:
        checked = await session.call_tool("check_claims", {"claims": claims})
        wrong = await session.call_tool("check_claims", {"claims": [{"text": "x"}]})
        bundle = base64.b64encode(b"no bundle").decode()
        verified = await session.call_tool("verify_bundle", {"bundle": bundle})
        neither = await session.call_tool("verify_bundle", {})
    assert checked.structuredContent is not None
    assert [each["verdict"] for each in checked.structuredContent["claims"]] == ["verbatim", "contradicted"]
    assert (wrong.isError, "quotes" in text_of(wrong)) == (True, True)
    assert (verified.structuredContent or {})["ok"] is False
    assert (neither.isError, text_of(neither)) == (True, "Send either 'thread_id' or 'bundle'.")


async def test_the_same_call_sent_twice_runs_once(served: Server) -> None:
    thread_id = str(uuid4())
    arguments = {**HELLO, "thread_id": thread_id}
    call = {"jsonrpc": "2.0", "id": "once", "method": "tools/call", "params": {"name": "agent", "arguments": arguments}}
    async with httpx.AsyncClient(base_url=served.url, timeout=60) as http:
        headers = {**await began(http, {}), "Accept": "application/json"}
        first, second = [(await http.post("/mcp", json=call, headers=headers)).json() for _ in range(2)]
        assert first == second
        assert len((await http.get(f"/threads/{thread_id}/runs")).json()) == 1


async def test_an_id_that_is_used_for_another_call_is_refused(served: Server) -> None:
    def call(text: str) -> dict[str, Any]:
        params = {"name": "echo", "arguments": {"messages": [{"role": "user", "content": text}]}}
        return {"jsonrpc": "2.0", "id": 50, "method": "tools/call", "params": params}

    async with httpx.AsyncClient(base_url=served.url, timeout=60) as http:
        headers = {**await began(http, {}), "Accept": "application/json"}
        first = (await http.post("/mcp", json=call("AAA"), headers=headers)).json()
        second = (await http.post("/mcp", json=call("BBB"), headers=headers)).json()
    assert first["result"]["content"][0]["text"].startswith("You said: AAA")
    assert second["error"]["code"] == -32600
    assert "id of its own" in second["error"]["message"]


async def test_a_call_that_asks_can_be_sent_again(served: Server) -> None:
    arguments = {**HELLO, "thread_id": str(uuid4())}
    call = {"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": {"name": "careful", "arguments": arguments}}
    async with httpx.AsyncClient(base_url=served.url, timeout=60) as http:
        headers = {**await began(http, {}), "Accept": "application/json"}
        first, second = [(await http.post("/mcp", json=call, headers=headers)).json() for _ in range(2)]
    assert first == second


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_every_version_of_the_protocol_is_spoken(served: Server, version: str) -> None:
    async with httpx.AsyncClient(base_url=served.url, timeout=60) as http:
        headers = await began(http, {}, version)
        assert headers["MCP-Protocol-Version"] == version
        listed = await http.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, headers=headers)
        assert listed.json()["result"]["tools"]


async def test_what_is_not_mcp_is_refused_with_a_sentence(served: Server) -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    async with httpx.AsyncClient(base_url=served.url, timeout=60) as http:
        cases = [
            (400, {"json": ping, "headers": {"MCP-Protocol-Version": "2099-01-01"}}, "speaks the MCP versions"),
            (400, {"json": ping, "headers": {"Mcp-Session-Id": "guessed"}}, "not one of this server"),
            (406, {"json": ping, "headers": {"Accept": "text/html"}}, "Accept"),
            (400, {"json": [ping]}, "one by one"),
            (400, {"json": {"id": 1, "method": "ping"}}, "JSON-RPC 2.0"),
            (400, {"json": {**ping, "id": {}}}, "id of a message"),
            (200, {"json": {**ping, "method": "initialize", "params": {"capabilities": {"elicitation": 5}}}}, "'elicitation'"),
            (
                200,
                {"json": {**ping, "method": "initialize", "params": {"capabilities": {"elicitation": True}}}},
                "'elicitation'",
            ),
            (200, {"json": {**ping, "method": "initialize", "params": {"capabilities": 5}}}, "'capabilities' is an object"),
            (200, {"json": {**ping, "method": "resources/list"}}, "no method 'resources/list'"),
            (200, {"json": {**ping, "method": "tools/call", "params": []}}, "'params' is an object"),
        ]
        for status, request, sentence in cases:
            answer = await http.post("/mcp", **request)
            assert (answer.status_code, sentence in answer.json()["error"]["message"]) == (status, True), answer.text
        assert (await http.get("/mcp")).status_code == 405
        assert (await http.get("/mcp", headers={"Last-Event-ID": "nonsense"})).status_code == 422
        assert (await http.delete("/mcp")).status_code == 204
        started = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert (await http.post("/mcp", json=started)).status_code == 202


async def began(http: httpx.AsyncClient, capabilities: dict[str, Any], version: str = "2025-11-25") -> dict[str, str]:
    """The headers of a session."""
    params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": {"name": "test", "version": "1"}}
    answer = await http.post("/mcp", json={"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
    headers = {"Mcp-Session-Id": answer.headers["mcp-session-id"], "Accept": "application/json, text/event-stream"}
    return {**headers, "MCP-Protocol-Version": answer.json()["result"]["protocolVersion"]}


async def events(stream: httpx.Response) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    """The events of a stream: id and message."""
    name = ""
    async for line in stream.aiter_lines():
        if line.startswith("id: "):
            name = line.removeprefix("id: ")
        elif line.startswith("data: ") and (data := line.removeprefix("data: ")):
            yield name, json.loads(data)
