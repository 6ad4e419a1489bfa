"""Sends one message of a webhook to one address."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import SplitResult

import httpx


class Poster:
    """Made once and not per message, because reading the machine's certificates takes a while."""

    def __init__(self) -> None:
        self._tls = httpx.create_ssl_context()

    async def post(self, parts: SplitResult, address: str, body: bytes, headers: Mapping[str, str]) -> int | str:
        """Connect to exactly this address, under the requested host name. Returns the response's status, whose body is not read, or the
        name of the error."""
        try:
            target = httpx.URL(parts.geturl()).copy_with(host=address)
            async with (
                # No redirects: they would bypass the rules. No proxies from the environment: they would resolve the name again.
                httpx.AsyncClient(verify=self._tls, timeout=10.0, follow_redirects=False, trust_env=False) as client,
                client.stream(
                    "POST", target, content=body, headers=headers, extensions={"sni_hostname": parts.hostname or ""}
                ) as response,
            ):
                return response.status_code
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return type(error).__name__
