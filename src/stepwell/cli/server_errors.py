"""What a client's library raises when it talks to a server, as a sentence that says what to do. For every command that takes `--url`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import httpx
from langgraph_sdk.errors import APIStatusError

from stepwell.errors import RunError


@contextmanager
def as_sentences(url: str, carry_on: str) -> Iterator[None]:
    """`RunError` in place of what the library raises. `carry_on` is the command that goes on when the server is back."""
    try:
        yield
    except APIStatusError as error:
        raise RunError(refusal(error)) from error
    except httpx.HTTPError as error:
        raise RunError(
            f"The server at {url} does not answer ({type(error).__name__}). What was asked so far is kept there: when it is back, go "
            f"on with `{carry_on}`."
        ) from error


def refusal(error: APIStatusError) -> str:
    """What the server said, with what to do about it here."""
    if error.status_code == 401:
        return f"{error.message} Put the key into STEPWELL_API_KEY."
    return error.message


async def told(response: httpx.Response) -> str:
    """What a refusal without the library's help says: our servers' own sentence, or nothing."""
    await response.aread()
    try:
        detail = response.json().get("detail")
    except (ValueError, AttributeError):
        return ""
    said = detail if isinstance(detail, str) else ""
    return f"{said} Put the key into STEPWELL_API_KEY." if response.status_code == 401 else said
