"""The interrupts of a run, as questions of an editor.

```
approval                            request_permission: allow once, always, reject        for each call
a question with options             request_permission: one option each                   one choice
changes on the person's device      request_permission with diffs, then the folder        claimed, then carried out
anything that needs words           said as a message; the turn ends, and the next prompt is the answer
```
What a person allows always holds for this session in this process, for the same tool (for `execute`: for the same command), and never for a
call that a permission asks about. We read and write no file through the editor: the agent's own file tools do, under its permissions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from acp import text_block, tool_content, tool_diff_content, update_agent_message_text, update_tool_call
from acp.schema import AllowedOutcome, PermissionOption, PermissionOptionKind, RequestPermissionResponse, ToolCallUpdate

from stepwell.answers.approvals import RULE_ASKS, is_approval
from stepwell.answers.clarification import is_clarification
from stepwell.answers.client_tools import is_device_request
from stepwell.backends import FilesystemBackend
from stepwell.backends.folder_device import DeviceChange, FolderDevice
from stepwell.terminal.acp.folder import EditorFolder
from stepwell.terminal.acp.tool_calls import Content, change_of, kind_of, locations_of, title_of
from stepwell.terminal.acp.updates import ShownCall
from stepwell.terminal.dialogue.answers import answer_all
from stepwell.terminal.dialogue.session import OpenInterrupt, Session

ALLOW, ALWAYS, REJECT, IN_WORDS = "allow", "allow_always", "reject", "in_words"
_REJECTED = "The user rejected this."


class PermissionCancelledError(Exception):
    """The editor cancelled a question, because the person stopped the turn. The interrupt stays open."""


class Editor(Protocol):
    """What we ask of the connection to the editor."""

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None: ...

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **kwargs: Any
    ) -> RequestPermissionResponse: ...


class Questions:
    """Asks the person at the editor about the interrupts of one session."""

    def __init__(self, editor: Editor, session: Session, folder: EditorFolder) -> None:
        self._editor = editor
        self._session = session
        self._folder = folder
        self._allowed: set[str] = set()
        self._device = FolderDevice(FilesystemBackend(root_dir=str(folder.path), virtual_mode=True))

    async def answer(self, interrupts: Sequence[OpenInterrupt], shown: Sequence[ShownCall]) -> dict[str, Any] | None:
        """Interrupt id -> answer; None if one of them needs words, which has been said to the person.

        Raises:
            PermissionCancelledError: The person stopped the turn.
        """
        for each in interrupts:
            if needs_words(each.value):
                await self._say(each)
                return None
        waiting, answers = list(shown), dict[str, Any]()
        for each in interrupts:
            answer = await self._answer(each, waiting)
            if answer is None:
                await self._say(each)
                return None
            answers[each.id] = answer
        return answers

    async def answer_in_words(self, interrupt: OpenInterrupt, text: str) -> dict[str, Any] | None:
        """The answer that a person typed; None if it does not fit, which has been said."""
        typed, said = [text], []

        def ask(prompt: str) -> str:
            if not typed:
                said.append(prompt)
                raise EOFError
            return typed.pop()

        try:
            return answer_all([interrupt], ask)
        except EOFError:
            await self._update(update_agent_message_text(said[-1]))
            return None

    async def _say(self, interrupt: OpenInterrupt) -> None:
        """Say a question as the terminal would ask it."""
        said: list[str] = []

        def ask(prompt: str) -> str:
            said.append(prompt)
            raise EOFError

        try:
            answer_all([interrupt], ask)
        except EOFError:
            await self._update(update_agent_message_text(f"\n\n{said[0]}\n"))

    async def _answer(self, interrupt: OpenInterrupt, waiting: list[ShownCall]) -> Any:
        value = interrupt.value
        if is_device_request(value):
            return await self._answer_device(interrupt)
        if is_approval(value):
            allowed = {config["action_name"]: config["allowed_decisions"] for config in value["review_configs"]}
            decisions = []
            for request in value["action_requests"]:
                decisions.append(await self._decide(request, allowed.get(request["name"]), waiting))
            return {"decisions": decisions}
        if _is_call_approval(value):
            return await self._decide(value, value.get("allowed_decisions"), waiting)
        return await self._choose(interrupt)

    async def _decide(
        self, request: Mapping[str, Any], allowed: Sequence[str] | None, waiting: list[ShownCall]
    ) -> dict[str, Any]:
        tool, args = request["name"], request["args"] if isinstance(request["args"], Mapping) else {}
        call = _take_call(tool, args, waiting)
        description = str(request.get("description") or "")
        by_rule = description.startswith(RULE_ASKS)
        key = f"{tool}\n{args.get('command')}" if tool == "execute" else tool
        if key in self._allowed and not by_rule:
            return {"type": "approve"}
        options = [_option(ALLOW, "Allow", "allow_once")]
        if not by_rule:
            what = "this command" if tool == "execute" else tool
            options.append(_option(ALWAYS, f"Always allow {what} in this session", "allow_always"))
        if not allowed or "reject" in allowed:
            options.append(_option(REJECT, "Reject", "reject_once"))
        change = await asyncio.to_thread(change_of, tool, args, self._folder, whole=True)
        about: list[Content] = [tool_content(text_block(description))] if description else []
        chosen = await self._ask(
            ToolCallUpdate(
                tool_call_id=call.id,
                title=title_of(tool, args),
                kind=kind_of(tool),
                status="pending",
                content=[*change, *about] or None,
                locations=locations_of(args, self._folder) or None,
                raw_input=dict(args),
            ),
            options,
        )
        if chosen == REJECT:
            return {"type": "reject", "message": _REJECTED}
        if chosen == ALWAYS:
            self._allowed.add(key)
        await self._update(update_tool_call(call.id, status="in_progress"))
        return {"type": "approve"}

    async def _choose(self, interrupt: OpenInterrupt) -> Any:
        """The answer to a question with options; None if the person wants to answer in words."""
        question = interrupt.value
        entries = [
            entry if isinstance(entry, Mapping) else {"id": str(entry), "label": str(entry)} for entry in question["options"]
        ]
        options = [
            _option(f"option-{number}", str(entry.get("label") or entry.get("id")), "allow_once")
            for number, entry in enumerate(entries)
        ]
        if question.get("allow_freeform"):
            options.append(_option(IN_WORDS, "Answer in my own words", "reject_once"))
        call = ToolCallUpdate(
            tool_call_id=str(question.get("tool_call_id") or interrupt.id),
            title=str(question.get("question") or "The agent asks."),
            kind="other",
            status="pending",
        )
        chosen = await self._ask(call, options)
        if chosen == IN_WORDS:
            return None
        entry = entries[int(chosen.removeprefix("option-"))]
        return {"selected": [str(entry.get("id", entry.get("label", "")))]}

    async def _answer_device(self, interrupt: OpenInterrupt) -> dict[str, Any]:
        """Carry out what the run asks of the person's device, in the folder of the editor."""
        question, loop = interrupt.value, asyncio.get_running_loop()
        claims: list[str | None] = []

        def wait_for(work: Any) -> Any:
            return asyncio.run_coroutine_threadsafe(work, loop).result()

        def approve(changes: Sequence[DeviceChange]) -> bool | str:
            allowed = bool(wait_for(self._allow_changes(interrupt.id, changes)))
            if allowed:
                claims.append(wait_for(self._session.claim(interrupt.id)))
            return allowed or _REJECTED

        if not question.get("requires_approval"):
            claims.append(await self._session.claim(interrupt.id))
        answer = await asyncio.to_thread(self._device.answer, question, approve)
        held = next((each for each in claims if each), None)
        return {**answer, "claim_id": held} if held else answer

    async def _allow_changes(self, question_id: str, changes: Sequence[DeviceChange]) -> bool:
        if "device" in self._allowed:
            return True
        content: list[Content] = [self._show_change(change) for change in changes]
        names = ", ".join(change.path.lstrip("/") for change in changes)
        options = [
            _option(ALLOW, "Save", "allow_once"),
            _option(ALWAYS, "Always save in this session", "allow_always"),
            _option(REJECT, "Reject", "reject_once"),
        ]
        call = ToolCallUpdate(
            tool_call_id=f"save-{question_id}", title=f"Change {names}", kind="edit", status="pending", content=content
        )
        chosen = await self._ask(call, options)
        if chosen == ALWAYS:
            self._allowed.add("device")
        return chosen != REJECT

    def _show_change(self, change: DeviceChange) -> Content:
        if change.renamed:
            return tool_content(text_block(change.diff))
        return tool_diff_content(str(self._folder.path / change.path.lstrip("/")), change.new, change.old)

    async def _ask(self, call: ToolCallUpdate, options: list[PermissionOption]) -> str:
        response = await self._editor.request_permission(session_id=self._session.thread_id, tool_call=call, options=options)
        outcome = response.outcome
        if not isinstance(outcome, AllowedOutcome):
            raise PermissionCancelledError
        if outcome.option_id not in {option.option_id for option in options}:
            return REJECT  # an answer that was not offered allows nothing
        return outcome.option_id

    async def _update(self, update: Any) -> None:
        await self._editor.session_update(session_id=self._session.thread_id, update=update)


def needs_words(value: Any) -> bool:
    """Whether a permission request cannot answer this: the person has to type something."""
    if is_device_request(value) or is_approval(value) or _is_call_approval(value):
        return False
    if is_clarification(value):
        return not value.get("options") or bool(value.get("allow_multiple"))
    return True


def takes_words(value: Any) -> bool:
    """Whether the person may answer this by typing."""
    return needs_words(value) or (is_clarification(value) and bool(value.get("allow_freeform")))


def _is_call_approval(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and value.get("type") == "tool_approval"
        and isinstance(value.get("name"), str)
        and "args" in value
    )


def _take_call(tool: str, args: Mapping[str, Any], waiting: list[ShownCall]) -> ShownCall:
    """The call that the editor shows for this request. An edited or unknown one gets an id of its own."""
    tests: tuple[Callable[[ShownCall], bool], ...] = (
        lambda call: call.tool == tool and call.args == args,
        lambda call: call.tool == tool,
    )
    for test in tests:
        for call in waiting:
            if test(call):
                waiting.remove(call)
                return call
    return ShownCall(f"ask-{tool}", tool, args)


def _option(option_id: str, name: str, kind: PermissionOptionKind) -> PermissionOption:
    return PermissionOption(option_id=option_id, name=name, kind=kind)
