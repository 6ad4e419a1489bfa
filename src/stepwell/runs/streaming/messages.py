"""Messages while a model writes them: both wire formats, and the text of the unfinished answer.

LangGraph yields `(message, metadata)`: chunks of a model's answer as they arrive, and complete messages that a node returned.

```
messages-tuple   messages            [message or chunk, metadata]
messages         messages/metadata   {id: {metadata}}      before the first event of a message
                 messages/partial    [message so far]      for a chunk
                 messages/complete   [message]             for a complete message
```

The older format sends a growing message again and again, so the amount sent grows with the square of the answer's length. The format
requires that, but only what each event adds is stored (`documents`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, BaseMessageChunk, message_chunk_to_message

from stepwell.database.types import NewEvent
from stepwell.runs.run_config import public_metadata
from stepwell.runs.streaming.modes import Namespace, event_name
from stepwell.runs.streaming.progress import PartialMessage
from stepwell.state.wire import encode

PARTIAL = "messages/partial"


class TupleMessages:
    """The newer format: each chunk once, with its metadata."""

    def __init__(self) -> None:
        self._metadata: Mapping[str, Any] = {}
        self._encoded = b"{}"

    def events(self, namespace: Namespace, message: BaseMessage, metadata: Mapping[str, Any]) -> list[NewEvent]:
        data = b"".join((b"[", encode(message), b",", self._encode(metadata), b"]"))
        return [NewEvent(event_name("messages", namespace), data)]

    def _encode(self, metadata: Mapping[str, Any]) -> bytes:
        # All chunks of one model call have the same metadata object. It is compared with a copy, so that a change to it is noticed.
        if metadata != self._metadata:
            self._metadata = dict(metadata)
            self._encoded = encode(public_metadata(metadata))
        return self._encoded


class WholeMessages:
    """The older format: a message's metadata once, then again and again the message as written so far."""

    def __init__(self) -> None:
        self._so_far: dict[str, BaseMessageChunk | None] = {}

    def events(self, namespace: Namespace, message: BaseMessage, metadata: Mapping[str, Any]) -> list[NewEvent]:
        key = message.id or ""
        events = []
        if key not in self._so_far:
            self._so_far[key] = None
            events.append(NewEvent("messages/metadata", encode({key: {"metadata": public_metadata(metadata)}})))
        if not isinstance(message, BaseMessageChunk):
            events.append(NewEvent("messages/complete", encode([message])))
            return events
        before = self._so_far[key]
        so_far = message if before is None else before + message
        self._so_far[key] = so_far
        events.append(NewEvent(PARTIAL, encode([message_chunk_to_message(so_far)])))
        return events


class RootAnswer:
    """The text of the root graph's answers, so that a cancelled one can be kept."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def partial(self, namespace: Namespace, message: BaseMessage, metadata: Mapping[str, Any]) -> PartialMessage | None:
        if namespace or not isinstance(message, AIMessage) or not message.id:
            return None
        node = str(metadata.get("langgraph_node", ""))
        if not isinstance(message, AIMessageChunk):
            return PartialMessage(message.id, node, _text(message), done=True)
        text = self._texts.get(message.id, "") + _text(message)
        done = message.chunk_position == "last"
        if done:
            self._texts.pop(message.id, None)
        else:
            self._texts[message.id] = text
        return PartialMessage(message.id, node, text, done)


def _text(message: AIMessage) -> str:
    return message.content if isinstance(message.content, str) else str(message.text)
