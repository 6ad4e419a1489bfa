"""Messages of the user that are too large for the conversation: the thread keeps them whole, and the model sees head, tail and the path of
a file.

The file is named by the text's hash, so it is written once, however often a step is repeated, and what the model sees of the message is
the same in every later step. Lines that read_file would cut are broken in it. If the file cannot be written, the model gets the message
as it is: nothing that a user said is dropped.

Nothing is remembered here: one process serves many threads, whose messages may have the same ids and texts in different backends, and a
file may be deleted. So each step looks whether the file is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AnyMessage, HumanMessage

from stepwell.backends.protocol import BackendProtocol, ErrorText, WriteResult
from stepwell.backends.text import MAX_LINE_CHARS, version_of
from stepwell.middleware.large_results import SHOWN_CHARS, turn_room
from stepwell.middleware.request import ModelCall
from stepwell.tools.files.tools import acall

OpenBackend = Callable[[ModelCall], BackendProtocol | None]

LARGE_MESSAGES = "/large_messages"


@dataclass(frozen=True, slots=True)
class LargeMessage:
    """A message that is shown by its head and tail."""

    message: AnyMessage
    text: str
    path: str

    @property
    def file_text(self) -> str:
        """The text with its long lines broken."""
        return "\n".join(part for line in self.text.split("\n") for part in _parts(line))

    def pointer(self) -> AnyMessage:
        """What the model sees. Images and other blocks stay as they are."""
        stored = self.file_text
        lines = stored.count("\n") + 1
        where = f"The whole message is in {self.path}: page through it with read_file, or search it with grep."
        if len(stored) != len(self.text):
            where += f" Its long lines are broken there into lines of at most {MAX_LINE_CHARS:,} characters."
        said = (
            f"{self.text[:SHOWN_CHARS]}\n\n(… {len(self.text):,} characters in {lines:,} lines. {where} Its end:)\n\n"
            f"{self.text[-SHOWN_CHARS:]}"
        )
        content = self.message.content
        others = [] if isinstance(content, str) else [block for block in content if not _is_text(block)]
        return self.message.model_copy(update={"content": [{"type": "text", "text": said}, *others] if others else said})


class LargeMessages:
    """Finds messages with more than `max_chars` characters, and shortens them."""

    def __init__(self, max_chars: int) -> None:
        self._max_chars = max_chars

    def shorten(self, call: ModelCall, open_backend: OpenBackend) -> None:
        """Show the model pointers in place of the large messages of a call. `open_backend` gives None if files are remote."""
        for large in self._find(call):
            if not _is_in_update(call, large):
                backend = open_backend(call)
                if backend is None:
                    continue
                if _is_missing(backend.read(large.path, 0, 1)):
                    written = backend.write(large.path, large.file_text)
                    if not _note(call, written):
                        continue
            _show(call, large)

    async def ashorten(self, call: ModelCall, open_backend: OpenBackend) -> None:
        """The same from async code."""
        for large in self._find(call):
            if not _is_in_update(call, large):
                backend = open_backend(call)
                if backend is None:
                    continue
                if _is_missing(await acall(backend, "read", large.path, 0, 1)):
                    written = await acall(backend, "write", large.path, large.file_text)
                    if not _note(call, written):
                        continue
            _show(call, large)

    def _find(self, call: ModelCall) -> list[LargeMessage]:
        # A message may also be too large for a small model.
        limit = min(self._max_chars, turn_room(call.request.model))
        said = [message for message in call.messages if message.type == "human"]  # first, since most messages are others
        bodies = [(message, text_of(message)) for message in said if not _is_ours(message)]
        return [LargeMessage(each, body, f"{LARGE_MESSAGES}/{version_of(body)}") for each, body in bodies if len(body) > limit]


def _is_in_update(call: ModelCall, large: LargeMessage) -> bool:
    """Whether an earlier attempt of this step wrote the file to the thread, which has it only when the step is stored."""
    return large.path in call.update.get("files", {})


def _note(call: ModelCall, written: WriteResult) -> bool:
    """Put a written file into the thread, if files live there; False if it was not written."""
    if written.error:
        return False
    if written.files_update:
        call.update["files"] = {**call.update.get("files", {}), **written.files_update}
    return True


def _parts(line: str) -> Iterator[str]:
    """A line in parts that `read_file` shows whole, broken after a blank where there is one. Nothing is left out."""
    start = 0
    while len(line) - start > MAX_LINE_CHARS:
        blank = line.rfind(" ", start + MAX_LINE_CHARS // 2, start + MAX_LINE_CHARS)
        end = blank + 1 if blank >= 0 else start + MAX_LINE_CHARS
        yield line[start:end]
        start = end
    yield line[start:]


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
