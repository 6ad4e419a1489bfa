"""Where a webhook may go, as far as an address and its resolution show."""

from __future__ import annotations

from dataclasses import replace

import httpx
import pytest

from stepwell.errors import ConfigurationError, FetchRefusedError, InvalidRequestError
from stepwell.runs.graphs.project.webhooks import ProjectWebhooks
from stepwell.runs.webhooks.rules import WebhookRules, check_webhook_url, resolve
from stepwell.tools.web.addresses import read_url

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
        check_webhook_url(url, STRICT)


ODD = """
https://.hooks.example/ https://hooks..example/ https://hooks.example../ https://-hooks.example/ https://hooks-.example/
https://a.-b.example/ https://a.b-.example/ https://*/ https://*.example/ https://hooks!.example/ https://hooks$.example/
https://hooks&.example/ https://(hooks).example/ https://hooks,other.example/ https://hooks;x.example/ https://hooks'.example/
https://"hooks".example/ https://hooks|x.example/ https://<hooks>.example/ https://hooks^.example/ https://`hooks`.example/
https://{hooks}.example/ https://hooks~.example/ https://hooks=.example/ https://hooks+x.example/ https://ho%6fks.example/
https://hooks%00.example/ https://hooks%20.example/ https://hooks%2eexample/ https://%/ https://./ https://../ https://-/
https://256.256.256.256/ https://1.2.3.4.5/ https://1.2.3.999/ https://hooks.123/ https://hooks.0x7f/ https://08.1.2.3/
https://[1.2.3.4]/ https://[v1.hooks]/ https://[hooks.example]/ https://[2606:4700::1%25eth0]/ https://[2606:4700::1%eth0]/
https://[2606:4700::1]x/ https://[]/ https://[:]/ https://hooks.example:+443/ https://hooks.example:-1/ https://hooks.example:4_4/
https://hooks.example:４４３/ https://hooks.example:443:443/ https://hooks.example:port/ https://xn--/ https://xn--a-ecp.example/
https://ab--cd.example/ https://hooks.invalid/ https://hooks.onion/ https://@hooks.example/ https://:@hooks.example/ https:hooks.example
https:/hooks.example https:///hooks.example https://?x https://#x https://:443/ https://\u200bhooks.example/x\ud800
https://hooks.example/\ud800 https://\u202ehooks.example/
"""


@pytest.mark.parametrize(
    "url",
    [
        *ODD.split(),
        "https://ho\u3000oks.example/",
        "https://\u2028.example/",
        f"https://{'a' * 64}.example/",
        f"https://{'a.' * 130}example/",
    ],
)
def test_an_address_that_can_never_be_reached_is_refused_at_once(url):
    with pytest.raises(InvalidRequestError, match="The webhook"):
        check_webhook_url(url, STRICT)


@pytest.mark.parametrize(
    "host",
    [
        *("00127.0.0.1", "000.0.0.0", "1.0x7f.1.1", "0x8.8.8.8", "8.8.8.010", "010.8.8.8", "8.8.2056", "8.526344", "134744072"),
        *("1.2.3", "0x8080808", "8.8.8.8.", "\uff18.8.8.8", "8.8.8.\u2467", "8\u30028\u30028\u30028", "0000010.8.8.8", "0x"),
        *("999999999999", "1.2.3.4294967296", "hooks.example.1", "hooks.0x"),
    ],
)
def test_a_number_is_an_address_only_in_its_usual_form(host):
    """Programs differ in how they read the others: what we allow must not be another place for the one that calls it."""
    with pytest.raises(InvalidRequestError, match="The webhook"):
        check_webhook_url(f"https://{host}/", STRICT)
    with pytest.raises(FetchRefusedError):
        read_url(f"https://{host}/")


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        ("https://hooks.example./x", "https://hooks.example/x"),
        ("HTTPS://Hooks.Example/X", "https://hooks.example/X"),
        ("https://münchen.example/grüße?q=ä", "https://xn--mnchen-3ya.example/gr%C3%BC%C3%9Fe?q=%C3%A4"),
        ("https://hooks.example:443", "https://hooks.example/"),
        ("https://my_hooks.example/%zz/{x}|y?a=b|c", "https://my_hooks.example/%zz/%7Bx%7D%7Cy?a=b|c"),
        ("https://[2606:4700:0::1]:8443/", "https://[2606:4700::1]:8443/"),
        ("https://xn--mnchen-3ya.example/", "https://xn--mnchen-3ya.example/"),
    ],
)
def test_what_is_unusual_and_right_is_asked_in_its_plain_form(url, asked):
    assert check_webhook_url(url, STRICT).geturl() == asked
    assert httpx.URL(asked).copy_with(host="93.184.216.34").host == "93.184.216.34", "the client can ask it"


def test_a_path_is_refused_with_a_sentence_that_helps():
    with pytest.raises(InvalidRequestError, match="https://host/path"):
        check_webhook_url("/webhooks/after-model", STRICT)


@pytest.mark.parametrize(
    "url", ["https://hooks.example/x?y=1", "https://hooks.example:8443/", "https://93.184.216.34/", "https://[2606:4700::1]/"]
)
def test_a_public_https_address_is_fine(url):
    check_webhook_url(url, STRICT)


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "fe80::1%eth0", "::ffff:10.0.0.1", "64:ff9b::a00:1"]
)
async def test_every_address_of_a_name_must_be_public(address):
    parts = check_webhook_url("https://hooks.example/", STRICT)
    assert await resolve(parts, answering("93.184.216.34")) == ["93.184.216.34"]
    with pytest.raises(InvalidRequestError, match="not public"):
        await resolve(parts, answering("93.184.216.34", address))


async def test_a_name_without_an_address_is_tried_later():
    with pytest.raises(OSError, match="no address"):
        await resolve(check_webhook_url("https://hooks.example/", STRICT), answering())


async def test_listed_hosts_and_networks_may_be_called_also_by_http():
    rules = WebhookRules.allowing(["hooks.internal", "10.1.0.0/16", "::1"])
    check_webhook_url("http://hooks.internal/x", rules)
    check_webhook_url("http://10.1.9.9/x", rules)
    assert await resolve(check_webhook_url("https://other.example/", rules), answering("10.1.2.3", rules=rules)) == ["10.1.2.3"]
    assert await resolve(check_webhook_url("http://hooks.internal/", rules), answering("192.168.7.7", rules=rules)) == [
        "192.168.7.7"
    ]
    for url in ("https://10.2.0.1/", "http://other.example/"):
        with pytest.raises(InvalidRequestError):
            check_webhook_url(url, rules)
    with pytest.raises(InvalidRequestError):
        await resolve(check_webhook_url("https://other.example/", rules), answering("10.2.0.1", rules=rules))


@pytest.mark.parametrize("allowed", ["localhost", "0.0.0.0/0", "127.0.0.1", "::/0", "hooks.internal"])
@pytest.mark.parametrize(
    "host", ["localhost", "a.localhost", "127.0.0.1", "127.9.9.9", "[::1]", "[::ffff:127.0.0.1]", "hooks.internal"]
)
async def test_a_project_can_exclude_the_server_itself_whatever_is_allowed(allowed, host):
    narrowed = WebhookRules.allowing([allowed], allow_http=True).narrowed_by(ProjectWebhooks(no_loopback=True))
    rules = replace(narrowed, resolve=answering("10.0.0.1", "127.0.0.1").resolve)
    with pytest.raises(InvalidRequestError):
        await resolve(check_webhook_url(f"http://{host}/x", rules), rules)


async def test_a_project_that_excludes_the_server_itself_keeps_what_else_is_allowed():
    rules = WebhookRules.allowing(["hooks.internal", "10.1.0.0/16"]).narrowed_by(ProjectWebhooks(no_loopback=True))
    rules = replace(rules, resolve=answering("10.1.2.3").resolve)
    assert await resolve(check_webhook_url("http://hooks.internal/x", rules), rules) == ["10.1.2.3"]
    assert await resolve(check_webhook_url("http://10.1.0.9/x", rules), rules) == ["10.1.0.9"]


def test_a_list_that_cannot_be_meant_is_refused():
    with pytest.raises(ConfigurationError, match=r"10\.0\.0\.0/99"):
        WebhookRules.allowing(["10.0.0.0/99"])
