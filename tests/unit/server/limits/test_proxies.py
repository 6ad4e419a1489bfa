"""Which address a request is taken to come from: only configured proxies are believed, and only what they added themselves."""

from __future__ import annotations

import httpx
import pytest

from stepwell.errors import ConfigurationError
from stepwell.server.limits.proxies import TrustedProxies
from stepwell.server.settings import ServerSettings


async def seen_by(settings: ServerSettings, peer: str, headers: list[tuple[str, str]]) -> tuple[str, str]:
    """The client's address and the scheme that the application sees."""
    seen: list[tuple[str, str]] = []

    async def app(scope, receive, send):
        seen.append((scope["client"][0], scope["scheme"]))
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    transport = httpx.ASGITransport(TrustedProxies(app, trusted=settings.trusted_proxies), client=(peer, 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        await client.get("/", headers=headers)
    return seen[0]


def trusting(*proxies: str) -> ServerSettings:
    return ServerSettings.load({"STEPWELL_TRUSTED_PROXIES": ",".join(proxies)})


CLAIM = [("x-forwarded-for", "203.0.113.9"), ("x-forwarded-proto", "https")]


@pytest.mark.parametrize("peer", ["127.0.0.1", "::1", "192.0.2.7"])
async def test_without_a_configured_proxy_nothing_that_a_client_claims_is_believed(peer):
    assert await seen_by(ServerSettings(), peer, CLAIM) == (peer, "http")


async def test_only_the_configured_proxy_is_believed():
    assert await seen_by(trusting("127.0.0.1"), "127.0.0.1", CLAIM) == ("203.0.113.9", "https")
    assert await seen_by(trusting("127.0.0.1"), "192.0.2.7", CLAIM) == ("192.0.2.7", "http")


@pytest.mark.parametrize(
    ("trusted", "forwarded", "client"),
    [
        (("*",), "203.0.113.1, 203.0.113.9", "203.0.113.9"),
        (("10.0.0.0/8",), "203.0.113.1, 203.0.113.9", "203.0.113.9"),
        (("10.0.0.0/8",), "203.0.113.1, 203.0.113.9, 10.0.0.3", "203.0.113.9"),
        (("10.0.0.0/8",), "203.0.113.1,10.9.9.9,  10.0.0.3", "203.0.113.1"),
        (("10.0.0.0/8",), "10.0.0.4, 10.0.0.3", "10.0.0.3"),
        (("10.0.0.0/8",), "203.0.113.9, not an address", "10.0.0.2"),
        (("10.0.0.0/8",), "203.0.113.9:4711", "203.0.113.9"),
        (("10.0.0.0/8",), "[2001:db8::9]:4711", "2001:db8::9"),
        (("10.0.0.0/8",), "2001:DB8::9", "2001:db8::9"),
        (("10.0.0.0/8",), "", "10.0.0.2"),
    ],
)
async def test_the_last_address_that_is_no_proxy_is_the_client(trusted, forwarded, client):
    assert (await seen_by(trusting(*trusted), "10.0.0.2", [("x-forwarded-for", forwarded)]))[0] == client


async def test_several_headers_are_one_list():
    headers = [("x-forwarded-for", "203.0.113.1"), ("x-forwarded-for", "203.0.113.9")]
    assert (await seen_by(trusting("10.0.0.2"), "10.0.0.2", headers))[0] == "203.0.113.9"


async def test_a_proxy_can_only_say_http_or_https():
    for claimed, scheme in (("https", "https"), ("http, https", "https"), ("ftp", "http"), ("", "http")):
        assert (await seen_by(trusting("*"), "10.0.0.2", [("x-forwarded-proto", claimed)]))[1] == scheme


def test_what_is_no_address_is_named():
    with pytest.raises(ConfigurationError, match="STEPWELL_TRUSTED_PROXIES"):
        trusting("proxy.example")


async def test_guesses_are_counted_for_the_client_whatever_it_claims(site_of):
    site = site_of(always_ask=True, trusted_proxies=("192.0.2.7",))  # where the test's client connects from
    statuses = []
    async with site.client() as client:
        for number in range(40):
            forged = {"x-api-key": "sw_wrong", "x-forwarded-for": f"203.0.113.{number}, 198.51.100.1"}
            statuses.append((await client.get("/whoami", headers=forged)).status_code)
    assert statuses == [401] * 30 + [429] * 10
