"""While no callback listens, a step takes a shorter way, and everything anybody can see stays the same."""

from __future__ import annotations

import asyncio
import sys
from contextvars import ContextVar

import pytest
from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain_core.callbacks import BaseCallbackHandler, get_usage_metadata_callback
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import StructuredTool, ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import ToolNode

from stepwell import create_deep_agent
from stepwell.agent import loop, quiet
from stepwell.agent.quiet import quieten
from stepwell.testing import ScriptedModel, call, calls, raw, say

ASK = {"messages": [("user", "go")]}
COLOURS = ["sync", "async"]
MODES = ["values", "updates", "tasks", "checkpoints", "debug", "custom"]
_seen: ContextVar[str] = ContextVar("seen", default="nothing")


class Listener(BaseCallbackHandler):
    def __init__(self):
        self.heard = []

    def on_chain_start(self, serialized, inputs, *, name=None, **kwargs):
        self.heard.append(f"chain {name}")

    def on_chat_model_start(self, serialized, messages, **kwargs):
        self.heard.append("model")

    def on_tool_start(self, serialized, text, **kwargs):
        self.heard.append(f"tool {serialized['name']} {text}")


@pytest.fixture
def ordinary(monkeypatch):
    """A function that builds an agent on which the shorter ways do not fit."""

    def build(*args, **kwargs):
        with monkeypatch.context() as changed:
            changed.setitem(quiet._KNOWN, (ToolNode, "_run_one"), ("self", "something_new"))
            return create_deep_agent(*args, **kwargs)

    return build


@tool
def length(text: str, runtime: ToolRuntime, config: RunnableConfig) -> str:
    """Length of a text."""
    runtime.stream_writer(f"writing for {runtime.tool_call_id}")
    return f"{len(text)} in {config['metadata']['langgraph_node']}"


@tool
def failing(text: str) -> str:
    """Fails."""
    raise ToolException(f"no {text}")


def model():
    return ScriptedModel(
        [
            call("length", text="four"),
            calls(call("length", text="a"), call("failing", text="b")),
            call("length", wrong=1),
            call("failing", text="luck"),
            say("Done."),
        ],
        usage=(3, 4),
    )


def run(agent, colour, config=None):
    return agent.invoke(ASK, config) if colour == "sync" else asyncio.run(agent.ainvoke(ASK, config))


def stream(agent, colour, config, modes):
    if colour == "sync":
        return list(agent.stream(ASK, config, stream_mode=modes))

    async def collect():
        return [event async for event in agent.astream(ASK, config, stream_mode=modes)]

    return asyncio.run(collect())


def shapes(messages):
    return [(each.type, each.content, each.name, getattr(each, "tool_calls", None)) for each in messages]


def shape(event):
    """An event without what differs from run to run: ids and times."""
    if isinstance(event, dict):
        return {
            key: shape(each) for key, each in event.items() if key not in ("id", "ts", "timestamp", "run_id", "checkpoint_id")
        }
    if isinstance(event, (list, tuple)):
        return [shape(each) for each in event]
    return shapes([event])[0] if hasattr(event, "content") else type(event) if not isinstance(event, (str, int)) else event


def test_the_shorter_ways_fit_the_installed_langchain_and_langgraph():
    """Pins the private names of both: if this fails, steps cost more again."""
    assert quieten(create_agent(ScriptedModel(), [length]))


def test_a_private_name_that_differs_leaves_the_graph_as_it_was_built(ordinary):
    agent = ordinary(model(), [length])
    assert agent.nodes["tools"].bound.func == agent.nodes["tools"].bound._func
    assert {type(node).__name__ for node in agent.nodes.values()} == {"PregelNode"}


def test_a_drawing_shows_the_same_nodes(ordinary):
    assert create_deep_agent(model(), [length]).get_graph().to_json() == ordinary(model(), [length]).get_graph().to_json()


def test_a_loop_that_langchain_builds_differently_is_left_alone():
    agent = create_agent(ScriptedModel(), [length])
    agent.nodes["model"].bound.func = lambda state: {}
    assert not quieten(agent)


@pytest.mark.parametrize("colour", COLOURS)
def test_a_thread_is_the_same_on_every_way(ordinary, colour):
    ways = [(create_deep_agent, None), (create_deep_agent, {"callbacks": [Listener()]}), (ordinary, None)]
    threads = [run(build(model(), [length, failing]), colour, config)["messages"] for build, config in ways]
    assert shapes(threads[0]) == shapes(threads[1]) == shapes(threads[2])
    assert all(len({message.id for message in thread}) == len(thread) for thread in threads)
    assert next(message.content for message in threads[0] if isinstance(message, ToolMessage)) == "4 in tools"


@pytest.mark.parametrize("colour", COLOURS)
def test_streams_have_the_same_events(ordinary, colour):
    config = {"configurable": {"thread_id": "1"}}
    for mode in MODES:
        events = [
            stream(build(model(), [length, failing], checkpointer=InMemorySaver()), colour, config, [mode])
            for build in (create_deep_agent, ordinary)
        ]
        assert sorted(map(repr, map(shape, events[0]))) == sorted(map(repr, map(shape, events[1])))


@pytest.mark.parametrize("colour", COLOURS)
def test_tokens_are_streamed_one_by_one(colour):
    agent = create_deep_agent(ScriptedModel([call("length", text="four"), say("One two three.")]), [length])
    chunks = [chunk for chunk, _ in stream(agent, colour, None, "messages") if chunk.type == "AIMessageChunk"]
    assert len([chunk for chunk in chunks if chunk.content]) > 1


@pytest.mark.parametrize("colour", COLOURS)
def test_a_listener_hears_the_same_as_on_the_ordinary_way(ordinary, colour):
    heard = []
    for build in (create_deep_agent, ordinary):
        listener = Listener()
        run(build(model(), [length, failing]), colour, {"callbacks": [listener]})
        heard.append(sorted(listener.heard))
    assert heard[0] == heard[1]
    assert "chain model" in heard[0]


@pytest.mark.parametrize("colour", COLOURS)
def test_a_listener_of_a_model_or_of_a_tool_hears_only_its_own(colour):
    of_model, of_tool = Listener(), Listener()
    listening = length.model_copy(update={"callbacks": [of_tool]})
    scripted = ScriptedModel([call("length", text="four"), say("Done.")], callbacks=[of_model])
    run(create_deep_agent(scripted, [listening]), colour)
    assert of_model.heard == ["model", "model"]
    assert of_tool.heard == ["tool length {'text': 'four'}"]


@pytest.mark.parametrize("colour", COLOURS)
def test_usage_is_counted_for_who_asks_around_a_run(colour):
    used = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    answer = AIMessage("Done.", usage_metadata=used, response_metadata={"model_name": "scripted"})
    with get_usage_metadata_callback() as counted:
        run(create_deep_agent(ScriptedModel([raw(answer)])), colour)
    assert counted.usage_metadata == {"scripted": used}


@pytest.mark.parametrize("colour", COLOURS)
def test_what_a_tool_sets_in_its_context_stays_in_its_step(colour):
    found = []

    def remember() -> str:
        """Remember."""
        found.append(_seen.get())
        _seen.set("something")
        return "ok"

    async def aremember() -> str:
        return remember()

    remembering = StructuredTool.from_function(remember, coroutine=aremember)
    run(create_deep_agent(ScriptedModel([call("remember"), call("remember"), say("Done.")]), [remembering]), colour)
    assert found == ["nothing", "nothing"]
    assert _seen.get() == "nothing"


async def test_a_tool_of_a_sync_run_inside_async_code_may_have_its_own_event_loop():
    @tool
    def wait() -> str:
        """Wait."""
        asyncio.run(asyncio.sleep(0))
        return "waited"

    messages = create_deep_agent(ScriptedModel([call("wait"), say("Done.")]), [wait]).invoke(ASK)["messages"]
    assert messages[-2].content == "waited"


async def test_a_cancelled_run_cancels_its_tool():
    started, ended = asyncio.Event(), []

    @tool
    async def wait() -> str:
        """Wait."""
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")
        return "never"

    running = asyncio.create_task(create_deep_agent(ScriptedModel([call("wait")]), [wait]).ainvoke(ASK))
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert ended == ["cancelled"]


async def test_a_run_that_never_waits_leaves_turns_to_other_tasks():
    turns = 0

    async def count():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    await create_deep_agent(ScriptedModel([*(call("ls", path=f"/{n}") for n in range(10)), say("Done.")])).ainvoke(ASK)
    counting.cancel()
    assert turns >= 10


def test_nested_subagents_use_no_more_stack_than_on_the_ordinary_way(ordinary):
    def depths(build):
        found = []

        def answering(turns):
            def answer(asked):
                frame, depth = sys._getframe(), 0
                while frame := frame.f_back:
                    depth += 1
                found.append(depth)
                return turns[0] if asked.messages[-1].type == "human" else say("Done.")

            return ScriptedModel.answering(answer)

        agent = build(answering([call("ls", path="/")]))
        for _ in range(3):
            inner = {"name": "inner", "description": "Goes on.", "runnable": agent}
            agent = build(answering([call("task", description="Go on.", subagent_type="inner")]), subagents=[inner])
        agent.invoke(ASK)
        return found

    shorter, longer = depths(create_deep_agent), depths(ordinary)
    assert len(shorter) == len(longer) == 8
    assert all(ours <= theirs for ours, theirs in zip(shorter, longer, strict=True))


BLOCKS = [
    {"type": "text", "text": "look"},
    {"type": "file", "base64": "QQ==", "mime_type": "text/plain"},
    {"type": "image", "source_type": "url", "url": "https://a.example/b.png"},
]


@pytest.mark.parametrize("content", ["look", BLOCKS], ids=["text", "blocks"])
@pytest.mark.parametrize("colour", COLOURS)
def test_a_model_and_its_listener_get_the_same_messages_on_every_way(ordinary, colour, content):
    class Hearing(BaseCallbackHandler):
        def on_chat_model_start(self, serialized, messages, *, run_id, tags=None, metadata=None, **kwargs):
            told.append(([shapes(batch) for batch in messages], tags, metadata["mine"], sorted(kwargs)))

        def on_llm_end(self, response, *, run_id, **kwargs):
            told.append(response.generations[0][0].text)

    def hear(build):
        scripted, config = model(), {"callbacks": [Hearing()], "tags": ["one"], "metadata": {"mine": 1}}
        asked = {"messages": [{"role": "user", "content": content}]}
        agent = build(scripted, [length, failing])
        _ = agent.invoke(asked, config) if colour == "sync" else asyncio.run(agent.ainvoke(asked, config))
        return [shapes(asked.messages) for asked in scripted.asked]

    heard = []
    for build in (create_deep_agent, ordinary):
        told = []
        heard.append((hear(build), told))
    assert heard[0] == heard[1]
    assert len(heard[0][1]) == 2 * len(heard[0][0]) > 2


MALFORMED = {"name": "length", "args": "{", "id": "bad", "error": None, "type": "invalid_tool_call"}


@pytest.mark.parametrize("colour", COLOURS)
def test_a_malformed_call_in_a_thread_gets_its_result_as_from_langchain(monkeypatch, colour):
    asked = {"messages": [("user", "go"), AIMessage("", id="a", invalid_tool_calls=[MALFORMED]), ("user", "and?")]}
    threads = []
    for known in (True, False):
        monkeypatch.setattr(loop, "is_known", lambda known=known: known)
        agent = create_deep_agent(ScriptedModel([say("Done.")]))
        done = agent.invoke(asked) if colour == "sync" else asyncio.run(agent.ainvoke(asked))
        threads.append(shapes(done["messages"]))
    assert threads[0] == threads[1]
    assert "bad" in [message.tool_call_id for message in done["messages"] if message.type == "tool"]
