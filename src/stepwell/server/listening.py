"""Speaks HTTP on a socket until it is told to stop, and then stops in good order.

```
signal -> no new connections -> streams end (their clients come back) -> runs finish, for a while -> the rest is handed back
second signal -> the process ends at once; what was acknowledged is on disk
```

The services are opened and closed by the caller. The socket is bound before anything else is done, so that a port in use is
known at once, and port 0 has a number before it is told.
"""

from __future__ import annotations

import errno
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

import uvicorn

from stepwell.errors import ConfigurationError
from stepwell.server.request_heads import BoundedHeads

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from stepwell.server.opening import Services

_ANSWERS_S = 2
"""For answers that are being written when the runs are done with."""
_IDLE_S = 75
"""For a connection nobody uses. Longer than clients keep one (httpx: 5 s, the same as uvicorn's own): who closes it must be the
client, or a request sent at that very moment is lost without an answer."""


def bind(host: str, port: int) -> socket.socket:
    """A socket of this address that nobody can connect to yet; `ConfigurationError` says why there is none."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise ConfigurationError(f"'{host}' is no address of this machine. Use 127.0.0.1, or 0.0.0.0 for all.") from error
    reason: OSError | None = None
    for family, kind, protocol, _, address in found:
        try:
            return _bound(socket.socket(family, kind, protocol), address)
        except OSError as error:
            reason = error
    raise ConfigurationError(_refusal(host, port, reason)) from reason


def address_of(bound: socket.socket, host: str) -> str:
    """The address to tell people."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104 - compared
    return f"http://{shown}:{bound.getsockname()[1]}"


async def listen(app: ASGIApp, services: Services, bound: socket.socket, on_ready: Callable[[], None]) -> None:
    """Serve until a signal comes. Afterwards no run is under way here any more."""
    config = uvicorn.Config(
        app,
        http=BoundedHeads,
        lifespan="off",  # the services are the caller's
        ws="none",  # none are offered; a request for one is answered like any other
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_ANSWERS_S,
        timeout_keep_alive=_IDLE_S,
    )
    await _Listener(config, services, on_ready).serve(sockets=[bound])


class _Listener(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, services: Services, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._services = services
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        for connection in tuple(self.server_state.connections):
            connection.shutdown()  # at once if it is idle, otherwise after its answer
        logging.getLogger("uvicorn.error").addFilter(_is_not_about_cut_streams)
        self._services.streams.end_all()
        # Before uvicorn waits for answers: whoever waits for a run that ends in time still hears of it.
        await self._services.engine.drain()
        self._services.streams.end_all()  # one may have been asked for in between
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Our own: uvicorn would raise the signal again at the end, and the process would not exit with 0."""
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
            os._exit(128 + sig)
        self.should_exit = True


def _is_not_about_cut_streams(record: logging.LogRecord) -> bool:
    """Streams are broken off on purpose when the server stops; uvicorn would report each as a fault of the application."""
    return "without completing response" not in record.getMessage()


def _signals() -> Sequence[signal.Signals]:
    usual = [signal.SIGINT, signal.SIGTERM]
    if sys.platform == "win32":
        usual.append(signal.SIGBREAK)  # Ctrl-Break
    return usual


def _bound(made: socket.socket, address: object) -> socket.socket:
    try:
        if sys.platform != "win32":  # there it would let two servers have one port
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)  # type: ignore[arg-type]  # as getaddrinfo gave it
    except OSError:
        made.close()
        raise
    return made


def _refusal(host: str, port: int, reason: OSError | None) -> str:
    code = reason.errno if reason else None
    if code == errno.EADDRINUSE:
        return (
            f"Port {port} of '{host}' is in use. Stop what listens there, or choose another with --port (0 takes a free one)."
        )
    if code == errno.EACCES:
        return f"Port {port} of '{host}' needs rights this user does not have. Choose one above 1023 with --port."
    return f"'{host}' is no address of this machine. Use 127.0.0.1, or 0.0.0.0 for all."
