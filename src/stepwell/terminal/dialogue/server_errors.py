"""Server errors as sentences: what LangGraph's client raises, and outages that it retries silently.

Used by every command that takes `--url`.
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
    """Raise `RunError` instead of the library's errors. `carry_on` is the command to continue with when the server is back."""
    try:
        yield
    except APIStatusError as error:
        raise RunError(refusal(error)) from error
    except httpx.ConnectError as error:
        raise RunError(
            f"No server answers at {url}, so this was not sent. Earlier messages are stored there. Start the server, then send this again."
        ) from error
    except httpx.HTTPError as error:
        raise RunError(
            f"The server at {url} does not answer ({type(error).__name__}). It has stored everything sent so far: when it is back, "
            f"continue with `{carry_on}`."
        ) from error


def is_uncertain(error: BaseException | None) -> bool:
    """Whether a request may have been carried out despite the error: the connection broke, or the server itself does not know."""
    if isinstance(error, APIStatusError):
        return error.type == "urn:stepwell:problem:outcome-unknown"
    return isinstance(error, httpx.TransportError) and not isinstance(error, httpx.ConnectError)


async def tell_of_outages(
    parts: AsyncIterator[Any], http: httpx.AsyncClient, url: str, tell: Callable[[str], None]
) -> AsyncIterator[Any]:
    """The parts of a run's stream. The library silently reconnects a broken stream, several times; here we tell the person that the
    connection is lost, that we are retrying, and that it is back."""
    heard, attempts = False, 0

    async def note_request(request: httpx.Request) -> None:
        nonlocal attempts
        if not heard or request.method != "GET" or not request.url.path.endswith("/stream"):
            return
        attempts += 1
        lost = f"Lost the connection to {url}; your messages are stored there. Reconnecting; press Ctrl-C to stop waiting."
        tell(f"({lost if attempts == 1 else f'Still no connection; attempt {attempts}.'})")

    before = http.event_hooks
    http.event_hooks = {**before, "request": [*before["request"], note_request]}
    try:
        async with aclosing(cast("Any", parts)) as arriving:
            async for part in arriving:
                if attempts:
                    tell("(Reconnected.)")
                heard, attempts = True, 0
                yield part
    finally:
        http.event_hooks = before


def refusal(error: APIStatusError) -> str:
    """The server's message, with a hint what to do."""
    if error.status_code == 401:
        return _with_hint(error.message)
    return error.message


async def read_problem(response: httpx.Response) -> str:
    """The sentence in an error response to a request that we sent without the library; empty if the server is not one of ours."""
    await response.aread()
    try:
        detail = response.json().get("detail")
    except (ValueError, AttributeError):
        return ""
    said = detail if isinstance(detail, str) else ""
    return _with_hint(said) if response.status_code == 401 else said


def _with_hint(said: str) -> str:
    """What a server said that does not know the caller. A project's own words may have no full stop."""
    stop = "." if said and not said.rstrip().endswith((".", "!", "?")) else ""
    return f"{said}{stop} Put the key into STEPWELL_API_KEY; it is sent as x-api-key."
