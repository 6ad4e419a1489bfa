"""A Redis for tests: the system's `redis-server` on a socket file of its own. It keeps nothing on disk and ends with the tests.

```python
with RedisServer() as redis:
    redis.url, redis.kill(), redis.start()      # killed and started again, it is empty
```

Where Redis is not installed, its tests are left out (`tests/support/missing.py`); where it does not start, they fail.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
from pathlib import Path
from time import monotonic, sleep
from types import TracebackType
from typing import Self

from tests.support.missing import MissingProgramError

from stepwell.errors import ConfigurationError

_PATIENCE_S = 30.0


class RedisServer:
    """`with RedisServer() as redis`. Started on entering, stopped and deleted on leaving."""

    def __init__(self) -> None:
        # Short: a socket's path may have 107 characters at most, and folders of tests are often longer.
        self._folder = Path(tempfile.mkdtemp(prefix="redis-"))
        self._socket = self._folder / "redis.sock"
        self._server: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"unix://{self._socket}"

    @property
    def runs(self) -> bool:
        return self._server is not None and self._server.poll() is None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def start(self) -> None:
        """Start the server, empty, and wait until it answers."""
        program = shutil.which("redis-server")
        if program is None:
            raise MissingProgramError("There is no program 'redis-server'. Install the package `redis-server`.")
        setpriv = shutil.which("setpriv")
        with_us = [setpriv, "--pdeathsig=KILL", "--"] if setpriv else []
        options = [
            "--port",
            "0",
            "--unixsocket",
            str(self._socket),
            "--save",
            "",
            "--appendonly",
            "no",
            "--dir",
            str(self._folder),
        ]
        with (self._folder / "redis.log").open("ab") as log:
            self._server = subprocess.Popen([*with_us, program, *options], stdout=log, stderr=log)
        give_up_at = monotonic() + _PATIENCE_S
        while not self._answers():
            if self._server.poll() is not None or monotonic() > give_up_at:
                raise ConfigurationError(f"The Redis for tests does not start. It says:\n{self._said()}")
            sleep(0.02)

    def kill(self) -> None:
        """As a crash does it; nothing of what it held is left."""
        if self._server is not None:
            self._server.kill()
            self._server.wait(_PATIENCE_S)
            self._server = None

    def ask(self, command: str) -> str:
        """One command, such as `FLUSHALL`; gives the first line of the answer."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_PATIENCE_S)
            connection.connect(str(self._socket))
            connection.sendall(command.encode() + b"\r\n")
            with connection.makefile("rb") as answer:
                return answer.readline().decode().strip()

    def _answers(self) -> bool:
        try:
            return self.ask("PING") == "+PONG"
        except OSError:
            return False

    def _said(self) -> str:
        return (self._folder / "redis.log").read_text(encoding="utf-8", errors="replace")[-4000:]
