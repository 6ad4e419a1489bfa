"""Messages of the user that are too large for the conversation: the thread keeps them whole, and the model sees head, tail and the path of
a file.

The file is named by the text's hash, so it is written once, however often a step is repeated, and what the model sees of the message is
the same in every later step. If the file cannot be written, the model gets the message as it is: nothing that a user said is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from langchain_core.messages import AnyMessage, HumanMessage

from stepwell.backends.protocol import BackendProtocol, ErrorText, WriteResult
from stepwell.backends.text import version_of
from stepwell.middleware.large_results import SHOWN_CHARS, turn_room
from stepwell.middleware.request import ModelCall
from stepwell.tools.files.tools import acall

OpenBackend = Callable[[ModelCall], BackendProtocol | None]

LARGE_MESSAGES = "/large_messages"
MAX_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class LargeMessage:
    """A message that is shown by its head and tail."""

    message: AnyMessage
    text: str
    path: str

    def pointer(self) -> AnyMessage:
        """What the model sees. Images and other blocks stay as they are."""
        lines = self.text.count("\n") + 1
        where = f"The whole message is in {self.path}: page through it with read_file, or search it with grep."
        said = (
            f"{self.text[:SHOWN_CHARS]}\n\n(… {len(self.text):,} characters in {lines:,} lines. {where} Its end:)\n\n"
            f"{self.text[-SHOWN_CHARS:]}"
        )
        content = self.message.content
        others = [] if isinstance(content, str) else [block for block in content if not _is_text(block)]
        return self.message.model_copy(update={"content": [{"type": "text", "text": said}, *others] if others else said})


class _Known(NamedTuple):
    """What is known about the beginning of a thread: its length, the id of its last message, and the ids of the large ones in it."""

    length: int
    last: str | None
    ids: tuple[str, ...]


class LargeMessages:
    """Finds messages with more than `max_chars` characters, without looking at the whole conversation in every step, and shortens them."""

    def __init__(self, max_chars: int) -> None:
        self._max_chars = max_chars
        self._known: dict[tuple[str | None, int], _Known] = {}
        self._saved: dict[tuple[str, str], None] = {}
        """Messages whose files are known to be stored outside of the thread."""

    def shorten(self, call: ModelCall, open_backend: OpenBackend) -> None:
        """Show the model pointers in place of the large messages of a call. `open_backend` gives None if files are remote."""
        for large in self._find(call):
            if not self._is_saved(call, large):
                backend = open_backend(call)
                if backend is None:
                    continue
                if _is_missing(backend.read(large.path, 0, 1)):
                    written = backend.write(large.path, large.text)
                    if not self._note(call, large, written):
                        continue
            _show(call, large)

    async def ashorten(self, call: ModelCall, open_backend: OpenBackend) -> None:
        """The same from async code."""
        for large in self._find(call):
            if not self._is_saved(call, large):
                backend = open_backend(call)
                if backend is None:
                    continue
                if _is_missing(await acall(backend, "read", large.path, 0, 1)):
                    written = await acall(backend, "write", large.path, large.text)
                    if not self._note(call, large, written):
                        continue
            _show(call, large)

    def _is_saved(self, call: ModelCall, large: LargeMessage) -> bool:
        return (large.message.id or "", large.path) in self._saved or large.path in call.update.get("files", {})

    def _note(self, call: ModelCall, large: LargeMessage, written: WriteResult) -> bool:
        """Note that a file was written; False if it was not."""
        if written.error:
            return False
        if written.files_update:  # it is in the thread only when this step is stored, so it is looked for again
            call.update["files"] = {**call.update.get("files", {}), **written.files_update}
        else:
            if len(self._saved) >= MAX_REMEMBERED:
                self._saved.clear()
            self._saved[large.message.id or "", large.path] = None
        return True

    def _find(self, call: ModelCall) -> list[LargeMessage]:
        # A message may also be too large for a small model.
        limit = min(self._max_chars, turn_room(call.request.model))
        ids = self._large_ids(call.messages, limit)
        if not ids:
            return []
        bodies = [(message, text_of(message)) for message in call.messages if message.id in ids and message.type == "human"]
        # The text may have been edited since.
        return [LargeMessage(each, body, f"{LARGE_MESSAGES}/{version_of(body)}") for each, body in bodies if len(body) > limit]

    def _large_ids(self, messages: Sequence[AnyMessage], limit: int) -> tuple[str, ...]:
        """The ids of the large ones: those known from an earlier step, and those in what came since."""
        if not messages:
            return ()
        key = (messages[0].id, limit)
        known = self._known.get(key)
        if known is None or known.length > len(messages) or messages[known.length - 1].id != known.last:
            known = _Known(0, None, ())
        if known.length == len(messages):
            return known.ids
        new = (message for message in messages[known.length :] if message.type == "human" and not _is_ours(message))
        ids = known.ids + tuple(message.id for message in new if message.id and len(text_of(message)) > limit)
        if messages[-1].type != "human":  # callers may number their messages, so that such an id is that of many threads
            if len(self._known) >= MAX_REMEMBERED:
                self._known.clear()
            self._known[key] = _Known(len(messages), messages[-1].id, ids)
        return ids


def _is_missing(read: object) -> bool:
    """Whether a backend could not read a file. One that was written for another package may say so in plain text; lines are numbered."""
    return isinstance(read, ErrorText) or str(read).startswith("Error")


def _show(call: ModelCall, large: LargeMessage) -> None:
    pointer = large.pointer()
    call.messages = [pointer if message is large.message else message for message in call.messages]


def text_of(message: AnyMessage) -> str:
    """The text of a message, without its other blocks."""
    if isinstance(message.content, str):
        return message.content
    return "\n".join(block if isinstance(block, str) else block["text"] for block in message.content if _is_text(block))


def _is_text(block: Any) -> bool:
    return isinstance(block, str) or (
        isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
    )


def _is_ours(message: AnyMessage) -> bool:
    """Whether a middleware wrote this message in the user's place."""
    return isinstance(message, HumanMessage) and "lc_source" in message.additional_kwargs
