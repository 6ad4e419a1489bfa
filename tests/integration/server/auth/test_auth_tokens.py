"""Tokens of a real identity provider on loopback: what counts, and every way in which one does not."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from tests.integration.server.conftest import serve

from stepwell.server import sse
from stepwell.server.settings import ServerSettings
from stepwell.settings import Settings


async def ask(browser, token: str):
    return await browser.get("/whoami", headers={"authorization": f"Bearer {token}"})


def refused(answer) -> bool:
    challenge = answer.headers.get("www-authenticate", "")
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status_code == 401 and 'error="invalid_token"' in challenge


async def test_a_user_is_the_subject_of_its_issuer(browser, provider):
    answer = await ask(browser, provider.token())
    assert answer.json() == {"user": f"{provider.issuer}|anna", "operator": False, "via": "jwt"}


@pytest.mark.parametrize("roles", [["other", "stepwell-operator"], "stepwell-operator"])
async def test_an_operator_is_told_by_the_configured_claim(browser, provider, roles):
    assert (await ask(browser, provider.token(roles=roles))).json()["operator"] is True
    assert (await ask(browser, provider.token(roles=["stepwell-operators", True]))).json()["operator"] is False


async def test_workspaces_are_told_by_the_configured_claims(browser, provider):
    """W9: roots come from the token, in their normal form; what is no list of roots opens nothing."""

    async def opened(**claims):
        return await browser.get("/workspaces", headers={"authorization": f"Bearer {provider.token(**claims)}"})

    assert (await opened()).json() == {"roots": [], "read_roots": []}
    told = await opened(workspaces=["acme/main", "/acme/main/"], read_workspaces="/acme/shared/")
    assert told.json() == {"roots": ["/acme/main/"], "read_roots": ["/acme/shared/"]}
    for wrong in (["/"], [".."], [""], [7], {"a": "/acme/"}, 7, ["/acme/../t10/"]):
        assert refused(await opened(workspaces=wrong)), wrong


async def test_keys_on_curves_count_too(browser, provider):
    provider.add_key("curve", "EC")
    assert (await ask(browser, provider.token(kid="curve", algorithm="ES256"))).status_code == 200


@pytest.mark.parametrize(
    "changes",
    [
        {"aud": "somebody-else"},
        {"aud": None},
        {"iss": "https://evil.example"},
        {"iss": None},
        {"exp": 1},
        {"exp": None},
        {"exp": "soon"},
        {"nbf": 4_000_000_000},
        {"sub": None},
        {"sub": ""},
        {"sub": 5},
        {"sub": "x" * 300},
    ],
)
async def test_a_token_with_a_wrong_claim_is_refused(browser, provider, changes):
    assert refused(await ask(browser, provider.token(**changes)))


async def test_times_have_a_small_leeway(browser, provider, clock):
    now = clock.now().timestamp()
    assert (await ask(browser, provider.token(exp=int(now) - 20, nbf=int(now) + 20))).status_code == 200
    assert refused(await ask(browser, provider.token(exp=int(now) - 40)))
    assert refused(await ask(browser, provider.token(nbf=int(now) + 40)))


async def test_a_token_without_a_signature_is_refused(browser, provider):
    head, body, _ = provider.token().split(".")
    nothing = base64.urlsafe_b64encode(json.dumps({"alg": "none", "kid": "first"}).encode()).decode().rstrip("=")
    for forged in (f"{nothing}.{body}.", f"{head}.{body}.", f"{head}.{body}", "a.b.c", "x" * 20_000, "eyJ"):
        assert refused(await ask(browser, forged))


async def test_the_public_key_is_no_shared_secret(browser, provider):
    public = provider.keys["first"].public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    head = base64.urlsafe_b64encode(json.dumps({"alg": "HS256", "kid": "first"}).encode()).rstrip(b"=")
    body = provider.token().split(".")[1].encode()
    algorithm = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)
    signature = base64.urlsafe_b64encode(algorithm.sign(head + b"." + body, public)).rstrip(b"=")
    assert refused(await ask(browser, b".".join((head, body, signature)).decode()))


async def test_another_algorithm_than_the_listed_ones_is_refused(browser, provider):
    assert refused(await ask(browser, provider.token(algorithm="RS512")))
    assert refused(await ask(browser, provider.token(algorithm="PS256")))


async def test_somebody_elses_key_under_a_listed_name_is_refused(browser, provider):
    other = provider.spare.pop()
    assert refused(await ask(browser, provider.token(key=other)))
    assert refused(await ask(browser, provider.token(key=other, kid="unlisted")))


async def test_a_token_without_a_key_name_counts_only_where_there_is_nothing_to_choose(browser, provider, clock):
    assert (await ask(browser, provider.token(kid=None))).status_code == 200
    provider.add_key("second")
    clock.move(601)
    assert refused(await ask(browser, provider.token(kid=None)))


async def test_a_new_key_of_the_provider_is_fetched_when_it_is_named(browser, provider, clock):
    assert (await ask(browser, provider.token())).status_code == 200
    provider.add_key("second")
    clock.move(11)
    assert (await ask(browser, provider.token(kid="second"))).status_code == 200
    assert provider.listed_fetches == 2


async def test_made_up_key_names_do_not_send_requests_to_the_provider(browser, provider):
    other = provider.spare.pop()
    for number in range(25):
        assert refused(await ask(browser, provider.token(key=other, kid=f"made-up-{number}")))
    assert provider.listed_fetches == 1


async def test_a_provider_that_is_down_is_not_the_visitors_fault(browser, provider, clock):
    provider.broken = True
    answer = await ask(browser, provider.token())
    assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")
    provider.broken = False
    clock.move(11)
    assert (await ask(browser, provider.token())).status_code == 200
    provider.broken = True
    clock.move(3600)
    assert (await ask(browser, provider.token())).status_code == 200, "known keys go on counting"
    clock.move(25 * 3600)
    assert (await ask(browser, provider.token())).status_code == 503


async def test_a_provider_that_hangs_holds_up_one_visitor_and_not_all(browser, provider, clock):
    assert (await ask(browser, provider.token())).status_code == 200
    clock.move(601)
    asked = provider.asked
    provider.answers.clear()
    first = asyncio.create_task(ask(browser, provider.token()))
    async with asyncio.timeout(60):
        while provider.asked == asked:  # noqa: ASYNC110 - counted in another thread
            await asyncio.sleep(0.01)
    second = asyncio.create_task(ask(browser, provider.token()))
    done, _ = await asyncio.wait({first, second}, timeout=20, return_when=asyncio.FIRST_COMPLETED)
    provider.answers.set()
    assert done == {second}
    assert [(await each).status_code for each in (first, second)] == [200, 200]


async def test_a_key_taken_out_of_the_list_stops_counting(browser, provider, clock):
    token = provider.token(exp=int(clock.now().timestamp()) + 10_000)
    assert (await ask(browser, token)).status_code == 200
    provider.keys = {}
    provider.add_key("second")
    clock.move(601)
    assert refused(await ask(browser, token))


async def test_a_stream_ends_with_the_token_it_was_opened_with(
    provider, clock, variables: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sse, "RECHECK_S", 0.05)
    settings = ServerSettings.load(Settings.load(variables).server)
    now = int(clock.now().timestamp())
    ending = {"authorization": f"Bearer {provider.token()}"}
    lasting = {"authorization": f"Bearer {provider.token(exp=now + 3600)}"}
    async with serve(tmp_path, settings, clock=clock) as server:
        thread_id = (await server.http.post("/threads", json={}, headers=lasting)).json()["thread_id"]
        url = f"/threads/{thread_id}/stream"
        async with (
            asyncio.timeout(120),
            server.http.stream("GET", url, headers=lasting) as kept,
            server.http.stream("GET", url, headers=ending) as ended,
        ):
            assert (kept.status_code, ended.status_code) == (200, 200)
            clock.move(400)
            with pytest.raises(httpx.RemoteProtocolError):  # broken off; coming back is refused
                await ended.aread()
            body = {"assistant_id": "echo", "input": {"messages": [{"role": "user", "content": "hello"}]}}
            await server.http.post(f"/threads/{thread_id}/runs/wait", json=body, headers=lasting)
            assert any([b"hello" in piece async for piece in _until(kept, b"hello")])
        assert refused(await server.http.get(url, headers=ending))


async def _until(stream: httpx.Response, text: bytes) -> AsyncIterator[bytes]:
    async for piece in stream.aiter_bytes():
        yield piece
        if text in piece:
            return
