"""What other processes do, as it happens: a separate thread listens to the database's notifications.

| notification | sent by a trigger when | here |
|---|---|---|
| `thread <id>` | a thread has new events, or is deleted | its followers read the table |
| `run <id>` | a run has ended, or is deleted | those waiting for it look |
| `cancel <id>` | a running run is to be stopped | it is stopped, if it is driven here |
| `work` | a run may have become claimable | workers look |
| `crons` | a cron was made or changed | the process that starts scheduled runs looks |
| `leads` | (not sent) this process leads from now on, or no longer | it maintains the database |
| `all` | anything may have changed | everybody looks |
| `newer` | (not sent) a newer version has changed the tables | this process stops and listens no more |

A notification is only a hint to look. None is lost while the connection lives, and after a reconnect `all` makes up for those missed. Every
`LOOK_S` seconds workers look without a notification, since runs also become due as time passes.

The same connection holds the lock of the one process that maintains the database (`Maintenance.leads`). The lock is released when the
process dies.
"""

from __future__ import annotations

import logging
import os
import select
import threading
from collections.abc import Callable
from contextlib import suppress
from time import monotonic

import psycopg

from stepwell.database.postgres.connection import PostgresConnection
from stepwell.database.postgres.migrate import NewerFormError
from stepwell.database.postgres.refusals import first_line

logger = logging.getLogger(__name__)

LOOK_S = 2.0
_AGAIN_S = 0.5
_LEADER = 0x5354574D
"""The advisory lock of the process that maintains the database."""
Tell = Callable[[str, str], None]
"""Called in the listening thread with the kind and the id of what happened."""


class News:
    """`start()`, then `close()`. `asked` is called with each new connection, and every `LOOK_S` seconds; `own` returns the process id of
    this process's writing connection, `candidate` whether this process would lead."""

    def __init__(
        self,
        connect: Callable[[], PostgresConnection],
        tell: Tell,
        asked: Callable[[PostgresConnection], None],
        own: Callable[[], int],
        candidate: Callable[[], bool],
    ) -> None:
        self._connect = connect
        self._own = own
        self._candidate = candidate
        self._tell = tell
        self._asked = asked
        self._wake_up, self._woken = os.pipe()
        self._leads = False
        self._thread = threading.Thread(target=self._listen, name="stepwell-news", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        os.write(self._woken, b"x")
        self._thread.join()
        os.close(self._wake_up)
        os.close(self._woken)

    def _listen(self) -> None:
        closing = False
        while not closing:
            try:
                connection = self._connect()
            except NewerFormError as error:
                self._tell("newer", first_line(error))
                return
            except psycopg.Error as error:
                logger.warning("cannot listen for the database's notifications: %s", type(error).__name__)
                closing = self._closes_within(_AGAIN_S)
                continue
            try:
                closing = self._listen_on(connection)
            except NewerFormError as error:
                self._tell("newer", first_line(error))
                return
            except psycopg.Error as error:
                logger.warning("stopped receiving the database's notifications: %s", type(error).__name__)
                closing = self._closes_within(_AGAIN_S)
            finally:
                self._lead(leads=False)
                with suppress(psycopg.Error):
                    connection.close()

    def _listen_on(self, connection: PostgresConnection) -> bool:
        """Listen until closed (returns True) or until the connection is lost (raises)."""
        connection.control("LISTEN stepwell")
        self._tell("all", "")
        while True:
            self._look(connection)
            look_at = monotonic() + LOOK_S
            while (left := look_at - monotonic()) > 0:
                ready, _, _ = select.select([connection.raw.fileno(), self._wake_up], [], [], left)
                if self._wake_up in ready:
                    return True
                if ready:
                    self._hear(connection)

    def _look(self, connection: PostgresConnection) -> None:
        self._asked(connection)
        if not self._leads and self._candidate():
            self._lead(leads=bool(connection.execute("SELECT pg_try_advisory_lock(?)", (_LEADER,)).fetchone()[0]))
        self._hear(connection)  # libpq keeps the notifications that arrive during a statement
        self._tell("work", "")

    def _hear(self, connection: PostgresConnection) -> None:
        raw = connection.raw.pgconn
        raw.consume_input()
        if raw.status != psycopg.pq.ConnStatus.OK:
            raise psycopg.OperationalError("the connection was lost")
        while (heard := raw.notifies()) is not None:
            self._pass_on(heard.be_pid, heard.extra.decode())

    def _pass_on(self, writer: int, text: str) -> None:
        if writer == self._own():  # code that writes in this process wakes its waiters itself
            return
        kind, _, name = text.partition(" ")
        self._tell(kind, name)

    def _lead(self, *, leads: bool) -> None:
        self._leads = leads
        self._tell("leads", "yes" if leads else "")

    def _closes_within(self, seconds: float) -> bool:
        return bool(select.select([self._wake_up], [], [], seconds)[0])
