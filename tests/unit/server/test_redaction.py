"""Secrets are taken out of running text: by their form, and because they are known."""

from __future__ import annotations

import pytest

from stepwell.runs.secret_text import hide_secrets

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
    ],
)
def test_other_text_stays(text):
    assert hide_secrets(text) == text


def test_a_secret_that_is_known_is_hidden_whatever_its_form():
    assert hide_secrets("wrong: hunter-22, and hunter-22-longer", {"hunter-22", "hunter-22-longer"}) == (
        "wrong: [hidden], and [hidden]"
    )
