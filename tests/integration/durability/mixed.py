"""An agent and two subagents that ask in every way there is: questions, work for the user's device, approvals. And who answers them.

Each of three rounds has eleven interrupts: four of each subagent, three of the agent itself. What is answered twice, lost or given to
somebody else shows in the results.
"""

from __future__ import annotations

import asyncio
import json
import os
import urllib.request
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage

from stepwell import ClarifyWithHumanMiddleware, ClientToolsMiddleware, create_deep_agent
from stepwell.backends.folder_device import FolderDevice
from stepwell.backends.protocol import BackendProtocol
from stepwell.testing import Asked, ScriptedModel, raw
from stepwell.tools.effect_journal import effect_key, settled

ROUNDS = 3
INTERRUPTS = 11 * ROUNDS
GO = {"messages": [{"role": "user", "content": "go"}], "current_project_id": "p"}
SPEAKERS = [f"{who}-{number}" for number in range(1, ROUNDS + 1) for who in ("main", "alpha", "beta")]
"""Each asks one question, writes one file, and records one thing after an approval."""


def build_mixed(record: Callable[..., Any], checkpointer: Any = None) -> Any:
    """`record(name)` is what an approval stands before."""
    scripts = {"main": _main, "alpha": _helper, "beta": _helper}
    model = ScriptedModel.by_agent(scripts, key=lambda asked: asked.agent if asked.agent in scripts else "main", remember=0)
    clarify = ClarifyWithHumanMiddleware()
    helpers = [
        {"name": name, "description": f"is {name}", "system_prompt": f"You are {name}.", "middleware": [clarify]}
        for name in ("alpha", "beta")
    ]
    return create_deep_agent(
        model,
        [record],
        subagents=helpers,
        middleware=[clarify, ClientToolsMiddleware(mount="/project/")],
        interrupt_on={"record": {"allowed_decisions": ["approve", "reject"]}},
        checkpointer=checkpointer,
    )


async def record(name: str, runtime: ToolRuntime) -> str:
    """Record a name, in the world outside."""
    await settled(runtime)
    body = json.dumps({"name": name, "key": effect_key(runtime), "kind": "keyed"}).encode()
    request = urllib.request.Request(os.environ["ORACLE_URL"], body, method="POST")
    await asyncio.to_thread(lambda: urllib.request.urlopen(request, timeout=60).close())
    return f"recorded {name}"


def _turn(text: str = "", *calls: tuple[str, dict[str, Any]]) -> Any:
    """With ids that nobody else has, as real models give them: a script would count from 1 again after a restart."""
    planned = [{"name": name, "args": args, "id": f"call-{uuid.uuid4().hex}", "type": "tool_call"} for name, args in calls]
    return raw(AIMessage(text, id=f"reply-{uuid.uuid4().hex}", tool_calls=planned))


def _ask_and_write(who: str) -> list[tuple[str, dict[str, Any]]]:
    return [
        ("ask_user", {"question": f"{who}?"}),
        ("write_file", {"file_path": f"/project/{who}.md", "content": f"by {who}"}),
    ]


def _main(asked: Asked) -> Any:
    done = sum(message.type == "ai" for message in asked.messages)
    number, step = done // 2 + 1, done % 2
    if number > ROUNDS:
        return _turn("all done")
    if step:
        return _turn("", ("record", {"name": f"main-{number}"}))
    tasks = [("task", {"description": f"{who}-{number}", "subagent_type": who}) for who in ("alpha", "beta")]
    return _turn("", *tasks, *_ask_and_write(f"main-{number}"))


def _helper(asked: Asked) -> Any:
    who, done = asked.human, sum(message.type == "ai" for message in asked.messages)
    if done == 0:
        return _turn("", *_ask_and_write(who), ("read_file", {"file_path": "/project/seed.md"}))
    if done == 1:
        return _turn("", ("record", {"name": who}))
    return _turn(" / ".join(message.text for message in asked.messages if message.type == "tool"))


class Project:
    """The user's device: it carries out each interrupt once, and keeps what it answered, as a page does in its outbox."""

    def __init__(self, files: BackendProtocol) -> None:
        files.write("/seed.md", "the seed")
        self._device = FolderDevice(files)
        self.outbox: dict[str, dict[str, Any]] = {}
        self.executed: Counter[str] = Counter()

    def carry_out(self, interrupt_id: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        if interrupt_id not in self.outbox:
            self.executed[interrupt_id] += 1
            self.outbox[interrupt_id] = self._device.answer(payload)
        return self.outbox[interrupt_id]


def is_for_the_device(payload: Mapping[str, Any]) -> bool:
    return payload.get("type") == "client_tool_execution"


def persons_answer(payload: Mapping[str, Any]) -> dict[str, Any]:
    """What a person says to a question or an approval; it names the question, so that a mix-up shows."""
    if "action_requests" in payload:
        return {"decisions": [{"type": "approve"} for _ in payload["action_requests"]]}
    return {"response": f"yes, {payload['question']}"}


def faults_in(texts: list[str], files: BackendProtocol, recorded: Mapping[str, int], project: Project) -> list[str]:
    """What is not as it must be once all is done. `texts` are the results of the agent's own tool calls."""
    said = "\n".join(texts)
    wrong = [f"{who} heard {said.count(f'yes, {who}?')} answers" for who in SPEAKERS if said.count(f"yes, {who}?") != 1]
    wrong += [f"{who}.md" for who in SPEAKERS if files.read(f"/{who}.md") != f"     1\tby {who}"]
    wrong += [f"{who} recorded {recorded.get(who, 0)} times" for who in SPEAKERS if recorded.get(who, 0) != 1]
    wrong += [f"carried out {times} times" for times in project.executed.values() if times != 1]
    wrong += [] if said.count("the seed") == 2 * ROUNDS else ["the seed was not read by everybody"]
    return wrong


mixed = build_mixed(record)
