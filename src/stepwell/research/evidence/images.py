"""Images as documents: a model that sees them writes down their text, once, when the user adds the image.

The text is a document like any other from then on: passages of it go along with a question, are stored in the trail, quoted and checked.
That a model wrote it stands in the place of every passage, so a reader of the report sees it beside each quote:
`image, transcribed by gpt-4.1, not checked`.

The same image gets the same text in every question of a thread only if it is read once: a browser stores the text, and the command line
stores it in the data folder (`read_image_once`).

An image is sent before any plan is approved. Under a policy that sends nothing before that (`sending.before_approval`) only a model on this
machine reads it.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage

from stepwell.errors import FetchFailedError, FetchRefusedError, StepwellError
from stepwell.models import find_model
from stepwell.models.connected import TASK_KINDS
from stepwell.models.facts import can_see, describe
from stepwell.models.routing import ModelRoutes
from stepwell.private_files import make_private_folder, open_private
from stepwell.research.evidence.policy.rules import ResearchPolicy
from stepwell.research.evidence.prompting import prompt
from stepwell.research.evidence.recorded.models import is_on_this_machine
from stepwell.settings import Settings
from stepwell.tools.documents.content import image_type
from stepwell.tools.documents.page import PageText
from stepwell.tools.documents.parts import Part
from stepwell.tools.documents.visible import normalise, one_line

MAX_IMAGE_BYTES = 5_000_000
"""What the strictest of the large providers takes."""
READ_S = 100.0
_MAX_NAME = 100
_PLACE = re.compile(r"image, transcribed by (.+), not checked")
_NOTHING = "[no text]"


def find_image_model(settings: Settings, policy: ResearchPolicy) -> BaseChatModel:
    """The first model of those configured or connected whose profile says that it takes images.

    Raises:
        FetchRefusedError: There is none, or the policy lets none see an image before a plan is approved.
    """
    routes = ModelRoutes.from_settings(settings) if find_model(settings) else None
    able = [model for kind in TASK_KINDS if routes and can_see(model := routes[kind])]
    allowed = [model for model in able if policy.sends_before_approval or is_on_this_machine(model)]
    if allowed:
        return allowed[0]
    if able:
        raise FetchRefusedError(
            "This is an image, and the policy of this installation sends nothing to a model before a plan is approved (rule "
            "sending.before_approval). Add its text as a file.",
            "policy",
        )
    raise FetchRefusedError(
        "This is an image, and no connected model is known to read images. Connect one that does (Settings > Models, or `stepwell models "
        "use`), or add its text as a file.",
        "type",
    )


async def read_image(model: BaseChatModel, content: bytes) -> PageText:
    """The text of an image, as a model writes it down. Raises a `WebError` if it is no image, or nothing can be read in it."""
    media_type = image_type(content)
    if media_type is None:
        raise FetchRefusedError("This is not an image that can be read. PNG, JPEG, WebP and GIF are.", "type")
    if len(content) > MAX_IMAGE_BYTES:
        raise FetchRefusedError(
            f"This image has more than {MAX_IMAGE_BYTES // 1_000_000} MB. Save it smaller, or cut out the part that matters.",
            "size",
        )
    name = _name(model)
    text = normalise(await _ask(model, name, content, media_type))
    if text.strip() == _NOTHING or not re.search(r"\w", text):
        raise FetchFailedError(f"{name} found no text in this image.", "empty")
    return _page(media_type, name, text)


async def read_image_once(model: BaseChatModel, content: bytes, folder: Path) -> PageText:
    """The same, but an image that this model has read before is read from `folder`."""
    name = _name(model)
    digest = hashlib.sha256(content).hexdigest()
    file = folder / f"{hashlib.sha256(f'{name} {digest}'.encode()).hexdigest()}.txt"
    if file.exists():
        return _page(image_type(content) or "", name, file.read_text(encoding="utf-8"))
    read = await read_image(model, content)
    make_private_folder(folder)
    whole = file.with_suffix(f".{uuid.uuid4().hex}")
    with open_private(whole) as opened:
        opened.write(read.text.encode())
    whole.replace(file)
    return read


def list_transcribed(snippets: Iterable[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """The models that have read images among a question's snippets, each with an image's name."""
    found = ((_PLACE.fullmatch(each.get("place") or ""), each["label"]) for each in snippets)
    return list(dict.fromkeys((match[1], label) for match, label in found if match))


def _page(media_type: str, name: str, text: str) -> PageText:
    note = f"Transcribed by {name} from the image; not checked."
    return PageText(media_type, "", text, note, (Part(0, f"image, transcribed by {name}, not checked"),))


def _name(model: BaseChatModel) -> str:
    return one_line(describe(model).name or "a model", _MAX_NAME)


async def _ask(model: BaseChatModel, name: str, content: bytes, media_type: str) -> str:
    shown = {"type": "image", "base64": base64.b64encode(content).decode(), "mime_type": media_type}
    asked = [SystemMessage(prompt("stepwell.research.evidence", "image")), HumanMessage(content_blocks=[shown])]  # type: ignore[list-item]
    try:
        async with asyncio.timeout(READ_S):
            return (await model.ainvoke(asked)).text
    except StepwellError as error:  # a spending limit, for instance: it says what to do
        raise FetchFailedError(str(error), "model") from error
    except Exception as error:  # whatever a provider's package raises; its message may repeat the request
        raise FetchFailedError(
            f"{name} did not read this image ({type(error).__name__}). Try again later, or choose another model.", "model"
        ) from error
