"""What the tests of the page talk to. Each graph is one thing a person can meet: a quick answer, a slow one, an approval with typed
arguments, two approvals at once, several questions at once, a question from a subagent, every kind of clarification, a diff, hostile
text."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from langchain.agents.structured_output import ToolStrategy
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel

from stepwell import ClientToolsMiddleware, RewindMiddleware, RubricMiddleware
from stepwell.agent import create_deep_agent
from stepwell.testing import Asked, ScriptedModel, call, calls, say, slow

WAITED_S = 60
WORDS = " ".join(f"word{number}" for number in range(200))
HOSTILE = "\n\n".join(
    [
        '<script>document.title = "pwned"</script><img src=x onerror="document.title = \'pwned\'">',
        "[click me](javascript:document.title='pwned') and [data](data:text/html,<script>alert(1)</script>)",
        "![tracked](https://elsewhere.example/pixel.png) <iframe src='https://elsewhere.example'></iframe>",
        "`<b>code</b>` **<i>bold</i>** \u202etfel ot thgir\u202c \U0001f9d1\u200d\U0001f680",
    ]
)


def _one(node: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("model", node)
    builder.add_edge(START, "model")
    builder.add_edge("model", END)
    return builder.compile()


def _results(asked: Asked) -> list[str]:
    """What tools gave since the person spoke last."""
    newest = max(place for place, message in enumerate(asked.messages) if message.type == "human")
    return [message.text for message in asked.messages[newest:] if message.type == "tool"]


def _wait_for(file: Path) -> None:
    deadline = time.monotonic() + WAITED_S
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.05)


async def _talk(state: MessagesState) -> dict[str, list[AIMessage]]:
    """`Talk slowly` leaves time to stop it; `Talk until <file>` is not over before there is such a file."""
    words, _, file = state["messages"][-1].text.partition(" until ")
    pace = 0.2 if words == "Talk slowly" else 0.02
    said = await ScriptedModel([slow(say(WORDS), seconds_per_chunk=pace)]).ainvoke(state["messages"])
    if file:
        await asyncio.to_thread(_wait_for, Path(file))
    return {"messages": [said]}


HEAVY = {
    "prose": "Some ordinary words in a row, as people write them.\n\n" * 400,
    "emphasis": "*a" * 100_000,
    "headings": "# a\n" * 60_000,
    "marks": "a" + "\u0301" * 300_000,
    "items": "- a **b**\n" * 30_000,
}


class PiecesModel(BaseChatModel):
    """Says a text in pieces of a size, whatever is in it: it may have no words."""

    text: str
    size: int

    @property
    def _llm_type(self) -> str:
        return "pieces"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(self.text))])

    async def _astream(self, messages: list[BaseMessage], *_: Any, **__: Any) -> AsyncIterator[ChatGenerationChunk]:
        for at in range(0, len(self.text), self.size):
            await asyncio.sleep(0)
            yield ChatGenerationChunk(message=AIMessageChunk(self.text[at : at + self.size]))


async def _burden(state: MessagesState) -> dict[str, list[AIMessage]]:
    """An answer that is hard to draw, streamed in 200 pieces; it is not over before the file that the person names is there."""
    kind, _, file = state["messages"][-1].text.partition(" until ")
    text = HEAVY[kind]
    said = await PiecesModel(text=text, size=len(text) // 200).ainvoke(state["messages"])
    await asyncio.to_thread(_wait_for, Path(file))
    return {"messages": [AIMessage(said.text, id=said.id)]}


def _echo(state: MessagesState) -> dict[str, list[AIMessage]]:
    said = state["messages"][-1].text
    return {"messages": [AIMessage(f"You said **{said[:200]}** ({len(said)} characters).")]}


@tool
def order(count: int, name: str) -> str:
    """Order some things."""
    return f"ordered {count!r} of {name!r}"


@tool
def note(text: str) -> str:
    """Note something down."""
    return f"noted {text}"


@tool
def ask_person(question: str) -> str:
    """Ask the person something."""
    request = {"type": "clarification_request", "tool": "ask_user", "tool_call_id": "1", "question": question}
    answer = interrupt({**request, "options": [], "allow_multiple": False, "allow_freeform": True})
    return f"the person says {answer['response']}"


def _clerk(asked: Asked) -> Any:
    done = _results(asked)
    return say(f"Done: {done[0]}") if done else call("order", count=3, name="pumps")


def _twins(asked: Asked) -> Any:
    done = _results(asked)
    return say(f"Results: {' | '.join(done)}") if done else calls(call("note", text="first"), call("note", text="second"))


def _lead(asked: Asked) -> Any:
    done = _results(asked)
    return say(f"It found: {done[0]}") if done else call("task", description="Find out.", subagent_type="scout")


def _scout(asked: Asked) -> Any:
    done = _results(asked)
    return say(f"Answer: {done[0]}") if done else call("ask_person", question="Which river?")


def _edit(asked: Asked) -> Any:
    steps = [
        call("write_file", file_path="/report.md", content="\n".join(f"line {number}" for number in range(5_000))),
        call("edit_file", file_path="/report.md", old_string="line 4321", new_string="line 4321, mended"),
        say("The report is mended."),
    ]
    return steps[min(len(_results(asked)), 2)]


def _ask(state: MessagesState) -> dict[str, list[AIMessage]]:
    """The kind of question is what the person wrote: text, single or multiple."""
    kind = state["messages"][-1].text
    options = [{"id": "sq", "label": "SQLite"}, {"id": "pg", "label": "Postgres"}, {"id": "my", "label": "MySQL"}]
    request = {"type": "clarification_request", "tool": "ask_user" if kind == "text" else "ask_choices", "tool_call_id": "1"}
    shape = {"options": [] if kind == "text" else options, "allow_multiple": kind == "multiple", "allow_freeform": True}
    answer = interrupt({**request, "question": f"Which database? ({kind})", **shape})
    return {"messages": [AIMessage(f"Answered: {answer}")]}


def _pause(state: MessagesState) -> dict[str, list[AIMessage]]:
    """Asks what the person writes, as JSON, and repeats the answer."""
    return {"messages": [AIMessage(f"Answered: {json.dumps(interrupt(json.loads(state['messages'][-1].text)))}")]}


def _hostile(asked: Asked) -> Any:
    steps = [call("write_file", file_path='/<img src=x onerror="alert(1)">.md', content=HOSTILE), say(HOSTILE)]
    return steps[min(len(_results(asked)), 1)]


def _break(_: MessagesState) -> dict[str, list[AIMessage]]:
    raise ValueError("The pump is broken.")


def _dated(asked: Asked) -> Any:
    """Names its source once it is told to."""
    return say("1890. Source: the plaque." if asked.mentions("names no source") else "1890.")


def _has_source(state: Any) -> str | None:
    return None if "Source" in state["messages"][-1].text else "The answer names no source."


def _judge(asked: Asked) -> Any:
    polite = {"name": "polite", "passed": False, "gap": "It does not greet."}
    return call("GraderResponse", result="needs_revision", explanation="It is curt.", criteria=[polite])


echo = _one(_echo)
breaker = _one(_break)
talker = _one(_talk)
burden = _one(_burden)
asker = _one(_ask)
pauser = _one(_pause)
clerk = create_deep_agent(ScriptedModel.answering(_clerk), [order], interrupt_on={"order": True})
twins = create_deep_agent(ScriptedModel.answering(_twins), [note], interrupt_on={"note": True})
editor = create_deep_agent(ScriptedModel.answering(_edit), interrupt_on={"edit_file": True})
checked = create_deep_agent(
    ScriptedModel.answering(_dated),
    middleware=[
        RubricMiddleware(
            checks={"has a source": _has_source}, rubric="- polite", model=ScriptedModel.answering(_judge), max_iterations=2
        )
    ],
)


class Age(BaseModel):
    year: int


def _date(asked: Asked) -> Any:
    """A structured answer, which is plausible once it is told to be."""
    return call("Age", year=1890 if asked.mentions("too early") else 90)


def _is_plausible(state: Any) -> str | None:
    year = state["structured_response"].year
    return None if year > 1800 else f"{year} is too early."


async def _judge_late(asked: Asked) -> Any:
    """Is satisfied, but not before there is the file that the user names."""
    found = re.search(r"until (\S+)", asked.messages[-1].text)
    await asyncio.to_thread(_wait_for, Path(found[1] if found else "/"))
    return call("GraderResponse", result="satisfied", explanation="Good.", criteria=[{"name": "polite", "passed": True}])


dated = create_deep_agent(
    ScriptedModel.answering(_date),
    response_format=ToolStrategy(Age),
    middleware=[
        RubricMiddleware(checks={"is plausible": _is_plausible}, rubric="- polite", model=ScriptedModel.answering(_judge_late))
    ],
)
hostile = create_deep_agent(ScriptedModel.answering(_hostile))
team = create_deep_agent(
    ScriptedModel.answering(_lead),
    subagents=[
        {
            "name": "scout",
            "description": "Finds out.",
            "system_prompt": "Find out.",
            "model": ScriptedModel.answering(_scout),
            "tools": [ask_person],
        }
    ],
)


@tool
def propose_plan(objective: str) -> str:
    """Propose a plan and wait for its approval."""
    step = {"id": "s1", "tool": "web_search", "input": objective, "rationale": "to know", "dependsOn": []}
    plan = {"objective": objective, "steps": [step], "estimatedTokenBudget": 100, "revision": 0}
    return f"the plan is {interrupt({'type': 'plan_approval', 'plan': plan})['decision']}d"


def _follow(asked: Asked) -> Any:
    """Does what the person writes: a list of tools and their arguments as JSON, one after the other."""
    newest = max(place for place, message in enumerate(asked.messages) if message.type == "human")
    steps, done = json.loads(asked.messages[newest].text), _results(asked)
    if len(done) == len(steps):
        return say(f"Results: {' | '.join(result[:2_000] for result in done)}")
    name, arguments = steps[len(done)]
    return call(name, **arguments)


def _follow_at_once(asked: Asked) -> Any:
    """The same, all in one turn: whatever they ask waits together."""
    done = _results(asked)
    if done:
        return say(f"Results: {' | '.join(done)}")
    return calls(*(call(name, **arguments) for name, arguments in json.loads(asked.messages[-1].text)))


filer = create_deep_agent(
    ScriptedModel.answering(_follow),
    [order, ask_person, propose_plan],
    interrupt_on={"order": True},
    middleware=[ClientToolsMiddleware(mount="/project/")],
)
juggler = create_deep_agent(
    ScriptedModel.answering(_follow_at_once),
    [ask_person, propose_plan],
    middleware=[ClientToolsMiddleware(mount="/project/")],
)


def _write_down(asked: Asked) -> Any:
    """Writes what the person says to a file of that name."""
    if asked.messages[-1].type == "tool":
        return "Written down."
    text = asked.messages[-1].text
    return call("write_file", file_path=f"/{text.replace(' ', '-')}.md", content=text)


writer = create_deep_agent(ScriptedModel.answering(_write_down), middleware=[RewindMiddleware()])


@tool
async def walk(until: str) -> str:
    """Walk until there is such a file."""
    await asyncio.to_thread(_wait_for, Path(until))
    return "walked"


def _walk(asked: Asked) -> Any:
    """`Walk until <file>` walks, and then says what it heard; everything else only does the second."""
    _, _, file = asked.messages[-1].text.partition(" until ")
    if asked.messages[-1].type == "human" and file:
        return call("walk", until=file)
    return say("I heard: " + ", ".join(message.text.split()[0] for message in asked.messages if message.type == "human"))


walker = create_deep_agent(ScriptedModel.answering(_walk), [walk])


@tool
def dig(file: str) -> str:
    """Dig until there is such a file."""
    _wait_for(Path(file))
    return "a coin"


def _send_out(asked: Asked) -> Any:
    """`Dig until <file>` sends out a digger, who is not back before there is such a file."""
    last = asked.messages[-1]
    if asked.agent == "digger":
        return say(f"I found {last.text}.") if last.type == "tool" else call("dig", file=last.text.partition(" until ")[2])
    if last.type == "tool":
        return say("A digger is on the way.")
    if last.text.startswith("Background task"):
        return say("The digger is back.")
    return call("start_async_task", description=last.text, subagent_type="digger")


def expedition() -> Any:
    digger: Any = {"name": "digger", "description": "digs", "system_prompt": "You dig.", "mode": "background"}
    return create_deep_agent(ScriptedModel.answering(_send_out), [dig], subagents=[digger])
