"""Images in a conversation whose model reads only text.

A provider would answer such a request with an error of its own, and with every later message too, because the image stays in the
conversation. So the user's newest message is refused with a sentence, and older images are replaced by a few words. The thread keeps them.
"""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage

from stepwell.errors import ModelCannotSeeError
from stepwell.models.facts import can_see, describe

_PICTURES = frozenset({"image", "image_url"})
_UNSEEN = {"type": "text", "text": "[An image that you cannot see]"}


def without_unseen_pictures(messages: list[AnyMessage], model: BaseChatModel) -> list[AnyMessage]:
    """The messages as this model can read them; the same list unless its profile says that it cannot see.

    Raises:
        ModelCannotSeeError: The user's newest message has images.
    """
    if can_see(model) is not False or not any(_has_picture(message) for message in messages):
        return messages
    newest = next((message for message in reversed(messages) if message.type == "human"), None)
    if newest is not None and _has_picture(newest):
        raise ModelCannotSeeError(describe(model).name)
    return [_named(message) if _has_picture(message) else message for message in messages]


def _has_picture(message: AnyMessage) -> bool:
    return isinstance(message.content, list) and any(_is_picture(block) for block in message.content)


def _is_picture(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") in _PICTURES


def _named(message: AnyMessage) -> AnyMessage:
    return message.model_copy(update={"content": [_UNSEEN if _is_picture(block) else block for block in message.content]})
