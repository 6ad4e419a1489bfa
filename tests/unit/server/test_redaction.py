"""Secrets of a known form do not get past a log handler."""

from __future__ import annotations

import io
import logging

import pytest

from stepwell.server.redaction import redact, redact_handlers

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
    ],
)
def test_secrets_are_hidden(text, secret):
    assert secret in text
    assert secret not in redact(text)
    assert "[hidden]" in redact(text)


@pytest.mark.parametrize(
    "text", ["run 0197-ab finished", "GET /threads?limit=10&offset=2", "the api key 'sw_0123456789ab' is revoked"]
)
def test_other_text_stays(text):
    assert redact(text) == text


def test_a_handler_hides_arguments_tracebacks_and_what_children_log():
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    redact_handlers([handler])
    redact_handlers([handler])
    parent, child = logging.getLogger("stepwell.test"), logging.getLogger("stepwell.test.child")
    parent.addHandler(handler)
    try:
        child.warning("sent %s and %d", KEY, 5)
        try:
            raise ValueError(f"cannot use {KEY}")
        except ValueError:
            child.exception("failed with %r", {"authorization": f"Bearer {JWT}"})
    finally:
        parent.removeHandler(handler)
    logged = stream.getvalue()
    assert KEY[20:] not in logged
    assert JWT not in logged
    assert "and 5" in logged
    assert "Traceback" in logged
    assert len(handler.filters) == 1
