"""Addresses that ordinary users give lead to the public internet only, whenever a connection is made."""

from __future__ import annotations

from collections.abc import Sequence

import httpx
import pytest

from stepwell.connections.addresses import check_address, public_network
from stepwell.errors import InvalidRequestError
from stepwell.tools.web.addresses import AddressRules

PUBLIC = "93.184.216.34"


def rules(*answers: Sequence[str]) -> AddressRules:
    """A resolver that gives these answers one after the other."""
    waiting = list(answers)

    async def resolve(host: str, port: int) -> Sequence[str]:
        return waiting.pop(0)

    return AddressRules(ports=frozenset(range(1, 65536)), resolve=resolve)


@pytest.mark.parametrize(
    "address",
    [
        "https://127.0.0.1/v1",
        "https://[::1]/v1",
        "https://169.254.169.254/latest",
        "https://10.1.2.3/v1",
        "https://2130706433/v1",
        "https://localhost:1234/v1",
        "https://models.internal/v1",
        "http://93.184.216.34/v1",
        "https://user:word@93.184.216.34/v1",
        "file:///etc/passwd",
    ],
)
async def test_private_addresses_are_refused_to_ordinary_users(address: str):
    with pytest.raises(InvalidRequestError):
        await check_address(address, private_allowed=False, rules=rules())


async def test_a_name_is_refused_if_one_of_its_addresses_is_private():
    with pytest.raises(InvalidRequestError, match="not public"):
        await check_address("https://models.example/v1", private_allowed=False, rules=rules([PUBLIC, "10.0.0.1"]))
    await check_address("https://models.example:8443/v1", private_allowed=False, rules=rules([PUBLIC]))


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:1234/v1", "http://192.168.1.5/v1", "http://localhost/v1", "https://93.184.216.34/v1"]
)
async def test_operators_may_use_private_addresses_without_tls(address: str):
    await check_address(address, private_allowed=True, rules=rules())


async def test_operators_need_tls_for_public_addresses_too():
    with pytest.raises(InvalidRequestError, match="https"):
        await check_address("http://models.example/v1", private_allowed=True, rules=rules([PUBLIC]))
    await check_address("http://box.example/v1", private_allowed=True, rules=rules(["192.168.1.5"]))


async def test_a_name_that_turns_private_after_the_check_is_not_connected_to():
    changing = rules([PUBLIC], ["127.0.0.1"])
    await check_address("https://models.example/v1", private_allowed=False, rules=changing)
    async with httpx.AsyncClient(transport=public_network(changing)(httpx)) as client:
        with pytest.raises(httpx.ConnectError, match="not public"):
            await client.post("https://models.example/v1/chat/completions", json={})
