"""What a terminal says when a server does not know its caller."""

from __future__ import annotations

import httpx
import pytest

from stepwell.terminal.dialogue.server_errors import read_problem


@pytest.mark.parametrize("said", ["Unknown token", "Unknown token."])
async def test_a_refusal_ends_as_a_sentence_and_says_how_the_key_is_sent(said: str) -> None:
    response = httpx.Response(401, json={"detail": said})
    assert await read_problem(response) == "Unknown token. Put the key into STEPWELL_API_KEY; it is sent as x-api-key."
