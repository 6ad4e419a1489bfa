"""Where a run meets workspaces: below which root it may work, depending on the caller, and whose share of the server it uses.

```
order ─> Doorkeeper.admit ─┬─ the server has no sign-in ────────────────────> any root, or the local default
                           ├─ a root it names, of its thread, or the only one > opened, and pinned into the run
                           └─ missing, not granted, or ambiguous ─────────────> AccessError, InvalidRequestError: nothing was started
```
The pinned root is stored with the run, so every worker and every attempt works below the same root. A run that continues after an answer
is admitted like any other: with the grants of the user who answers.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from stepwell.backends.objects.grants import (
    NO_ROOTS,
    ROOT_KEY,
    Granted,
    Grants,
    nothing_more,
    open_root,
    pin,
    pinned_root,
)
from stepwell.backends.objects.root import OpenedRoot, check_root
from stepwell.database.records.repository import Repository
from stepwell.database.records.types import Page
from stepwell.database.types import Assistant, Run
from stepwell.errors import AccessError, InvalidRequestError, NotFoundError
from stepwell.runs.gates import Arrival, Gate
from stepwell.runs.starting import Place, RunOrder


@dataclass(frozen=True)
class Doorkeeper(Gate):
    """Decides where a run works before it is admitted."""

    records: Repository
    asks_who: bool = False
    """Whether callers are identified. If so, only granted roots are open, and without grants none are."""
    workspaces: Collection[str] = field(default=())
    """Graphs that need a root: a run without one is refused at once."""
    max_runs: int | None = None
    """How many runs one tenant may have under way at a time."""
    granted: Granted = nothing_more
    default_root: str | None = None
    """Where a workspace graph's run works if it names no root, on a server that does not identify callers."""

    async def admit(self, arrival: Arrival) -> Arrival:
        grants = arrival.grants if isinstance(arrival.grants, Grants) else None
        place = await self._place(arrival.caller, arrival.order, arrival.assistant, grants)
        before = arrival.place
        # What other gates have pinned stays.
        return replace(
            arrival, place=replace(place, pinned={**before.pinned, **place.pinned}, tenant=place.tenant or before.tenant)
        )

    async def _place(self, owner: str | None, order: RunOrder, assistant: Assistant, grants: Grants | None) -> Place:
        asked, needed = _root_asked_for(order, assistant), assistant.graph_id in self.workspaces
        if self.asks_who:
            mine = (grants or NO_ROOTS).with_more(self.granted(owner) if owner else NO_ROOTS)
            opened = await self._open(owner, order, asked, mine, needed=needed)
        else:
            opened = await self._open_any(owner, order, asked, needed=needed)
        tenant = f"/{opened.tenant}" if opened else None
        return Place(pin(opened) if self.asks_who else {}, tenant, self.max_runs)

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
            return None  # the graph may not need a root; if it does, it will report that

    async def _open_any(self, owner: str | None, order: RunOrder, asked: object, *, needed: bool) -> OpenedRoot | None:
        """The root of a run on a server where every root is open."""
        may_name_none = not needed or self.default_root is not None
        if not asked and (may_name_none or await self._runs_of_thread(owner, order.thread_id)):
            return None  # a thread with earlier runs knows its root
        try:
            return OpenedRoot(check_root(asked))
        except InvalidRequestError:
            if needed:
                raise
            return None  # the graph may not need a root; if it does, it will report that

    async def _root_of_thread(self, owner: str | None, thread_id: str | None) -> str | None:
        """The root of the thread's newest run: a caller who continues a thread need not name it again."""
        runs = await self._runs_of_thread(owner, thread_id)
        kept = pinned_root(runs[0].request.config.get("configurable") or {}) if runs else None
        return kept.root if kept else None

    async def _runs_of_thread(self, owner: str | None, thread_id: str | None) -> Sequence[Run]:
        """The newest run of a thread, if it has one."""
        try:
            return [] if thread_id is None else await self.records.list_runs(owner, thread_id, None, Page(limit=1))
        except (AccessError, NotFoundError):  # a thread to be created has none; a missing one is refused later
            return []


def _root_asked_for(order: RunOrder, assistant: Assistant) -> object:
    """The workspace root named by an order or its assistant."""
    places = (order.context, order.config.get("configurable"), assistant.context, assistant.config.get("configurable"))
    return next((found for place in places if place and (found := place.get(ROOT_KEY))), None)
