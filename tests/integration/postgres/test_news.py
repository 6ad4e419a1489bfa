"""No notification is lost while the connection lives."""

from __future__ import annotations

import threading

import psycopg

from stepwell.runs.sql.postgres.connection import PostgresConnection, connect
from stepwell.runs.sql.postgres.news import News

PATIENCE_S = 20


def test_what_is_said_while_the_listener_asks_something_is_heard(postgres_url: str):
    asking, heard, told = threading.Event(), threading.Event(), []

    def ask(connection: PostgresConnection) -> None:
        asking.set()
        connection.execute("SELECT pg_sleep(0.5)")

    def tell(kind: str, name: str) -> None:
        told.append((kind, name))
        if kind == "thread":
            heard.set()

    news = News(lambda: connect(postgres_url), tell, ask, lambda: 0, lambda: False)
    news.start()
    try:
        assert asking.wait(PATIENCE_S)
        with psycopg.connect(postgres_url, autocommit=True) as other:
            other.execute("NOTIFY stepwell, 'thread while-asking'")
        assert heard.wait(PATIENCE_S), told
    finally:
        news.close()
