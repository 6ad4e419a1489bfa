"""Keys and cookies stay out of what is written down."""

from __future__ import annotations

import pytest

from stepwell.research.audit.exchanges.redaction import without_secret_headers, without_secrets_in_url


@pytest.mark.parametrize(
    ("headers", "kept"),
    [
        ({"Set-Cookie": "id=1", "content-type": "text/html"}, {"content-type": "text/html"}),
        ([["Set-Cookie", "id=1"], ["content-type", "text/html"], ["set-cookie", "b=2"]], [["content-type", "text/html"]]),
        (None, None),
    ],
)
def test_a_cookie_that_was_set_is_not_kept(headers: object, kept: object):
    assert without_secret_headers({"status": 200, "headers": headers}) == {"status": 200, "headers": kept}


@pytest.mark.parametrize(
    "name",
    ["refresh_token", "id_token", "code", "access_token", "apiKey", "OPENAI_KEY", "sig", "X-Amz-Signature", "client_secret"],
)
def test_a_key_in_an_address_is_not_kept_whatever_it_is_called(name: str):
    assert (
        without_secrets_in_url(f"https://ada:word@a.example/x?q=well&{name}=k3y#part")
        == f"https://a.example/x?q=well&{name}=REDACTED"
    )


def test_an_address_without_keys_stays_as_it_is():
    assert (
        without_secrets_in_url("https://a.example/x?q=a+b&page=2&author=ada") == "https://a.example/x?q=a+b&page=2&author=ada"
    )


@pytest.mark.parametrize(
    "address",
    ["https://a.example/x?q=sk-proj-KEYKEYKEYKEYKEYKEYKEY", "https://hooks.slack.com/services/KEYKEYKEY/KEYKEYKEY"],
)
def test_a_key_in_an_address_is_not_kept_whatever_it_is_in(address: str):
    kept = without_secrets_in_url(address)
    assert "KEYKEY" not in kept
    assert kept.endswith("REDACTED")
    assert without_secrets_in_url(kept) == kept, "masking again changes nothing: a replay asks for what was kept"


def test_what_an_answer_leads_to_and_complains_about_is_kept_without_keys():
    headers = [["location", "https://a.example/back?code=KEYKEY"], ["server", "x"]]
    kept = without_secret_headers(
        {"headers": headers, "error": {"message": "no https://a.example/?token=KEYKEY", "refused": True}}
    )
    assert "KEYKEY" not in str(kept)
    assert kept["headers"][1] == ["server", "x"]
    assert kept["error"]["refused"] is True
