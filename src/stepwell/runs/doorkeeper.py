"""Where a run meets workspaces: which root it may work below, by who asks, and whose share of the server it takes.

```
order ─> Doorkeeper.admit ─┬─ nobody is asked who they are ─────────────────> any root, or the local default
                           ├─ a root it names, of its thread, or the only one > opened, and pinned into the run
                           └─ missing, not theirs, or a choice not made ──────> AccessError, InvalidRequestError: nothing was started
```
What is pinned is stored with the run, so whoever drives it, and however often, works below the same root. A run that goes on after an
answer is admitted like any other: with the grants of whoever answers.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from stepwell.backends.objects.grants import (
    NO_ROOTS,
    Granted,
    Grants,
    OpenedRoot,
    nothing_more,
    open_root,
    pin,
    pinned_root,
    tenant_of,
)
from stepwell.backends.objects.root import check_root
from stepwell.database.records.repository import Repository
from stepwell.database.records.types import Page
from stepwell.database.types import Assistant, Run
from stepwell.errors import AccessError, InvalidRequestError, NotFoundError
from stepwell.runs.starting import Place, RunOrder, root_asked_for


@dataclass(frozen=True)
class Doorkeeper:
    """Says where a run works before it is admitted."""

    records: Repository
    asks_who: bool = False
    """Only what a caller was granted is open; grants that nobody handed over open nothing."""
    workspaces: Collection[str] = field(default=())
    """Graphs that cannot work without a root: a run without one is refused at once."""
    max_runs: int | None = None
    """Runs of one tenant under way at a time."""
    granted: Granted = nothing_more
    default_root: str | None = None
    """Where a workspace's run works on a server that asks nobody who they are, if it names no root."""

    async def admit(self, owner: str | None, order: RunOrder, assistant: Assistant, grants: Grants | None) -> Place:
        asked = root_asked_for(order, assistant)
        if not self.asks_who:
            if assistant.graph_id in self.workspaces:
                await self._require_root(owner, order, asked)
            return Place({}, _tenant_of_any(asked), self.max_runs)
        mine = (grants or NO_ROOTS).with_more(self.granted(owner) if owner else NO_ROOTS)
        opened = await self._open(owner, order, asked, mine, needed=assistant.graph_id in self.workspaces)
        return Place(pin(opened), f"/{opened.tenant}" if opened else None, self.max_runs)

    async def _open(
        self, owner: str | None, order: RunOrder, asked: object, grants: Grants, *, needed: bool
    ) -> OpenedRoot | None:
        if needed and not asked:
            return open_root(grants, None, await self._root_of_thread(owner, order.thread_id))
        try:
            return open_root(grants, asked)
        except (AccessError, InvalidRequestError):
            if asked or needed:
                raise
            return None  # the graph may have no use for a root; one that has will say so

    async def _require_root(self, owner: str | None, order: RunOrder, asked: object) -> None:
        if asked or (self.default_root is None and not await self._runs_of_thread(owner, order.thread_id)):
            check_root(asked)  # a thread that has worked before knows its root

    async def _root_of_thread(self, owner: str | None, thread_id: str | None) -> str | None:
        """The root that a thread's newest run was tied to: who goes on with a thread need not name it again."""
        runs = await self._runs_of_thread(owner, thread_id)
        kept = pinned_root(runs[0].request.config.get("configurable") or {}) if runs else None
        return kept.root if kept else None

    async def _runs_of_thread(self, owner: str | None, thread_id: str | None) -> Sequence[Run]:
        """The newest run of a thread, if it has one."""
        try:
            return [] if thread_id is None else await self.records.list_runs(owner, thread_id, None, Page(limit=1))
        except (AccessError, NotFoundError):  # a thread that is to be made has none; one that is missing is refused later
            return []


def _tenant_of_any(asked: object) -> str | None:
    """Whose turn a run takes where every root is open; what is no root will be refused by whoever needs one."""
    try:
        return f"/{tenant_of(check_root(asked))}" if asked else None
    except InvalidRequestError:
        return None
