"""Takes turns of a served thread back. The run that does it is one like any other: admitted, fenced, driven again after a crash.

```
look ──▶ cannot, or a dry run ──▶ the report
     └─▶ a run from the checkpoint before the turn, with the order as its input ──▶ the report
           └─ somebody changed a file meanwhile, or one cannot be written
                ──▶ the thread's former head is its newest checkpoint again, and the report says why
```
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from langchain_core.runnables import RunnableConfig

from stepwell.backends.steps import arun_steps
from stepwell.database.persistence import Persistence
from stepwell.database.records.types import Page
from stepwell.database.types import Run
from stepwell.errors import NotFoundError, RewindError, ThreadBusyError
from stepwell.runs.driving import make_config
from stepwell.runs.engine import Engine
from stepwell.runs.graphs.registry import GraphRegistry
from stepwell.runs.starting import RunOrder
from stepwell.runs.threads.operations import Threads
from stepwell.tools.rewind.journal import FILE_JOURNAL

if TYPE_CHECKING:
    # For types only: an agent's middleware takes a third of a second to import, and a server starts without it.
    from stepwell.middleware.rewind.looking import Looking, RewindPlan
    from stepwell.middleware.rewind.reports import RewindReport

_COPY = "__copy__"
_CONFLICT = "RewindConflictError"
_SWITCHED = (
    "Since this turn, files were changed by several assistants, or by one with different settings, and they do not have the same files. "
    "Go back to a turn after which only one of them changed files."
)
_STOPPED = "RewindError"


@dataclass(frozen=True)
class Rewinding:
    """Rewinds threads."""

    persistence: Persistence
    registry: GraphRegistry
    threads: Threads
    engine: Engine

    async def rewind(
        self, owner: str | None, thread_id: str, turn_id: str, *, dry_run: bool, force: bool, grants: object = None
    ) -> RewindReport:
        """What was done, or would be done. If `can_rewind` is false, the conversation is as it was."""
        await self.threads.get(owner, thread_id, with_values=False)
        like, *others = await self._runs(owner, thread_id, turn_id)
        found = await self._look(like, others, turn_id, force=force)
        await self._add_cost(owner, like, found)
        if dry_run or not found.report["can_rewind"]:
            return found.report
        return await self._carry_out(owner, like, found, grants)

    async def _runs(self, owner: str | None, thread_id: str, turn_id: str) -> list[Run]:
        """The runs whose files have to go back, one for each agent and context, newest first: files are restored by the agent that changed
        them. Without changes, the run that began the turn."""
        from stepwell.middleware.rewind.planning import changes_since, find_turn

        entries = await asyncio.wrap_future(self.persistence.files(thread_id).entries())
        records, mark = self.persistence.records, find_turn(entries, turn_id)
        named = [each.run_id for each in changes_since(entries, mark) or [mark]] if mark else []
        # A copy of a thread has the journal of the original, and no runs; those of the original may be deleted.
        found = await records.runs_named(owner, named) or await records.list_runs(owner, thread_id, None, Page(limit=1))
        if not found and entries:
            raise RewindError(
                "This thread is a copy of one that is deleted, and has no run of its own yet. Send a message first, then go back."
            )
        if not found:
            raise RewindError("The thread has no turns yet, so there is nothing to take back.")
        distinct: list[Run] = []
        for run in found:
            if all(_made_with(run) != _made_with(other) for other in distinct):
                distinct.append(replace(run, thread_id=thread_id))
        return distinct

    async def _look(self, run: Run, others: Sequence[Run], turn_id: str, *, force: bool) -> RewindPlan:
        from stepwell.middleware.rewind.looking import plan_rewind

        async with self._looking(run) as looking:
            for other in others:
                async with self._looking(other) as there:
                    if not looking.has_files_of(there):
                        raise RewindError(_SWITCHED)
            steps = plan_rewind(self._config(run), turn_id, force=force)
            return await arun_steps(steps, looking.aperform)

    @asynccontextmanager
    async def _looking(self, run: Run) -> AsyncIterator[Looking]:
        """A look at the thread with the agent and the context of a run."""
        from stepwell.middleware.rewind.looking import Looking
        from stepwell.middleware.rewind.middleware import rewind_of

        async with self.registry.graph(
            run.request.graph_id,
            config=make_config(run, given={}),
            saver=self.persistence.saver(),
            store=self.persistence.store(run.owner),
            purpose="read",
            context=run.request.context,
            owner=run.owner,
        ) as graph:
            if rewind_of(graph) is None:
                raise RewindError(
                    f"The agent '{run.request.graph_id}' keeps nothing that a rewind needs. Its author can add RewindMiddleware() to it; "
                    "turns that begin from then on can be taken back."
                )
            yield Looking.at(graph, self._config(run), run.request.context)

    def _config(self, run: Run) -> RunnableConfig:
        """The config of a run, at the thread's newest checkpoint: backends may depend on it."""
        config = make_config(run, given={FILE_JOURNAL: self.persistence.files(run.thread_id)})
        return {**config, "configurable": {**config["configurable"], "checkpoint_ns": ""}}

    async def _carry_out(self, owner: str | None, before: Run, found: RewindPlan, grants: object) -> RewindReport:
        request = before.request
        order = RunOrder(
            assistant_id=request.assistant_id,
            thread_id=before.thread_id,
            input={"rewind": dict(found.order)},
            context=request.context,
            checkpoint_id=found.checkpoint_id,
            multitask_strategy="reject",
            metadata={"rewind": found.order["turn_id"]},
            rewinds=True,
        )
        try:
            admitted = await self.engine.start(owner, order, grants)
        except ThreadBusyError as error:
            raise ThreadBusyError(
                f"Thread '{before.thread_id}' has a run under way. Wait for it or cancel it, and send the rewind again."
            ) from error
        result = json.loads(await self.engine.result(owner, before.thread_id, admitted.run.run_id))
        failure = result.get("__error__") if isinstance(result, dict) else None
        if failure is None:
            return {**found.report, "rewind_id": found.order["rewind_id"]}
        if failure.get("error") in (_CONFLICT, _STOPPED):
            head = {"checkpoint_id": found.order["head"]}
            await self.threads.update_state(owner, before.thread_id, values=None, as_node=_COPY, checkpoint=head)
            rewind_id = found.order["rewind_id"] if failure.get("error") == _STOPPED else None
            return {**found.report, "can_rewind": False, "problem": str(failure.get("message")), "rewind_id": rewind_id}
        raise RewindError(str(failure.get("message")))

    async def _add_cost(self, owner: str | None, newest: Run, found: RewindPlan) -> None:
        """Add what model calls since the turn have cost, which nobody gives back."""
        if found.run_id is None:
            return
        try:
            first = await self.persistence.records.get_run(owner, newest.thread_id, found.run_id)
        except NotFoundError:  # on a copy of the thread, which has no runs of its original
            return
        rows = await self.persistence.records.usage(owner, "run", thread_id=newest.thread_id, since=first.created_at)
        calls = sum(row.usage.calls for row in rows)
        cost = sum(row.usage.cost_usd or 0 for row in rows)
        if calls:
            paid = f"${cost:.4f} for model calls" if cost else "model calls"
            found.report["not_undone"].append({"kind": "money", "what": paid, "times": calls})


def _made_with(run: Run) -> tuple[str, object]:
    """What decides which files a run has."""
    return run.request.graph_id, run.request.context
