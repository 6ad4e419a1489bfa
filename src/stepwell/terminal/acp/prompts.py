"""What a person sends from an editor, as the content of a message: text, pictures, sounds, and files by name or with their text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from acp.schema import (
    AudioContentBlock,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)

from stepwell.terminal.acp.folder import EditorFolder

PromptBlock: TypeAlias = (
    TextContentBlock | ImageContentBlock | AudioContentBlock | ResourceContentBlock | EmbeddedResourceContentBlock
)


def read_prompt(blocks: Sequence[PromptBlock], folder: EditorFolder) -> str | list[dict[str, Any]]:
    """The content of the message; a plain text unless there are pictures or sounds."""
    parts = [_read_block(block, folder) for block in blocks]
    if all(part["type"] == "text" for part in parts):
        return "".join(part["text"] for part in parts)
    return parts


def text_in(content: str | list[dict[str, Any]]) -> str:
    """The words of a message."""
    return content if isinstance(content, str) else "".join(part["text"] for part in content if part["type"] == "text")


def _read_block(block: PromptBlock, folder: EditorFolder) -> dict[str, Any]:
    match block:
        case TextContentBlock():
            return _text(block.text)
        case ImageContentBlock():
            return {"type": "image", "base64": block.data, "mime_type": block.mime_type}
        case AudioContentBlock():
            return {"type": "audio", "base64": block.data, "mime_type": block.mime_type}
        case ResourceContentBlock():
            return _text(f"[{block.name}]({folder.name_for_agent(block.uri)})")
        case EmbeddedResourceContentBlock():
            name = folder.name_for_agent(block.resource.uri)
            if isinstance(block.resource, TextResourceContents):
                return _text(f'\n<file path="{name}">\n{block.resource.text}\n</file>\n')
            return _read_blob(name, block.resource.mime_type or "", block.resource.blob)


def _read_blob(name: str, mime_type: str, data: str) -> dict[str, Any]:
    kind = mime_type.partition("/")[0]
    if kind in ("image", "audio"):
        return {"type": kind, "base64": data, "mime_type": mime_type}
    if mime_type == "application/pdf":
        return {"type": "file", "base64": data, "mime_type": mime_type, "filename": name.rpartition("/")[2]}
    return _text(f"[{name}]")


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
