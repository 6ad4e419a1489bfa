"""Tasks, read from runs. A task is a run and the runs that answer its questions; it is stored nowhere else.

```
pending ─> SUBMITTED     running ─> WORKING     failed, timed out ─> FAILED     cancelled ─> CANCELED
succeeded ─> COMPLETED, or INPUT_REQUIRED if it asks; CANCELED if the conversation went on without an answer, or the caller gave it up
```
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from langgraph.constants import END

from stepwell.answers.typed import wording
from stepwell.database.records.chains import ChainFilter
from stepwell.database.records.types import Page
from stepwell.database.types import PendingInterrupt, Run, RunStatus
from stepwell.errors import NotFoundError
from stepwell.server.bridges.a2a.faults import TASK_NOT_FOUND, A2AFault
from stepwell.server.bridges.a2a.messages import history_of, ids_in, last_message, parts_of
from stepwell.server.bridges.turns import Outcome, Turn, Turns

SUBMITTED, WORKING, COMPLETED = "TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "TASK_STATE_COMPLETED"
FAILED, CANCELED, INPUT_REQUIRED = "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_INPUT_REQUIRED"
REJECTED, AUTH_REQUIRED = "TASK_STATE_REJECTED", "TASK_STATE_AUTH_REQUIRED"
TERMINAL = frozenset({COMPLETED, FAILED, CANCELED, REJECTED})
STATES = frozenset({SUBMITTED, WORKING, INPUT_REQUIRED, AUTH_REQUIRED, *TERMINAL})

RUN_STATUSES: Mapping[str, Sequence[RunStatus]] = {
    SUBMITTED: ("pending",),
    WORKING: ("running",),
    FAILED: ("error", "timeout"),
    COMPLETED: ("success",),
    INPUT_REQUIRED: ("success",),
    CANCELED: ("interrupted", "success"),
    REJECTED: (),
    AUTH_REQUIRED: (),
}
"""The status that the newest run of a task in a state can have."""
_TOLD_BY_STATUS = frozenset({SUBMITTED, WORKING, FAILED, REJECTED, AUTH_REQUIRED})

GIVEN_UP = "a2a_canceled"
"""Where a thread's metadata name the runs whose question or breakpoint a caller has given up: a run that has ended cannot be cancelled."""
_MAX_RUNS = 1_000


@dataclass(frozen=True)
class TaskId:
    thread_id: str
    run_id: str

    @classmethod
    def read(cls, text: Any) -> TaskId:
        """`A2AFault` for an id that we did not issue."""
        thread_id, _, run_id = text.partition(".") if isinstance(text, str) else ("", "", "")
        try:
            return cls(str(UUID(thread_id)), str(UUID(run_id)))
        except ValueError:
            raise unknown_task() from None

    def __str__(self) -> str:
        return f"{self.thread_id}.{self.run_id}"


@dataclass(frozen=True)
class Task:
    """A task as it is now. `runs` are its runs, oldest first."""

    id: TaskId
    runs: Sequence[Run]
    state: str
    outcome: Outcome | None = None
    """How its newest run has ended, if it has."""

    @property
    def run(self) -> Run:
        return self.runs[-1]

    @property
    def updated_at(self) -> datetime:
        """As callers see it, which is without parts of a millisecond."""
        return datetime.fromisoformat(stamp(self.run.updated_at))

    def wire(self, history_length: int | None = None, *, with_artifacts: bool = True) -> dict[str, Any]:
        names = {"id": str(self.id), "contextId": self.id.thread_id}
        shown: dict[str, Any] = {**names, "status": self.status()}
        if with_artifacts and self.state == COMPLETED and (artifact := self.artifact()):
            shown["artifacts"] = [artifact]
        if history_length != 0:
            history = history_of(self._values(), self._begin(), str(self.id), self.id.thread_id)
            shown["history"] = history[-history_length:] if history_length else history
        return shown

    def status(self) -> dict[str, Any]:
        status: dict[str, Any] = {"state": self.state, "timestamp": stamp(self.run.updated_at)}
        outcome = self.outcome
        if outcome and self.state == INPUT_REQUIRED:
            status["message"] = self._message(self._question_parts(outcome.questions))
        elif outcome and self.state == FAILED:
            status["message"] = self._message([{"text": outcome.error}])
        return status

    def _values(self) -> Any:
        return self.outcome.values if self.outcome else self.run.request.input

    def _begin(self) -> str | None:
        """The id of the message with which the task began."""
        given = self.runs[0].request.input
        messages = given.get("messages") if isinstance(given, Mapping) else None
        first = messages[0] if isinstance(messages, list) and messages else None
        return str(first["id"]) if isinstance(first, Mapping) and first.get("id") else None

    def artifact(self) -> dict[str, Any] | None:
        """The answer of a task that has ended well."""
        outcome = self.outcome
        if outcome is None:
            return None
        values = outcome.values if isinstance(outcome.values, Mapping) else {}
        message = last_message(values)
        parts = parts_of(message) if message else []
        if (structured := values.get("structured_response")) is not None:
            parts.append({"data": structured, "mediaType": "application/json"})
        if not parts and outcome.values is not None and "messages" not in values:
            parts.append({"data": outcome.values, "mediaType": "application/json"})
        name = str(message.get("id") or "") if message else ""
        return artifact_of(name or self.run.run_id, parts) if parts else None

    def _message(self, parts: list[dict[str, Any]]) -> dict[str, Any]:
        names = {"messageId": f"{self.run.run_id}-status", "contextId": self.id.thread_id, "taskId": str(self.id)}
        return {**names, "role": "ROLE_AGENT", "parts": parts}

    def _question_parts(self, questions: Sequence[PendingInterrupt]) -> list[dict[str, Any]]:
        if not questions:
            return [{"text": "The agent waits at a breakpoint. Send a message to this task to go on."}]
        asked = [
            {"interrupt_id": each.interrupt_id, "value": each.value, "answer_schema": each.response_schema}
            for each in questions
        ]
        words = "\n\n".join(wording(each.value, each.response_schema) for each in questions)
        return [{"text": words}, {"data": {"questions": asked}, "mediaType": "application/json"}]


def artifact_of(artifact_id: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    return {"artifactId": artifact_id, "name": "answer", "parts": parts}


def stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def unknown_task() -> A2AFault:
    return A2AFault(TASK_NOT_FOUND, "There is no such task. ListTasks names those that you have with this agent.")


@dataclass(frozen=True)
class Tasks:
    """The tasks of one user with one assistant."""

    turns: Turns
    assistant_id: str

    async def find(self, task_id: TaskId) -> Task:
        """A task as it is now; `A2AFault` if this user has none with this id here."""
        found = next((task for task in await self._chains(task_id.thread_id) if task.id == task_id), None)
        if found is None:
            raise unknown_task()
        return await self._with_outcome(found)

    async def page(self, wanted: ChainFilter, state: str | None, size: int, start: int) -> tuple[list[Task], int]:
        """A page of tasks, the last changed first, and how many there are. Only the outcomes of the page are read, unless a state is asked
        for that no run's status tells: whether a run that succeeded asks, is only known from its outcome."""
        records, owner = self.turns.services.persistence.records, self.turns.principal.owner
        if state is None or state in _TOLD_BY_STATUS:
            found, total = await records.list_chains(owner, wanted, size, start)
            return await self._tasks(found), total
        found, _ = await records.list_chains(owner, wanted, None)
        tasks = [task for task in await self._tasks(found) if task.state == state]
        return tasks[start : start + size], len(tasks)

    async def _tasks(self, found: Sequence[tuple[str, Run]]) -> list[Task]:
        tasks = []
        for first, newest in found:
            runs = [newest]
            if newest.run_id != first:
                with suppress(NotFoundError):  # deleted meanwhile
                    runs.insert(0, (await self.turns.find(newest.thread_id, first)).run)
            with suppress(NotFoundError):
                tasks.append(await self._with_outcome(Task(TaskId(newest.thread_id, first), runs, WORKING)))
        return tasks

    async def of_run(self, run: Run) -> Task:
        """The task that a run which was just started belongs to, before anything has happened."""
        chain = [run]
        while chain[0].resumes:
            before = await self.turns.find(run.thread_id, chain[0].resumes)
            chain.insert(0, before.run)
        return Task(TaskId(run.thread_id, chain[0].run_id), chain, SUBMITTED if run.status == "pending" else WORKING)

    async def message_ids(self, thread_id: str) -> set[str]:
        """The ids of messages in a thread, and in runs that will add theirs; empty for a thread that does not exist."""
        services, owner = self.turns.services, self.turns.principal.owner
        try:
            thread = await services.threads.get(owner, thread_id)
            runs = await services.persistence.records.list_runs(owner, thread_id, None, Page(limit=_MAX_RUNS))
        except NotFoundError:
            return set()
        return ids_in(thread.values).union(*(ids_in(run.request.input) for run in runs))

    async def asks(self, thread_id: str) -> bool:
        """Whether the newest task of a thread with this assistant waits for an answer."""
        tasks = await self._chains(thread_id)
        newest = max(tasks, key=lambda task: task.run.created_at, default=None)
        return newest is not None and (await self._with_outcome(newest)).state == INPUT_REQUIRED

    async def give_up(self, task: Task) -> None:
        """End a task that asks. Its question is closed for everybody, so that nothing can answer it later."""
        threads, owner, thread_id = self.turns.services.threads, self.turns.principal.owner, task.id.thread_id
        await threads.update_state(owner, thread_id, values=None, as_node=END)
        thread = await threads.get(owner, thread_id, with_values=False)
        given_up = [*(thread.metadata.get(GIVEN_UP) or ()), task.run.run_id]
        await threads.update(owner, thread_id, {GIVEN_UP: given_up})

    def turn(self, task: Task) -> Turn:
        return Turn(self.turns.services, self.turns.principal, task.run)

    async def after(self, task: Task, outcome: Outcome) -> Task:
        """The task when its newest run has ended like this."""
        ended = await self.turns.find(task.id.thread_id, task.run.run_id)
        state = {"answered": COMPLETED, "asks": INPUT_REQUIRED, "stopped": CANCELED, "failed": FAILED}[outcome.status]
        return replace(task, runs=[*task.runs[:-1], ended.run], state=state, outcome=outcome)

    async def _chains(self, thread_id: str) -> list[Task]:
        """The tasks of a thread, oldest first, without their outcomes."""
        services, owner = self.turns.services, self.turns.principal.owner
        try:
            runs = await services.persistence.records.list_runs(owner, thread_id, None, Page(limit=_MAX_RUNS))
        except NotFoundError:
            return []
        chains: dict[str, list[Run]] = {}
        first_of: dict[str, str] = {}
        for run in reversed(runs):
            if run.request.assistant_id != self.assistant_id:
                continue
            first = first_of.get(run.resumes or "", run.run_id)
            first_of[run.run_id] = first
            chains.setdefault(first, []).append(run)
        return [Task(TaskId(thread_id, first), chain, WORKING) for first, chain in chains.items()]

    async def _with_outcome(self, task: Task) -> Task:
        run = task.run
        if run.status in ("pending", "running"):
            return replace(task, state=SUBMITTED if run.status == "pending" else WORKING)
        found = await self.after(task, await self.turn(task).outcome())
        if found.state == INPUT_REQUIRED and not await self._still_asks(found):
            return replace(found, state=CANCELED)
        return found

    async def _still_asks(self, task: Task) -> bool:
        services, owner = self.turns.services, self.turns.principal.owner
        thread = await services.threads.get(owner, task.id.thread_id, with_values=False)
        if task.run.run_id in (thread.metadata.get(GIVEN_UP) or ()):
            return False
        asked = task.outcome.questions if task.outcome else ()
        still_open = {each.interrupt_id for each in await self.turns.open_questions(task.id.thread_id)}
        return not asked or any(each.interrupt_id in still_open for each in asked)
