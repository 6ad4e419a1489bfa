"""What a request may bring and where it may come from: hosts, origins, sizes, depth, kinds, streams."""

from __future__ import annotations

import asyncio
import json
import tracemalloc
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.clock import SystemClock
from stepwell.database.shared_counts import ProcessCounts
from stepwell.errors import LimitReachedError
from stepwell.server.limits.json_bounds import (
    may_hold_long_integer,
    measure_json,
    place_of_long_integer,
    place_of_many_messages,
)
from stepwell.server.limits.receiving import Pace
from stepwell.server.limits.streams import OpenStreams

JSON = {"content-type": "application/json"}
FORM = {"content-type": "application/x-www-form-urlencoded"}


def depth_of(value) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth_of, inner), default=0)


def items_of(value) -> int:
    """Values, a container that is empty or not counting as one more than what is in it, as commas and brackets show them."""
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(len(inner) - 1, 0) + sum(map(items_of, inner))


texts = st.text(st.sampled_from('[]{}",\\ab\n'))
values = st.recursive(
    st.none() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=40,
)


@given(values, st.booleans())
def test_depth_is_measured_as_a_parser_would(value, ascii_only):
    wrapped = [[[[[[[[[[[value]]]]]]]]]]]
    body = json.dumps(wrapped, ensure_ascii=ascii_only).encode()
    assert measure_json(body) == (depth_of(wrapped), items_of(wrapped))


@pytest.mark.parametrize("body", [b"]" * 50 + b"[" * 20, b'"' + b"[" * 90, b'["\\', b"{" * 20, b'"\\"[[[[[[[[[[[[['])
def test_what_is_no_json_is_measured_without_failing(body):
    assert min(measure_json(body)) >= -50


@pytest.mark.parametrize("value", ["0", "18446744073709551616"], ids=["messages", "integers"])
def test_a_long_key_is_not_copied_for_each_value_below_it(value):
    body = b'{"%s": [%s]}' % (b"k" * 100_000, b",".join([b"0"] * 1_000 + [value.encode()]))
    tracemalloc.start()
    try:
        place_of_many_messages(body, 1_000), place_of_long_integer(body)
        assert tracemalloc.get_traced_memory()[1] < 20 * len(body)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("body", [{"update": [["messages", [1, 2, 3]]]}, {"input": [["a", 1], ["messages", [1, 2, 3]]]}])
def test_messages_in_a_list_of_pairs_are_counted(body):
    assert place_of_many_messages(json.dumps(body).encode(), 2).endswith(".messages")
    assert place_of_many_messages(json.dumps(body).encode(), 3) is None


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**63), 2**64).map(str))
def test_an_integer_is_too_long_when_64_bits_do_not_hold_it(value):
    too_long = isinstance(value, int) and not -(2**63) <= value < 2**64
    body = json.dumps({"a": [1, {"b": value}]}).encode()
    assert place_of_long_integer(body) == ("body.a.1.b" if too_long else None)
    assert may_hold_long_integer(body) or not too_long


def test_what_is_no_json_has_no_integer():
    assert place_of_long_integer(b"[18446744073709551616") is None


async def post(site, body: bytes, headers: dict[str, str] = JSON, path: str = "/echo") -> httpx.Response:
    async with site.client() as client:
        return await client.post(path, content=body, headers=headers)


async def test_a_thousand_brackets_are_refused_before_anything_parses_them(site_of):
    answer = await post(site_of(), b"[" * 1000 + b"]" * 1000)
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    assert "100 levels deep" in answer.json()["detail"]
    assert (await post(site_of(), b"[" * 100 + b"]" * 100)).status_code == 200


async def test_ten_megabytes_are_refused(site_of):
    answer = await post(site_of(), b'"' + b"x" * 10_000_000 + b'"')
    assert (answer.status_code, answer.headers["content-type"]) == (413, "application/problem+json")


async def test_a_body_that_does_not_say_its_length_is_counted(site_of):
    async def chunks():
        yield b'"'
        for _ in range(10):
            yield b"x" * 1_000_000
        yield b'"'

    async with site_of().client() as client:
        answer = await client.post("/echo", content=chunks(), headers=JSON)
    assert answer.status_code == 413


async def test_a_body_up_to_the_limit_arrives_whole(site_of):
    size = 8 * 1024 * 1024
    answer = await post(site_of(), b'"' + b"x" * (size - 2) + b'"')
    assert answer.json() == {"bytes": size}


@pytest.mark.parametrize("kind", ["text/plain", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded", ""])
async def test_only_json_is_taken(site_of, kind):
    assert (await post(site_of(), b"{}", {"content-type": kind} if kind else {})).status_code == 415
    assert (await post(site_of(), b"", {"content-type": kind} if kind else {})).status_code == 200


async def test_json_in_another_encoding_cannot_hide_its_depth(site_of):
    assert (await post(site_of(), ("[" * 1000).encode("utf-16"))).status_code == 400


def messages(count: int) -> bytes:
    return json.dumps({"input": {"messages": [{"role": "user", "content": "x, y"}] * count}}).encode()


async def test_an_input_of_very_many_messages_is_refused_by_number(site_of):
    assert (await post(site_of(), messages(10_000))).status_code == 200
    answer = await post(site_of(), messages(10_001))
    assert (answer.status_code, answer.json()["type"]) == (413, "urn:stepwell:problem:too-many-messages")
    assert "input.messages" in answer.json()["detail"]
    assert "10000" in answer.json()["detail"]
    assert (await post(site_of(json_messages_limit=20), messages(21))).status_code == 413


async def test_texts_alone_are_messages_too(site_of):
    answer = await post(site_of(), json.dumps({"input": {"messages": ["hi"] * 10_001}}).encode())
    assert answer.status_code == 413


async def test_a_long_list_of_numbers_is_not_taken_for_messages(site_of):
    assert (await post(site_of(), json.dumps({"input": {"vector": [0.5] * 50_000}}).encode())).status_code == 200


async def test_a_body_of_very_many_values_is_refused(site_of):
    answer = await post(site_of(), json.dumps({"input": {"rows": [[1]] * 150_000}}).encode())
    assert (answer.status_code, answer.json()["type"]) == (413, "urn:stepwell:problem:too-many-values")
    assert "200000" in answer.json()["detail"]
    assert (await post(site_of(json_items_limit=1000), json.dumps([0] * 2000).encode())).status_code == 413


async def test_commas_in_a_text_are_no_values(site_of):
    assert (await post(site_of(), json.dumps([",[{" * 400_000]).encode())).status_code == 200


@dataclass
class Sender:
    """A connection that sends the head of a request, and its body piece by piece when the test says so."""

    site: Any
    path: str = "/echo"
    headers: dict[str, str] = field(default_factory=dict)
    pieces: asyncio.Queue[bytes | None] = field(default_factory=asyncio.Queue)
    asked: int = 0
    answer: list[Any] = field(default_factory=list)

    async def request(self) -> tuple[int, dict[str, Any]]:
        """Status and JSON of the answer. The body goes on until `None` is put into `pieces`."""
        async with asyncio.timeout(60):
            await self.site.app(self.scope(), self._receive, self._send)
        kind = dict(self.answer[0]["headers"]).get(b"content-type", b"")
        body = b"".join(message.get("body", b"") for message in self.answer)
        return self.answer[0]["status"], json.loads(body) if b"json" in kind else {}

    def scope(self) -> dict[str, Any]:
        sent = {"host": "localhost", "content-type": "application/json", "transfer-encoding": "chunked", **self.headers}
        return {
            "type": "http", "asgi": {"version": "3.0", "spec_version": "2.4"}, "http_version": "1.1", "method": "POST",
            "path": self.path, "raw_path": self.path.encode(), "query_string": b"", "root_path": "", "scheme": "http",
            "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
            "client": ("192.0.2.7", 1), "server": ("127.0.0.1", 8123),
        }  # fmt: skip

    async def _receive(self):
        self.asked += 1
        piece = await self.pieces.get()
        return {"type": "http.request", "body": piece or b"", "more_body": piece is not None}

    async def _send(self, message):
        self.answer.append(message)


@pytest.mark.parametrize("headers", [{}, {"x-api-key": "sw_wrong"}, {"cookie": "stepwell_session=made-up"}])
async def test_nothing_of_a_body_is_received_before_its_sender_is_known(asking, headers):
    sender = Sender(asking, headers=headers)
    status, told = await sender.request()
    assert (status, told["type"]) == (401, "urn:stepwell:problem:not-signed-in")
    assert sender.asked == 0


async def test_a_known_sender_is_asked_for_its_credential_once(asking):
    key = await asking.new_key()
    sender = Sender(asking, headers={"x-api-key": key.text})
    sender.pieces.put_nowait(b'"x"')
    sender.pieces.put_nowait(None)
    looked_up = []
    find = asking.records.find_key

    async def counting(key_id):
        looked_up.append(key_id)
        return await find(key_id)

    asking.records.find_key = counting
    assert await sender.request() == (200, {"bytes": 3})
    assert len(looked_up) == 1


async def test_the_form_for_signing_in_takes_no_large_body(asking):
    async with asking.client() as client:
        answer = await client.post("/login", content=b"key=" + b"x" * 70_000, headers=FORM)
    assert answer.status_code == 413


async def test_unknown_senders_share_one_small_budget(asking):
    """However many connections hold on to the form for signing in."""
    senders = [Sender(asking, "/login", FORM) for _ in range(80)]
    answers = [asyncio.create_task(sender.request()) for sender in senders]
    for sender in senders:
        sender.pieces.put_nowait(b"x" * 60_000)
    await asyncio.wait(answers, return_when=asyncio.FIRST_COMPLETED, timeout=60)
    refused = [sender.answer[0]["status"] for sender in senders if sender.answer]
    for sender in senders:
        sender.pieces.put_nowait(None)
    await asyncio.gather(*answers)
    assert set(refused) == {503}
    assert len(refused) < 80
    fresh = Sender(asking, "/login", FORM)
    fresh.pieces.put_nowait(b"key=sw_wrong")
    fresh.pieces.put_nowait(None)
    await fresh.request()
    assert fresh.answer[0]["status"] in (401, 429), "there is room again"


async def test_one_sender_cannot_use_up_what_all_may_send_at_once(site_of):
    site = site_of(always_ask=True, body_limit_bytes=100_000, bodies_limit_bytes=400_000)
    anna, bert = await site.new_key("anna"), await site.new_key("bert")
    many = [Sender(site, headers={"x-api-key": anna.text}) for _ in range(3)]
    answers = [asyncio.create_task(sender.request()) for sender in many]
    for sender in many[:2]:
        sender.pieces.put_nowait(b'"' + b"x" * 90_000)
    while any(sender.asked < 2 for sender in many[:2]):  # noqa: ASYNC110 - a layer has no event for it
        await asyncio.sleep(0)
    many[2].pieces.put_nowait(b'"' + b"x" * 90_000)
    status, told = await answers[2]
    other = Sender(site, headers={"x-api-key": bert.text})
    other.pieces.put_nowait(b'"' + b"x" * 90_000 + b'"')
    other.pieces.put_nowait(None)
    assert (await other.request())[0] == 200
    for sender in many[:2]:
        sender.pieces.put_nowait(b'"')
        sender.pieces.put_nowait(None)
    assert (status, told["type"]) == (429, "urn:stepwell:problem:limit-reached")
    assert [each[0] for each in await asyncio.gather(*answers[:2])] == [200, 200]


async def test_all_senders_together_cannot_send_more_at_once_than_the_server_takes(site_of):
    site = site_of(always_ask=True, body_limit_bytes=100_000, bodies_limit_bytes=150_000)
    keys = [await site.new_key(name) for name in ("anna", "bert", "carl")]
    senders = [Sender(site, headers={"x-api-key": key.text}) for key in keys]
    answers = [asyncio.create_task(sender.request()) for sender in senders]
    for sender in senders:
        sender.pieces.put_nowait(b'"' + b"x" * 60_000)
    done, _ = await asyncio.wait(answers, return_when=asyncio.FIRST_COMPLETED, timeout=60)
    (status, told) = next(iter(done)).result()
    for sender in senders:
        sender.pieces.put_nowait(b'"')
        sender.pieces.put_nowait(None)
    statuses = sorted(each[0] for each in await asyncio.gather(*answers))
    assert (status, told["type"]) == (503, "urn:stepwell:problem:busy")
    assert statuses == [200, 200, 503]


async def test_a_body_that_comes_too_slowly_is_given_up():
    """Byte by byte it may not hold on for ever."""
    clock = [0.0]
    pace = Pace(start_s=10.0, bytes_per_s=1000, now=lambda: clock[0])
    assert pace.left_s(received=0) == 10
    clock[0] = 9.0
    assert pace.left_s(received=9) == pytest.approx(1.009)
    clock[0] = 60.0
    assert pace.left_s(received=100_000) == 50


async def test_a_client_that_goes_away_while_sending_reaches_no_route(site_of):
    reached = []
    site = site_of()

    @site.app.post("/reached")
    async def reach():
        reached.append("route")

    async def receive():
        return {"type": "http.disconnect"}

    async def send(message):
        reached.append(message)

    await site.app(Sender(site, "/reached").scope(), receive, send)
    assert reached == []


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8123", "127.0.0.1.nip.io", "localhost:x", "localhost@evil.example", ""]
)
async def test_another_host_name_is_refused(site_of, host):
    async with site_of().client() as client:
        answer = await client.get("/whoami", headers={"host": host})
    assert (answer.status_code, answer.json()["type"]) == (400, "urn:stepwell:problem:wrong-host")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8123", "127.0.0.1:1", "[::1]", "[::1]:8123"])
async def test_this_machines_names_are_answered(site_of, host):
    async with site_of().client() as client:
        assert (await client.get("/whoami", headers={"host": host})).status_code == 200


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost.evil.example", "http://127.0.0.1:8123.evil.example"]
)
async def test_another_sites_page_changes_nothing_and_reads_nothing(site_of, origin):
    async with site_of().client() as client:
        changed = await client.post("/echo", content=b"{}", headers={**JSON, "origin": origin})
        read = await client.get("/whoami", headers={"origin": origin})
        asked = await client.options("/echo", headers={"origin": origin, "access-control-request-method": "POST"})
    assert changed.status_code == 403
    assert "access-control-allow-origin" not in read.headers
    assert "access-control-allow-origin" not in asked.headers


CROSS_SITE = {"sec-fetch-site": "cross-site"}
NAVIGATION = {**CROSS_SITE, "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}


@pytest.mark.parametrize(
    "sent",
    [
        {**CROSS_SITE, "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"},
        {**CROSS_SITE, "sec-fetch-mode": "cors", "origin": "https://evil.example"},
        {**NAVIGATION, "sec-fetch-dest": "iframe"},
        NAVIGATION,
    ],
)
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "DELETE"])
async def test_no_method_of_the_api_is_open_to_a_page_of_another_site(site_of, method, sent):
    async with site_of().client() as client:
        assert (await client.request(method, "/whoami", headers=sent)).status_code == 403


async def test_a_link_on_another_site_opens_the_page_but_cannot_embed_it(asking):
    async with asking.client() as client:
        opened = await client.get("/login", headers={**NAVIGATION, "accept": "text/html"})
        embedded = await client.get("/login", headers={**NAVIGATION, "sec-fetch-dest": "iframe"})
        posted = await client.post("/login", data={"key": "sw_x"}, headers=NAVIGATION)
    assert (opened.status_code, embedded.status_code, posted.status_code) == (200, 403, 403)


@pytest.mark.parametrize("path", ["/t/1", "/new/research", "/inbox", "/"])
async def test_a_link_on_another_site_may_lead_to_any_address_of_the_page(site_of, path):
    async with site_of().client() as client:
        assert (await client.get(path, headers={**NAVIGATION, "accept": "text/html"})).status_code == 404  # no page in this app


async def test_cross_site_reads_are_answered_for_allowed_pages(site_of):
    site = site_of(host="0.0.0.0", insecure=True, cors_origins=("https://app.example",))
    async with site.client() as client:
        listed = await client.get("/whoami", headers={**CROSS_SITE, "sec-fetch-mode": "cors", "origin": "https://app.example"})
    async with site_of().client() as client:
        local = await client.get("/whoami", headers={**CROSS_SITE, "origin": "http://127.0.0.1:3000"})
        typed = await client.get("/whoami", headers={"sec-fetch-site": "none", "sec-fetch-mode": "navigate"})
    assert [answer.status_code for answer in (listed, local, typed)] == [200, 200, 200]


async def test_this_machines_pages_may_use_a_server_for_this_machine(site_of):
    origin = "http://localhost:3000"
    wanted = "x-api-key,last-event-id,content-type,authorization"
    asks = {"origin": origin, "access-control-request-method": "POST", "access-control-request-headers": wanted}
    async with site_of().client() as client:
        asked = await client.options("/echo", headers=asks)
        answer = await client.post("/echo", content=b"{}", headers={**JSON, "origin": origin})
    assert asked.status_code == 200
    assert answer.headers["access-control-allow-origin"] == origin
    exposed = {name.strip().lower() for name in answer.headers["access-control-expose-headers"].split(",")}
    assert {"content-location", "location", "x-pagination-total", "x-pagination-next"} <= exposed
    assert "access-control-allow-credentials" not in answer.headers


async def test_a_reachable_server_allows_only_listed_pages(site_of):
    site = site_of(host="0.0.0.0", insecure=True, cors_origins=("https://app.example",))
    async with site.client() as client:
        local = await client.post("/echo", content=b"{}", headers={**JSON, "origin": "http://localhost:3000"})
        listed = await client.post("/echo", content=b"{}", headers={**JSON, "origin": "https://app.example"})
    assert (local.status_code, listed.status_code) == (403, 200)


async def test_refusals_carry_the_headers_that_browsers_need(site_of):
    async with site_of().client() as client:
        answer = await client.post("/echo", content=b"x", headers={"origin": "http://localhost:3000"})
    assert answer.status_code == 415
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["access-control-allow-origin"] == "http://localhost:3000"


async def test_one_stream_too_many_is_refused_and_an_ended_one_makes_room(site_of):
    site = site_of(always_ask=True, max_streams=1)
    key = await site.new_key()
    async with site.client(headers={"x-api-key": key.text}) as client:
        for _ in range(3):
            assert (await client.get("/stream")).text == "open: 1"
        give_back = await site.app.state.open_streams.take("anna")
        refused = await client.get("/stream")
        give_back()
        assert (await client.get("/stream")).status_code == 200
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")


async def test_a_stream_is_given_back_once():
    streams = OpenStreams(2, ProcessCounts(SystemClock()))
    first = await streams.take("anna")
    await streams.take("anna")
    first()
    first()
    assert streams.count("anna") == 1
    await streams.take("anna")
    with pytest.raises(LimitReachedError):
        await streams.take("anna")
    await streams.take("bert")


async def test_a_stream_passes_the_layers_piece_by_piece(site_of):
    site = site_of()
    gate = asyncio.Event()
    seen: list[bytes] = []

    @site.app.get("/slow")
    async def slow():
        from starlette.responses import StreamingResponse

        async def pieces():
            yield b"first"
            await gate.wait()
            yield b"second"

        return StreamingResponse(pieces(), media_type="text/event-stream")

    async def receive():
        await asyncio.Event().wait()

    async def send(message):
        if message.get("body"):
            seen.append(message["body"])
            if seen == [b"first"]:
                gate.set()  # would never come if a layer held pieces back

    scope = {
        "type": "http", "asgi": {"version": "3.0", "spec_version": "2.4"}, "http_version": "1.1", "method": "GET", "path": "/slow",
        "raw_path": b"/slow", "query_string": b"", "root_path": "", "scheme": "http", "headers": [(b"host", b"localhost")],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8123),
    }  # fmt: skip
    await asyncio.wait_for(site.app(scope, receive, send), 60)
    assert seen == [b"first", b"second"]
