"""Where a webhook may go, as far as an address and its resolution show."""

from __future__ import annotations

import pytest

from stepwell.errors import ConfigurationError, InvalidRequestError
from stepwell.runs.webhook_rules import WebhookRules, check_url, resolve

STRICT = WebhookRules()


def answering(*addresses: str, rules: WebhookRules = STRICT) -> WebhookRules:
    async def resolver(host: str, port: int) -> list[str]:
        return list(addresses)

    return WebhookRules(rules.allow_http, rules.allowed_hosts, rules.allowed_networks, rules.secret, resolver)


@pytest.mark.parametrize(
    "url",
    [
        "/path",
        "//host/path",
        "host/path",
        "",
        "http://hooks.example/x",
        "ftp://hooks.example/x",
        "file:///etc/passwd",
        "https://user@hooks.example/",
        "https://user:word@hooks.example/",
        "https://hooks.example:0/",
        "https://hooks.example:99999/",
        "https://hooks.example/a b",
        "https://hooks.example/\r\nHost: x",
        "https://[::1/",
        "https://hooks.example\\@127.0.0.1/",
        "https://" + "a" * 3000,
        "https://localhost/",
        "https://a.localhost/",
        "https://127.0.0.1/",
        "https://127.1/",
        "https://2130706433/",
        "https://0x7f000001/",
        "https://0177.0.0.1/",
        "https://10.0.0.1/",
        "https://172.16.0.1/",
        "https://192.168.0.1/",
        "https://169.254.169.254/latest/meta-data",
        "https://100.64.0.1/",
        "https://0.0.0.0/",
        "https://224.0.0.1/",
        "https://255.255.255.255/",
        "https://[::1]/",
        "https://[::]/",
        "https://[fe80::1]/",
        "https://[fc00::1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[::ffff:169.254.169.254]/",
        "https://[::127.0.0.1]/",
        "https://[64:ff9b::7f00:1]/",
        "https://[2002:7f00:1::]/",
    ],
)
def test_an_address_that_can_be_seen_to_be_wrong_is_refused_at_once(url):
    with pytest.raises(InvalidRequestError):
        check_url(url, STRICT)


def test_a_path_is_refused_with_a_sentence_that_helps():
    with pytest.raises(InvalidRequestError, match="https://host/path"):
        check_url("/webhooks/after-model", STRICT)


@pytest.mark.parametrize(
    "url", ["https://hooks.example/x?y=1", "https://hooks.example:8443/", "https://93.184.216.34/", "https://[2606:4700::1]/"]
)
def test_a_public_https_address_is_fine(url):
    check_url(url, STRICT)


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "fe80::1%eth0", "::ffff:10.0.0.1", "64:ff9b::a00:1"]
)
async def test_every_address_of_a_name_must_be_public(address):
    parts = check_url("https://hooks.example/", STRICT)
    assert await resolve(parts, answering("93.184.216.34")) == ["93.184.216.34"]
    with pytest.raises(InvalidRequestError, match="not public"):
        await resolve(parts, answering("93.184.216.34", address))


async def test_a_name_without_an_address_is_tried_later():
    with pytest.raises(OSError, match="no address"):
        await resolve(check_url("https://hooks.example/", STRICT), answering())


async def test_listed_hosts_and_networks_may_be_called_also_by_http():
    rules = WebhookRules.allowing(["hooks.internal", "10.1.0.0/16", "::1"])
    check_url("http://hooks.internal/x", rules)
    check_url("http://10.1.9.9/x", rules)
    assert await resolve(check_url("https://other.example/", rules), answering("10.1.2.3", rules=rules)) == ["10.1.2.3"]
    assert await resolve(check_url("http://hooks.internal/", rules), answering("192.168.7.7", rules=rules)) == ["192.168.7.7"]
    for url in ("https://10.2.0.1/", "http://other.example/"):
        with pytest.raises(InvalidRequestError):
            check_url(url, rules)
    with pytest.raises(InvalidRequestError):
        await resolve(check_url("https://other.example/", rules), answering("10.2.0.1", rules=rules))


def test_a_list_that_cannot_be_meant_is_refused():
    with pytest.raises(ConfigurationError, match=r"10\.0\.0\.0/99"):
        WebhookRules.allowing(["10.0.0.0/99"])
