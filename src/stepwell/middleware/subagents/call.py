"""One call of a subagent: what goes in, how long it may take, what comes out.

```
parent's state ── everything but messages, todos and files ──▶ subagent's state
what it knows  ── an earlier task, or a fork's conversation ──▶ subagent's messages, before the task (`known`)
parent's files ── seen through `inherited_files`, not copied ─▶ subagent's files (only what it changes)
subagent's last message ─────────────────────────────────────▶ one ToolMessage
subagent's changed files ── with the version they started from ▶ parent's files; a race becomes a conflict, never a loss
```
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.pregel import Pregel
from pydantic_core import to_json

from stepwell.backends import changes, text
from stepwell.backends.changes import StoredFile, reduce_files
from stepwell.backends.state import CHANNEL, inherited_files, is_inherited, visible_files
from stepwell.errors import ToolUseError
from stepwell.middleware.rubric.verdicts import left_over
from stepwell.middleware.subagents.known import FRESH, Known, carrying
from stepwell.state.channels import is_incremental
from stepwell.state.transcripts import CALL_ID, CONTINUES, NAME, task_message_id

ISOLATED = frozenset({"messages", "todos", CHANNEL, "structured_response", "jump_to", "summary", "shell_session_resources"}) | {
    "skills_metadata",
    "skills_files",
    "skills_load_errors",
    "pinned_skills",
    "memory_contents",
    "memory_files",
    "loaded_tools",
    "rubric",
    "checks",
    "_rubric_status",
    "_rubric_iterations",
    "_rubric_evaluations",
    "_current_grading_run_id",
    "_active_rubric",
    "_rubric_turn",
}
"""State that is not shared between an agent and its subagents."""


class SubAgentTimeoutError(ToolUseError):
    """A subagent took longer than it may. What it has done so far is stored."""


@dataclass(frozen=True, slots=True)
class SubAgentCall:
    """A task given to a subagent within a running parent."""

    name: str
    agent: Runnable[Any, Any]
    description: str
    runtime: ToolRuntime
    timeout_s: float | None = None
    known: Known = FRESH

    def run(self) -> Mapping[str, Any]:
        """Run the subagent and return its final state."""
        with inherited_files(self._parent_files()), carrying(self.known, self.agent):
            if self.timeout_s is None:
                return cast("Mapping[str, Any]", self.agent.invoke(self._input(), self._config()))
            return _within(self.timeout_s, self, contextvars.copy_context())

    async def arun(self) -> Mapping[str, Any]:
        """The same from async code."""
        with inherited_files(self._parent_files()), carrying(self.known, self.agent):
            try:
                async with asyncio.timeout(self.timeout_s) as limit:
                    return cast("Mapping[str, Any]", await self.agent.ainvoke(self._input(), self._config()))
            except TimeoutError:
                if not limit.expired():
                    raise
                raise self.timed_out() from None

    def step(self, stop: threading.Event) -> Mapping[str, Any]:
        """Run the subagent step by step, so that it can be stopped between two steps once the caller has given up."""
        if not isinstance(self.agent, Pregel):
            return cast("Mapping[str, Any]", self.agent.invoke(self._input(), self._config()))
        state: Mapping[str, Any] = {}
        for values in self.agent.stream(self._input(), self._config(), stream_mode="values"):
            state = cast("Mapping[str, Any]", values)
            if stop.is_set():
                raise self.timed_out()
        return state

    def timed_out(self) -> SubAgentTimeoutError:
        return SubAgentTimeoutError(
            f"Error: the subagent {self.name} was stopped after {self.timeout_s:g} s. Give it a smaller task, or do it yourself."
        )

    def changed_files(self, final: Mapping[str, Any]) -> dict[str, Any]:
        """The subagent's changes as an update of the parent's files."""
        parent = self._parent_files()
        update: dict[str, Any] = {}
        for path, file in (final.get(CHANNEL) or {}).items():
            before = parent.get(path)
            if changes.is_deleted(file):
                if before is not None:
                    update[path] = self._deletion(path, file)
                continue
            content = changes.text_of(file)
            if before is None or changes.text_of(before) != content:
                base = self._version_in_own_state(path)
                update[path] = changes.put(content, base=base, at=file.get("modified_at") or "")
        return update

    def _deletion(self, path: str, file: StoredFile) -> changes.DeleteChange:
        base, at = self._version_in_own_state(path), file.get("modified_at") or ""
        return changes.delete(base=base, at=at, hides=is_inherited(path))

    def _version_in_own_state(self, path: str) -> str | None:
        """A file's version in the parent's own channel; None for a file that the parent itself inherited, which is not in that channel."""
        own = (self.runtime.state.get(CHANNEL) or {}).get(path)
        return None if own is None or changes.is_deleted(own) else text.version_of(changes.text_of(own))

    def _parent_files(self) -> Mapping[str, StoredFile]:
        return visible_files(self.runtime.state.get(CHANNEL))

    def _input(self) -> dict[str, Any]:
        state = {key: value for key, value in self.runtime.state.items() if key not in ISOLATED}
        if CHANNEL not in state and not _sees_inherited_files(self.agent):
            state[CHANNEL] = dict(self._parent_files())
        call_id = self.runtime.tool_call_id
        task = HumanMessage(self.description, id=task_message_id(call_id) if call_id else None)
        return {**state, "messages": [*self.known.messages, task]}

    def _config(self) -> RunnableConfig:
        # Everything else (configurable, callbacks, checkpointer, context) comes from the running parent through LangGraph.
        names = {NAME: self.name, CALL_ID: self.runtime.tool_call_id or ""}
        if self.known.continues:
            names[CONTINUES] = self.known.continues
        # By this field LangChain names the speaker. A graph compiled elsewhere has another name or none, and would look like its parent.
        return {"metadata": {**names, "lc_agent_name": self.name}}


def final_text(name: str, final: Mapping[str, Any]) -> str:
    """The subagent's answer, and what it lacks if it was checked."""
    answer, missing = _answer(name, final), left_over(final)
    return f"{answer}\n\n[{missing}]" if missing else answer


def _answer(name: str, final: Mapping[str, Any]) -> str:
    structured = final.get("structured_response")
    if structured is not None:
        return to_json(structured, fallback=str).decode()  # any kind of class: pydantic, dataclass, TypedDict
    messages = final.get("messages") or []
    if messages and isinstance(messages[-1], ToolMessage) and messages[-1].text.strip():
        return messages[-1].text  # the result of a tool, which is the answer (`return_direct`)
    for message in reversed(messages):
        if isinstance(message, AIMessage) and message.text.strip():
            return message.text
    return f"The subagent {name} finished without an answer. Look at the files it changed, or ask again."


def is_stuck(final: Mapping[str, Any]) -> bool:
    """Whether a subagent was stopped because it made no progress."""
    messages = final.get("messages") or []
    return bool(messages) and messages[-1].response_metadata.get("finish_reason") == "stubborn"


def _sees_inherited_files(agent: Runnable[Any, Any]) -> bool:
    """Whether the agent's files channel is ours, so that its backend finds the parent's files itself."""
    if not isinstance(agent, Pregel):
        return False
    channel = agent.channels.get(CHANNEL)
    return channel is None or (is_incremental(channel) and getattr(channel, "reducer", None) is reduce_files)


def _within(timeout_s: float, call: SubAgentCall, context: contextvars.Context) -> Mapping[str, Any]:
    """Run in a separate thread and stop waiting when the time is up; the thread ends at its next step."""
    outcome: list[Mapping[str, Any] | BaseException] = []
    stop = threading.Event()

    def work() -> None:
        try:
            outcome.append(context.run(call.step, stop))
        except BaseException as error:  # raised in the caller below, bubble-ups included
            outcome.append(error)

    worker = threading.Thread(target=work, name=f"subagent-{call.name}", daemon=True)
    worker.start()
    worker.join(timeout_s)
    stop.set()
    if not outcome:
        raise call.timed_out()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]
