"""The reducer of the messages channel: LangGraph replays it in other batches than it was written in, so it must not matter."""

from __future__ import annotations

import asyncio
import gc
import weakref
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages

from stepwell import create_deep_agent
from stepwell.state.channels import snapshot
from stepwell.state.messages import MessageReducer, reduce_messages
from stepwell.testing import ScriptedModel, say

# Messages are slow to make; this many cases of each law take minutes already.
LONG = settings(max_examples=min(settings().max_examples, 2_000))
IDS = st.sampled_from(["a", "b", "c", "d", "e"])
TEXTS = st.sampled_from(["hi", "yes", "no", ""])
CALL_IDS = st.sampled_from(["call-1", "call-2", "call-3"])


def asking(*call_ids: str, id: str | None = None) -> AIMessage:
    return AIMessage("", id=id, tool_calls=[{"name": "look", "args": {}, "id": call_id} for call_id in call_ids])


def spoken() -> st.SearchStrategy[AnyMessage]:
    return st.one_of(st.builds(HumanMessage, TEXTS, id=IDS), st.builds(AIMessage, TEXTS, id=IDS))


def written() -> st.SearchStrategy[Any]:
    """Everything that may be written to the channel: typed or not, with an id or without, alone or in a list."""
    one = st.one_of(
        spoken(),
        st.builds(lambda calls, id: asking(*calls, id=id), st.lists(CALL_IDS, unique=True, max_size=2), IDS),
        st.builds(lambda text, call, id: ToolMessage(text, tool_call_id=call, id=id), TEXTS, CALL_IDS, st.none() | IDS),
        st.builds(lambda id: RemoveMessage(id=id), IDS),
        st.just(RemoveMessage(id=REMOVE_ALL_MESSAGES)),
        TEXTS,
        st.tuples(st.sampled_from(["human", "ai"]), TEXTS),
        st.builds(lambda text: {"role": "user", "content": text}, TEXTS),
        st.builds(lambda text, id: {"role": "assistant", "content": text, "id": id}, TEXTS, IDS),
        st.builds(lambda text: HumanMessage(text), TEXTS),
    )
    return st.one_of(one, st.lists(one, max_size=4))


WRITES = st.lists(written(), max_size=10)


@pytest.mark.prove
@LONG
@given(WRITES, WRITES, WRITES)
def test_batches_do_not_matter(start, first, second):
    state = reduce_messages([], start)
    assert reduce_messages(reduce_messages(state, first), second) == reduce_messages(state, first + second)


@pytest.mark.prove
@LONG
@given(WRITES, WRITES)
def test_replaying_gives_the_same_messages_and_ids(start, writes):
    once = reduce_messages(reduce_messages([], start), deepcopy(writes))
    again = reduce_messages(reduce_messages([], start), deepcopy(writes))
    assert once == again
    # LangGraph gives message objects their ids when it stores them; what is made here gets one here.
    given = [message.id for message in once if message.id is not None]
    assert all(given)
    assert len(set(given)) == len(given)


@pytest.mark.prove
@LONG
@given(WRITES, WRITES)
def test_nothing_given_is_changed(start, writes):
    state = reduce_messages([], start)
    state_before, writes_before = deepcopy(state), deepcopy(writes)
    reduce_messages(state, writes)
    assert state == state_before
    assert writes == writes_before


@pytest.mark.prove
@LONG
@given(st.lists(st.one_of(spoken(), IDS.map(lambda id: RemoveMessage(id=id)), st.just(RemoveMessage(id=REMOVE_ALL_MESSAGES)))))
def test_agrees_with_langgraph_on_appending_replacing_and_removing(messages):
    theirs: list[Any] = []
    ours: list[Any] = []
    for message in messages:
        if isinstance(message, RemoveMessage) and message.id not in {REMOVE_ALL_MESSAGES, *(known.id for known in theirs)}:
            continue  # theirs raises; ours ignores it, because a replay may meet a removal twice
        theirs = add_messages(theirs, [message])
        ours = reduce_messages(ours, [[message]])
        assert ours == theirs


@pytest.mark.prove
@LONG
@given(st.data())
def test_every_result_stands_behind_its_call(data):
    """D9: a call closed late still leaves a history that providers accept."""
    calls = [f"call-{number}" for number in range(data.draw(st.integers(1, 6)))]
    messages: list[Any] = []
    while calls:
        turn, calls = calls[: (size := data.draw(st.integers(1, 3)))], calls[size:]
        messages.append(asking(*turn))
        open_calls = {call["id"] for message in messages if isinstance(message, AIMessage) for call in message.tool_calls}
        for call_id in data.draw(st.permutations(sorted(open_calls))):
            if data.draw(st.booleans()):
                messages.append(HumanMessage("meanwhile"))
            messages.append(ToolMessage("done", tool_call_id=call_id))
    reduced = reduce_messages([], messages)
    place = {call["id"]: index for index, m in enumerate(reduced) if isinstance(m, AIMessage) for call in m.tool_calls}
    for index, message in enumerate(reduced):
        if isinstance(message, ToolMessage):
            assert all(isinstance(between, ToolMessage) for between in reduced[place[message.tool_call_id] + 1 : index])
            assert index > place[message.tool_call_id]


def test_results_keep_the_order_in_which_they_came():
    reduced = reduce_messages([], [asking("1", "2"), HumanMessage("wait"), ToolMessage("a", tool_call_id="2")])
    reduced = reduce_messages(reduced, [ToolMessage("b", tool_call_id="1")])
    assert [message.content for message in reduced] == ["", "a", "b", "wait"]


def test_results_of_malformed_calls_keep_their_order_too():
    bad = [{"name": "look", "args": "{", "id": str(number), "error": None, "type": "invalid_tool_call"} for number in (1, 2)]
    results = [ToolMessage(text, tool_call_id=id) for text, id in (("first", "1"), ("second", "2"))]
    reduced = reduce_messages([], [AIMessage("", invalid_tool_calls=bad), HumanMessage("wait"), *results])
    assert [message.content for message in reduced] == ["", "first", "second", "wait"]


def test_a_result_without_a_known_call_goes_to_the_end():
    reduced = reduce_messages([], [HumanMessage("hi"), ToolMessage("lost", tool_call_id="nowhere")])
    assert [message.content for message in reduced] == ["hi", "lost"]


def test_the_same_text_at_the_same_place_is_a_second_message():
    state = reduce_messages([], [HumanMessage("first", id="first"), "hi"])
    state = reduce_messages(state, [RemoveMessage(id="first"), "hi"])
    assert [message.content for message in state] == ["hi", "hi"]


def test_chunks_of_a_stream_become_messages():
    [message] = reduce_messages([], [AIMessageChunk("hello", id="1")])
    assert type(message) is AIMessage
    assert [message] == add_messages([], [AIMessageChunk("hello", id="1")])


def test_removing_an_unknown_message_does_nothing():
    state = reduce_messages([], [HumanMessage("hi", id="1")])
    assert reduce_messages(state, [RemoveMessage(id="gone")]) == state


def conversation(turns: int) -> list[Any]:
    pairs = ((asking(f"call-{n}", id=f"a{n}"), ToolMessage("x", tool_call_id=f"call-{n}", id=f"t{n}")) for n in range(turns))
    return [message for pair in pairs for message in pair]


OLD = st.one_of(
    st.builds(lambda n: HumanMessage("again", id=f"a{n}"), st.integers(0, 130)),
    st.builds(lambda n: RemoveMessage(id=f"t{n}"), st.integers(0, 130)),
    st.builds(lambda n: ToolMessage("late", tool_call_id=f"call-{n}", id=f"late{n}"), st.integers(0, 130)),
)


@pytest.mark.prove
@LONG
@given(st.integers(0, 130), st.lists(st.lists(st.one_of(written(), OLD), max_size=3), max_size=6), st.data())
def test_a_reducer_that_remembers_gives_what_a_whole_scan_gives(turns, steps, data):
    remembering = MessageReducer()
    ours = theirs = remembering([], conversation(turns))
    for step in steps:
        if data.draw(st.booleans()):
            remembering(ours, deepcopy(step))  # a task that looks ahead; the thread goes on from before
        if ours and data.draw(st.booleans()):
            ours[data.draw(st.integers(0, len(ours) - 1))] = HumanMessage(
                "edited", id="edited"
            )  # a node edits the list it was given
            theirs = list(ours)
        ours, theirs = remembering(ours, deepcopy(step)), reduce_messages(theirs, deepcopy(step))
        assert ours == theirs
        assert type(ours) is list


def test_a_reducer_that_remembers_knows_an_id_given_after_its_step():
    remembering = MessageReducer()
    late = HumanMessage("late")
    messages = remembering(conversation(100), [late])
    for _ in range(3):
        messages = remembering(messages, [HumanMessage("more") for _ in range(80)])
    late.id = "late"
    assert remembering(messages, [HumanMessage("new", id="late")]) == reduce_messages(
        messages, [HumanMessage("new", id="late")]
    )


def test_a_step_of_a_long_thread_reads_only_the_newest_ids():
    read: list[str] = []

    class Counted(HumanMessage):
        def __getattribute__(self, name: str) -> Any:
            if name == "id":
                read.append(name)
            return super().__getattribute__(name)

    remembering = MessageReducer()
    messages = remembering([], [Counted("hi", id=f"old{number}") for number in range(1_000)])
    remembering(messages, [])
    read.clear()
    for number in range(40):
        messages = remembering(messages, [HumanMessage("hi", id=f"new{number}")])
    assert len(read) <= 40 * 8


def test_threads_that_share_an_agent_at_the_same_time_do_not_mix_their_messages():
    """The same ids in each thread, then edits, removals and a fork, in lists long enough for the reducer to remember ids."""
    agent = create_deep_agent(ScriptedModel.answering(lambda asked: say("Yes.")), checkpointer=InMemorySaver())

    async def talk(thread: str) -> list[tuple[str | None, Any]]:
        config: Any = {"configurable": {"thread_id": thread}}
        asked: list[Any] = [HumanMessage(f"{thread} {number}", id=f"q{number}") for number in range(100)]
        await agent.ainvoke({"messages": asked}, config)
        await agent.ainvoke({"messages": [HumanMessage(f"{thread} edited", id="q3"), RemoveMessage(id="q4")]}, config)
        before = await agent.aget_state(config)
        await agent.ainvoke({"messages": [HumanMessage("lost", id="q5")]}, config)
        done = await agent.ainvoke({"messages": [HumanMessage(f"{thread} fork", id="q6")]}, before.config)
        return [(message.id, message.content) for message in done["messages"] if message.type == "human"]

    async def talk_all() -> list[list[tuple[str | None, Any]]]:
        return await asyncio.gather(*(talk(f"t{number}") for number in range(4)))

    for number, said in enumerate(asyncio.run(talk_all())):
        texts = {3: f"t{number} edited", 6: f"t{number} fork"}
        assert said == [(f"q{n}", texts.get(n, f"t{number} {n}")) for n in range(100) if n != 4]


def test_an_agent_does_not_keep_the_messages_of_a_thread_that_it_has_loaded():
    agent = create_deep_agent(ScriptedModel())
    loaded = agent.channels["messages"].from_checkpoint(snapshot(conversation(100)))
    loaded.copy().update([HumanMessage("hi", id="hi")])
    held = weakref.ref(loaded.get()[50])
    del loaded
    gc.collect()
    assert held() is None
