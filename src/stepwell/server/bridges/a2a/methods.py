"""The methods of A2A, for one user and one assistant."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Any
from uuid import UUID, uuid4, uuid5

from stepwell.answers.typed import read_line
from stepwell.database.records.chains import ChainFilter
from stepwell.database.types import Assistant, PendingInterrupt, RequestKey
from stepwell.errors import NotFoundError
from stepwell.server.bridges.a2a.card import OUTPUT_MODES
from stepwell.server.bridges.a2a.faults import (
    CONTENT_NOT_SUPPORTED,
    INVALID_PARAMS,
    PUSH_NOT_SUPPORTED,
    TASK_NOT_CANCELABLE,
    UNSUPPORTED_OPERATION,
    A2AFault,
)
from stepwell.server.bridges.a2a.messages import check_message, content_of, data_in, input_of, text_in
from stepwell.server.bridges.a2a.streaming import stream_task, watch_question
from stepwell.server.bridges.a2a.tasks import INPUT_REQUIRED, RUN_STATUSES, STATES, TERMINAL, Task, TaskId, Tasks
from stepwell.server.bridges.turns import Turns
from stepwell.state.steering import SteeringMessage, check_content

Json = Mapping[str, Any]
_PAGE, _MAX_PAGE = 50, 100


@dataclass(frozen=True)
class Methods:
    """What a caller can do with an assistant."""

    turns: Turns
    assistant: Assistant
    headers: Mapping[str, str]
    key: RequestKey | None = None
    """The caller's own name for a request that starts something. The id of a message cannot be that: clients reuse it."""

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
        """CancelTask. A question that nobody will answer is closed; a run is stopped."""
        task_id = TaskId.read(params.get("id"))
        task = await self.tasks.find(task_id)
        if task.state in TERMINAL:
            raise A2AFault(TASK_NOT_CANCELABLE, "The task has ended already. Read it with GetTask.")
        if task.state == INPUT_REQUIRED:
            await self.tasks.give_up(task)
        else:
            await self.tasks.turn(task).stop(wait=True)
        return (await self.tasks.find(task_id)).wire()

    async def list_tasks(self, params: Json) -> dict[str, Any]:
        """ListTasks: newest first."""
        size, start, length = _whole(params, "pageSize", _PAGE), _token(params), _length(params)
        if not 1 <= size <= _MAX_PAGE:
            raise A2AFault(INVALID_PARAMS, f"'pageSize' must be from 1 to {_MAX_PAGE}.")
        status, after = params.get("status"), _moment(params.get("statusTimestampAfter"))
        if status is not None and (not isinstance(status, str) or status not in STATES):
            raise A2AFault(INVALID_PARAMS, f"'status' must be one of {', '.join(sorted(STATES))}.")
        with_artifacts = params.get("includeArtifacts") is True
        wanted = self._chosen(params.get("contextId"), status, after)
        shown, total = ([], 0) if wanted is None else await self.tasks.page(wanted, status, size, start)
        return {
            "tasks": [task.wire(0 if length is None else length, with_artifacts=with_artifacts) for task in shown],
            "nextPageToken": str(start + size) if start + size < total else "",
            "pageSize": size,
            "totalSize": total,
        }

    def _chosen(self, context_id: Any, status: str | None, after: datetime | None) -> ChainFilter | None:
        """None if nothing can match."""
        if not isinstance(context_id, str | None):
            raise A2AFault(INVALID_PARAMS, "'contextId' must be a string.")
        try:
            thread_id = _context(context_id) if context_id else None
        except A2AFault:
            return None
        # Callers see times in whole milliseconds.
        since = None if after is None else (round(after.timestamp() * 1_000_000) // 1_000 + 1) / 1_000
        return ChainFilter(self.assistant.assistant_id, thread_id, None if status is None else RUN_STATUSES[status], since)

    async def _start(self, params: Json) -> Task:
        """Begin a task, or go on with one: its question is answered, or the message enters the run that works."""
        message = check_message(params.get("message"))
        context_id = _context(message["contextId"]) if message.get("contextId") else None
        if message.get("taskId"):
            return await self._go_on(message, context_id)
        if context_id and (questions := await self._open_questions(context_id)) and await self.tasks.asks(context_id):
            return await self._answer(context_id, questions, message)
        message_id = message["messageId"]
        if context_id and message_id in await self.tasks.message_ids(context_id):  # it would overwrite the other message
            message_id = str(uuid4())
        given = input_of(message, await self._fields(), message_id)
        try:
            turn = await self.turns.begin(
                self.assistant.assistant_id, given, thread_id=context_id, keep=True, headers=self.headers, key=self.key
            )
        except NotFoundError as error:
            raise A2AFault(
                INVALID_PARAMS, "There is no such conversation. Leave out contextId for a new one; the answer names it."
            ) from error
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
        await self._steer(task, message)
        return task

    async def _steer(self, task: Task, message: Json) -> None:
        owner, services, thread_id = self.turns.principal.owner, self.turns.services, task.id.thread_id
        content, message_id = check_content(content_of(message)), message["messageId"]
        sent_before = await services.persistence.records.was_sent(owner, thread_id, message_id)
        if not sent_before and message_id in await self.tasks.message_ids(thread_id):
            message_id = str(
                uuid5(UUID(task.run.run_id), f"{message_id} {content}")
            )  # the same for a message that is sent again
        sent = SteeringMessage(message_id, content)
        await services.engine.steer(owner, thread_id, task.run.run_id, sent, self.turns.principal.grants)

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
    if given.get("taskPushNotificationConfig") or given.get("pushNotificationConfig"):
        raise A2AFault(PUSH_NOT_SUPPORTED, "This server sends no push notifications of A2A. Use SubscribeToTask or GetTask.")
    if "blocking" in given:
        raise A2AFault(INVALID_PARAMS, "'configuration.blocking' belongs to A2A 0.3. Send returnImmediately, true or false.")
    _check_modes(given.get("acceptedOutputModes"))
    at_once = given.get("returnImmediately", False)
    if not isinstance(at_once, bool):
        raise A2AFault(INVALID_PARAMS, "'configuration.returnImmediately' must be true or false.")
    return _length(given), at_once


def _check_modes(accepted: Any) -> None:
    """Refuse a caller that could read no answer of ours."""
    if not isinstance(accepted, list | None) or not all(isinstance(each, str) for each in accepted or ()):
        raise A2AFault(INVALID_PARAMS, "'configuration.acceptedOutputModes' must be a list of media types.")
    if accepted and not any(fnmatchcase(mode, each.partition(";")[0].strip()) for each in accepted for mode in OUTPUT_MODES):
        raise A2AFault(
            CONTENT_NOT_SUPPORTED,
            f"Answers come as {' or '.join(OUTPUT_MODES)}. Name one in acceptedOutputModes, or leave it out.",
        )


def _moment(text: Any) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, TypeError):
        raise A2AFault(INVALID_PARAMS, "'statusTimestampAfter' must be a time, such as 2026-01-31T12:00:00Z.") from None


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
