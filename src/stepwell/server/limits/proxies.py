"""Where a request comes from when the server is behind proxies. A plain ASGI layer that sets `client` and `scheme` of the request.

Each proxy appends the address that connected to it to `X-Forwarded-For`; everything before that was sent by a client and may be forged.
So we trust only configured proxies, and take the last address in the list that isn't a configured proxy itself:

```
X-Forwarded-For: made up, made up, 203.0.113.9, 10.0.0.3      connection from 10.0.0.2; 10.0.0.0/8 is trusted
                                   ^ the client
```
With `*` every connection counts as a proxy, and the last address as the client.
"""

from __future__ import annotations

from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from stepwell.server.addresses import EVERYTHING, Address, read_address, read_network


class TrustedProxies:
    """Trusts what the proxies in `trusted` (addresses, networks, or `*`) report about their clients."""

    def __init__(self, app: ASGIApp, *, trusted: Iterable[str]) -> None:
        self._app = app
        self._everything = EVERYTHING in trusted
        self._networks = [read_network(each) for each in trusted if each != EVERYTHING]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket") and self._comes_from_proxy(scope):
            headers = Headers(scope=scope)
            scheme = headers.get("x-forwarded-proto", "").rpartition(",")[2].strip()
            client = self._client_in(",".join(headers.getlist("x-forwarded-for")))
            scope = {**scope, "scheme": scheme if scheme in ("http", "https") else scope["scheme"]}
            scope |= {"client": (str(client), 0)} if client else {}
        await self._app(scope, receive, send)

    def _comes_from_proxy(self, scope: Scope) -> bool:
        if self._everything or not self._networks:
            return self._everything
        address = read_address(scope["client"][0]) if scope.get("client") else None
        return address is not None and self._is_proxy(address)

    def _client_in(self, forwarded: str) -> Address | None:
        """Reading backwards, the first address that isn't a proxy; if there is none, the last proxy. `None` if the last entry is
        invalid."""
        last: Address | None = None
        for entry in reversed(forwarded.split(",")):
            address = read_address(entry.strip())
            if address is None:
                return last
            if not self._is_proxy(address):
                return address
            last = last or address
        return last

    def _is_proxy(self, address: Address) -> bool:
        return any(address.version == network.version and address in network for network in self._networks)
