"""Skills in use: those that a run names (`pinned_skills`), and the tools that a skill brings with it.

A pinned skill becomes a message after the user's, with the text as it is at that moment. A tool of a skill (`metadata.include_tools`) is
offered once the skill has been read or pinned.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from stepwell.backends import paths
from stepwell.middleware.skills.frontmatter import SkillError, SkillMetadata, split
from stepwell.tools.framing import framed

SOURCE = "lc_source"
PINNED = "pinned_skill"
INCLUDE_TOOLS = "include_tools"
MAX_PINNED_CHARS = 60_000


def add_pins(state: Sequence[str] | None, update: Sequence[str] | None) -> list[str]:
    """Parallel steps add to the pins; an empty list removes them all."""
    return [*(state or ()), *update] if update else []


def named(pins: Iterable[str], skills: Iterable[SkillMetadata]) -> list[SkillMetadata]:
    """The skills with these names, each once, in the order of the names."""
    by_name = {skill["name"]: skill for skill in skills}
    return [by_name[name] for name in dict.fromkeys(pins) if name in by_name]


def pinned_message(skill: SkillMetadata, text: str) -> HumanMessage | None:
    """The skill's instructions; None if the file has none any more."""
    try:
        body = framed(split(text)[1], skill["path"], MAX_PINNED_CHARS)
    except SkillError:
        return None
    if not body:
        return None
    opening = f'<skill name="{html.escape(skill["name"])}" path="{html.escape(skill["path"])}">'
    about = {"name": skill["name"], "path": skill["path"], "description": skill["description"]}
    return HumanMessage(f"{opening}\n{body}\n</skill>", additional_kwargs={SOURCE: PINNED, "skill": about})


def tool_names(skill: SkillMetadata) -> list[str]:
    """The tools that come with a skill."""
    return skill["metadata"].get(INCLUDE_TOOLS, "").replace(",", " ").split()


def paths_in_use(messages: Iterable[BaseMessage]) -> set[str]:
    """The files that were pinned as skills, or read without an error."""
    asked: dict[str, str] = {}
    used: set[str] = set()
    for message in messages:
        if isinstance(message, AIMessage):
            for call in message.tool_calls:
                if call["name"] == "read_file":
                    asked[call["id"] or ""] = str(paths.resolve(call["args"].get("file_path")))
        elif isinstance(message, ToolMessage):
            if message.tool_call_id in asked and message.status != "error":
                used.add(asked[message.tool_call_id])
        elif message.additional_kwargs.get(SOURCE) == PINNED:
            used.add(str(message.additional_kwargs.get("skill", {}).get("path", "")))
    return used
