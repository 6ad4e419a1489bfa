"""A stored thread as the updates that would have shown it, for `session/load`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from acp import image_block, update_user_message, update_user_message_text

from stepwell.terminal.acp.updates import Update, Updates, messages_in, plan_of, returned
from stepwell.terminal.dialogue.events import MAIN, Called, CallId, Thought, is_from_agent, text_of, thoughts_of
from stepwell.terminal.dialogue.interleaving import Said


def replay(values: Mapping[str, Any], updates: Updates) -> Iterator[Update]:
    """Everything that was said and done in the thread, in its order, and its plan."""
    for message in messages_in(values):
        if is_from_agent(message):
            yield from _replay_agent(message, updates)
        elif message.get("type") == "tool":
            yield from updates.of_event(returned(message))
        elif message.get("type") == "human" and not _is_ours(message):
            yield from _replay_person(message)
    if isinstance(todos := values.get("todos"), list) and todos:
        yield plan_of([each for each in todos if isinstance(each, Mapping)])


def replay_new(values: Mapping[str, Any], inputs: Sequence[Mapping[str, Any]]) -> Iterator[Update]:
    """What the person has said in the inputs of runs, without what the thread has stored of it."""
    stored = {message.get("id") for message in messages_in(values)}
    for message in (message for given in inputs for message in messages_in(given)):
        if message.get("role") == "user" and message.get("id") not in stored:
            yield from _replay_person(message)


def _replay_agent(message: Mapping[str, Any], updates: Updates) -> Iterator[Update]:
    if thought := thoughts_of(message):
        yield from updates.of_event(Thought(MAIN, thought))
    if text := text_of(message):
        yield from updates.of_event(Said(MAIN, text))
    for call in message.get("tool_calls") or ():
        yield from updates.of_event(Called(MAIN, call["name"], call["args"], CallId((), call["id"] or "")))


def _replay_person(message: Mapping[str, Any]) -> Iterator[Update]:
    content = message.get("content")
    if isinstance(content, str):
        if content:
            yield update_user_message_text(content)
        return
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, Mapping):
            continue
        if block.get("type") == "text" and block.get("text"):
            yield update_user_message_text(str(block["text"]))
        elif block.get("type") == "image" and isinstance(block.get("base64"), str):
            yield update_user_message(image_block(block["base64"], str(block.get("mime_type") or "image/png")))


def _is_ours(message: Mapping[str, Any]) -> bool:
    """Whether the harness wrote this message for the model, such as a summary or news of a background task."""
    return bool((message.get("additional_kwargs") or {}).get("lc_source"))
