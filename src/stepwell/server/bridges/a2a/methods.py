"""The methods of A2A, for one user and one assistant."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from stepwell.answers.typed import read_line
from stepwell.database.records.types import Page, ThreadFilter
from stepwell.database.types import Assistant, PendingInterrupt, RequestKey
from stepwell.errors import NotFoundError
from stepwell.server.bridges.a2a.faults import (
    INVALID_PARAMS,
    PUSH_NOT_SUPPORTED,
    TASK_NOT_CANCELABLE,
    UNSUPPORTED_OPERATION,
    A2AFault,
)
from stepwell.server.bridges.a2a.messages import check_message, data_in, input_of, text_in
from stepwell.server.bridges.a2a.streaming import stream_task, watch_question
from stepwell.server.bridges.a2a.tasks import GIVEN_UP, INPUT_REQUIRED, STATES, TERMINAL, Task, TaskId, Tasks, stamp
from stepwell.server.bridges.turns import Turns
from stepwell.state.steering import SteeringMessage, check_content

Json = Mapping[str, Any]
_MAX_THREADS = 1_000
_PAGE, _MAX_PAGE = 50, 100


@dataclass(frozen=True)
class Methods:
    """What a caller can do with an assistant."""

    turns: Turns
    assistant: Assistant
    headers: Mapping[str, str]
    key: RequestKey | None = None
    """The caller's own name for a request that starts something. The id of a message is none: clients use it again."""

    @property
    def tasks(self) -> Tasks:
        return Tasks(self.turns, self.assistant.assistant_id)

    async def send(self, params: Json) -> dict[str, Any]:
        """SendMessage: the task when it has ended or asks; at once with `returnImmediately`."""
        length, at_once = _configuration(params)
        task = await self._start(params)
        if at_once:
            return {"task": task.wire(length)}
        return {"task": (await self.tasks.after(task, await self.tasks.turn(task).outcome())).wire(length)}

    async def stream(self, params: Json) -> AsyncGenerator[dict[str, Any]]:
        """SendStreamingMessage."""
        length, _ = _configuration(params)
        return stream_task(self.tasks, await self._start(params), length)

    async def get(self, params: Json) -> dict[str, Any]:
        """GetTask."""
        length = _length(params)
        return (await self.tasks.find(TaskId.read(params.get("id")))).wire(length)

    async def subscribe(self, params: Json) -> AsyncGenerator[dict[str, Any]]:
        """SubscribeToTask: the task as it is now, then its events from the beginning of its newest run."""
        task = await self.tasks.find(TaskId.read(params.get("id")))
        if task.state in TERMINAL:
            raise A2AFault(UNSUPPORTED_OPERATION, "The task has ended, so nothing more will happen. Read it with GetTask.")
        if task.state == INPUT_REQUIRED:
            return watch_question(self.tasks, task)
        return stream_task(self.tasks, task, None)

    async def cancel(self, params: Json) -> dict[str, Any]:
        """CancelTask. A question that nobody will answer is given up; a run is stopped."""
        task_id = TaskId.read(params.get("id"))
        task = await self.tasks.find(task_id)
        if task.state in TERMINAL:
            raise A2AFault(TASK_NOT_CANCELABLE, "The task has ended already. Read it with GetTask.")
        if task.state == INPUT_REQUIRED:
            threads, owner = self.turns.services.threads, self.turns.principal.owner
            thread = await threads.get(owner, task_id.thread_id, with_values=False)
            given_up = [*(thread.metadata.get(GIVEN_UP) or ()), task.run.run_id]
            await threads.update(owner, task_id.thread_id, {GIVEN_UP: given_up})
        else:
            await self.tasks.turn(task).stop(wait=True)
        return (await self.tasks.find(task_id)).wire()

    async def list_tasks(self, params: Json) -> dict[str, Any]:
        """ListTasks: newest first."""
        size, start, length = _whole(params, "pageSize", _PAGE), _token(params), _length(params)
        if not 1 <= size <= _MAX_PAGE:
            raise A2AFault(INVALID_PARAMS, f"'pageSize' must be from 1 to {_MAX_PAGE}.")
        status, after = params.get("status"), params.get("statusTimestampAfter")
        if status is not None and status not in STATES:
            raise A2AFault(INVALID_PARAMS, f"'status' must be one of {', '.join(sorted(STATES))}.")
        found = [
            task
            for task in await self._all_tasks(params.get("contextId"))
            if status in (None, task.state) and (after is None or stamp(task.run.updated_at) > str(after))
        ]
        found.sort(key=lambda task: task.run.updated_at, reverse=True)
        shown, with_artifacts = found[start : start + size], params.get("includeArtifacts") is True
        following = str(start + size) if start + size < len(found) else ""
        return {
            "tasks": [task.wire(0 if length is None else length, with_artifacts=with_artifacts) for task in shown],
            "nextPageToken": following,
            "pageSize": size,
            "totalSize": len(found),
        }

    async def _all_tasks(self, context_id: Any) -> list[Task]:
        services, owner = self.turns.services, self.turns.principal.owner
        if context_id:
            try:
                threads = [await services.threads.get(owner, _context(context_id), with_values=False)]
            except (NotFoundError, A2AFault):  # a filter that nothing matches
                return []
        else:
            wanted = ThreadFilter(metadata={"assistant_id": self.assistant.assistant_id})
            page = Page(limit=_MAX_THREADS, sort_by="updated_at")
            threads = await services.threads.search(owner, wanted, page, with_values=False)
        return [task for thread in threads for task in await self.tasks.of_thread(thread)]

    async def _start(self, params: Json) -> Task:
        """Begin a task, or go on with one: its question is answered, or the message enters the run that works."""
        message = check_message(params.get("message"))
        context_id = _context(message["contextId"]) if message.get("contextId") else None
        if message.get("taskId"):
            return await self._go_on(message, context_id)
        if context_id and (questions := await self._open_questions(context_id)):
            return await self._answer(context_id, questions, message)
        fields = await self._fields()
        turn = await self.turns.begin(
            self.assistant.assistant_id,
            input_of(message, fields),
            thread_id=context_id,
            keep=True,
            headers=self.headers,
            key=self.key,
        )
        return await self.tasks.of_run(turn.run)

    async def _go_on(self, message: Json, context_id: str | None) -> Task:
        task_id = TaskId.read(message["taskId"])
        if context_id not in (None, task_id.thread_id):
            raise A2AFault(INVALID_PARAMS, "The task belongs to another context. Leave out contextId, or send the task's own.")
        task = await self.tasks.find(task_id)
        if task.state in TERMINAL:
            raise A2AFault(
                UNSUPPORTED_OPERATION,
                "The task has ended. Send the message without taskId; its contextId continues the conversation.",
            )
        if task.state == INPUT_REQUIRED:
            return await self._answer(task_id.thread_id, await self._open_questions(task_id.thread_id), message)
        sent = SteeringMessage(message["messageId"], check_content(text_in(message)))
        owner, grants = self.turns.principal.owner, self.turns.principal.grants
        await self.turns.services.engine.steer(owner, task_id.thread_id, task.run.run_id, sent, grants)
        return task

    async def _answer(self, thread_id: str, questions: tuple[PendingInterrupt, ...], message: Json) -> Task:
        turn = await self.turns.answer(thread_id, _answers(questions, message), headers=self.headers, key=self.key)
        return await self.tasks.of_run(turn.run)

    async def _open_questions(self, thread_id: str) -> tuple[PendingInterrupt, ...]:
        return tuple(await self.turns.open_questions(thread_id))

    async def _fields(self) -> frozenset[str] | None:
        services, owner = self.turns.services, self.turns.principal.owner
        store = services.persistence.store(owner)
        return await services.registry.input_fields(self.assistant.graph_id, owner, store)


def _answers(questions: tuple[PendingInterrupt, ...], message: Json) -> dict[str, Any]:
    """The answers in a message: a data part with one for each interrupt, or one for the only question; or words for all of them."""
    data, ids = data_in(message), {each.interrupt_id for each in questions}
    if isinstance(data, Mapping) and data and data.keys() <= ids:
        return dict(data)
    if data is not None:
        return dict.fromkeys(ids, data) if len(ids) == 1 else _refuse_one(ids)
    try:
        return {each.interrupt_id: read_line(each.value, text_in(message), each.response_schema) for each in questions}
    except ValueError as error:
        raise A2AFault(INVALID_PARAMS, str(error)) from error


def _refuse_one(ids: set[str]) -> dict[str, Any]:
    raise A2AFault(
        INVALID_PARAMS, f"The agent asks {len(ids)} questions. Send a data part with an answer for each interrupt id."
    )


def _configuration(params: Json) -> tuple[int | None, bool]:
    """How much history the caller wants, and whether it waits."""
    given = params.get("configuration")
    if given is None:
        return None, False
    if not isinstance(given, Mapping):
        raise A2AFault(INVALID_PARAMS, "'configuration' must be an object.")
    if given.get("taskPushNotificationConfig"):
        raise A2AFault(PUSH_NOT_SUPPORTED, "This server sends no push notifications of A2A. Use SubscribeToTask or GetTask.")
    return _length(given), given.get("returnImmediately") is True


def _length(given: Json) -> int | None:
    if given.get("historyLength") is None:
        return None
    return _whole(given, "historyLength", 0)


def _whole(given: Json, name: str, default: int) -> int:
    value = given.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise A2AFault(INVALID_PARAMS, f"'{name}' must be a whole number, not below 0.")
    return value


def _token(params: Json) -> int:
    text = params.get("pageToken") or "0"
    if not isinstance(text, str) or not (text.isascii() and text.isdigit()) or len(text) > 9:
        raise A2AFault(INVALID_PARAMS, "'pageToken' must be the nextPageToken of an earlier answer.")
    return int(text)


def _context(text: Any) -> str:
    try:
        return str(UUID(text))
    except (ValueError, TypeError, AttributeError):
        raise A2AFault(
            INVALID_PARAMS, "'contextId' must be a UUID. Leave it out for a new conversation; the answer names one."
        ) from None
