"""The tutor's notes in the user's project: read when a thread begins, written at the end of every turn that changed the argument.

```
load     argument.json, seminar.md and log.md, one request to the device   when the thread has a project and has not read it yet
save     the same three files, one request                                when the argument differs from what was last written
reread   as load                                                          when a save found that a file had been changed by hand
```
The user is asked once per project whether the tutor may keep its notes there, in the folder `tutor`. A save says that it is about notes
(`notes` in the request), so that the device can remember the answer with the project and give it by itself from then on. Clients say it in
`keep_notes`. Notes that are in the project already were allowed before. After a no the argument lives in the thread, and nothing is asked
again. No other file of the project is written here.

Each is one interrupt in its own step. A save names the text it is based on, so that no edit is overwritten. Manual edits are merged
with the turn's own changes; a file that cannot be read is rejected with line and reason, and left as it is. Without a project the
argument exists only in the thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from langchain.agents.middleware.types import AgentMiddleware, hook_config
from langchain_core.messages import AIMessage
from langgraph.config import get_config
from langgraph.runtime import Runtime

from stepwell.answers.client_tools import DeviceError
from stepwell.backends.device import PROJECT, Device, DeviceCall, say_failure
from stepwell.tutor.argument.document import Argument, changes, from_data, to_data
from stepwell.tutor.argument.files import ARGUMENT, FOLDER, LOG, SEMINAR, sha256
from stepwell.tutor.argument.progress import describe_progress
from stepwell.tutor.argument.project import merge, read_files, write_files
from stepwell.tutor.argument.prose import sentences_about
from stepwell.tutor.argument.validity import FileRefusedError
from stepwell.tutor.commands import show
from stepwell.tutor.dialogue import asks, last_answer, messages_of, read_dialogue, with_text
from stepwell.tutor.state import Kept

State = Mapping[str, Any]
ASK_FOR_NOTES = "May the tutor keep its notes in your project?"
_TO_READ = (ARGUMENT, SEMINAR, LOG)
"""Every save writes the log anew; we read it so that a save knows what it replaces."""


def project_of(state: State) -> str | None:
    """The project id, from the state or the run's configuration."""
    found = state.get(PROJECT) or (get_config().get("configurable") or {}).get(PROJECT)
    return str(found) if found else None


def needs_loading(state: State) -> bool:
    return not _kept(state).get("loaded") and project_of(state) is not None


def needs_saving(state: State, *, ending: bool) -> bool:
    """Whether the argument differs from the files, and the user lets us keep notes. New log lines alone wait for the next change or the
    end of the run."""
    kept = _kept(state)
    argument = from_data(state.get("argument"))
    if project_of(state) is None or not kept.get("loaded") or kept.get("conflict") or argument == Argument():
        return False
    if may_keep_notes(state) is False:
        return False
    if not ending and replace(argument, moves=()) == replace(from_data(kept.get("base")), moves=()):
        return False
    return sha256(write_files(argument)[ARGUMENT]) != kept.get("hashes", {}).get(ARGUMENT)


def may_keep_notes(state: State) -> bool | None:
    """What the user has decided; None if they have to be asked. The client's word for the project counts more than this thread's."""
    told = state.get("keep_notes")
    known = {"yes": True, "no": False}.get(_kept(state).get("notes", ""))
    return told if isinstance(told, bool) else known


def load(state: State) -> dict[str, Any]:
    """Read the project's files into the thread. After an error nothing is loaded, and `kept.notice` says why."""
    texts, fault = _read(state)
    if fault is None:
        try:
            argument = read_files(texts)
        except FileRefusedError as refused:
            fault = str(refused)
    if fault is not None:
        return {"kept": Kept(loaded=False, notice=fault)}
    kept = _kept_now(argument, texts)
    update: dict[str, Any] = {"kept": kept, "progress": describe_progress(argument)}
    return update if argument == Argument() else {**update, "argument": {"replace": to_data(argument)}}


def save(state: State) -> dict[str, Any]:
    """Write the three files together. A file that was changed meanwhile is left alone and read again next."""
    argument = from_data(state.get("argument"))
    texts = write_files(argument)
    kept = _kept(state)
    calls = [_write(name, text, kept.get("hashes", {}).get(name)) for name, text in texts.items()]
    results = _device(state).perform(calls, **_about_notes(state, argument))
    failed = [(name, each) for name, each in zip(texts, results, strict=True) if isinstance(each, DeviceError)]
    if not failed:
        hashes = {name: sha256(text) for name, text in texts.items()}
        return {"kept": Kept(loaded=True, hashes=hashes, base=to_data(argument), notes="yes")}
    if any(error.code == "rejected" for _, error in failed):
        return {"kept": {**kept, "notes": "no", "notice": ""}}
    if any(error.code == "conflict" for _, error in failed):
        return {"kept": {**kept, "conflict": True}}
    name, error = failed[0]
    return {"kept": {**kept, "notice": f"The notes were not saved. {say_failure(error, DeviceCall('write_file', {}), name)}"}}


def reread(state: State) -> dict[str, Any]:
    """Merge the user's changes in the files with this turn's changes to the argument."""
    kept = _kept(state)
    texts, fault = _read(state)
    ours = from_data(state.get("argument"))
    if fault is None:
        try:
            theirs = read_files(texts)
            merged = merge(from_data(kept.get("base")), ours, theirs)
        except FileRefusedError as refused:
            fault = str(refused)
    if fault is not None:
        return {"kept": {**kept, "conflict": False, "notice": f"The notes were not saved. {fault}"}}
    now = {
        **kept,
        **_kept_now(theirs, texts),
        "conflict": False,
        "notice": "The files were changed by hand, and those changes are in the argument now.",
    }
    return {"kept": now, "argument": changes(ours, merged), "progress": describe_progress(merged)}


def _read(state: State) -> tuple[dict[str, str | None], str | None]:
    """The texts by name, None for a missing file; and the error, if any."""
    calls = [DeviceCall("read_file", {"file_id": f"/{name}"}) for name in _TO_READ]
    texts: dict[str, str | None] = {}
    for name, call, said in zip(_TO_READ, calls, _device(state).perform(calls), strict=True):
        if isinstance(said, DeviceError) and said.code != "not_found":
            return {}, str(say_failure(said, call, f"/{name}"))
        texts[name] = None if isinstance(said, DeviceError) else said.text
    return texts, None


def _write(name: str, text: str, base: str | None) -> DeviceCall:
    args = {"title": name, "content": text, "file_type": "seminar", "path": f"/{name}"}
    return DeviceCall("write_file", {**args, "overwrite": True, "base_hash": base} if base else args)


def _about_notes(state: State, argument: Argument) -> dict[str, Any]:
    """What a save says beside its calls: that these are notes, what is in them as sentences, and that they need no approval any more."""
    notes = {"folder": FOLDER, "text": "\n\n".join(sentences_about(argument)) or argument.question}
    return {"notes": notes, **({"requires_approval": False} if may_keep_notes(state) else {"message": ASK_FOR_NOTES})}


def _device(state: State) -> Device:
    return Device(project_of(state)).bind(state=state)


def _kept(state: State) -> Kept:
    return cast("Kept", dict(state.get("kept") or {}))


def _kept_now(argument: Argument, texts: Mapping[str, str | None]) -> dict[str, Any]:
    """What the next save is based on: the files as they are now."""
    found: dict[str, Any] = {"notes": "yes"} if texts.get(ARGUMENT) is not None else {}
    return {
        **found,
        "loaded": True,
        "hashes": {name: sha256(text) for name, text in texts.items() if text is not None},
        "base": to_data(argument),
    }


class SeminarLoading(AgentMiddleware[Any, Any, Any]):
    """Reads the files when a thread begins. If that fails, the turn ends with the reason."""

    @hook_config(can_jump_to=["end"])
    def before_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        if not needs_loading(state):
            return None
        update = load(state)
        fault = update["kept"].get("notice")
        return {**update, "messages": [AIMessage(fault)], "jump_to": "end"} if fault else update

    @hook_config(can_jump_to=["end"])
    async def abefore_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        return self.before_agent(state, runtime)


class SeminarCommands(AgentMiddleware[Any, Any, Any]):
    """Answers commands that only show the argument (`/export md`, `/lint`, `/help`), without a model. Comes after `SeminarLoading`."""

    @hook_config(can_jump_to=["end"])
    def before_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        said = read_dialogue(messages_of(state)).last
        shown = show(from_data(state.get("argument")), said.text) if said is not None else None
        return None if shown is None else {"messages": [AIMessage(shown)], "jump_to": "end"}

    @hook_config(can_jump_to=["end"])
    async def abefore_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        return self.before_agent(state, runtime)


class SeminarSaving(AgentMiddleware[Any, Any, Any]):
    """Saves when a turn ends: with a question, or with the agent's last message."""

    def after_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        message = last_answer(messages_of(state))
        if message is None or (message.tool_calls and not asks(message)):
            return None
        progress = {"progress": describe_progress(from_data(state.get("argument")))}
        return {**progress, **save(state)} if needs_saving(state, ending=not message.tool_calls) else progress

    async def aafter_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        return self.after_model(state, runtime)


class SeminarRereading(AgentMiddleware[Any, Any, Any]):
    """Reads the files again when a save found them changed. Comes before `SeminarSaving`: after-model hooks run last to first."""

    def after_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        if not _kept(state).get("conflict"):
            return None
        update = reread(state)
        message = last_answer(messages_of(state))
        if message is None:
            return update
        noted = with_text(message, f"{message.text}\n\n({update['kept']['notice']})".strip())
        return {**update, "messages": [noted]}  # the same id: it replaces the message

    async def aafter_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        return self.after_model(state, runtime)
