"""Assistants as records, with their versions. The current version is in the table `assistants`, all versions are in `assistant_versions`.

Assistants of the server (one per graph) are visible to everybody and changed only by the program itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from stepwell.database.callers import filter_of
from stepwell.database.database import Separate
from stepwell.database.records.base import RecordsPart
from stepwell.database.records.erasing import begin_erasing, refuse_if_busy
from stepwell.database.records.searching import Clause, Order, all_of, contains, order_by, shown_to
from stepwell.database.records.threads import threads_of_assistant
from stepwell.database.records.types import AssistantFilter, Page
from stepwell.database.rows import assistant_from_row, dumps, to_time
from stepwell.database.types import SYSTEM, Assistant
from stepwell.errors import AccessError, AlreadyExistsError, NotFoundError
from stepwell.sql import Connection, Dialect, Row

_ORDER: Order = {name: name for name in ("assistant_id", "graph_id", "name", "created_at", "updated_at")}
_VERSION_ORDER: Order = {"created_at": "version", "version": "version"}

# A version has its assistant's owner, and never changes.
_VERSIONS = (
    "SELECT * FROM (SELECT v.*, v.created_at AS updated_at, a.owner"
    " FROM assistant_versions AS v JOIN assistants AS a USING (assistant_id)) AS versions"
)


class AssistantRecords(RecordsPart):
    """The part of the repository that is about assistants."""

    async def create_assistant(
        self, assistant: Assistant, *, if_exists: Literal["raise", "do_nothing"], caller: str | None = None
    ) -> Assistant:
        """`do_nothing` returns an existing assistant of the caller (default: the assistant's owner)."""

        def work(connection: Connection) -> Assistant:
            found = connection.execute("SELECT * FROM assistants WHERE assistant_id = ?", (assistant.assistant_id,)).fetchone()
            if found is None:
                _insert(connection, assistant)
                return assistant
            if if_exists == "do_nothing" and _may_change(connection, caller or assistant.owner, found):
                return assistant_from_row(found)
            raise AlreadyExistsError(
                f"There is an assistant '{assistant.assistant_id}' already. Choose another id, or leave it out."
            )

        return await self._database.write(work)

    async def get_assistant(self, owner: str | None, assistant_id: str) -> Assistant:
        return await self._database.read(Separate(lambda connection: _find(connection, owner, assistant_id)))

    async def search_assistants(self, owner: str | None, wanted: AssistantFilter, page: Page) -> list[Assistant]:
        where, tail = _matching(self._database.dialect, owner, wanted), order_by(page, _ORDER)
        sql = f"SELECT * FROM assistants WHERE {where.sql}{tail.sql}"  # noqa: S608 - clauses of ours
        rows = await self._database.read(lambda connection: connection.execute(sql, where.bound + tail.bound).fetchall())
        return [assistant_from_row(row) for row in rows]

    async def count_assistants(self, owner: str | None, wanted: AssistantFilter) -> int:
        where = _matching(self._database.dialect, owner, wanted)
        sql = f"SELECT COUNT(*) FROM assistants WHERE {where.sql}"  # noqa: S608 - clauses of ours
        return int(await self._database.read(lambda connection: connection.execute(sql, where.bound).fetchone()[0]))

    async def save_assistant_version(self, owner: str | None, assistant: Assistant) -> Assistant:
        """Store `assistant` as a new version (the next number), and make it the current one."""
        now = self._clock.now()

        def work(connection: Connection) -> Assistant:
            before = _find_changeable(connection, owner, assistant.assistant_id)
            newest = connection.execute(
                "SELECT MAX(version) FROM assistant_versions WHERE assistant_id = ?", (assistant.assistant_id,)
            ).fetchone()[0]
            made = replace(assistant, owner=before.owner, version=newest + 1, created_at=before.created_at, updated_at=now)
            _insert_version(connection, made)
            _make_current(connection, made)
            return made

        return await self._database.write(work)

    async def assistant_versions(
        self, owner: str | None, assistant_id: str, metadata: Mapping[str, Any], page: Page
    ) -> list[Assistant]:
        chosen = Clause("assistant_id = ?", (assistant_id,))
        where, tail = (
            all_of(chosen, shown_to(self._database.dialect, owner), contains(self._database.dialect, "metadata", metadata)),
            order_by(page, _VERSION_ORDER, then="version"),
        )
        sql = f"{_VERSIONS} WHERE {where.sql}{tail.sql}"

        def work(connection: Connection) -> list[Assistant]:
            _find(connection, owner, assistant_id)
            return [assistant_from_row(row) for row in connection.execute(sql, where.bound + tail.bound)]

        return await self._database.read(work)

    async def set_assistant_version(self, owner: str | None, assistant_id: str, version: int) -> Assistant:
        now = self._clock.now()

        def work(connection: Connection) -> Assistant:
            before = _find_changeable(connection, owner, assistant_id)
            row = connection.execute(
                f"{_VERSIONS} WHERE assistant_id = ? AND version = ?",
                (assistant_id, min(version, 2**63 - 1)),
            ).fetchone()
            if row is None:
                raise NotFoundError(
                    "version", f"{version} of assistant {assistant_id}", "List its versions to see which there are."
                )
            chosen = replace(assistant_from_row(row), created_at=before.created_at, updated_at=now)
            _make_current(connection, chosen)
            return chosen

        return await self._database.write(work)

    async def delete_assistant(self, owner: str | None, assistant_id: str, *, delete_threads: bool = False) -> None:
        def work(connection: Connection) -> list[str]:
            _find_changeable(connection, owner, assistant_id)
            threads = threads_of_assistant(connection, owner, assistant_id) if delete_threads else []
            for thread_id in threads:
                refuse_if_busy(connection, thread_id)
                begin_erasing(connection, thread_id)
            connection.execute("DELETE FROM assistant_versions WHERE assistant_id = ?", (assistant_id,))
            connection.execute("DELETE FROM assistants WHERE assistant_id = ?", (assistant_id,))
            return threads

        await self._erase(await self._database.write(work, frees=True))


def _matching(dialect: Dialect, owner: str | None, wanted: AssistantFilter) -> Clause:
    clauses = [shown_to(dialect, owner), contains(dialect, "metadata", wanted.metadata)]
    if wanted.graph_id is not None:
        clauses.append(Clause("graph_id = ?", (wanted.graph_id,)))
    if wanted.name is not None:
        clauses.append(Clause("lower(name) LIKE lower(?) ESCAPE '!'", (_anywhere(wanted.name),)))
    if wanted.served:
        by_server, marks = contains(dialect, "metadata", {"created_by": "system"}), ", ".join("?" * len(wanted.served))
        clauses.append(Clause(f"NOT ({by_server.sql} AND graph_id NOT IN ({marks}))", (*by_server.bound, *wanted.served)))
    return all_of(*clauses)


def _anywhere(text: str) -> str:
    """A pattern for `LIKE` that finds the text anywhere; `!` escapes a character."""
    return "%" + re.sub(r"[%_!]", r"!\g<0>", text) + "%"


def _find(connection: Connection, owner: str | None, assistant_id: str) -> Assistant:
    where = all_of(Clause("assistant_id = ?", (assistant_id,)), shown_to(connection.dialect, owner))
    row = connection.execute(f"SELECT * FROM assistants WHERE {where.sql}", where.bound).fetchone()  # noqa: S608 - clauses of ours
    if row is None:
        raise NotFoundError("assistant", assistant_id, "Search the assistants to see which there are.")
    return assistant_from_row(row)


def _may_change(connection: Connection, caller: str, found: Row) -> bool:
    if filter_of(caller, "assistants") is None or found["owner"] == SYSTEM:
        return bool(found["owner"] == caller)
    where = all_of(Clause("assistant_id = ?", (found["assistant_id"],)), shown_to(connection.dialect, caller))
    return connection.execute(f"SELECT 1 FROM assistants WHERE {where.sql}", where.bound).fetchone() is not None  # noqa: S608 - clauses of ours


def _find_changeable(connection: Connection, owner: str | None, assistant_id: str) -> Assistant:
    assistant = _find(connection, owner, assistant_id)
    if owner is not None and assistant.owner == SYSTEM:
        raise AccessError(
            f"Assistant '{assistant_id}' belongs to the server and cannot be changed. "
            f"Create an assistant of your own for the graph '{assistant.graph_id}'."
        )
    return assistant


def _insert(connection: Connection, assistant: Assistant) -> None:
    connection.execute(
        "INSERT INTO assistants (assistant_id, owner, graph_id, name, description, config, context, metadata, version, created_at,"
        " updated_at) VALUES (:assistant_id, :owner, :graph_id, :name, :description, :config, :context, :metadata, :version,"
        " :created_at, :updated_at)",
        _columns(assistant),
    )
    _insert_version(connection, assistant)


def _insert_version(connection: Connection, assistant: Assistant) -> None:
    connection.execute(
        "INSERT INTO assistant_versions (assistant_id, version, graph_id, name, description, config, context, metadata, created_at)"
        " VALUES (:assistant_id, :version, :graph_id, :name, :description, :config, :context, :metadata, :updated_at)",
        _columns(assistant),
    )


def _make_current(connection: Connection, assistant: Assistant) -> None:
    connection.execute(
        "UPDATE assistants SET graph_id = :graph_id, name = :name, description = :description, config = :config,"
        " context = :context, metadata = :metadata, version = :version, updated_at = :updated_at WHERE assistant_id = :assistant_id",
        _columns(assistant),
    )


def _columns(assistant: Assistant) -> dict[str, Any]:
    return {
        "assistant_id": assistant.assistant_id,
        "owner": assistant.owner,
        "graph_id": assistant.graph_id,
        "name": assistant.name,
        "description": assistant.description,
        "config": dumps(assistant.config),
        "context": dumps(assistant.context),
        "metadata": dumps(assistant.metadata),
        "version": assistant.version,
        "created_at": to_time(assistant.created_at),
        "updated_at": to_time(assistant.updated_at),
    }
