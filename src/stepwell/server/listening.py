"""Serves HTTP on a socket until a signal arrives, and then shuts down gracefully.

```
signal -> not ready, claims no more runs; everything else continues for `notice_s`, so that load balancers can switch to other servers
       -> no new connections -> streams end (their clients reconnect) -> runs finish, for a while -> the rest is handed back
second signal -> the process exits immediately; everything acknowledged is on disk
```

The caller opens and closes the services. The socket is bound before anything else happens, so that a port in use is reported at once,
and port 0 has a number before we print it.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ipaddress import ip_address
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

from uvicorn.config import Config
from uvicorn.server import Server

from stepwell.errors import ConfigurationError
from stepwell.server.limits.heads import BoundedHeads

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from stepwell.server.parts import Services

_RESPONSES_S = 2
"""Time for responses that are still being sent when the runs have been drained."""
_IDLE_S = 75
"""How long we keep an idle connection. Longer than clients do (httpx: 5 s, the same as uvicorn's default): the client must be the one
to close it, or a request sent at that very moment is lost without a response."""


def bind(host: str, port: int) -> socket.socket:
    """A socket bound to this address, not yet listening; `ConfigurationError` says why it could not be bound."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise ConfigurationError(f"'{host}' is not an address of this machine. Use 127.0.0.1, or 0.0.0.0 for all.") from error
    reason: OSError | None = None
    for family, kind, protocol, _, address in found:
        try:
            return _bind_socket(socket.socket(family, kind, protocol), address)
        except OSError as error:
            reason = error
    raise ConfigurationError(_refusal(host, port, reason)) from reason


def local_url_of(bound: socket.socket, host: str) -> str:
    """The server's URL for people on this machine."""
    return _http({"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host), bound)  # noqa: S104 - compared


def network_urls_of(bound: socket.socket, host: str) -> list[str]:
    """The server's URLs for people on other machines, if it listens on all addresses of this machine."""
    families = {"0.0.0.0": [socket.AF_INET], "::": [socket.AF_INET, socket.AF_INET6]}.get(host, [])  # noqa: S104 - compared
    return [_http(address, bound) for family in families if (address := _own_address(family))]


def _http(host: str, bound: socket.socket) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{bound.getsockname()[1]}"


def _own_address(family: socket.AddressFamily) -> str | None:
    """The address at which other machines reach this one; `None` without a network. Connecting a datagram socket sends nothing."""
    outside = "192.0.2.1" if family == socket.AF_INET else "2001:db8::1"  # reserved for documentation (RFC 5737, RFC 3849)
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as asking:
            asking.connect((outside, 9))
            found = str(asking.getsockname()[0])
    except OSError:
        return None
    return None if ip_address(found).is_loopback else found


class Draining(Protocol):
    """Reports progress between the signal and the exit."""

    async def draining(self) -> None:
        """Awaited as long as runs may still finish; cancelled afterwards."""
        ...

    def drained(self, handed_back: int) -> None:
        """`handed_back` is the number of runs that did not finish in time."""
        ...


async def listen(
    app: ASGIApp,
    services: Services,
    bound: socket.socket,
    on_ready: Callable[[], None],
    farewell: Draining,
    *,
    notice_s: float = 0.0,
) -> None:
    """Serve until a signal arrives. When it returns, this process executes no more runs."""
    config = Config(
        app,
        http=BoundedHeads,
        lifespan="off",  # the caller opens the services
        ws=open_websocket,  # type: ignore[arg-type]  # called like a class
        ws_max_size=services.parts.settings.body_limit_bytes,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # `limits.proxies` trusts only the configured proxies; uvicorn would trust this machine
        timeout_graceful_shutdown=_RESPONSES_S,
        timeout_keep_alive=_IDLE_S,
    )
    await _Listener(config, services, on_ready, farewell, notice_s).serve(sockets=[bound])


def open_websocket(**given: Any) -> asyncio.Protocol:
    """The protocol for one websocket. It is imported for the first one, because most servers never get any."""
    from stepwell.server.websocket_protocol import RefusableSocket

    return RefusableSocket(**given)


class _Listener(Server):
    def __init__(
        self,
        config: Config,
        services: Services,
        on_ready: Callable[[], None],
        farewell: Draining,
        notice_s: float,
    ) -> None:
        super().__init__(config)
        self._notice_s = notice_s
        self._services = services
        self._on_ready = on_ready
        self._farewell = farewell

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        for each in sockets or ():
            _listen_at(each, self.config.backlog)
        await super().startup(sockets)
        self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._services.engine.stop_claiming()
        await asyncio.sleep(self._notice_s)
        for server in self.servers:
            server.close()
        for connection in tuple(self.server_state.connections):
            connection.shutdown()  # closes it at once if it is idle, otherwise after its response
        logging.getLogger("uvicorn.error").addFilter(_is_not_about_cut_streams)
        self._services.streams.end_all()
        # Drain before uvicorn waits for responses, so that clients that wait for a run still get its result if it ends in time.
        await self._drain()
        self._services.streams.end_all()  # a stream may have been opened in between
        await super().shutdown(sockets)

    async def _drain(self) -> None:
        telling = asyncio.create_task(self._farewell.draining())
        try:
            handed_back = await self._services.engine.drain()
        finally:
            telling.cancel()
            await asyncio.wait({telling})
        self._farewell.drained(handed_back)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Overridden because uvicorn would raise the signal again at the end, and the process would not exit with 0."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in _signals()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit:
            # Not `print`, because the signal may have interrupted a `print`.
            os.write(2, b"Stopped immediately. Active runs resume at the next start.\n")
            os._exit(128 + sig)
        self.should_exit = True


def _is_not_about_cut_streams(record: logging.LogRecord) -> bool:
    """We cut streams on purpose when the server stops; uvicorn would report each as an application error."""
    return "without completing response" not in record.getMessage()


def _signals() -> Sequence[signal.Signals]:
    usual = [signal.SIGINT, signal.SIGTERM]
    if sys.platform == "win32":
        usual.append(signal.SIGBREAK)  # Ctrl-Break
    return usual


def _bind_socket(made: socket.socket, address: object) -> socket.socket:
    try:
        if sys.platform != "win32":  # on Windows the option would let two servers have one port
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)  # type: ignore[arg-type]  # as getaddrinfo gave it
    except OSError:
        made.close()
        raise
    return made


def _listen_at(bound: socket.socket, backlog: int) -> None:
    """Listen, or report that the port is in use: two servers that start together can both bind a port, but only the first to listen gets
    it. uvloop would hide that, because it closes the socket silently."""
    host, port = bound.getsockname()[:2]
    try:
        bound.listen(backlog)
    except OSError as error:
        raise ConfigurationError(_refusal(host, port, error)) from error


def _refusal(host: str, port: int, reason: OSError | None) -> str:
    code = reason.errno if reason else None
    if code == errno.EADDRINUSE:
        return f"Port {port} of '{host}' is in use. Stop the other program, or choose another port with --port (0 picks a free one)."
    if code == errno.EACCES:
        return f"Port {port} of '{host}' needs privileges that this user does not have. Choose a port above 1023 with --port."
    return f"'{host}' is not an address of this machine. Use 127.0.0.1, or 0.0.0.0 for all."
