"""Which addresses a connection may have, and connections to nothing else.

| given by | may be | over |
|---|---|---|
| an operator, or anybody on a server without sign-in | anywhere | https; http for this computer and private networks |
| any other user | the public internet | https |

An ordinary user's address is checked when it is entered and again whenever a connection is made: the name is resolved once, every address
must be public, and we connect to one of those, so a name cannot lead elsewhere the second time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

from stepwell.errors import FetchFailedError, FetchRefusedError, InvalidRequestError
from stepwell.tools.web.addresses import AddressRules, check_url, is_public, literal_address, read_url, resolve

RULES = AddressRules(ports=range(1, 65536))


async def check_address(text: str, *, private_allowed: bool, rules: AddressRules = RULES) -> None:
    """Raise `InvalidRequestError` for an address that a connection may not have."""
    try:
        url = read_url(text)
        if url.scheme == "http" and not (private_allowed and await _is_private(url.host, url.port, rules)):
            raise InvalidRequestError(
                "The address needs https://, because the key would be readable on its way."
                + (" http:// is only for this computer and private networks." if private_allowed else "")
            )
        if private_allowed:
            return
        check_url(url, rules)
        await resolve(url.host, url.port, rules)
    except FetchRefusedError as error:
        way_out = "" if private_allowed else " Only an operator can connect a model on a private address."
        raise InvalidRequestError(f"This address cannot be used: {error}{way_out}") from error
    except FetchFailedError as error:
        raise InvalidRequestError(f"This address cannot be used: {error} Check its spelling.") from error


async def _is_private(host: str, port: int, rules: AddressRules) -> bool:
    literal = literal_address(host)
    if literal is not None:
        return not is_public(literal)
    if host == "localhost" or host.endswith((".localhost", ".local", ".internal", ".lan", ".home.arpa")):
        return True
    found = await resolve(host, port, rules, inside=True)
    return all((address := literal_address(text)) is not None and not is_public(address) for text in found)


def public_network(rules: AddressRules = RULES) -> Callable[[ModuleType], Any]:
    """Makes transports that reach public addresses only. Each gets the HTTP library that uses it, httpx or httpx2."""
    return partial(_make_transport, rules)


def _make_transport(rules: AddressRules, library: ModuleType) -> Any:
    """The class is defined in a function, because its base class belongs to the library."""
    http: Any = library

    class PublicTransport(http.AsyncBaseTransport):  # type: ignore[misc]  # the base is only known at run time
        def __init__(self) -> None:
            self._inner = http.AsyncHTTPTransport(trust_env=False)

        async def handle_async_request(self, request: Any) -> Any:
            host, port = request.url.host, request.url.port or (443 if request.url.scheme == "https" else 80)
            try:
                address = (await resolve(host, port, rules))[0]
            except (FetchRefusedError, FetchFailedError) as error:
                raise http.ConnectError(str(error), request=request) from error
            # The certificate is still checked against the name, and the `Host` header still has it.
            pinned = http.Request(
                request.method,
                request.url.copy_with(host=address),
                headers=request.headers,
                stream=request.stream,
                extensions={**request.extensions, "sni_hostname": host},
            )
            return await self._inner.handle_async_request(pinned)

        async def aclose(self) -> None:
            await self._inner.aclose()

    return PublicTransport()
