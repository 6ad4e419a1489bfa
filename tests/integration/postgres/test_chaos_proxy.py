"""The proxy before a database loses the answer to a commit, and nothing else: what was committed is there, and the client does not know."""

from __future__ import annotations

import psycopg
import pytest
from tests.integration.postgres.chaos.proxy import DatabaseProxy
from tests.integration.postgres.wire import is_commit
from tests.support.postgres import PostgresCluster


async def open_through(proxy: DatabaseProxy) -> psycopg.AsyncConnection:
    return await psycopg.AsyncConnection.connect(proxy.url("shared"), autocommit=True)


async def begin(connection: psycopg.AsyncConnection, key: str) -> None:
    await connection.execute("BEGIN")
    insert = "INSERT INTO effects (origin, key, run_id, state, created_at) VALUES ('o', %s, 'r', 'begun', 0)"
    await connection.execute(insert, (key,))


async def is_stored(url: str, key: str) -> bool:
    async with await psycopg.AsyncConnection.connect(url) as connection:
        return await (await connection.execute("SELECT 1 FROM effects WHERE key = %s", (key,))).fetchone() is not None


@pytest.mark.parametrize("binary", [False, True], ids=["as a query", "parsed, bound and executed"])
async def test_a_lost_commit_is_stored_and_its_connection_is_gone(
    postgres_cluster: PostgresCluster, postgres_url: str, binary: bool
) -> None:
    async with DatabaseProxy(postgres_cluster.socket) as proxy:
        connection = await open_through(proxy)
        await begin(connection, "lost")
        lost = proxy.lose_commit()
        with pytest.raises(psycopg.OperationalError):
            await connection.execute("COMMIT", binary=binary)
        assert lost.is_set()
        assert await is_stored(postgres_url, "lost")
        await connection.close()


async def test_only_one_commit_is_lost_and_none_that_is_kept(postgres_cluster: PostgresCluster, postgres_url: str) -> None:
    async with DatabaseProxy(postgres_cluster.socket) as proxy:
        first, second = await open_through(proxy), await open_through(proxy)
        lost = proxy.lose_commit()
        proxy.keep_commits()
        await begin(first, "kept")
        await first.execute("COMMIT")
        assert not lost.is_set()
        await begin(first, "lost")
        proxy.lose_commit()
        await second.execute("SELECT 1")
        with pytest.raises(psycopg.OperationalError):
            await first.execute("COMMIT")
        await begin(second, "other")
        await second.execute("COMMIT")
        assert [await is_stored(postgres_url, key) for key in ("kept", "lost", "other")] == [True] * 3
        await first.close()
        await second.close()


def message(kind: bytes, body: bytes) -> bytes:
    return kind + (len(body) + 4).to_bytes(4) + body


@pytest.mark.parametrize(
    ("sent", "commits"),
    [
        (message(b"Q", b"COMMIT\0"), True),
        (message(b"Q", b"UPDATE a SET b = 1; commit;\0"), True),
        (message(b"P", b"name\0COMMIT\0\0\0") + message(b"S", b""), True),
        (message(b"Q", b"SELECT 'COMMIT'\0"), False),
        (message(b"Q", b"SELECT committed FROM a\0"), False),
        (message(b"P", b"COMMIT\0SELECT 1\0\0\0") + message(b"S", b""), False),
        (message(b"B", b"\0COMMIT\0") + message(b"S", b""), False),
    ],
)
def test_a_commit_is_recognised_on_the_wire(sent: bytes, commits: bool) -> None:
    assert is_commit(sent) == commits
