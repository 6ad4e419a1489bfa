"""`PublicWeb`: sends requests to the public web, and nowhere else.

```
read the address ──> check what it shows ──> connect ──> send ──> read, unpack, count
                                                │
                             resolve once, check every address, use one of those
```

The check happens while the connection is made (`_CheckedNetwork`), so no request can get around it, and the certificate is still
checked against the name. Each request has its own connection: no cookies, no session, nothing shared between callers or event loops.
Proxies from the environment are not used: a proxy would resolve the name again, by its own rules.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, Any

from stepwell.errors import FetchFailedError, FetchRefusedError, needs_extra
from stepwell.tools.web.addresses import AddressRules, Url, check_url, read_url, resolve
from stepwell.tools.web.transport import WebRequest, WebResponse, user_agent
from stepwell.tools.web.unpacking import ACCEPTED, unpacker

if TYPE_CHECKING:
    import httpcore

_CONNECT_S = 8.0
_IDLE_S = 10.0
_MAX_ADDRESSES = 3
_NOT_FROM_CALLERS = frozenset({"host", "connection", "content-length", "transfer-encoding", "cookie", "accept-encoding"})


class PublicWeb:
    """The real `Web`. `inside` lists the operator's own origins (`http://searxng:8080`), for requests that say `inside` too."""

    def __init__(
        self,
        rules: AddressRules | None = None,
        *,
        inside: Iterable[str] = (),
        tls: ssl.SSLContext | None = None,
        network: httpcore.AsyncNetworkBackend | None = None,
        idle_timeout_s: float = _IDLE_S,
    ) -> None:
        self._rules = rules or AddressRules()
        self._inside = frozenset(read_url(origin).origin for origin in inside)
        self._tls = tls
        self._network = network
        self._idle_s = idle_timeout_s

    async def send(self, request: WebRequest) -> WebResponse:
        httpcore = _httpcore()
        url = read_url(request.url)
        inside = request.inside and url.origin in self._inside
        if not inside:
            check_url(url, self._rules)
        try:
            async with asyncio.timeout(request.timeout_s):
                return await self._exchange(httpcore, url, request, inside)
        except (TimeoutError, httpcore.TimeoutException) as error:
            raise FetchFailedError(f"'{url.host}' took too long to answer.", "time") from error
        except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
            raise FetchFailedError(f"'{url.host}' cannot be reached: {_kind(error)}.", "network") from error

    async def _exchange(self, httpcore: Any, url: Url, request: WebRequest, inside: bool) -> WebResponse:
        if self._tls is None and url.scheme == "https":
            self._tls = await asyncio.to_thread(_usual_tls)
        network = _checked_network(httpcore, self._network or httpcore.AnyIOBackend(), self._rules, inside)
        times = {"connect": _CONNECT_S, "read": self._idle_s, "write": self._idle_s, "pool": request.timeout_s}
        outgoing = httpcore.Request(
            request.method,
            httpcore.URL(scheme=url.scheme, host=url.host, port=url.port, target=url.target),
            headers=_headers(url, request),
            content=request.body,
            extensions={"timeout": times},
        )
        async with httpcore.AsyncConnectionPool(
            ssl_context=self._tls, max_connections=1, max_keepalive_connections=0, network_backend=network
        ) as pool:
            response = await pool.handle_async_request(outgoing)
            try:
                return await _read(response.status, response.headers, response.stream, request)
            finally:
                await response.aclose()


async def _read(status: int, raw_headers: Any, stream: AsyncIterator[bytes], request: WebRequest) -> WebResponse:
    headers = tuple((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in raw_headers)
    head = WebResponse(status, headers)
    unpack = unpacker(head.header("content-encoding"))
    said = head.header("content-length") or ""
    if said.isdigit() and len(said) < 19 and int(said) > request.max_bytes and not request.cut:
        raise _too_large(request)
    content, wire_bytes, complete = bytearray(), 0, True
    async for piece in stream:
        wire_bytes += len(piece)
        content += unpack.feed(piece, request.max_bytes - len(content))
        if len(content) > request.max_bytes or wire_bytes > request.max_bytes:
            if not request.cut:
                raise _too_large(request)
            complete = False
            break
    if complete and not unpack.finished:
        raise FetchFailedError("The answer broke off before its end.", "network")
    return WebResponse(status, headers, bytes(content[: request.max_bytes]), wire_bytes, complete)


def _headers(url: Url, request: WebRequest) -> list[tuple[bytes, bytes]]:
    named = {"user-agent": user_agent(), "accept": "*/*", **{name.lower(): value for name, value in request.headers.items()}}
    pairs = {name: value for name, value in named.items() if name not in _NOT_FROM_CALLERS}
    pairs |= {"host": url.authority, "connection": "close", "accept-encoding": ACCEPTED}
    if request.body or request.method not in ("GET", "HEAD"):
        pairs["content-length"] = str(len(request.body))
    return [(name.encode("ascii"), value.encode("latin-1", "replace")) for name, value in pairs.items()]


def _checked_network(httpcore: Any, inner: Any, rules: AddressRules, inside: bool) -> Any:
    """The class is defined in a function, because its base class belongs to an optional package."""

    class _CheckedNetwork(httpcore.AsyncNetworkBackend):  # type: ignore[misc]  # the base is only known at run time
        async def connect_tcp(self, host: str, port: int, timeout: float | None = None, **options: Any) -> Any:  # noqa: ASYNC109  the signature is httpcore's
            addresses = (await resolve(host, port, rules, inside=inside))[:_MAX_ADDRESSES]
            for place, address in enumerate(addresses):
                try:
                    return await inner.connect_tcp(address, port, timeout=timeout, **options)
                except (httpcore.ConnectError, httpcore.ConnectTimeout):
                    if place == len(addresses) - 1:
                        raise
            raise AssertionError("unreachable: there is at least one address")

        async def connect_unix_socket(self, *_: Any, **__: Any) -> Any:
            raise FetchRefusedError("Sockets of this machine are not the web.", "address")

        async def sleep(self, seconds: float) -> None:
            await asyncio.sleep(seconds)

    return _CheckedNetwork()


def _too_large(request: WebRequest) -> FetchFailedError:
    return FetchFailedError(f"The answer is larger than {request.max_bytes:,} bytes.", "size")


def _kind(error: Exception) -> str:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return "its certificate is not accepted" if isinstance(cause, ssl.SSLCertVerificationError) else "TLS failed"
        cause = cause.__cause__ or cause.__context__
    return type(error).__name__


def _usual_tls() -> ssl.SSLContext:
    import httpx

    return httpx.create_ssl_context()


def _httpcore() -> Any:
    with needs_extra("Fetching from the web", "research"):
        import httpcore
        import httpx  # noqa: F401  we use its list of certificates
    return httpcore
