"""What other processes do is heard, whatever the listening connection is busy with."""

from __future__ import annotations

from queue import SimpleQueue

import psycopg

from stepwell.database.postgres.connection import PostgresConnection, connect
from stepwell.database.postgres.news import News

PATIENCE_S = 60


def test_what_is_told_while_it_asks_for_something_else_is_heard(postgres_url: str):
    heard: SimpleQueue[tuple[str, str]] = SimpleQueue()
    with psycopg.connect(postgres_url, autocommit=True) as other:

        def ask(connection: PostgresConnection) -> None:
            other.execute("SELECT pg_notify('stepwell', 'run one')")
            connection.execute("SELECT pg_sleep(0.1)").fetchall()  # the answer comes behind the notification

        news = News(lambda: connect(postgres_url), lambda kind, name: heard.put((kind, name)), ask, lambda: 0, lambda: False)
        news.start()
        try:
            told = [heard.get(timeout=PATIENCE_S) for _ in range(3)]
        finally:
            news.close()
    assert told == [("all", ""), ("run", "one"), ("work", "")]
