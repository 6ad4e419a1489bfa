"""Secrets are taken out of running text: by their form, and because they are known."""

from __future__ import annotations

import pytest
from tests.support.growth import assert_linear

from stepwell.secrets.text import hide_secrets

KEY = "sw_0123456789ab_" + "aB3-_" * 8 + "xyz"
JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl-_"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"key {KEY} was sent", KEY[20:]),
        (f"Authorization: Bearer {JWT}", JWT),
        (f"{{'authorization': 'Bearer {JWT}'}}", JWT),
        ("(b'authorization', b'Bearer opaque-token-of-somebody')", "opaque-token-of-somebody"),
        ("Authorization: Basic dXNlcjp3b3Jk", "dXNlcjp3b3Jk"),
        ("{'x-api-key': 'lsv2_pt_abcdef'}", "lsv2_pt_abcdef"),
        ("x-api-key=abc", "abc"),
        ("Cookie: a=b; stepwell_session=AbC-123; c=d", "AbC-123"),
        ("GET /login/callback?code=c0de&state=st4te HTTP/1.1", "c0de"),
        ("GET /login/callback?code=c0de&state=st4te HTTP/1.1", "st4te"),
        ("openai said: wrong key sk-proj-abcdefghijklmnopqrstuvwx", "abcdefghijklmnopqrstuvwx"),
        ("GET https://api.example/v1?q=a&api_key=k3y-0f-somebody failed", "k3y-0f-somebody"),
        ("signed: https://files.example/a?X-Amz-Signature=abc123&b=c", "abc123"),
        ("cannot connect to postgresql://ada:pa55word@db.example/app", "pa55word"),
        ("key AIzaSyA1234567890abcdefghijklmnop is wrong", "SyA1234567890abcdefghijklmnop"),
        ("ghp_abcdefghijklmnopqrstuvwxyz012345", "abcdefghijklmnopqrstuvwxyz012345"),
        ("denied for AKIAIOSFODNN7EXAMPLE", "IOSFODNN7EXAMPLE"),
        ("slack said xoxb-1234567890-abcdefghij", "1234567890-abcdefghij"),
        ("spent cashuAeyJ0b2tlbiI6W3sicHJvb2ZzIjpbXX1dfQ==", "eyJ0b2tlbiI6W3sicHJvb2ZzIjpbXX1dfQ"),
        ("spent cashuBo2FteCJodHRwczovL21pbnQuZXhhbXBsZQ", "o2FteCJodHRwczovL21pbnQuZXhhbXBsZQ"),
        (
            "nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5",
            "vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5",
        ),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA PRIVATE KEY-----", "MIIEow"),
        ("key: -----BEGIN PRIVATE KEY-----\\nMIIEvQIBADANBg", "MIIEvQIBADANBg"),
        ("POST https://hooks.slack.com/services/T000/B000/XXXXsecretXXXX", "XXXXsecretXXXX"),
        ("https://discord.com/api/webhooks/123456/AbCdEfGhIjKlMn", "AbCdEfGhIjKlMn"),
        ("postgres://ada:p@55:word@db.example:5432/app is down", "p@55:word"),
        ("HTTPS://ADA:Pa55word@DB.EXAMPLE/", "Pa55word"),
        ("GET /hook?refresh_token=r3fr3sh&x=1", "r3fr3sh"),
        ("GET /hook?id_token=1dt0ken", "1dt0ken"),
        ("OPENAI_KEY=4bcd-efgh is wrong", "4bcd-efgh"),
        ("{'GITHUB_PAT': 'abc123def', 'room': 4}", "abc123def"),
        ('{"password": "Correct horse battery"}', "Correct horse battery"),
        ("connect(user='ada', password='Hunter22') failed", "Hunter22"),
    ],
)
def test_secrets_are_hidden(text, secret):
    assert secret in text
    assert secret not in hide_secrets(text)
    assert "[hidden]" in hide_secrets(text)


@pytest.mark.parametrize(
    "text",
    [
        "run 0197-ab finished",
        "GET /threads?limit=10&offset=2",
        "the api key 'sw_0123456789ab' is revoked",
        "see https://a.example:8080/x@y",
        "set STEPWELL_AUTH=required, or max_tokens=4096000",
        "Require sign-in with STEPWELL_AUTH=required.",
        "{'token_count': '1234567', 'author': 'Ada Lovelace', 'sort_key': 'created_at'}",
        "call(stop_token='</s>', monkey='business as usual')",
        "GET /search?q=password&author=ada&page=2",
        "the secret of the well is water",
        "a task-force sk-etch, risk-taking and whisk-broom",
    ],
)
def test_other_text_stays(text):
    assert hide_secrets(text) == text


def test_a_secret_that_is_known_is_hidden_whatever_its_form():
    assert hide_secrets("wrong: hunter-22, and hunter-22-longer", {"hunter-22", "hunter-22-longer"}) == (
        "wrong: [hidden], and [hidden]"
    )


@pytest.mark.parametrize(
    "hard", ["a:'", 'a="b', "x://a:", "-----BEGIN PRIVATE KEY-----", "eyJ", "sk-a-", "?a=b&", "token=", "a" * 50, "bearer "]
)
def test_no_text_takes_long(hard: str) -> None:
    assert_linear(hide_secrets, lambda size: hard * (size // len(hard)), 20_000)
