"""Where a request may go. Properties over all addresses, and every spelling of a private one that we know of."""

from __future__ import annotations

import asyncio
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.errors import FetchFailedError, FetchRefusedError
from stepwell.tools.web.addresses import AddressRules, check_url, is_public, literal_address, read_url, resolve

PRIVATE_V4 = [
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16",
    "192.0.0.0/24", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4", "255.255.255.255/32",
]  # fmt: skip
PRIVATE_V6 = ["::1/128", "::/128", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8", "2001:db8::/32", "64:ff9b:1::/48"]


def inside(networks: list[str]) -> st.SearchStrategy:
    return st.sampled_from([ip_network(text) for text in networks]).flatmap(
        lambda network: st.integers(int(network[0]), int(network[-1])).map(type(network[0]))
    )


@given(inside(PRIVATE_V4))
def test_no_private_ipv4_address_is_public(address: IPv4Address):
    assert not is_public(address)


@given(inside(PRIVATE_V6))
def test_no_private_ipv6_address_is_public(address: IPv6Address):
    assert not is_public(address)


@given(inside(PRIVATE_V4), st.sampled_from(["::ffff:0:0", "::", "64:ff9b::", "64:ff9b:1::"]))
def test_no_private_address_is_public_in_the_clothes_of_ipv6(address: IPv4Address, prefix: str):
    assert not is_public(IPv6Address(int(IPv6Address(prefix)) | int(address)))


@given(inside(PRIVATE_V4))
def test_no_private_address_is_public_through_a_tunnel(address: IPv4Address):
    assert not is_public(IPv6Address((0x2002 << 112) | (int(address) << 80)))
    assert not is_public(IPv6Address((0x20010000 << 96) | (int(address) ^ 0xFFFFFFFF)))


@given(inside(PRIVATE_V4))
def test_every_spelling_of_a_private_address_is_refused(address: IPv4Address):
    number = int(address)
    short = f"{number >> 24}.{number & 0xFFFFFF}"
    for spelling in (str(address), str(number), hex(number), short, f"0{number >> 24:o}.{number & 0xFFFFFF}"):
        with pytest.raises(FetchRefusedError) as refused:
            check_url(read_url(f"http://{spelling}/"), AddressRules())
        assert refused.value.reason == "address"


@given(st.integers(0, 2**128 - 1).map(IPv6Address) | st.integers(0, 2**32 - 1).map(IPv4Address))
def test_what_python_calls_private_is_never_public(address: IPv4Address | IPv6Address):
    if address.is_private or address.is_loopback or address.is_link_local or address.is_multicast:
        nat64 = address in ip_network("64:ff9b::/96") if address.version == 6 else False
        assert nat64 or not is_public(address)


@pytest.mark.parametrize("text", ["8.8.8.8", "93.184.216.34", "2606:4700::1111", "64:ff9b::808:808"])
def test_public_addresses_are_public(text: str):
    assert is_public(ip_address(text))


@pytest.mark.parametrize("text", ["169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254"])
def test_metadata_services_of_clouds_are_not_public(text: str):
    assert not is_public(ip_address(text))


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("ftp://a.example/", "scheme"),
        ("file:///etc/passwd", "scheme"),
        ("javascript:alert(1)", "scheme"),
        ("//a.example/", "scheme"),
        ("https://", "url"),
        ("https:///path", "url"),
        ("https://a.example:0/", "url"),
        ("https://a.example:99999/", "url"),
        ("https://user:word@a.example/", "credentials"),
        ("https://a.example\\@10.0.0.1/", "url"),
        ("https://a b.example/", "url"),
        ("https://a.example/\r\nHost: b", "url"),
        ("https://[::1", "url"),
        ("https://a..example/", "url"),
        ("https://a.example/" + "x" * 3000, "url"),
    ],
)
def test_what_is_no_web_address_is_refused(url: str, reason: str):
    with pytest.raises(FetchRefusedError) as refused:
        read_url(url)
    assert refused.value.reason == reason


@pytest.mark.parametrize(
    "host", ["localhost", "a.localhost", "LOCALHOST.", "printer.local", "metadata.google.internal", "x.lan"]
)
def test_names_inside_a_network_are_refused(host: str):
    with pytest.raises(FetchRefusedError):
        check_url(read_url(f"http://{host}/"), AddressRules())


def test_other_ports_are_refused():
    with pytest.raises(FetchRefusedError) as refused:
        check_url(read_url("https://a.example:6379/"), AddressRules())
    assert refused.value.reason == "port"
    check_url(read_url("https://a.example:8443/"), AddressRules(ports=frozenset({8443})))


def test_an_address_is_read_into_one_spelling():
    assert str(read_url("HTTPS://Bücher.Example.:443/a b".replace(" ", "%20"))) == "https://xn--bcher-kva.example/a%20b"
    assert str(read_url("https://a.example")) == "https://a.example/"
    assert str(read_url("https://a.example/ü?q=ü#part")) == "https://a.example/%C3%BC?q=%C3%BC"
    assert read_url("https://[2606:4700::1]:444/").authority == "[2606:4700::1]:444"


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str):
    for candidate in (text, f"https://{text}", f"https://a.example/{text}"):
        try:
            url = read_url(candidate)
        except FetchRefusedError:
            continue
        assert read_url(str(url)) == url


def rules(*addresses: str) -> AddressRules:
    async def answer(host: str, port: int) -> list[str]:
        return list(addresses)

    return AddressRules(resolve=answer)


async def test_a_name_with_one_private_address_among_public_ones_is_refused():
    with pytest.raises(FetchRefusedError):
        await resolve("mixed.example", 443, rules("93.184.216.34", "10.0.0.1"))


async def test_a_name_with_public_addresses_gives_them_all():
    assert await resolve("a.example", 443, rules("93.184.216.34", "2606:4700::1")) == ["93.184.216.34", "2606:4700::1"]


async def test_a_name_without_an_address_fails():
    with pytest.raises(FetchFailedError):
        await resolve("a.example", 443, rules())


async def test_a_name_server_that_is_silent_is_not_waited_for():
    async def never(host: str, port: int) -> list[str]:
        await asyncio.Event().wait()
        raise AssertionError

    with pytest.raises(FetchFailedError) as failed:
        await resolve("a.example", 443, AddressRules(resolve=never, resolve_timeout_s=0.01))
    assert failed.value.reason == "time"


async def test_an_address_is_not_resolved():
    assert await resolve("93.184.216.34", 443, rules()) == ["93.184.216.34"]
    assert literal_address("a.example") is None
