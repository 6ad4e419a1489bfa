"""Images and PDF files in a conversation whose model does not take them.

A provider would answer such a request with an error of its own, and with every later message too, because the image stays in the
conversation. So images in the user's newest message are refused with a sentence, and older ones are replaced by a few words, as files
are. The thread keeps them.
"""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage

from stepwell.errors import ModelCannotSeeError
from stepwell.models.facts import can_read_pdf, can_see, describe

_PICTURES = frozenset({"image", "image_url"})
_FILES = frozenset({"file"})
_UNSEEN = {"type": "text", "text": "[An image that you cannot see]"}
_UNREAD = {"type": "text", "text": "[A PDF file that you cannot read]"}


def without_unseen_pictures(messages: list[AnyMessage], model: BaseChatModel) -> list[AnyMessage]:
    """The messages as this model can read them; the same list unless its profile says that it does not take something in them.

    Raises:
        ModelCannotSeeError: The user's newest message has images.
    """
    unseen = can_see(model) is False
    unread = can_read_pdf(model) is False
    kinds = (_PICTURES if unseen else frozenset()) | (_FILES if unread else frozenset())
    if not kinds or not any(_has(message, kinds) for message in messages):
        return messages
    newest = next((message for message in reversed(messages) if message.type == "human"), None)
    if unseen and newest is not None and _has(newest, _PICTURES):
        raise ModelCannotSeeError(describe(model).name)
    return [_named(message, kinds) if _has(message, kinds) else message for message in messages]


def _has(message: AnyMessage, kinds: frozenset[str]) -> bool:
    return isinstance(message.content, list) and any(_is(block, kinds) for block in message.content)


def _is(block: Any, kinds: frozenset[str]) -> bool:
    if not isinstance(block, dict) or block.get("type") not in kinds:
        return False
    return block["type"] not in _FILES or block.get("mime_type") == "application/pdf"


def _named(message: AnyMessage, kinds: frozenset[str]) -> AnyMessage:
    named = [_name(block) if _is(block, kinds) else block for block in message.content]
    return message.model_copy(update={"content": named})


def _name(block: Any) -> dict[str, str]:
    return _UNREAD if block.get("type") in _FILES else _UNSEEN
