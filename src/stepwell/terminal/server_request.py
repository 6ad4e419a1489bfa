"""One request to a server, for commands that read or settle something there instead of in the database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stepwell.errors import RunError, needs_extra
from stepwell.settings import Settings
from stepwell.terminal.own_command import spell_command

_ASK_S = 30.0


def ask_server(
    url: str,
    settings: Settings,
    path: str,
    *,
    params: Mapping[str, str] | None = None,
    body: Mapping[str, Any] | None = None,
    timeout_s: float = _ASK_S,
) -> Any:
    """The JSON of a server's response. Sends a POST if there is a body. Errors are raised with the server's own message."""
    with needs_extra("Asking a server", "server"):
        import httpx
    headers = {"x-api-key": settings.api_key.reveal()} if settings.api_key else {}
    method = "GET" if body is None else "POST"
    try:
        response = httpx.request(method, url.rstrip("/") + path, params=params, json=body, headers=headers, timeout=timeout_s)
        found = response.json()
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise RunError(
            f"No Stepwell server answered at {url} ({type(error).__name__}). "
            f"Start one with `{spell_command('serve')}`, or check --url."
        ) from error
    if response.status_code != httpx.codes.OK:
        raise RunError(str(found.get("detail", f"The server answered {response.status_code}.")))
    return found
