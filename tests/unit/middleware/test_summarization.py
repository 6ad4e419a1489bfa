"""D7: summarization at the mission's limits, as a view: the thread keeps its transcript."""

from __future__ import annotations

import pytest
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from stepwell import ConfigurationError, SummarizationMiddleware, create_deep_agent
from stepwell.middleware.summarization import default_trigger
from stepwell.testing import ScriptedModel, call, fail, say

THREAD = {"configurable": {"thread_id": "t"}}


def is_summary_request(asked):
    return "<conversation>" in asked.human


def agent_with(model, **options):
    summarization = SummarizationMiddleware(model, **options)
    return create_deep_agent(model, middleware=[summarization], checkpointer=InMemorySaver())


def talk(rounds):
    messages = []
    for number in range(rounds):
        messages += [
            HumanMessage(f"question {number} " + "word " * 50, id=f"h{number}"),
            AIMessage(f"answer {number}", id=f"a{number}"),
        ]
    return messages


def test_default_limits_are_the_mission_s():
    """D7: 170,000 tokens, or 85 % of a known window; the last 6 messages kept."""
    assert default_trigger(ScriptedModel()) == 170_000
    assert default_trigger(ScriptedModel(profile={"max_input_tokens": 100_000})) == 85_000
    assert SummarizationMiddleware(ScriptedModel()).keep_messages == 6


def test_model_sees_summary_and_last_messages_and_thread_keeps_all():
    """D7; semantics settled: summarization is a view."""
    model = ScriptedModel([say("SUMMARY"), say("fine"), say("fine too")])
    agent = agent_with(model, trigger_tokens=500)
    final = agent.invoke({"messages": [*talk(10), HumanMessage("now?")]}, THREAD)
    request, answer = model.asked
    assert is_summary_request(request)
    assert "question 0" in request.human
    seen = answer.messages[1:]
    assert seen[0].content == "Summary of our conversation so far:\n\nSUMMARY"
    assert [message.content for message in seen[1:]] == [message.content for message in [*talk(10), HumanMessage("now?")][-6:]]
    assert len(final["messages"]) == 22
    assert "summary" not in final


def test_a_stored_summary_is_used_again_without_asking_again():
    """D7."""
    model = ScriptedModel([say("SUMMARY"), say("one"), say("two")])
    agent = agent_with(model, trigger_tokens=500)
    agent.invoke({"messages": talk(10)}, THREAD)
    agent.invoke({"messages": [HumanMessage("short")]}, THREAD)
    model.assert_finished()
    assert model.last_asked.messages[1].content.endswith("SUMMARY")
    assert model.last_asked.messages[-1].content == "short"


def test_the_next_summary_covers_the_one_before():
    """D7."""
    model = ScriptedModel([say("FIRST"), say("one"), say("SECOND"), say("two")])
    agent = agent_with(model, trigger_tokens=500)
    agent.invoke({"messages": talk(10)}, THREAD)
    later = [message.model_copy(update={"id": f"later-{n}"}) for n, message in enumerate(talk(10))]
    agent.invoke({"messages": later}, THREAD)
    assert "FIRST" in model.asked[2].human
    assert model.last_asked.messages[1].content.endswith("SECOND")


def test_call_and_result_are_never_separated():
    """D7: tool call and result never separated."""
    calls = AIMessage("", tool_calls=[{"name": "ls", "args": {}, "id": str(n)} for n in range(8)], id="calls")
    results = [ToolMessage("x " * 40, tool_call_id=str(n), id=f"r{n}") for n in range(8)]
    model = ScriptedModel([say("SUMMARY"), say("ok")])
    agent_with(model, trigger_tokens=200).invoke({"messages": [*talk(3), calls, *results]}, THREAD)
    seen = model.last_asked.messages[2:]
    assert seen[0].tool_calls
    assert len(seen) == 9


def test_what_cannot_be_shortened_is_sent_as_it_is():
    model = ScriptedModel([say("ok")])
    agent_with(model, trigger_tokens=10).invoke({"messages": [HumanMessage("word " * 500)]}, THREAD)
    assert not is_summary_request(model.last_asked)


@pytest.mark.parametrize("colour", ["sync", "async"])
async def test_context_overflow_is_summarised_and_tried_once_more(colour):
    """Faults: on "too long" compact and retry once."""
    model = ScriptedModel([fail(ContextOverflowError("too long")), say("SUMMARY"), say("ok")])
    agent = agent_with(model)
    ask = {"messages": talk(10)}
    final = agent.invoke(ask, THREAD) if colour == "sync" else await agent.ainvoke(ask, THREAD)
    assert final["messages"][-1].text == "ok"
    assert is_summary_request(model.asked[1])
    assert len(model.asked[2].messages) == 8


def test_overflow_that_stays_is_raised():
    overflow = ContextOverflowError("too long")
    model = ScriptedModel([fail(overflow), say("SUMMARY"), fail(overflow)])
    with pytest.raises(ContextOverflowError):
        agent_with(model).invoke({"messages": talk(10)}, THREAD)


def test_other_errors_pass_through():
    with pytest.raises(RuntimeError, match="down"):
        agent_with(ScriptedModel([fail(RuntimeError("down"))])).invoke({"messages": talk(1)}, THREAD)


def test_summariser_s_words_are_not_streamed_as_the_agent_s():
    model = ScriptedModel([say("SUMMARY"), say("fine")])
    agent = agent_with(model, trigger_tokens=500)
    text = "".join(chunk.text for chunk, _ in agent.stream({"messages": talk(10)}, THREAD, stream_mode="messages"))
    assert text == "fine"


def test_keep_messages_must_be_positive():
    with pytest.raises(ConfigurationError, match="keep_messages is 0"):
        SummarizationMiddleware(ScriptedModel(), keep_messages=0)


def test_tools_still_work_after_a_summary():
    model = ScriptedModel([say("SUMMARY"), call("ls"), say("done")])
    final = agent_with(model, trigger_tokens=500).invoke({"messages": talk(10)}, THREAD)
    assert final["messages"][-2].content == "(empty)"


def test_a_report_from_before_the_summary_is_not_trusted_after_it():
    """D7: not every answer carries a report (a fallback's may not), and a stale one would summarise on every step."""
    summariser = ScriptedModel([say("what was")])
    reported = call("ls").using(input_tokens=990, output_tokens=20)
    looks = [call("glob", pattern=f"{n}.md") for n in range(13)]
    model = ScriptedModel([*looks[:5], reported, *looks[5:], say("end")])
    middleware = SummarizationMiddleware(summariser, trigger_tokens=1_000, keep_messages=6)
    create_deep_agent(model, middleware=[middleware]).invoke({"messages": [("user", "go")]})
    assert len(summariser.asked) == 1


def test_an_empty_summary_becomes_an_excerpt_and_is_not_asked_for_again():
    """D7: a summariser may answer with nothing (a refusal, or thoughts alone)."""
    model = ScriptedModel([say("a" * 9_000), say("ok")])
    summariser = ScriptedModel([say(" ")])
    middleware = SummarizationMiddleware(summariser, trigger_tokens=2_000, keep_messages=1)
    agent = create_deep_agent(model, middleware=[middleware], checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    agent.invoke({"messages": [("user", "one")]}, thread)
    agent.invoke({"messages": [("user", "two")]}, thread)
    excerpt, last = model.last_asked.messages[1:]
    assert "No summary could be written" in excerpt.text
    assert "Human: one" in excerpt.text
    assert len(excerpt.text) < 5_000
    assert last.text == "two"


def test_a_view_as_long_as_its_thread_has_a_count_of_its_own():
    """D7: a summary that covers one message leaves as many messages as before."""
    summariser = ScriptedModel([say("what was")])
    model = ScriptedModel([say("one"), say("two"), say("three")])
    middleware = SummarizationMiddleware(summariser, trigger_tokens=300, keep_messages=2)
    agent = create_deep_agent(model, middleware=[middleware], checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    for text in ("a" * 1_000, "b" * 300, "c"):
        agent.invoke({"messages": [("user", text)]}, thread)
    assert len(summariser.asked) == 1
