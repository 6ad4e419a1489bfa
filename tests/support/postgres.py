"""A Postgres for tests: a cluster in a folder of its own, made with the system's `initdb`, gone when the tests are over.

```python
with PostgresCluster(tmp_path_factory.mktemp("postgres")) as cluster:
    url = cluster.create("one")                     # an empty database
    other = cluster.create("two", template="one")   # a copy of it, much quicker than making its tables again
```

It listens on a socket file only, and writes nothing through to the disk: it is quick, and no other program can reach it. Where Postgres
is not installed, its tests are left out (`tests/support/missing.py`); where it does not start, they fail.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from time import monotonic, sleep
from types import TracebackType
from typing import IO, Any, Self

from tests.support.missing import MissingProgramError

from stepwell.errors import ConfigurationError, needs_extra

with needs_extra("Testing with Postgres", "postgres"):
    import psycopg

_PATIENCE_S = 60.0
_SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "autovacuum": "off",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "max_wal_size": "4GB",
    "log_min_messages": "warning",
}


class PostgresCluster:
    """`with PostgresCluster(folder) as cluster`. Started on entering, stopped and deleted on leaving."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        self._settings = _SETTINGS | settings
        # A socket's path may have 107 characters at most, and folders of tests are often longer.
        self._sockets = Path(tempfile.mkdtemp(prefix="pg-"))
        self._server: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self._initialise()
            self.start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
        for folder in (self._data, self._sockets):
            shutil.rmtree(folder, ignore_errors=True)

    def url(self, database: str) -> str:
        return f"postgresql:///{database}?host={self._sockets}&user=postgres"

    @property
    def socket(self) -> Path:
        """The file that it listens on."""
        return self._sockets / ".s.PGSQL.5432"

    def create(self, name: str, *, template: str = "template0") -> str:
        """Make a database; gives its address."""
        self._administer(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        return self.url(name)

    def drop(self, name: str) -> None:
        self._administer(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def start(self) -> None:
        """Start the server and wait until it answers. It ends with the thread that calls this."""
        self._log = (self.folder / "postgres.log").open("ab")
        options = [f"-c{name}={value}" for name, value in self._settings.items()]
        command = [_program("postgres"), "-D", str(self._data), f"-cunix_socket_directories={self._sockets}", *options]
        self._server = subprocess.Popen(
            [*_as_somebody_harmless(dies_with_us=True), *command], stdout=self._log, stderr=self._log, cwd=self._sockets
        )
        give_up_at = monotonic() + _PATIENCE_S
        while not self._answers():
            if self._server.poll() is not None or monotonic() > give_up_at:
                raise ConfigurationError(f"The Postgres for tests does not start. It says:\n{self._said()}")
            sleep(0.02)

    def stop(self, *, how: signal.Signals = signal.SIGINT) -> None:
        """Stop the server. By default it breaks off what is under way; `SIGQUIT` is a crash."""
        if self._server is not None and self._server.poll() is None:
            self._server.send_signal(how)
            self._server.wait(_PATIENCE_S)
        if self._log is not None:
            self._log.close()
        self._server = self._log = None

    @property
    def _data(self) -> Path:
        return self._sockets / "data"

    def _initialise(self) -> None:
        if os.getuid() == 0:
            account = pwd.getpwnam("postgres")
            os.chown(self._sockets, account.pw_uid, account.pw_gid)
        command = [
            *(_program("initdb"), "-D", str(self._data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C"),
            *("--no-sync", "--no-instructions"),
        ]
        made = subprocess.run([*_as_somebody_harmless(), *command], capture_output=True, check=False, cwd=self._sockets)
        if made.returncode:
            raise ConfigurationError(f"A Postgres for tests cannot be made. It says:\n{made.stderr.decode()}")

    def _answers(self) -> bool:
        try:
            self._administer("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def _administer(self, statement: str) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement.encode())

    def _said(self) -> str:
        return (self.folder / "postgres.log").read_text(encoding="utf-8", errors="replace")[-4000:]


def _program(name: str) -> str:
    """Debian keeps these off the path, in a folder for each version."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[4]))
    path = shutil.which(name) or (str(found[-1]) if found else None)
    if path is None:
        raise MissingProgramError(f"Postgres has no program '{name}' here. Install the package `postgresql`.")
    return path


def _as_somebody_harmless(*, dies_with_us: bool = False) -> list[str]:
    """Postgres refuses to run as root; as root, use the account that its package has made."""
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        if os.getuid() == 0:
            raise MissingProgramError(
                "As root, a Postgres for tests needs the program 'setpriv'. Install the package `util-linux`."
            )
        return []
    user: list[str] = []
    if os.getuid() == 0:
        account: Any = pwd.getpwnam("postgres")
        user = [f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"]
    return [setpriv, *user, *(["--pdeathsig=INT"] if dies_with_us else []), "--"] if user or dies_with_us else []
