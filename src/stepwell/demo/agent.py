"""An agent that needs no model: real tools, real files in state, real subagents and questions, but every reply is scripted here.

It must say so on the screen: nobody should mistake a script for intelligence. The next line depends on the conversation alone, so any
number of people can play it at once, each from the start.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_core.language_models.base import LangSmithParams
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from stepwell.agent import create_deep_agent
from stepwell.demo.product import PRODUCT
from stepwell.middleware import SubAgent
from stepwell.middleware.clarify import ClarifyWithHumanMiddleware
from stepwell.middleware.rewind import RewindMiddleware
from stepwell.testing.scripted.asked import Asked
from stepwell.testing.scripted.model import ScriptedModel
from stepwell.testing.scripted.replies import Reply, call, calls, say, slow

REQUEST = PRODUCT.demos["demo_agent"].question
SAID = "This is a scripted demonstration: real agent, real tools, every reply written beforehand."
PACE_S = 0.03
"""Pause between two pieces of text, so that a person can follow."""

FINDING = "A stepwell is a well with stairs down to the water, built in dry regions so that many households could share it."
HISTORY = "Most were dug in western India between the 5th and the 19th century, some of them many storeys deep."
READERS = {"child": "A child", "traveller": "A traveller", "engineer": "An engineer"}
NOTES = {
    "child": "It is a deep well with a big staircase. You can walk all the way down to the water, and rest on the landings.",
    "traveller": "It is a deep well that you walk down by stairs, past landings and galleries that stay cool in the heat.",
    "engineer": "It is a stepped excavation down to the water table: usable at any level, with landings that brace the walls.",
}
LAST_LINE = "Most of them are in western India."
_TASKS = ("Find out what a stepwell is", "Ask who the note is for", "Write the note")


class ScriptModel(ScriptedModel):
    """Plays the script. In traces and usage reports it appears as `script`, `demo`."""

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        return LangSmithParams(ls_provider="script", ls_model_name="demo", ls_model_type="chat")


def make_graph() -> Any:
    return build_demo(pace_s=PACE_S)


def build_demo(*, pace_s: float = 0.0, checkpointer: Any = None) -> Any:
    """An agent with two subagents that plays the script, and asks before it changes a file."""

    def paced(script: Callable[[Asked], Reply]) -> Callable[[Asked], Any]:
        return lambda asked: slow(script(asked), seconds_per_chunk=pace_s)

    scripts = {"main": paced(_main), "researcher": paced(_researcher), "historian": paced(_historian)}
    # It keeps no record of its requests, which would grow with every visitor.
    model = ScriptModel.by_agent(scripts, key=lambda asked: asked.agent if asked.agent in scripts else "main", remember=0)
    researcher: SubAgent = {
        "name": "researcher",
        "description": "Looks one question up and answers in a sentence.",
        "system_prompt": "You answer one question in one sentence.",
    }
    historian: SubAgent = {
        "name": "historian",
        "description": "Knows when and where things were built.",
        "system_prompt": "You answer one question in one sentence.",
    }
    return create_deep_agent(
        model=model,
        subagents=[researcher, historian],
        middleware=[ClarifyWithHumanMiddleware(), RewindMiddleware()],
        interrupt_on={"write_file": True, "edit_file": True},
        checkpointer=checkpointer,
        name="demo_agent",
    )


def _main(asked: Asked) -> Reply:
    """The next line of the script: its number is the number of replies since the person's last message."""
    places = [place for place, message in enumerate(asked.messages) if isinstance(message, HumanMessage)]
    line = sum(isinstance(message, AIMessage) for message in asked.messages[places[-1] :]) if places else 0
    if len(places) > 1:
        script = _FOLLOW_UPS.get(str(asked.messages[places[-1]].text).strip(), (_end,))
        return script[min(line, len(script) - 1)](asked)
    script = (_plan, _delegate, _report_back, _clarify, _write, _read, _edit, _finish_plan, _conclude)
    return script[line](asked) if line < len(script) and not _was_refused(asked, "write_file") else _conclude(asked)


def _end(asked: Asked) -> Reply:
    return say(
        "I am a script, and it ends here: I cannot answer that. Start a new thread to see it again, or set up a model and talk "
        "to a real agent."
    )


def _plan(asked: Asked) -> Reply:
    return call("write_todos", todos=_todos("in_progress", "pending", "pending")).saying(
        "I am playing a script. First I make a plan, then I ask two subagents, then you."
    )


def _delegate(asked: Asked) -> Reply:
    return calls(
        call("task", description="What is a stepwell? Answer in one sentence.", subagent_type="researcher"),
        call("task", description="When and where were stepwells built?", subagent_type="historian"),
    )


def _report_back(asked: Asked) -> Reply:
    return call("write_todos", todos=_todos("completed", "in_progress", "pending"))


def _clarify(asked: Asked) -> Reply:
    readers = [{"id": name, "label": label} for name, label in READERS.items()]
    return call("ask_choices", question="Who is the note for?", options=readers)


def _write(asked: Asked) -> Reply:
    return call("write_file", file_path="/note.md", content=f"# Stepwell\n\n{_note(asked)}\n")


def _read(asked: Asked) -> Reply:
    return call("read_file", file_path="/note.md")


def _edit(asked: Asked) -> Reply:
    return call("edit_file", file_path="/note.md", old_string="# Stepwell\n", new_string=f"# Stepwell\n\n{LAST_LINE}\n").saying(
        "I would like to add a line. That changes the file, so I ask again."
    )


def _finish_plan(asked: Asked) -> Reply:
    return call("write_todos", todos=_todos("completed", "completed", "completed"))


def _conclude(asked: Asked) -> Reply:
    if _was_refused(asked, "edit_file"):
        return say("The note is in /note.md, as you approved it, without the line that you rejected.")
    if _was_refused(asked, "write_file"):
        return say("You rejected the note, so I did not write it. That is how approvals work: nothing happens without you.")
    return say("The note is in /note.md. It says what a stepwell is, for the reader you chose.")


def _list_changes(asked: Asked) -> Reply:
    changes = [message for message in asked.messages if isinstance(message, ToolMessage) and message.name in _WRITES]
    told = [f"- {_WRITES[str(each.name)]}: {'rejected' if each.status == 'error' else 'allowed'}" for each in changes]
    return say("\n".join(["I asked you before each change of a file:", "", *told]) if told else "I asked for none.")


def _take_out(asked: Asked) -> Reply:
    edits = [message for message in asked.messages if isinstance(message, ToolMessage) and message.name == "edit_file"]
    if len(edits) != 1 or edits[0].status == "error":
        return say("That line is not in the note.")
    return call("edit_file", file_path="/note.md", old_string=f"{LAST_LINE}\n\n", new_string="").saying(
        "That changes the file, so I ask again."
    )


def _say_taken_out(asked: Asked) -> Reply:
    return say("The line stays, because you rejected it." if _was_refused(asked, "edit_file") else "The line is out again.")


_WRITES = {"write_file": "writing /note.md", "edit_file": "editing /note.md"}
_FOLLOW_UPS: dict[str, tuple[Callable[[Asked], Reply], ...]] = dict(
    zip(PRODUCT.demos["demo_agent"].follow_ups, ((_list_changes,), (_take_out, _say_taken_out)), strict=True)
)


def _researcher(asked: Asked) -> Reply:
    return call("ls", path="/").saying("I check whether there are notes already.") if asked.turn == 0 else say(FINDING)


def _historian(asked: Asked) -> Reply:
    return say(HISTORY)


def _todos(*statuses: str) -> list[dict[str, str]]:
    return [{"content": task, "status": status} for task, status in zip(_TASKS, statuses, strict=True)]


def _was_refused(asked: Asked, tool: str) -> bool:
    """Whether the person said no to this change."""
    changes = [message for message in asked.messages if isinstance(message, ToolMessage) and message.name == tool]
    return bool(changes) and changes[-1].status == "error"


def _note(asked: Asked) -> str:
    told = next((str(message.text) for message in asked.messages if getattr(message, "name", "") == "ask_choices"), "")
    reader = next((each for each in NOTES if f"({each})" in told), None)
    return NOTES[reader] if reader else f"{NOTES['traveller']} (Written for: {told.removeprefix('The user writes: ')[:200]})"
