"""What counts as a secret is the same in trails, in stored runs and in logs."""

from __future__ import annotations

import pytest

from stepwell.research.audit.exchanges.redaction import REDACTED, without_secret_headers, without_secrets_in_url
from stepwell.secrets.text import HIDDEN, hide_secrets
from stepwell.secrets.values import without_secrets
from stepwell.server.monitoring.redaction import clean_field

NAMES = ["authorization", "x-api-key", "openai_api_key", "github_pat", "set-cookie", "clientSecret", "totp", "refresh_token"]
VALUE = "b3VyIHNlY3JldCB2YWx1ZQ"


@pytest.mark.parametrize("name", NAMES)
def test_a_secret_is_hidden_wherever_it_is_written_down(name: str) -> None:
    assert without_secrets_in_url(f"https://example.org/?{name}={VALUE}").endswith(REDACTED)
    assert without_secret_headers({"headers": {name: VALUE}}) == {"headers": {}}
    assert without_secrets({name: VALUE, "inner": [{name: VALUE}]}) == {"inner": [{}]}
    assert clean_field(name, VALUE) == HIDDEN
    assert VALUE not in hide_secrets(f"GET https://example.org/?{name}={VALUE}")


@pytest.mark.parametrize("name", ["max_tokens", "sort_key", "language"])
def test_what_is_no_secret_stays_wherever_it_is_written_down(name: str) -> None:
    address = f"https://example.org/?{name}={VALUE}"
    assert without_secrets_in_url(address) == address
    assert without_secret_headers({"headers": {name: VALUE}}) == {"headers": {name: VALUE}}
    assert without_secrets({name: VALUE}) == {name: VALUE}
    assert clean_field(name, VALUE) == VALUE
    assert hide_secrets(f"GET {address}") == f"GET {address}"
