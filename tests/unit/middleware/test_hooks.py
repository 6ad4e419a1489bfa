"""Checks and hooks: each moment is asked, may change what passes, may refuse it, and costs nothing if it has no function."""

from __future__ import annotations

import asyncio
import base64
import threading
from typing import Any

import pytest
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from stepwell import (
    BudgetMiddleware,
    ConfigurationError,
    HooksMiddleware,
    Refusal,
    SendBack,
    SummarizationMiddleware,
    create_deep_agent,
)
from stepwell.errors import MiddlewareError
from stepwell.testing import ScriptedModel, call, calls, say

USER = {"messages": [HumanMessage("My card is 4111.", id="u1")]}
THREAD = {"configurable": {"thread_id": "t"}}
COLOURS = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
MOMENTS = (
    "on_input",
    "before_model",
    "after_model",
    "before_tool",
    "after_tool",
    "before_subagent",
    "after_subagent",
    "before_compaction",
    "after_compaction",
    "on_stop",
)


def add(a: int, b: int) -> str:
    """Add two numbers."""
    return f"sum {a + b}"


async def run(agent, given=USER, config=None, *, is_async=True) -> dict[str, Any]:
    if is_async:
        return await agent.ainvoke(given, config)
    return await asyncio.to_thread(agent.invoke, given, config)


def in_colour(function, is_async: bool):
    """The function, or an async one that does the same."""
    if not is_async:
        return function

    async def hook(event):
        return function(event)

    hook.__name__ = function.__name__
    return hook


def texts(state) -> list[str]:
    return [message.text for message in state["messages"]]


class Seen(list):
    """Writes down which moments there were, and of which agent."""

    def hooks(self, *moments: str) -> dict[str, Any]:
        return {moment: self._of(moment) for moment in moments}

    def _of(self, moment: str):
        def hook(event):
            self.append((moment, event.agent))

        hook.__name__ = moment
        return hook


@COLOURS
async def test_every_moment_is_asked_once_and_in_order(is_async):
    seen = Seen()
    hooks = {name: in_colour(hook, is_async) for name, hook in seen.hooks(*MOMENTS).items()}
    model = ScriptedModel.by_agent(
        {
            "main": [call("task", description="add", subagent_type="helper"), say("Done.")],
            "helper": [call("add", a=1, b=2), say("It is 3.")],
        }
    )
    helper = {"name": "helper", "description": "adds", "system_prompt": "Add.", "tools": [add]}
    agent = create_deep_agent(model, subagents=[helper], middleware=[HooksMiddleware(**hooks)])
    state = await run(agent, is_async=is_async)
    assert texts(state)[-1] == "Done."
    assert seen == [
        ("on_input", "main"),
        ("before_model", "main"),
        ("after_model", "main"),
        ("before_tool", "main"),
        ("before_subagent", "main"),
        ("on_input", "helper"),
        ("before_model", "helper"),
        ("after_model", "helper"),
        ("before_tool", "helper"),
        ("after_tool", "helper"),
        ("before_model", "helper"),
        ("after_model", "helper"),
        ("on_stop", "helper"),
        ("after_subagent", "main"),
        ("after_tool", "main"),
        ("before_model", "main"),
        ("after_model", "main"),
        ("on_stop", "main"),
    ]


@COLOURS
async def test_sync_functions_serve_async_runs_without_blocking_the_loop(is_async):
    places = []

    def where(event):
        places.append(threading.current_thread() is threading.main_thread())

    agent = create_deep_agent(ScriptedModel([say("Hi.")]), middleware=[HooksMiddleware(before_model=where)])
    await run(agent, is_async=is_async)
    assert places == [False]


# Input


@COLOURS
async def test_refused_input_never_reaches_the_model_not_even_in_a_later_turn(is_async):
    def no_cards(event):
        return Refusal("Please do not send card numbers.") if "4111" in event.text else None

    model = ScriptedModel([say("Hello.")])
    hooks = HooksMiddleware(on_input=in_colour(no_cards, is_async))
    agent = create_deep_agent(model, middleware=[hooks], checkpointer=InMemorySaver())
    first = await run(agent, USER, THREAD, is_async=is_async)
    assert model.asked == []
    assert texts(first) == ["[This message was withheld by a check.]", "Please do not send card numbers."]
    second = await run(agent, {"messages": [HumanMessage("Hello?", id="u2")]}, THREAD, is_async=is_async)
    assert texts(second)[-1] == "Hello."
    assert not model.last_asked.mentions("4111")


@COLOURS
async def test_changed_input_is_stored(is_async):
    hooks = HooksMiddleware(on_input=[lambda e: e.text.replace("4111", "****"), lambda e: f"{e.text} Thanks."])
    model = ScriptedModel([say("Hello.")])
    agent = create_deep_agent(model, middleware=[hooks])
    state = await run(agent, is_async=is_async)
    assert texts(state)[0] == "My card is ****. Thanks."
    assert state["messages"][0].id == "u1"
    assert model.last_asked.human == "My card is ****. Thanks."


def no_cards(event):
    return Refusal("No cards.") if "4111" in event.text else None


BAD = HumanMessage("4111", id="b")
FINE = HumanMessage("Hello", id="f")
PLAIN: Any = {"type": "text-plain", "text": "4111", "mime_type": "text/plain"}
FILE: Any = {"type": "file", "base64": base64.b64encode(b"My card: 4111").decode(), "mime_type": "text/plain"}


@pytest.mark.parametrize(
    "given",
    [
        [BAD, HumanMessage("4111 again", id="b2")],
        [FINE, BAD],
        [BAD, FINE],
        [BAD, SystemMessage("x")],
        [BAD, AIMessage("Ok.", id="a"), FINE],
        [HumanMessage([{"type": "text", "text": "Hi"}, PLAIN], id="b")],
        [HumanMessage([{"type": "text", "text": "Hi"}, FILE], id="b")],
        [HumanMessage(["41", "11"], id="b")],
    ],
    ids=["both", "last", "first", "before a system message", "before an answer", "plain text", "text file", "split"],
)
@COLOURS
async def test_every_message_of_an_input_is_checked_and_a_refusal_withholds_all_of_them(is_async, given):
    model = ScriptedModel([say("Hello.")])
    agent = create_deep_agent(model, middleware=[HooksMiddleware(on_input=no_cards)], checkpointer=InMemorySaver())
    first = await run(agent, {"messages": given}, THREAD, is_async=is_async)
    assert texts(first)[-1] == "No cards."
    assert model.asked == []
    human = [message for message in first["messages"] if message.type == "human"]
    assert {message.content for message in human} == {"[This message was withheld by a check.]"}
    await run(agent, {"messages": [HumanMessage("And now?", id="u9")]}, THREAD, is_async=is_async)
    assert not model.last_asked.mentions("4111")


@COLOURS
async def test_a_message_is_checked_once_and_again_if_an_input_replaces_it(is_async):
    seen = []
    model = ScriptedModel([say("Hello."), say("Hello again.")])
    watch = HooksMiddleware(on_input=lambda e: seen.append(e.text), name="watch")
    stamp = HooksMiddleware(on_input=lambda e: f"{e.text}!", name="stamp")
    check = HooksMiddleware(on_input=no_cards, on_stop=lambda e: None, name="check")
    agent = create_deep_agent(model, middleware=[watch, stamp, check], checkpointer=InMemorySaver())
    await run(agent, {"messages": [HumanMessage("One", id="u1")]}, THREAD, is_async=is_async)
    state = await run(agent, {"messages": [HumanMessage("Two", id="u2")]}, THREAD, is_async=is_async)
    assert seen == ["One", "Two"]
    assert [message.text for message in state["messages"] if message.type == "human"] == ["One!", "Two!"]
    state = await run(agent, {"messages": [HumanMessage("4111", id="u1")]}, THREAD, is_async=is_async)
    assert texts(state)[-1] == "No cards."
    assert not any("4111" in text for text in texts(state))


def test_an_input_cannot_say_that_it_was_checked():
    model = ScriptedModel([say("Hello.")])
    hooks = HooksMiddleware(on_input=no_cards)
    recorder = create_deep_agent(
        ScriptedModel([say("Hello.")]),
        middleware=[HooksMiddleware(on_input=lambda e: None, name="no_cards")],
        checkpointer=InMemorySaver(),
    )
    recorder.invoke({"messages": [BAD]}, THREAD)
    record = recorder.get_state(THREAD).values["checked_input"]
    assert list(record) == [hooks.name]
    state = create_deep_agent(model, middleware=[hooks]).invoke({"messages": [BAD], "checked_input": record})
    assert texts(state)[-1] == "No cards."
    assert "checked_input" not in state


# Model


@COLOURS
async def test_before_model_changes_one_call_or_answers_itself(is_async):
    def only_last(event):
        if "stop" in event.messages[-1].text:
            return Refusal("Stopped by the house.")
        return [*event.messages, HumanMessage("Be brief.")]

    model = ScriptedModel([say("Ok.")])
    agent = create_deep_agent(model, middleware=[HooksMiddleware(before_model=in_colour(only_last, is_async))])
    state = await run(agent, is_async=is_async)
    assert model.last_asked.human == "Be brief."
    assert "Be brief." not in texts(state)
    state = await run(agent, {"messages": [("user", "stop")]}, is_async=is_async)
    assert texts(state)[-1] == "Stopped by the house."
    assert len(model.asked) == 1


@COLOURS
async def test_after_model_replaces_the_text_and_keeps_the_calls(is_async):
    model = ScriptedModel([AIMessage("secret", tool_calls=[tool_call("add", a=1, b=1)]), say("secret 2")])
    hooks = HooksMiddleware(after_model=in_colour(lambda e: e.text.replace("secret", "s…"), is_async))
    state = await run(create_deep_agent(model, [add], middleware=[hooks]), is_async=is_async)
    assert texts(state)[1:] == ["s…", "sum 2", "s… 2"]


@COLOURS
async def test_refused_answer_calls_no_tool_and_is_not_stored(is_async):
    model = ScriptedModel([AIMessage("I will.", tool_calls=[tool_call("add", a=1, b=1)])], usage=(9, 1))
    hooks = HooksMiddleware(after_model=in_colour(lambda e: Refusal("I can't help with that."), is_async))
    agent = create_deep_agent(model, [add], middleware=[hooks], checkpointer=InMemorySaver())
    state = await run(agent, USER, THREAD, is_async=is_async)
    assert texts(state)[1:] == ["I can't help with that."]
    assert state["messages"][-1].usage_metadata["input_tokens"] == 9, "the model was called, and that was paid for"
    history = [step async for step in agent.aget_state_history(THREAD)]
    assert not any("I will." in texts(step.values) for step in history if step.values.get("messages"))


class Out(BaseModel):
    secret: str


@COLOURS
@pytest.mark.parametrize("pauses", [False, True])
async def test_nothing_is_left_of_a_refused_answer(is_async, pauses):
    """Structured answers have a result that repeats them, and some providers keep reasoning beside the text."""

    def check(event):
        if "TOP" not in str(event.message):
            return None
        if pauses:
            interrupt("Ok?")
        return Refusal("Refused.")

    answer = AIMessage(
        [{"type": "reasoning", "reasoning": "TOP"}],
        tool_calls=[tool_call("Out", secret="TOP")],
        additional_kwargs={"reasoning_content": "TOP", "tool_calls": [{"id": "TOP"}]},
        response_metadata={"model_name": "m", "logprobs": "TOP"},
    )
    model = ScriptedModel([answer, say("Hello.")])
    hooks = HooksMiddleware(after_model=in_colour(check, is_async))
    saver = InMemorySaver()
    agent = create_deep_agent(model, response_format=ToolStrategy(Out), middleware=[hooks], checkpointer=saver)
    state = await run(agent, USER, THREAD, is_async=is_async)
    if pauses:
        state = await run(agent, Command(resume="no"), THREAD, is_async=is_async)
    assert texts(state)[1:] == ["Refused."]
    assert state.get("structured_response") is None
    assert "TOP" not in str(state["messages"])
    assert state["messages"][-1].response_metadata["model_name"] == "m"
    await run(agent, {"messages": [("user", "And?")]}, THREAD, is_async=is_async)
    assert not model.last_asked.mentions("TOP")


OUT_SCHEMA = {"title": "Out", "type": "object", "properties": {"secret": {"type": "string"}}, "required": ["secret"]}


def structured_answer(strategy, text=""):
    if isinstance(strategy, ProviderStrategy):
        return AIMessage('{"secret": "TOP"}')
    return AIMessage(text, tool_calls=[tool_call("Out", secret="TOP")], additional_kwargs={"tool_calls": [{"id": "TOP"}]})


@COLOURS
@pytest.mark.parametrize("pauses", [False, True])
@pytest.mark.parametrize("strategy", [ToolStrategy(Out), ProviderStrategy(Out), ToolStrategy(OUT_SCHEMA)])
@pytest.mark.parametrize("changes", ["the value", "everything", "the message"])
async def test_a_structured_answer_follows_a_replaced_text(is_async, pauses, strategy, changes):
    seen = []

    def check(event):
        if "TOP" not in event.text:
            return None
        seen.append((event.text, event.is_final, event.structured_response is None))
        if pauses:
            interrupt("Ok?")
        if changes == "the message":
            return AIMessage("Nothing to see.")
        return event.text.replace("TOP", "…") if changes == "the value" else "Nothing to see."

    hooks = HooksMiddleware(after_model=in_colour(check, is_async))
    model = ScriptedModel([structured_answer(strategy), structured_answer(strategy)])
    agent = create_deep_agent(model, response_format=strategy, middleware=[hooks], checkpointer=InMemorySaver())
    for _ in range(2):  # nothing of an earlier answer stays either
        state = await run(agent, USER, THREAD, is_async=is_async)
        if pauses:
            state = await run(agent, Command(resume="yes"), THREAD, is_async=is_async)
        assert "TOP" not in str(state["messages"])
        if changes == "the value":
            answer = state["structured_response"]
            assert (answer["secret"] if isinstance(answer, dict) else answer.secret) == "…"
        else:
            assert state.get("structured_response") is None
            assert texts(state)[-1] == "Nothing to see."
    assert set(seen) == {('{"secret": "TOP"}', True, False)}


def test_text_beside_a_structured_answer_can_be_replaced_alone():
    hooks = HooksMiddleware(after_model=lambda event: event.text.replace("Here", "There"))
    model = ScriptedModel([structured_answer(ToolStrategy(Out), "Here it is.")])
    state = create_deep_agent(model, response_format=ToolStrategy(Out), middleware=[hooks]).invoke(USER)
    assert state["structured_response"].secret == "TOP"
    assert texts(state)[1] == "There it is."


@COLOURS
@pytest.mark.parametrize("hold_back", [True, False])
async def test_the_decision_about_an_answer_that_waited_is_streamed(is_async, hold_back):
    def check(event):
        return {"no": Refusal("Refused."), "change": "Changed."}.get(interrupt("Ok?"))

    async def stream(agent, given, config):
        if is_async:
            return [part async for part in agent.astream(given, config, stream_mode=["messages", "custom"])]
        return await asyncio.to_thread(lambda: list(agent.stream(given, config, stream_mode=["messages", "custom"])))

    hooks = HooksMiddleware(after_model=check, hold_back=hold_back)
    agent = create_deep_agent(ScriptedModel([say("One."), say("Two.")]), middleware=[hooks], checkpointer=InMemorySaver())
    for thread, (decision, text) in enumerate([("no", "Refused."), ("change", "Changed.")]):
        config = {"configurable": {"thread_id": str(thread)}}
        shown = {data[0].id for mode, data in await stream(agent, USER, config) if mode == "messages"}
        parts = await stream(agent, Command(resume=decision), config)
        assert [data[0].text for mode, data in parts if mode == "messages"] == [text]
        assert [data["message_id"] in shown for mode, data in parts if mode == "custom"] == [True]
        state = await agent.aget_state(config)
        assert texts(state.values)[1:] == [text]


@COLOURS
@pytest.mark.parametrize("better", [True, False])
async def test_an_answer_is_sent_back_once(is_async, better):
    def polite(event):
        return None if "please" in event.text else SendBack("Say please.", otherwise="No polite answer.")

    model = ScriptedModel([say("Go away."), say("Go away, please." if better else "Never.")])
    agent = create_deep_agent(model, middleware=[HooksMiddleware(after_model=in_colour(polite, is_async))])
    state = await run(agent, is_async=is_async)
    assert texts(state)[1:] == ["Go away, please." if better else "No polite answer."]
    assert "Say please." in model.last_asked.human
    model.assert_finished()


def tool_call(name: str, **args: Any):
    return {"name": name, "args": args, "id": "c1", "type": "tool_call"}


@COLOURS
@pytest.mark.parametrize("hold_back", [True, False])
async def test_streams_say_what_was_shown_before_the_check(is_async, hold_back):
    """Tokens are streamed before the answer is whole; then clients are told to drop them. With hold_back nothing is streamed early."""
    model = ScriptedModel([say("the secret word")])
    hooks = HooksMiddleware(after_model=lambda e: e.text.replace("secret", "other"), hold_back=hold_back)
    agent = create_deep_agent(model, middleware=[hooks])
    parts = []
    if is_async:
        parts = [part async for part in agent.astream(USER, stream_mode=["messages", "custom"])]
    else:
        parts = await asyncio.to_thread(lambda: list(agent.stream(USER, stream_mode=["messages", "custom"])))
    shown: dict[str, str] = {}
    for mode, data in parts:
        if mode == "messages":
            message = data[0]
            if message.type in ("ai", "AIMessageChunk"):
                shown[message.id] = shown.get(message.id, "") + message.text
        elif data["type"] == "model_retry":
            assert "secret" in shown.pop(data["message_id"])
    assert list(shown.values()) == ["the other word"]
    early = [data[0].text for mode, data in parts if mode == "messages" and "secret" in data[0].text]
    assert bool(early) is not hold_back


@COLOURS
async def test_hold_back_holds_a_refused_answer_back_from_every_stream_mode(is_async):
    hooks = HooksMiddleware(after_model=lambda e: Refusal("Refused."), hold_back=True)
    agent = create_deep_agent(ScriptedModel([say("TOP SECRET")]), middleware=[hooks], checkpointer=InMemorySaver())
    modes = ["messages", "updates", "values", "custom", "tasks", "checkpoints"]
    if is_async:
        parts = [part async for part in agent.astream(USER, THREAD, stream_mode=modes)]
    else:
        parts = await asyncio.to_thread(lambda: list(agent.stream(USER, THREAD, stream_mode=modes)))
    assert "Refused." in str(parts)
    assert "SECRET" not in str(parts)


# Tools


@COLOURS
async def test_before_tool_changes_arguments_or_refuses(is_async):
    def small(event):
        if event.args["a"] > 100:
            return Refusal("Numbers above 100 are not allowed.")
        return {**event.args, "b": 5}

    model = ScriptedModel([calls(call("add", a=1, b=2), call("add", a=500, b=2)), say("Done.")])
    agent = create_deep_agent(model, [add], middleware=[HooksMiddleware(before_tool=in_colour(small, is_async))])
    state = await run(agent, is_async=is_async)
    results = [message for message in state["messages"] if message.type == "tool"]
    assert [(each.text, each.status) for each in results] == [
        ("sum 6", "success"),
        ("Error: Numbers above 100 are not allowed.", "error"),
    ]


@COLOURS
async def test_after_tool_sees_results_of_all_kinds(is_async):
    """Results with state updates too: write_file gives a command, and its file stays written."""

    def loud(event):
        return Refusal("Result withheld.") if event.name == "add" else f"{event.text}!"

    model = ScriptedModel([calls(call("write_file", file_path="/a.md", content="x"), call("add", a=1, b=1)), say("Done.")])
    agent = create_deep_agent(model, [add], middleware=[HooksMiddleware(after_tool=in_colour(loud, is_async))])
    state = await run(agent, is_async=is_async)
    results = {message.name: message for message in state["messages"] if message.type == "tool"}
    assert results["write_file"].text.endswith("!")
    assert "/a.md" in state["files"]
    assert (results["add"].text, results["add"].status) == ("Error: Result withheld.", "error")


@COLOURS
async def test_a_task_and_its_answer_can_be_changed_or_refused(is_async):
    def brief(event):
        return Refusal("No legal advice.") if "law" in event.task else f"{event.task} Be brief."

    model = ScriptedModel.by_agent(
        {
            "main": [
                call("task", description="Sum up.", subagent_type="general-purpose"),
                call("task", description="Read the law.", subagent_type="general-purpose"),
                say("Done."),
            ],
            "general-purpose": [say("It is short.")],
        }
    )
    hooks = HooksMiddleware(
        before_subagent=in_colour(brief, is_async), after_subagent=in_colour(lambda e: f"{e.subagent}: {e.text}", is_async)
    )
    state = await run(create_deep_agent(model, middleware=[hooks]), is_async=is_async)
    results = [message.text for message in state["messages"] if message.type == "tool"]
    assert results == ["general-purpose: It is short.", "Error: No legal advice."]
    assert [asked.human for asked in model.asked if asked.agent != "main"] == ["Sum up. Be brief."]


# Compaction


def talk(rounds: int) -> list[Any]:
    pairs = [(HumanMessage(f"q{n} " + "word " * 50, id=f"h{n}"), AIMessage(f"a{n}", id=f"a{n}")) for n in range(rounds)]
    return [message for pair in pairs for message in pair]


@COLOURS
async def test_compaction_can_be_changed(is_async):
    model = ScriptedModel.answering(lambda asked: say("SUMMARY" if "<conversation>" in asked.human else "Ok."))
    hooks = HooksMiddleware(
        before_compaction=in_colour(lambda e: e.text.replace("q0", "QUESTION"), is_async),
        after_compaction=in_colour(lambda e: f"{e.text} of {e.agent}", is_async),
    )
    summaries = SummarizationMiddleware(model, trigger_tokens=300, keep_messages=2)
    agent = create_deep_agent(model, middleware=[hooks, summaries])
    given = {"messages": [*talk(8), HumanMessage("And now?", id="last")]}
    await run(agent, given, is_async=is_async)
    asked_for_summary, asked = model.asked
    assert "QUESTION" in asked_for_summary.human
    asked.assert_mentions("SUMMARY of main")


@COLOURS
@pytest.mark.parametrize("moment", ["before_compaction", "after_compaction"])
async def test_compaction_can_be_refused(is_async, moment):
    model = ScriptedModel.answering(lambda asked: say("SUMMARY" if "<conversation>" in asked.human else "Ok."))
    hooks = HooksMiddleware(**{moment: in_colour(lambda e: Refusal("Not now."), is_async)})
    summaries = SummarizationMiddleware(model, trigger_tokens=300, keep_messages=2)
    agent = create_deep_agent(model, middleware=[hooks, summaries])
    await run(agent, {"messages": [*talk(8), HumanMessage("And now?", id="last")]}, is_async=is_async)
    assert len(model.asked) == (1 if moment == "before_compaction" else 2)
    assert model.last_asked.first_human.startswith("q0")


# Stop


@COLOURS
async def test_on_stop_sends_the_agent_back_to_work(is_async):
    def tested(event):
        done = any(message.type == "tool" for message in event.state["messages"])
        return None if done else SendBack("You have not added yet.")

    model = ScriptedModel([say("Finished!"), call("add", a=1, b=2), say("Now it is done."), say("Next turn.")])
    hooks = HooksMiddleware(on_stop=in_colour(tested, is_async))
    agent = create_deep_agent(model, [add], middleware=[hooks], checkpointer=InMemorySaver())
    state = await run(agent, USER, THREAD, is_async=is_async)
    assert [message.type for message in state["messages"]] == ["human", "ai", "ai", "tool", "ai"]
    assert texts(state)[-1] == "Now it is done."
    prefix = [message.text for message in model.last_asked.messages]
    assert "[You have not added yet.]" in prefix
    await run(agent, {"messages": [HumanMessage("And?", id="u2")]}, THREAD, is_async=is_async)
    assert [message.text for message in model.last_asked.messages][: len(prefix)] == prefix, "the prefix stays the same"


@COLOURS
async def test_on_stop_cannot_loop_forever(is_async):
    times = []
    model = ScriptedModel.answering(lambda asked: say(f"Done {asked.number}."))

    def never(event):
        times.append(event.times_sent_back)
        return SendBack("More.")

    hooks = HooksMiddleware(on_stop=in_colour(never, is_async), max_returns=2)
    agent = create_deep_agent(model, middleware=[hooks, BudgetMiddleware(max_model_calls=50)])
    state = await run(agent, is_async=is_async)
    assert times == [0, 1]
    assert texts(state)[-1] == "Done 3."


@COLOURS
async def test_on_stop_leaves_an_agent_alone_that_we_stopped(is_async):
    model = ScriptedModel.answering(lambda asked: call("add", a=asked.number, b=1))
    hooks = HooksMiddleware(on_stop=lambda e: SendBack("More."))
    agent = create_deep_agent(model, [add], middleware=[hooks, BudgetMiddleware(max_model_calls=2)])
    state = await run(agent, is_async=is_async)
    assert state["messages"][-1].response_metadata["finish_reason"] == "budget"
    assert len(model.asked) == 2


# Failing, pausing


@COLOURS
@pytest.mark.parametrize("moment", ["on_input", "before_model", "after_model", "before_tool", "after_tool", "on_stop"])
async def test_a_check_that_fails_lets_nothing_through(is_async, moment):
    def broken(event):
        raise ValueError("no connection to the scanner")

    model = ScriptedModel([call("add", a=1, b=2), say("Done.")])
    agent = create_deep_agent(model, [add], middleware=[HooksMiddleware(**{moment: in_colour(broken, is_async)})])
    with pytest.raises(MiddlewareError, match=rf"The hook {moment} \(.*no connection to the scanner.*Nothing goes past"):
        await run(agent, is_async=is_async)


@COLOURS
async def test_a_failing_check_in_a_subagent_fails_the_run(is_async):
    def broken(event):
        if event.is_subagent:
            raise ValueError("broken")

    model = ScriptedModel([call("task", description="x", subagent_type="general-purpose"), say("sub"), say("main")])
    agent = create_deep_agent(model, middleware=[HooksMiddleware(before_model=broken)])
    with pytest.raises(MiddlewareError, match="broken"):
        await run(agent, is_async=is_async)


@COLOURS
async def test_a_hook_whose_search_finds_nothing_fails(is_async):
    def find_tool_result(event):
        next(message for message in event.messages if message.type == "tool")

    agent = create_deep_agent(ScriptedModel([say("x")]), middleware=[HooksMiddleware(before_model=find_tool_result)])
    with pytest.raises(MiddlewareError, match="StopIteration"):
        await asyncio.wait_for(run(agent, is_async=is_async), 60)


@COLOURS
async def test_watchers_may_fail(is_async, caplog):
    def broken(event):
        raise ValueError("metrics are away")

    hooks = HooksMiddleware(before_model=in_colour(broken, is_async), on_failure="ignore")
    state = await run(create_deep_agent(ScriptedModel([say("Hi.")]), middleware=[hooks]), is_async=is_async)
    assert texts(state)[-1] == "Hi."
    assert "failed and was ignored" in caplog.text


@COLOURS
@pytest.mark.parametrize(
    ("moment", "times"),
    [
        ("on_input", {"on_input": 2}),
        ("before_model", {"before_model": 3}),
        ("after_model", {"after_model": 4}),
        ("before_tool", {"before_tool": 2}),
        ("after_tool", {"after_tool": 2, "tool": 2}),
        ("on_stop", {"on_stop": 2}),
    ],
)
async def test_a_hook_may_pause_for_a_person(is_async, moment, times):
    """It asks once, and is called again by LangGraph when the run is resumed. The model is never asked twice for one answer."""
    called: dict[str, int] = {}
    answers = []

    def count(name):
        called[name] = called.get(name, 0) + 1

    def ask(event):
        count(moment)
        if not answers:
            answers.append(interrupt("May I?"))

    def work(n: int) -> str:
        """Work."""
        count("tool")
        return "worked"

    model = ScriptedModel([call("work", n=1), say("Done.")])
    hooks = HooksMiddleware(**{moment: ask})
    agent = create_deep_agent(model, [work], middleware=[hooks], checkpointer=InMemorySaver())
    paused = await run(agent, USER, THREAD, is_async=is_async)
    assert [each.value for each in paused["__interrupt__"]] == ["May I?"]
    state = await run(agent, Command(resume="yes"), THREAD, is_async=is_async)
    assert answers == ["yes"]
    assert texts(state)[-1] == "Done."
    model.assert_finished()
    assert len(model.asked) == 2
    assert called == {"tool": 1, **times}


@COLOURS
async def test_a_person_decides_about_the_answer_that_they_saw(is_async):
    model = ScriptedModel([say("First answer."), say("Second answer.")])

    def review(event):
        return None if interrupt(event.text) == "ok" else Refusal("Withheld by the editor.")

    agent = create_deep_agent(model, middleware=[HooksMiddleware(after_model=review)], checkpointer=InMemorySaver())
    paused = await run(agent, USER, THREAD, is_async=is_async)
    assert paused["__interrupt__"][0].value == "First answer."
    state = await run(agent, Command(resume="no"), THREAD, is_async=is_async)
    assert texts(state)[1:] == ["Withheld by the editor."]
    assert len(model.asked) == 1


def test_an_async_hook_in_a_sync_run_says_so():
    async def later(event):
        return None

    agent = create_deep_agent(ScriptedModel([say("Hi.")]), middleware=[HooksMiddleware(before_model=later)])
    with pytest.raises(MiddlewareError, match=r"is async, and this run is sync\. Call the agent with ainvoke"):
        agent.invoke(USER)


@pytest.mark.parametrize(
    ("moment", "returned", "may"),
    [
        ("on_input", 3, "a text"),
        ("before_model", ["x"], "a list of messages"),
        ("after_model", {}, "SendBack"),
        ("before_tool", "x", "a dict of arguments"),
        ("on_stop", Refusal("x"), "None or SendBack"),
    ],
)
def test_a_wrong_return_value_is_named(moment, returned, may):
    model = ScriptedModel([call("add", a=1, b=2), say("Done.")])
    agent = create_deep_agent(model, [add], middleware=[HooksMiddleware(**{moment: lambda e: returned})])
    with pytest.raises(MiddlewareError, match=rf"returned a .* It may return .*{may}"):
        agent.invoke(USER)


# Reach and cost


@COLOURS
async def test_hooks_can_be_kept_from_subagents_and_add_up_with_theirs(is_async):
    seen = Seen()
    everywhere = HooksMiddleware(before_model=lambda e: seen.append(("everywhere", e.agent)))
    here = HooksMiddleware(before_model=lambda e: seen.append(("here", e.agent)), reaches_subagents=False, name="here")
    theirs = HooksMiddleware(before_model=lambda e: seen.append(("theirs", e.agent)), name="theirs")
    helper = {"name": "helper", "description": "helps", "system_prompt": "Help.", "middleware": [theirs]}
    model = ScriptedModel.by_agent(
        {
            "main": [
                call("task", description="x", subagent_type="helper"),
                call("task", description="x", subagent_type="general-purpose"),
                say("Done."),
            ],
            "helper": [say("h")],
            "general-purpose": [say("g")],
        }
    )
    agent = create_deep_agent(model, subagents=[helper], middleware=[everywhere, here])
    await run(agent, is_async=is_async)
    assert {who for what, who in seen if what == "here"} == {"main"}
    assert {who for what, who in seen if what == "everywhere"} == {"main", "helper", "general-purpose"}
    assert {who for what, who in seen if what == "theirs"} == {"helper"}


def test_moments_without_a_function_cost_nothing():
    plain = create_deep_agent(ScriptedModel())
    none = create_deep_agent(ScriptedModel(), middleware=[HooksMiddleware()])
    assert set(none.nodes) == set(plain.nodes)
    tools = create_deep_agent(ScriptedModel(), middleware=[HooksMiddleware(before_tool=print)])
    assert set(tools.nodes) == set(plain.nodes)
    stop = create_deep_agent(ScriptedModel(), middleware=[HooksMiddleware(on_stop=print)])
    assert set(stop.nodes) - set(plain.nodes) == {"print.HooksMiddleware.after_agent"}


def test_a_subclass_keeps_its_own_behaviour():
    class Loud(HooksMiddleware):
        prompt = "Speak up."

    model = ScriptedModel([say("HI.")])
    create_deep_agent(model, middleware=[Loud(after_model=lambda e: None)]).invoke(USER)
    model.last_asked.assert_mentions("Speak up.")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"on_stop": "x"}, "Give it a function"),
        ({"before_tool": [3]}, "Give it a function"),
        ({"hold_back": True}, "hold_back waits for after_model"),
        ({"max_returns": -1}, "at least 0"),
        ({"on_failure": "shrug"}, '"fail" or "ignore"'),
    ],
)
def test_wrong_arguments_are_named(given, says):
    with pytest.raises(ConfigurationError, match=says):
        HooksMiddleware(**given)


def test_a_refusal_needs_a_sentence():
    with pytest.raises(ConfigurationError, match="says nothing"):
        Refusal(" ")


def test_tool_message_as_a_replacement_keeps_the_call_id():
    model = ScriptedModel([call("add", a=1, b=2), say("Done.")])
    hooks = HooksMiddleware(after_tool=lambda e: ToolMessage("other", tool_call_id="wrong", status="error"))
    state = create_deep_agent(model, [add], middleware=[hooks]).invoke(USER)
    result = state["messages"][2]
    assert (result.text, result.status, result.tool_call_id) == ("other", "error", state["messages"][1].tool_calls[0]["id"])
