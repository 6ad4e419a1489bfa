"""Everything that belongs to one user, as JSON lines that are produced while they are sent, so that nothing is collected in memory first.

```
export                     user, time, format version
assistant                  each followed by its earlier versions: assistant_version
thread                     each followed by its state (newest, with subgraphs), a checkpoint for each step, its runs: run,
                           their steps: step,
                           and what products keep of it, such as research's evidence
cron                       each with what became of its slots: cron_slot
item                       of the store
usage                      by run
```

Each line is an object whose `kind` is one of those words. A reader skips lines of an unknown kind.
The events of runs are left out, since they only repeat this data. So are secrets that were passed to a run.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import asdict, replace
from typing import Any, TypeVar

from stepwell.clock import Clock, timestamp
from stepwell.database.crons import KEPT_SLOTS, Cron, CronFilter
from stepwell.database.persistence import Persistence
from stepwell.database.records.repository import Repository
from stepwell.database.records.types import AssistantFilter, Page, ThreadFilter
from stepwell.database.tables import installed_tables
from stepwell.database.types import Assistant, Thread
from stepwell.errors import ConfigurationError, NotFoundError
from stepwell.runs.threads.state import ThreadStates
from stepwell.secrets.values import without_secrets
from stepwell.state.wire import encode

FORM = 1
_AT_ONCE = 100

T = TypeVar("T")


async def export_owner(owner: str, persistence: Persistence, states: ThreadStates, clock: Clock) -> AsyncIterator[bytes]:
    """Yields the lines, each with its line break."""
    records = persistence.records
    yield _line("export", form=FORM, owner=owner, created_at=timestamp(clock))
    async for assistant in _pages(lambda page: records.search_assistants(owner, AssistantFilter(), page)):
        if assistant.owner == owner:  # leaves out the server's own, which everybody sees
            async for line in _assistant(assistant, records):
                yield line
    async for thread in _pages(lambda page: records.search_threads(owner, ThreadFilter(), page)):
        async for line in _thread(thread, records, states):
            yield line
        async for line in _product_rows(thread.thread_id, persistence):
            yield line
    async for cron in _pages(lambda page: persistence.crons.search(owner, CronFilter(), page)):
        async for line in _cron(cron, persistence):
            yield line
    async for line in _items(owner, persistence):
        yield line
    for used in await records.usage(owner, "run"):
        yield _line("usage", run_id=used.key, **asdict(used.usage))


async def _assistant(assistant: Assistant, records: Repository) -> AsyncIterator[bytes]:
    yield _line("assistant", **asdict(assistant))
    versions = _pages(lambda page: records.assistant_versions(assistant.owner, assistant.assistant_id, {}, page))
    async for version in versions:
        if version.version != assistant.version:
            yield _line("assistant_version", **asdict(version))


async def _thread(thread: Thread, records: Repository, states: ThreadStates) -> AsyncIterator[bytes]:
    yield _line("thread", **asdict(thread))
    async for line in _state(thread.owner, thread.thread_id, states):
        yield line
    async for run in _pages(lambda page: records.list_runs(thread.owner, thread.thread_id, None, page)):
        request = run.request.without_secrets()
        if run.owner != thread.owner:  # on a shared thread; what is known about that user is theirs
            request = replace(request, user=None)
        yield _line("run", **asdict(replace(run, request=request)))
    async for line in _steps(thread, records):
        yield line


async def _steps(thread: Thread, records: Repository) -> AsyncIterator[bytes]:
    after = 0
    while kept := await records.steps(thread.owner, thread.thread_id, after=after, limit=_AT_ONCE):
        for each in kept:
            yield _line("step", thread_id=thread.thread_id, run_id=each.run_id, number=each.number, step=asdict(each.step))
        after = kept[-1].number


async def _product_rows(thread_id: str, persistence: Persistence) -> AsyncIterator[bytes]:
    for tables in installed_tables():
        if tables.export is not None:
            async for fields in tables.export(persistence.database, thread_id):
                yield encode(fields) + b"\n"


async def _cron(cron: Cron, persistence: Persistence) -> AsyncIterator[bytes]:
    # What a project's `authenticate` returned may contain secrets under any name.
    access = replace(cron.access, user=None)
    yield _line("cron", **{**asdict(cron), "access": asdict(access), "order": without_secrets(cron.order)})
    for slot in await persistence.crons.slots(cron.owner, cron.cron_id, limit=KEPT_SLOTS):
        yield _line("cron_slot", cron_id=cron.cron_id, **asdict(slot))


async def _items(owner: str, persistence: Persistence) -> AsyncIterator[bytes]:
    store = persistence.store(owner)
    offset = 0
    while items := await store.asearch((), limit=_AT_ONCE, offset=offset):
        for item in items:
            yield _line("item", **item.dict())
        offset += len(items)


async def _pages(search: Callable[[Page], Awaitable[Sequence[T]]]) -> AsyncIterator[T]:
    """All records that `search` finds, page by page. The oldest come first, so that records created meanwhile come at the end and shift
    nothing. Ends early if what they belong to is deleted meanwhile."""
    offset = 0
    try:
        while found := await search(Page(limit=_AT_ONCE, offset=offset, sort_by="created_at", descending=False)):
            for record in found:
                yield record
            offset += len(found)
    except NotFoundError:
        return


async def _state(owner: str, thread_id: str, states: ThreadStates) -> AsyncIterator[bytes]:
    try:
        yield _line("state", thread_id=thread_id, state=await states.read(owner, thread_id, None, subgraphs=True))
        async for line in _checkpoints(owner, thread_id, states):
            yield line
    except (NotFoundError, ConfigurationError) as error:
        # The thread was deleted meanwhile, or its graph is no longer served. The thread's own line has its last values.
        yield _line("state", thread_id=thread_id, state=None, missing_because=str(error))


async def _checkpoints(owner: str, thread_id: str, states: ThreadStates) -> AsyncIterator[bytes]:
    before: str | None = None
    while True:
        earlier = await states.history(
            owner, thread_id, limit=_AT_ONCE, before=before, metadata=None, checkpoint=None, show_values=lambda _: None
        )
        for state in earlier:
            shown = {name: state[name] for name in ("checkpoint", "parent_checkpoint", "metadata", "created_at", "next")}
            yield _line("checkpoint", thread_id=thread_id, **shown)
        if len(earlier) < _AT_ONCE:
            return
        before = earlier[-1]["checkpoint_id"]


def _line(kind: str, **fields: Any) -> bytes:
    return encode({"kind": kind, **fields}) + b"\n"
