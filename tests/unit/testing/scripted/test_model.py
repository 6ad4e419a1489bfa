"""The scripted model by itself: replies, errors, streams, records, order and ids."""

from __future__ import annotations

import asyncio
import copy
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from operator import add

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from pydantic import BaseModel

import stepwell.testing
from stepwell.testing import (
    ScriptedModel,
    ScriptError,
    ScriptExhaustedError,
    call,
    calls,
    each_run,
    expect,
    fail,
    raw,
    repeat,
    reply,
    say,
    slow,
    stream_then_fail,
)


@tool
def ls(path: str) -> str:
    """List a folder."""
    return path


def whole(chunks: list[AIMessageChunk]) -> AIMessageChunk:
    return reduce(add, chunks)


async def drain(model: ScriptedModel) -> tuple[list[AIMessageChunk], Exception | None]:
    """All chunks that came, and the error that ended them."""
    chunks: list[AIMessageChunk] = []
    try:
        for chunk in model.stream("x"):
            chunks.append(chunk)
    except ConnectionError as error:
        return chunks, error
    return chunks, None


async def adrain(model: ScriptedModel) -> tuple[list[AIMessageChunk], Exception | None]:
    """`drain` by `astream`."""
    chunks: list[AIMessageChunk] = []
    try:
        async for chunk in model.astream("x"):
            chunks.append(chunk)
    except ConnectionError as error:
        return chunks, error
    return chunks, None


# Replies


def test_every_exported_name_can_be_loaded():
    assert all(getattr(stepwell.testing, name) is not None for name in stepwell.testing.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = stepwell.testing.nothing


def test_replies_come_in_order_with_counted_ids():
    model = ScriptedModel([calls(call("ls", path="/"), call("glob", pattern="*"), text="Looking."), call("ls"), say("Done.")])
    first, second, third = (model.invoke("go") for _ in range(3))
    assert (first.id, second.id, third.id) == ("reply_1", "reply_2", "reply_3")
    assert first.text == "Looking."
    assert [(made["name"], made["args"], made["id"]) for made in first.tool_calls] == [
        ("ls", {"path": "/"}, "call_1"),
        ("glob", {"pattern": "*"}, "call_2"),
    ]
    assert second.tool_calls[0]["id"] == "call_3"
    assert (third.text, third.tool_calls) == ("Done.", [])
    model.assert_finished()


async def test_async_calls_play_the_same_script():
    model = ScriptedModel([call("ls"), "Done."])
    assert (await model.ainvoke("go")).tool_calls[0]["name"] == "ls"
    assert (await model.ainvoke("go")).text == "Done."
    model.assert_finished()


def test_plain_strings_messages_and_exceptions_are_replies():
    model = ScriptedModel(["a", AIMessage("b"), ValueError("c"), KeyError])
    assert [model.invoke("x").text for _ in range(2)] == ["a", "b"]
    with pytest.raises(ValueError, match="c"):
        model.invoke("x")
    with pytest.raises(KeyError):
        model.invoke("x")


@pytest.mark.parametrize("script", [[42], "Done.", 42])
def test_a_script_of_something_else_is_refused_when_built(script):
    with pytest.raises(TypeError, match=r"int|str"):
        ScriptedModel(script)


def test_calls_refuses_a_reply_without_a_tool_call():
    with pytest.raises(TypeError, match="tool calls only"):
        calls(call("ls"), say("and text"))


def test_a_tool_may_have_arguments_called_name_and_text():
    assert ScriptedModel([call("rename", name="a", text="b")]).invoke("x").tool_calls[0]["args"] == {"name": "a", "text": "b"}


def test_a_failure_is_played_once_and_the_script_goes_on():
    model = ScriptedModel([fail(RuntimeError("overloaded")), say("Back.")])
    with pytest.raises(RuntimeError, match="overloaded"):
        model.invoke("x")
    assert model.invoke("x").text == "Back."
    model.assert_finished()


def test_a_repeated_error_does_not_collect_tracebacks():
    error = RuntimeError("overloaded")
    model = ScriptedModel([repeat(error, times=3)])
    depths = []
    for _ in range(3):
        with pytest.raises(RuntimeError) as caught:
            model.invoke("x")
        depths.append(len(caught.traceback))
    assert depths[0] == depths[1] == depths[2]


def test_repeat_multiplies_a_sequence():
    model = ScriptedModel([repeat("a", "b", times=2), "c"])
    assert "".join(str(model.invoke("x").text) for _ in range(5)) == "ababc"


def test_malformed_calls_duplicate_ids_and_a_megabyte_can_be_played():
    malformed = {"name": "ls", "args": "not json", "id": "bad", "error": None, "type": "invalid_tool_call"}
    model = ScriptedModel(
        [
            raw(AIMessage("", invalid_tool_calls=[malformed])),
            calls(call("ls").with_id("same"), call("ls").with_id("same")),
            call("write_file", content="x" * 1_000_000),
        ]
    )
    assert model.invoke("x").invalid_tool_calls[0]["args"] == "not json"
    assert [made["id"] for made in model.invoke("x").tool_calls] == ["same", "same"]
    assert len(model.invoke("x").tool_calls[0]["args"]["content"]) == 1_000_000


def test_a_raw_message_keeps_its_own_id_and_is_never_changed():
    given = AIMessage("hello")
    model = ScriptedModel([raw(given), raw(given), raw(AIMessage("mine", id="own"))])
    first = model.invoke("x")
    first.name = "somebody"
    assert [first.id, model.invoke("x").id, model.invoke("x").id] == ["reply_1", "reply_2", "own"]
    assert (given.id, given.name) == (None, None)


def test_a_tool_that_changes_its_arguments_does_not_change_the_script():
    model = ScriptedModel([repeat(call("write_todos", todos=[{"content": "a"}]), times=2)])
    model.invoke("x").tool_calls[0]["args"]["todos"][0]["content"] = "changed"
    assert model.invoke("x").tool_calls[0]["args"] == {"todos": [{"content": "a"}]}


def test_usage_comes_from_the_reply_or_the_model():
    model = ScriptedModel([say("a"), say("b").using(input_tokens=100, output_tokens=5)], usage=(10, 2))
    assert [model.invoke("x").usage_metadata["total_tokens"] for _ in range(2)] == [12, 105]
    assert ScriptedModel(["a"]).invoke("x").usage_metadata is None


# Waiting


async def test_a_slow_reply_does_not_hold_up_the_loop():
    begun = asyncio.Event()

    def begin(asked):
        begun.set()
        return slow(say("late"), seconds=3600)

    model = ScriptedModel([reply(begin), say("soon")])
    late = asyncio.create_task(model.ainvoke("x"))
    await begun.wait()
    assert (await model.ainvoke("x")).text == "soon"
    assert not late.done()
    late.cancel()
    with pytest.raises(asyncio.CancelledError):
        await late


async def test_delays_add_up_in_both_colours(monkeypatch: pytest.MonkeyPatch):
    script = [slow(reply(lambda asked: slow("late", seconds=30)), seconds=3600)]
    slept: list[float] = []
    at_once = asyncio.sleep

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await at_once(0)

    monkeypatch.setattr(time, "sleep", slept.append)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    ScriptedModel(script).invoke("x")
    assert sum(slept) == 3630
    slept.clear()
    await ScriptedModel(script).ainvoke("x")
    assert sum(slept) == 3630


async def test_a_slow_stream_waits_before_each_further_chunk():
    model = ScriptedModel([slow(reply(lambda asked: "one two"), seconds_per_chunk=3600)])
    stream = model.astream("x")
    assert (await anext(stream)).text == "one"
    second = asyncio.ensure_future(anext(stream))
    for _ in range(10):
        await asyncio.sleep(0)
    assert not second.done()
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second


async def test_an_async_function_may_wait_for_the_test():
    begun, gate = asyncio.Event(), asyncio.Event()

    async def when_open(asked):
        begun.set()
        await gate.wait()
        return "opened"

    model = ScriptedModel([reply(when_open)])
    waiting = asyncio.create_task(model.ainvoke("x"))
    await begun.wait()
    gate.set()
    assert (await waiting).text == "opened"


def test_an_async_function_is_refused_in_a_sync_call():
    async def never(asked):
        return "never"

    with pytest.raises(ScriptError, match="ainvoke"):
        ScriptedModel([reply(never)]).invoke("x")


# Streams


STREAMED = [
    say(" Several words,\n and a newline. \n"),
    say(""),
    call("write_file", path="/a.md", content="line\n" * 50),
    calls(call("ls", path="/"), call("ls"), text="Two calls.").using(input_tokens=7, output_tokens=3),
    calls(call("ls").with_id("same"), call("ls", path="/b").with_id("same")),
    raw(AIMessage([{"type": "text", "text": "a block"}, {"type": "text", "text": "another"}])),
    raw(AIMessage("x", additional_kwargs={"k": "v"}, response_metadata={"finish_reason": "stop"})),
    raw(
        AIMessage("", invalid_tool_calls=[{"name": "ls", "args": "no", "id": "1", "error": None, "type": "invalid_tool_call"}])
    ),
]


@pytest.mark.parametrize("turn", STREAMED)
async def test_chunks_add_up_to_the_invoked_message(turn):
    invoked = ScriptedModel([turn]).invoke("x")
    streamed = whole(list(ScriptedModel([turn]).stream("x")))
    astreamed = whole([chunk async for chunk in ScriptedModel([turn]).astream("x")])
    for attribute in (
        "content",
        "id",
        "tool_calls",
        "invalid_tool_calls",
        "usage_metadata",
        "additional_kwargs",
        "response_metadata",
    ):
        assert getattr(streamed, attribute) == getattr(astreamed, attribute) == getattr(invoked, attribute), attribute


def test_text_streams_by_words_and_arguments_in_pieces():
    model = ScriptedModel([say("One two three."), call("ls", path="/a/rather/long/path")])
    assert [chunk.text for chunk in model.stream("x")] == ["One", " two", " three.", ""]
    pieces = [piece["args"] for chunk in model.stream("x") for piece in chunk.tool_call_chunks]
    assert len(pieces) > 2
    assert "".join(pieces) == '{"path": "/a/rather/long/path"}'


def test_a_megabyte_of_arguments_streams_in_few_chunks():
    chunks = list(ScriptedModel([call("write_file", content="x" * 1_000_000)]).stream("x"))
    assert len(chunks) < 10
    assert len(whole(chunks).tool_calls[0]["args"]["content"]) == 1_000_000


@pytest.mark.parametrize(
    ("turn", "seen"),
    [
        (stream_then_fail("One two three", ConnectionError("cut")), ["One", " two", " three"]),
        (stream_then_fail("One two three", ConnectionError("cut"), after_chunks=1), ["One"]),
        (stream_then_fail("One two three", ConnectionError("cut"), after_chunks=0), []),
        (fail(ConnectionError("cut")), []),
    ],
)
async def test_a_cut_stream_shows_its_beginning_and_raises(turn, seen):
    for model, colour in ((ScriptedModel([turn]), drain), (ScriptedModel([turn]), adrain)):
        chunks, error = await colour(model)
        assert [chunk.text for chunk in chunks] == seen
        assert isinstance(error, ConnectionError)
    with pytest.raises(ConnectionError, match="cut"):
        ScriptedModel([turn]).invoke("x")


async def test_a_tool_call_can_be_cut_in_the_middle_of_its_arguments():
    cut = stream_then_fail(call("write_file", path="/a.md", content="x" * 100), ConnectionError("cut"), after_chunks=2)
    chunks, error = await drain(ScriptedModel([cut]))
    args = "".join(piece["args"] for chunk in chunks for piece in chunk.tool_call_chunks)
    assert isinstance(error, ConnectionError)
    assert args.startswith('{"path": "/a.md"')
    assert not args.endswith("}")


def test_callbacks_see_every_token_once():
    class Tokens(BaseCallbackHandler):
        def __init__(self) -> None:
            self.seen: list[str] = []

        def on_llm_new_token(self, token: str, **kwargs: object) -> None:
            self.seen.append(token)

    tokens = Tokens()
    list(ScriptedModel(["One two."]).stream("x", config={"callbacks": [tokens]}))
    assert tokens.seen == ["One", " two.", ""]


# What was asked


def test_the_record_holds_all_that_was_asked():
    model = ScriptedModel(["a"])
    bound = model.bind_tools([ls, {"type": "function", "function": {"name": "glob"}}, len], tool_choice="any", temperature=0.5)
    bound.invoke([SystemMessage("Be brief."), HumanMessage("First"), AIMessage("Yes?"), HumanMessage("Second")], stop=["END"])
    asked = model.last_asked
    assert model.asked == [asked]
    assert (asked.number, asked.agent, asked.turn) == (1, "main", 1)
    assert (asked.system, asked.first_human, asked.human) == ("Be brief.", "First", "Second")
    assert asked.last is not None
    assert asked.last.text == "Second"
    assert asked.tool_names == ["ls", "glob", "len"]
    assert asked.tools[0] is ls
    assert (asked.tool_choice, asked.model_settings, asked.stop) == ("any", {"temperature": 0.5}, ["END"])


def test_schemas_are_those_a_provider_would_get():
    model = ScriptedModel(["a"])
    model.bind_tools([ls]).invoke("x")
    function = model.last_asked.tool_schemas[0]["function"]
    assert (function["name"], list(function["parameters"]["properties"])) == ("ls", ["path"])


def test_results_are_those_since_the_latest_reply():
    model = ScriptedModel(["a"])
    old, new, newer = (ToolMessage(text, tool_call_id=text) for text in ("old", "new", "newer"))
    model.invoke([HumanMessage("x"), AIMessage(""), old, AIMessage(""), new, newer])
    assert model.last_asked.results == [new, newer]


def test_asserts_on_a_record_name_what_is_missing():
    model = ScriptedModel(["a"])
    model.bind_tools([ls]).invoke("A cat")
    model.last_asked.assert_offers("ls")
    model.last_asked.assert_mentions("cat")
    with pytest.raises(AssertionError, match=r"did not offer \['glob'\].*\['ls'\]"):
        model.last_asked.assert_offers("ls", "glob")
    with pytest.raises(AssertionError, match=r"mentions.*dog"):
        model.last_asked.assert_mentions("cat", "dog")


def test_last_asked_fails_when_nobody_asked():
    with pytest.raises(AssertionError, match="never asked"):
        _ = ScriptedModel(["a"]).last_asked


def test_a_model_may_remember_only_so_much():
    model = ScriptedModel.answering(lambda asked: f"{asked.number}", remember=2)
    assert [model.invoke("x").text for _ in range(4)] == ["1", "2", "3", "4"]
    assert [asked.number for asked in model.asked] == [3, 4]


def test_a_reply_can_be_computed_from_what_was_asked():
    model = ScriptedModel([reply(lambda asked: reply(lambda again: say(f"{again.human}!")))])
    assert model.invoke("Hello").text == "Hello!"


# Checks and the end of the script


def test_an_expectation_that_holds_plays_on():
    model = ScriptedModel([expect(lambda asked: "cat" in asked.human, then="ok"), expect(lambda asked: None, then=call("ls"))])
    assert model.invoke("A cat").text == "ok"
    assert model.invoke("x").tool_calls
    model.assert_finished()


def check_dog(asked):
    asked.assert_mentions("dog")


@pytest.mark.parametrize(
    ("check", "told"), [(lambda asked: "dog" in asked.human, "returned False"), (check_dog, "mentions.*dog")]
)
def test_a_failed_expectation_says_what_was_asked(check, told):
    model = ScriptedModel([expect(check, then="ok")])
    with pytest.raises(ScriptError, match=told) as caught:
        model.invoke("A cat")
    assert "A cat" in str(caught.value)


async def test_a_swallowed_failure_comes_up_again_at_the_end():
    def wrong(asked):
        raise AssertionError("no such thing")

    for script in ([expect(lambda asked: False, then="ok")], [reply(wrong)], []):
        for_sync, for_async = ScriptedModel(script), ScriptedModel(script)
        with pytest.raises(AssertionError) as first:
            for_sync.invoke("x")
        with pytest.raises(AssertionError) as second:
            for_sync.assert_finished()
        assert second.value is first.value
        with pytest.raises(AssertionError):
            await for_async.ainvoke("x")
        with pytest.raises(AssertionError):
            for_async.assert_finished()


def test_an_exhausted_script_says_what_was_asked():
    model = ScriptedModel(["a", "b"])
    model.invoke("x")
    model.invoke("x")
    with pytest.raises(ScriptExhaustedError) as caught:
        model.bind_tools([ls]).invoke([HumanMessage("q"), AIMessage("", tool_calls=[{"name": "ls", "args": {}, "id": "1"}])])
    told = str(caught.value)
    assert isinstance(caught.value, AssertionError)
    assert "all 2 replies were played" in told
    assert "Call 3, by agent 'main': 2 messages, tools ['ls']" in told
    assert "calling ['ls']" in told


def test_a_long_last_message_is_cut_in_the_error():
    with pytest.raises(ScriptExhaustedError) as caught:
        ScriptedModel([]).invoke("x" * 10_000)
    assert len(str(caught.value)) < 800
    assert "10000 characters" in str(caught.value)


def test_an_unplayed_reply_is_told_at_the_end():
    model = ScriptedModel(["a", "b", "c"])
    model.invoke("x")
    with pytest.raises(ScriptError, match=r"2 of 3 replies were not played.*'b'"):
        model.assert_finished()


# Several who ask


def test_each_agent_has_its_own_script_by_key():
    model = ScriptedModel.by_agent(
        {"main": ["m1", "m2"], "researcher": ["r1"]},
        key=lambda asked: "researcher" if "research" in asked.system else "main",
    )
    assert model.invoke("x").text == "m1"
    assert model.invoke([SystemMessage("You research."), HumanMessage("x")]).text == "r1"
    with pytest.raises(ScriptError, match="Agent 'main': 1 of 2"):
        model.assert_finished()
    assert model.invoke("x").text == "m2"
    model.assert_finished()
    with pytest.raises(ScriptExhaustedError, match="Agent 'main': The script is exhausted"):
        model.invoke("x")


def test_an_agent_without_a_script_is_named():
    model = ScriptedModel.by_agent({"main": ["a"]}, key=lambda asked: "critic")
    with pytest.raises(ScriptExhaustedError, match=r"No script for agent 'critic'.*\['main'\]"):
        model.invoke("x")


def test_every_run_plays_its_own_script_from_the_start():
    model = ScriptedModel(each_run([call("ls"), "Done."]))
    history = [HumanMessage("x")]
    for conversation in (list(history), list(history)):
        conversation.append(model.invoke(conversation))
        assert conversation[-1].tool_calls
    for conversation in (history, history):
        assert model.invoke([*conversation, AIMessage("")]).text == "Done."
    with pytest.raises(ScriptExhaustedError, match="holds 2 replies"):
        model.invoke([AIMessage(""), AIMessage("")])


def test_a_script_is_asked_by_one_thread_at_a_time():
    class Hesitant:
        """A script that would give one turn to two callers if they came in between."""

        place = 0

        def next_turn(self, asked):
            place = self.place
            time.sleep(0)  # lets another thread run
            self.place = place + 1
            return say(str(place))

        def unplayed(self):
            return []

    model = ScriptedModel(Hesitant())
    with ThreadPoolExecutor(8) as pool:
        places = [int(message.text) for message in pool.map(model.invoke, ["x"] * 200)]
    assert sorted(places) == list(range(200))


def test_threads_take_each_reply_exactly_once():
    model = ScriptedModel([repeat(*(call(f"tool_{number}") for number in range(50)), times=4)])
    barrier = threading.Barrier(8)

    def play(_):
        barrier.wait()
        return [model.invoke("x") for _ in range(25)]

    with ThreadPoolExecutor(8) as pool:
        replies = [message for messages in pool.map(play, range(8)) for message in messages]
    names = [message.tool_calls[0]["name"] for message in replies]
    assert sorted(names) == sorted([f"tool_{number}" for number in range(50)] * 4)
    assert len({message.id for message in replies}) == 200
    assert len({message.tool_calls[0]["id"] for message in replies}) == 200
    assert sorted(asked.number for asked in model.asked) == list(range(1, 201))
    model.assert_finished()


async def test_a_thousand_tasks_at_once_each_get_their_own_answer():
    model = ScriptedModel.answering(lambda asked: asked.human)
    answers = await asyncio.gather(*(model.ainvoke(f"question {number}") for number in range(1000)))
    assert [str(answer.text) for answer in answers] == [f"question {number}" for number in range(1000)]
    assert len({answer.id for answer in answers}) == 1000


# Being a good LangChain model


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda model: model.model_copy(deep=True)])
def test_a_copy_plays_on_at_the_same_place(copied):
    model = ScriptedModel(["a", "b", "c"])
    twin = copied(model)
    assert [model.invoke("x").text, twin.invoke("x").text, model.invoke("x").text] == ["a", "b", "c"]
    assert len(model.asked) == 3


def test_a_copy_with_another_profile_leaves_the_first_alone():
    model = ScriptedModel(["a"], profile={"max_input_tokens": 1000})
    twin = model.model_copy(update={"profile": {"max_input_tokens": 5}})
    assert (model.profile, twin.profile) == ({"max_input_tokens": 1000}, {"max_input_tokens": 5})


def test_it_describes_itself_but_refuses_to_be_pickled():
    model = ScriptedModel(["a"])
    model.invoke("x")
    assert dumpd(model)["repr"] == "ScriptedModel(asked 1 times)"
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(model)


def test_a_new_model_does_not_reuse_the_ids_of_an_old_conversation():
    first = ScriptedModel([call("ls"), "Done."])
    history: list = [HumanMessage("x")]
    history.append(first.invoke(history))
    history.append(ToolMessage("", tool_call_id="call_1"))
    history.append(first.invoke(history))
    second = ScriptedModel([call("ls"), "Again."])
    made = second.invoke([*history, HumanMessage("more")])
    assert (made.id, made.tool_calls[0]["id"]) == ("reply_3", "call_2")
    assert second.invoke([*history, HumanMessage("more"), made]).id == "reply_4"


def test_with_structured_output_gives_the_object():
    class Answer(BaseModel):
        """An answer."""

        number: int

    model = ScriptedModel([call("Answer", number=42)])
    assert model.with_structured_output(Answer).invoke("x") == Answer(number=42)
    assert model.last_asked.tool_names == ["Answer"]
