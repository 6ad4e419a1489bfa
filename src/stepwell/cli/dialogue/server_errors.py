"""Trouble between us and a server, as sentences: what LangGraph's client raises, and outages that it sits out in silence.

For every command that takes `--url`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, contextmanager
from typing import Any, cast

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
    except httpx.ConnectError as error:
        raise RunError(
            f"No server answers at {url}, so this was not sent. What it was sent before is kept there. Start it, then send this again."
        ) from error
    except httpx.HTTPError as error:
        raise RunError(
            f"The server at {url} does not answer ({type(error).__name__}). What was asked so far is kept there: when it is back, go "
            f"on with `{carry_on}`."
        ) from error


def is_uncertain(error: BaseException | None) -> bool:
    """Whether a request may have been carried out all the same: the connection broke, or the server itself does not know."""
    if isinstance(error, APIStatusError):
        return error.type == "urn:stepwell:problem:outcome-unknown"
    return isinstance(error, httpx.TransportError) and not isinstance(error, httpx.ConnectError)


async def tell_of_outages(
    parts: AsyncIterator[Any], http: httpx.AsyncClient, url: str, tell: Callable[[str], None]
) -> AsyncIterator[Any]:
    """The parts of a run's stream. The library takes up a broken stream by itself, several times, and says nothing; here the person is
    told that the connection is lost, that it is tried again, and that it is back."""
    heard, attempts = False, 0

    async def note_request(request: httpx.Request) -> None:
        nonlocal attempts
        if not heard or request.method != "GET" or not request.url.path.endswith("/stream"):
            return
        attempts += 1
        lost = f"The connection to {url} is lost; what was asked is kept there. Trying again; Ctrl-C stops waiting."
        tell(f"({lost if attempts == 1 else f'Still no connection; attempt {attempts}.'})")

    before = http.event_hooks
    http.event_hooks = {**before, "request": [*before["request"], note_request]}
    try:
        async with aclosing(cast("Any", parts)) as arriving:
            async for part in arriving:
                if attempts:
                    tell("(Connected again.)")
                heard, attempts = True, 0
                yield part
    finally:
        http.event_hooks = before


def refusal(error: APIStatusError) -> str:
    """What the server said, with what to do about it here."""
    if error.status_code == 401:
        return f"{error.message} Put the key into STEPWELL_API_KEY."
    return error.message


async def read_problem(response: httpx.Response) -> str:
    """What a refusal without the library's help says: our servers' own sentence, or nothing."""
    await response.aread()
    try:
        detail = response.json().get("detail")
    except (ValueError, AttributeError):
        return ""
    said = detail if isinstance(detail, str) else ""
    return f"{said} Put the key into STEPWELL_API_KEY." if response.status_code == 401 else said
