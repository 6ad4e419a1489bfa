"""Issue 4, "Bad input": each is refused with a problem that helps, or is kept and given back as it came."""

from __future__ import annotations

import json
import uuid
from typing import Any

import httpx
import pytest
from tests.integration.server.conftest import Server

pytestmark = pytest.mark.asyncio(loop_scope="module")
JSON = {"content-type": "application/json"}
HI = {"messages": [{"role": "user", "content": "hi"}]}
LC = {
    "lc": 1,
    "type": "constructor",
    "id": ["langchain_core", "messages", "HumanMessage"],
    "kwargs": {"content": "not to be made", "lc": {"lc": 1, "type": "secret", "id": ["OPENAI_API_KEY"]}},
}
SQL = "'; DROP TABLE threads; --"


def refused(response: httpx.Response, status: int | tuple[int, ...], *words: str) -> None:
    """It is a problem of that status, with a sentence that names these things and nothing of the inside."""
    assert response.status_code in ((status,) if isinstance(status, int) else status), response.text[:500]
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert problem["status"] == response.status_code
    assert problem["detail"].endswith((".", ":", "'", ")")), problem["detail"]
    assert len(problem["detail"].split()) > 3
    for word in words:
        assert word in problem["detail"], problem["detail"]
    for inside in ("Traceback", "site-packages", "sqlite", "/src/"):
        assert inside not in response.text


async def new_thread(server: Server) -> str:
    return str((await server.http.post("/threads", json={})).json()["thread_id"])


@pytest.mark.parametrize("last_event_id", ["x", "1.5", "-2", "1e3", "9" * 30, "0x10", "1;2", SQL])
async def test_a_malformed_event_id_is_refused_on_every_stream(shared_server: Server, last_event_id: str) -> None:
    thread_id = await new_thread(shared_server)
    run = await shared_server.http.post(f"/threads/{thread_id}/runs", json={"assistant_id": "echo", "input": HI})
    for path in (f"/threads/{thread_id}/stream", f"/threads/{thread_id}/runs/{run.json()['run_id']}/stream"):
        response = await shared_server.http.get(path, headers={"Last-Event-ID": last_event_id})
        refused(response, 422, "Last-Event-ID")


@pytest.mark.parametrize("assistant_id", ["nobody", str(uuid.UUID(int=7)), SQL, "../echo", "echo\u0000", "x" * 200])
@pytest.mark.parametrize("way", ["/runs", "/runs/wait", "/runs/stream"])
async def test_an_unknown_assistant_is_named(shared_server: Server, assistant_id: str, way: str) -> None:
    for path in (way, f"/threads/{await new_thread(shared_server)}{way}"):
        response = await shared_server.http.post(path, json={"assistant_id": assistant_id, "input": HI})
        refused(response, (404, 422))


@pytest.mark.parametrize("resume", ["yes", {"0" * 32: "yes"}, [], 0])
async def test_a_resume_of_nothing_is_a_conflict(shared_server: Server, resume: Any) -> None:
    thread_id = await new_thread(shared_server)
    body = {"assistant_id": "asks", "command": {"resume": resume}}
    refused(await shared_server.http.post(f"/threads/{thread_id}/runs/wait", json=body), 409)
    await shared_server.http.post(f"/threads/{thread_id}/runs/wait", json={"assistant_id": "echo", "input": HI})
    refused(await shared_server.http.post(f"/threads/{thread_id}/runs/wait", json=body), 409)


@pytest.mark.parametrize(
    "path",
    ["/threads", "/threads/search", "/assistants", "/runs", "/runs/wait", "/runs/stream", "/runs/batch", "/store/items/search"],
)
async def test_ten_megabytes_are_too_much_everywhere(shared_server: Server, path: str) -> None:
    body = b'{"assistant_id": "echo", "metadata": {"a": "' + b"x" * 10_000_000 + b'"}}'
    refused(await shared_server.http.post(path, content=body, headers=JSON), 413, "larger")


@pytest.mark.parametrize("brackets", [(b"[", b"]"), (b'{"a":', b"}")])
async def test_a_thousand_levels_are_too_deep_everywhere(shared_server: Server, brackets: tuple[bytes, bytes]) -> None:
    opening, closing = brackets
    deep = opening * 1000 + b"1" + closing * 1000
    bodies = {
        "/threads": b'{"metadata": {"a": ' + deep + b"}}",
        "/runs/wait": b'{"assistant_id": "echo", "input": {"data": ' + deep + b"}}",
        "/runs/batch": b'[{"assistant_id": "echo", "input": ' + deep + b"}]",
        "/threads/search": deep,
    }
    for path, body in bodies.items():
        refused(await shared_server.http.post(path, content=body, headers=JSON), 422, "deep")
    item = b'{"namespace": ["a"], "key": "k", "value": {"a": ' + deep + b"}}"
    refused(await shared_server.http.put("/store/items", content=item, headers=JSON), 422, "deep")


async def test_an_id_of_another_thread_is_not_found(shared_server: Server) -> None:
    """Foreign ids: the run exists, but not there."""
    mine, other = await new_thread(shared_server), await new_thread(shared_server)
    run = (await shared_server.http.post(f"/threads/{mine}/runs", json={"assistant_id": "echo", "input": HI})).json()["run_id"]
    await shared_server.http.get(f"/threads/{mine}/runs/{run}/join")
    place = f"/threads/{other}/runs/{run}"
    for method, path in [("GET", ""), ("DELETE", ""), ("GET", "/join"), ("GET", "/stream"), ("POST", "/cancel")]:
        refused(await shared_server.http.request(method, place + path), 404, run)
    checkpoint = (await shared_server.http.get(f"/threads/{mine}/state")).json()["checkpoint"]["checkpoint_id"]
    refused(await shared_server.http.get(f"/threads/{other}/state/{checkpoint}"), 404, checkpoint)
    body = {"assistant_id": "echo", "input": HI, "checkpoint": {"checkpoint_id": checkpoint, "checkpoint_ns": ""}}
    refused(await shared_server.http.post(f"/threads/{other}/runs/wait", json=body), (404, 422), checkpoint)


async def test_constructor_dicts_are_data_and_come_back_as_they_were(shared_server: Server) -> None:
    http = shared_server.http
    made = await http.post("/threads", json={"metadata": {"note": LC}})
    thread_id = made.json()["thread_id"]
    assert made.json()["metadata"]["note"] == LC
    run = {"assistant_id": "echo", "input": {"data": LC}, "metadata": {"note": LC}, "config": {"configurable": {"note": LC}}}
    assert (await http.post(f"/threads/{thread_id}/runs/wait", json=run)).json()["data"] == LC
    stored = (await http.get(f"/threads/{thread_id}/state")).json()
    assert stored["values"]["data"] == LC
    assert (await http.get(f"/threads/{thread_id}")).json()["values"]["data"] == LC
    assert (await http.get(f"/threads/{thread_id}/runs")).json()[0]["metadata"]["note"] == LC
    streamed = await http.post(f"/threads/{thread_id}/runs/stream", json={**run, "stream_mode": ["values"]})
    wanted = json.dumps(LC, separators=(",", ":"))
    assert wanted in streamed.text, "also byte by byte"
    await http.post(f"/threads/{thread_id}/state", json={"values": {"data": [LC]}})
    assert (await http.get(f"/threads/{thread_id}/state")).json()["values"]["data"] == [LC]

    await http.put("/store/items", json={"namespace": ["lc"], "key": "k", "value": LC})
    item = await http.get("/store/items", params={"namespace": "lc", "key": "k"})
    assert wanted in item.text
    assistant = await http.post("/assistants", json={"graph_id": "echo", "metadata": LC, "config": {"configurable": {"a": LC}}})
    kept = (await http.get(f"/assistants/{assistant.json()['assistant_id']}")).json()
    assert (kept["metadata"], kept["config"]["configurable"]["a"]) == (LC, LC)
    asked = {"assistant_id": "asks", "input": HI}
    await http.post(f"/threads/{thread_id}/runs/wait", json=asked)
    told = await http.post(f"/threads/{thread_id}/runs/wait", json={"assistant_id": "asks", "command": {"resume": LC}})
    assert told.json()["log"][-2] == f"told {LC}"


@pytest.mark.parametrize(
    "value", ["NaN", "Infinity", "-Infinity", "1e999", "[1,]", "'a'", "01", '"\\ud800"', '"\\q"', '"\x01"']
)
async def test_what_is_no_json_is_refused(shared_server: Server, value: str) -> None:
    body = f'{{"metadata": {{"a": {value}}}}}'.encode()
    refused(await shared_server.http.post("/threads", content=body, headers=JSON), (400, 422))


@pytest.mark.parametrize("value", [b'"\xff\xfe"', b'"\xed\xa0\x80"', b'"a\x00b"'])
async def test_text_that_is_no_utf8_is_refused(shared_server: Server, value: bytes) -> None:
    body = b'{"metadata": {"a": ' + value + b"}}"
    refused(await shared_server.http.post("/threads", content=body, headers=JSON), 400)


@pytest.mark.parametrize("number", [2**53 + 1, 2**63, 2**64 - 1, -(2**63), 0.1234567890123456789])
async def test_a_large_number_comes_back_as_it_was_sent(shared_server: Server, number: float) -> None:
    made = await shared_server.http.post("/threads", json={"metadata": {"n": number}})
    assert made.json()["metadata"]["n"] == number
    found = await shared_server.http.post("/threads/search", json={"metadata": {"n": number}})
    assert made.json()["thread_id"] in [each["thread_id"] for each in found.json()]
    run = await shared_server.http.post("/runs/wait", json={"assistant_id": "echo", "input": {"data": number}})
    assert run.json()["data"] == number


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1, 10**30, 10**400, 10**4200])
async def test_an_integer_beyond_64_bits_is_refused_and_not_rounded(shared_server: Server, number: int) -> None:
    for path, place, body in (
        ("/threads", "body.metadata.n", {"metadata": {"n": number}}),
        ("/runs/wait", "body.input.data.0", {"assistant_id": "echo", "input": {"data": [number]}}),
        ("/store/items/search", "body.filter.n", {"namespace_prefix": ["a"], "filter": {"n": number}}),
    ):
        refused(await shared_server.http.post(path, json=body), 422, f"'{place}'", "64 bits", "Send it as text")
    as_text = await shared_server.http.post("/threads", json={"metadata": {"n": str(number)}})
    assert as_text.json()["metadata"]["n"] == str(number)


@pytest.mark.parametrize("field", ["limit", "offset"])
@pytest.mark.parametrize("number", [-1, -(10**20), 10**20, 1.5, "10"])
async def test_a_limit_is_a_whole_number_that_makes_sense(shared_server: Server, field: str, number: Any) -> None:
    for path, rest in {
        "/threads/search": {},
        "/assistants/search": {},
        "/store/items/search": {"namespace_prefix": ["a"]},
        "/store/namespaces": {},
    }.items():
        refused(await shared_server.http.post(path, json={**rest, field: number}), 422, field)


@pytest.mark.parametrize("kind", ["text/plain", "text/html", "multipart/form-data", "application/xml", "application/jsonx"])
async def test_another_content_type_is_refused(shared_server: Server, kind: str) -> None:
    for path in ("/threads", "/runs/stream", "/store/items/search"):
        refused(await shared_server.http.post(path, content=b"{}", headers={"content-type": kind}), 415, "application/json")


async def test_text_that_looks_like_sql_is_only_text(shared_server: Server) -> None:
    http = shared_server.http
    thread_id = (await http.post("/threads", json={"metadata": {SQL: SQL}})).json()["thread_id"]
    found = (await http.post("/threads/search", json={"metadata": {SQL: SQL}})).json()
    assert [each["thread_id"] for each in found] == [thread_id]
    assert (await http.post("/threads/search", json={"metadata": {SQL: "' OR 1=1 --"}})).json() == []
    for body in ({"sort_by": SQL}, {"status": SQL}, {"ids": [SQL]}, {"select": [SQL]}):
        refused(await http.post("/threads/search", json=body), 422)
    await http.put("/store/items", json={"namespace": ["s"], "key": SQL, "value": {SQL: SQL}})
    items = (await http.post("/store/items/search", json={"namespace_prefix": ["s"], "filter": {SQL: SQL}})).json()["items"]
    assert [each["key"] for each in items] == [SQL]


ODD_FILTERS = [
    *({"a": number} for number in (2**63, 2**64 - 1, -(2**63), 1e308, 1e30)),
    *(
        {key: 1}
        for key in ("", "a\0b", "[", "]", "$", "#", "\\", '"', "'", "a.b", "a[0]", "*", "%", "_", "é", "\U0001f4a7", "x" * 5000)
    ),
    *({"a": value} for value in (None, True, [], {}, [[1]], {"b": {"c": [2**63]}}, "\0", "x" * 5000)),
    {str(n): n for n in range(2000)},
    {"$gt": 1},
    {"a": {"$gt": 1}},
    {"a": {"$nonsense": 2**63}},
    {"a": {"$eq": None, "b": 1}},
]


@pytest.mark.parametrize("odd", ODD_FILTERS, ids=lambda odd: repr(odd)[:30])
async def test_an_odd_filter_finds_or_is_refused_but_breaks_nothing(shared_server: Server, odd: dict[str, Any]) -> None:
    http = shared_server.http
    thread_id = await new_thread(shared_server)
    kept = await http.put("/store/items", json={"namespace": ["odd"], "key": "k", "value": odd})
    assert kept.status_code == 204, kept.text
    for path, body in {
        f"/threads/{thread_id}/runs/wait": {"assistant_id": "echo", "input": {**HI, "data": odd}, "metadata": odd},
        "/threads": {"metadata": odd},
        "/threads/search": {"metadata": odd, "values": odd},
        "/threads/count": {"metadata": odd, "values": odd},
        f"/threads/{thread_id}/history": {"metadata": odd},
        "/assistants": {"graph_id": "echo", "metadata": odd},
        "/assistants/search": {"metadata": odd},
        "/assistants/count": {"metadata": odd},
        "/assistants/echo/versions": {"metadata": odd},
        "/store/items/search": {"namespace_prefix": ["odd"], "filter": odd},
    }.items():
        response = await http.post(path, json=body)
        if response.status_code != 200:
            refused(response, 422)
