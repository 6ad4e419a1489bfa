"""What a request may bring and where it may come from: hosts, origins, sizes, depth, kinds, streams."""

from __future__ import annotations

import asyncio
import json

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.clock import SystemClock
from stepwell.errors import LimitReachedError
from stepwell.runs.shared_counts import ProcessCounts
from stepwell.server.limits.bodies import BodyLimits, json_depth, may_hold_long_integer, place_of_long_integer
from stepwell.server.limits.streams import OpenStreams

JSON = {"content-type": "application/json"}


def depth_of(value) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth_of, inner), default=0)


texts = st.text(st.sampled_from('[]{}"\\ab\n'))
values = st.recursive(
    st.none() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=40,
)


@given(values, st.booleans())
def test_depth_is_measured_as_a_parser_would(value, ascii_only):
    wrapped = [[[[[[[[[[[value]]]]]]]]]]]
    body = json.dumps(wrapped, ensure_ascii=ascii_only).encode()
    assert json_depth(body) == depth_of(wrapped)


@pytest.mark.parametrize("body", [b"]" * 50 + b"[" * 20, b'"' + b"[" * 90, b'["\\', b"{" * 20, b'"\\"[[[[[[[[[[[[['])
def test_what_is_no_json_is_measured_without_failing(body):
    assert json_depth(body) >= -50


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
    assert "100 deep" in answer.json()["detail"]
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


async def test_a_client_that_goes_away_while_sending_reaches_no_route():
    reached = []

    async def app(scope, receive, send):
        reached.append(scope)

    async def receive():
        return {"type": "http.disconnect"}

    async def send(message):
        reached.append(message)

    scope = {"type": "http", "path": "/", "headers": [(b"content-length", b"5")]}
    await BodyLimits(app, most_bytes=10, most_depth=10)(scope, receive, send)
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
    await asyncio.wait_for(site.app(scope, receive, send), 5)
    assert seen == [b"first", b"second"]
