"""The reducer of the `messages` channel: `add_messages` without its cost, and with each tool result after its call.

What it does with each message, in the order written:

- a message with a known id replaces the old one;
- `RemoveMessage` removes its message, or all of them with `REMOVE_ALL_MESSAGES`; an unknown id is ignored, because a replay
  may see a removal twice;
- a tool result goes after the call it answers (and after results already there), even if other messages came in between, so that
  closing a call late still leaves a history that every provider accepts;
- everything else is appended.

LangGraph assigns ids when it stores a write, so a message object without an id stays without one here; only the step that wrote it sees
it without an id. If we convert something to a message here (a string or a tuple), it gets an id derived from its place and content, so that
a replay gives the same id.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, cast
from uuid import UUID, uuid5

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    BaseMessageChunk,
    ToolMessage,
    convert_to_messages,
    message_chunk_to_message,
)
from langgraph.graph.message import REMOVE_ALL_MESSAGES

_id_of = attrgetter("id")
_NEWEST = 8
_MAX_READ = 64
"""How many ids a step reads at most, unless the list was changed at its beginning."""
_WANTED = ""
"""A placeholder for the id of a message that was converted here and still needs a real one."""
_NAMESPACE = UUID("6f1c2f6e-6e0b-5b0e-9d5c-5d1d0a6c9a55")


def reduce_messages(state: Sequence[Any] | None, writes: Sequence[Any]) -> list[BaseMessage]:
    """The message list after some writes; each write is a message-like or a list of them."""
    return MessageReducer()(state, writes)


class MessageReducer:
    """`reduce_messages` for one thread. It remembers the ids at the beginning of the list, so that a step only reads those at the end.

    The memory counts only while the list begins with the same message objects. The newest messages are read every time, because LangGraph
    gives a message its id after the step that wrote it.
    """

    def __init__(self) -> None:
        # Replaced as one, never changed: parallel tasks may share this reducer.
        self._beginning: tuple[list[BaseMessage], frozenset[str | None]] = ([], frozenset())

    def __call__(self, state: Sequence[Any] | None, writes: Sequence[Any]) -> list[BaseMessage]:
        messages = _as_messages(state or [])
        known = self._ids_of(messages)
        for message in _flatten(writes):
            kind = message.type  # by name: `isinstance` on these classes takes ten times as long, and this runs in every step
            if kind == "remove":
                messages = _without(messages, message.id)
                known = _Ids(frozenset(), set(map(_id_of, messages)))
                continue
            if kind.endswith("Chunk"):
                message = message_chunk_to_message(cast("BaseMessageChunk", message))
            if message.id == _WANTED:
                message.id = _made_id(message, len(messages), known)
            if message.id is not None:
                if message.id in known and (place := _index_of(messages, message.id)) is not None:
                    messages[place] = message
                    continue
                known.newest.add(message.id)
            if kind == "tool":
                messages.insert(_place_for_result(messages, cast("ToolMessage", message).tool_call_id), message)
            else:
                messages.append(message)
        return messages

    def _ids_of(self, messages: list[BaseMessage]) -> _Ids:
        beginning, ids = self._beginning
        if not _begins_with(messages, beginning):
            beginning, ids = [], frozenset()
        if len(messages) - len(beginning) > _MAX_READ:
            longer = messages[:-_NEWEST]
            longer_ids = frozenset(map(_id_of, longer))
            if None not in longer_ids:
                self._beginning = beginning, ids = longer, longer_ids
        return _Ids(ids, set(map(_id_of, messages[len(beginning) :])))


@dataclass(slots=True)
class _Ids:
    """The ids of a list."""

    beginning: frozenset[str | None]
    newest: set[str | None]

    def __contains__(self, wanted: object) -> bool:
        return wanted in self.newest or wanted in self.beginning


def _begins_with(messages: list[BaseMessage], beginning: list[BaseMessage]) -> bool:
    size = len(beginning)
    if not size or size > len(messages) or messages[size - 1] is not beginning[-1]:
        return False
    # Python compares the items of lists by identity first, which takes a seventh of the time of a loop.
    return messages[:size] == beginning


def _made_id(message: BaseMessage, place: int, known: _Ids) -> str:
    """An id that depends only on the message and the list so far. It is new even if the same text returns to a place after a removal."""
    seed = f"{place}:{message.type}:{message.content}"
    made = str(uuid5(_NAMESPACE, seed))
    while made in known:
        made = str(uuid5(_NAMESPACE, f"{made}:{seed}"))
    return made


def _as_messages(state: Sequence[Any]) -> list[BaseMessage]:
    # A copy, never the given list: nodes and checkpoints may still use it.
    if not state or isinstance(state[0], BaseMessage):
        return list(state)
    return list(convert_to_messages(state))


def _flatten(writes: Sequence[Any]) -> list[BaseMessage]:
    flat: list[Any] = []
    for write in writes:
        if isinstance(write, list):
            flat.extend(write)
        else:
            flat.append(write)
    if all(isinstance(item, BaseMessage) for item in flat):
        return flat
    return [item if isinstance(item, BaseMessage) else _convert(item) for item in flat]


def _convert(item: Any) -> BaseMessage:
    (message,) = convert_to_messages([item])
    message.id = message.id or _WANTED
    return message


def _without(messages: list[BaseMessage], removed: str | None) -> list[BaseMessage]:
    if removed == REMOVE_ALL_MESSAGES:
        return []
    return [message for message in messages if message.id != removed]


def _index_of(messages: list[BaseMessage], wanted: str) -> int | None:
    # From the end: a replaced message is nearly always recent.
    return next((index for index in range(len(messages) - 1, -1, -1) if messages[index].id == wanted), None)


def _place_for_result(messages: list[BaseMessage], tool_call_id: str) -> int:
    """The place after the nearest call with this id and the results that follow that call; the end if there is no such call."""
    end = len(messages)
    for index in range(end - 1, -1, -1):
        message = messages[index]
        if message.type == "ai" and _asks(cast("AIMessage", message), tool_call_id):
            place = index + 1
            while place < end and messages[place].type == "tool":
                place += 1
            return place
    return end


def _asks(message: AIMessage, tool_call_id: str) -> bool:
    return any(call["id"] == tool_call_id for call in message.tool_calls) or any(
        call["id"] == tool_call_id for call in message.invalid_tool_calls
    )
