"""What happens in a turn, as events: real agents on scripted models."""

from __future__ import annotations

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, TodoListMiddleware
from langgraph.checkpoint.memory import InMemorySaver

from stepwell import RubricMiddleware
from stepwell.terminal.chat.view import todos_of
from stepwell.terminal.dialogue.answers import answer_all
from stepwell.terminal.dialogue.events import Called, Checked, Planned, Returned, Translator
from stepwell.terminal.dialogue.graph_session import GraphSession
from stepwell.terminal.dialogue.interleaving import Said
from stepwell.testing import ScriptedModel, call, say


def double(number: int) -> int:
    """Twice the number."""
    return number * 2


def session_of(*turns, middleware=(), tools=(double,)) -> GraphSession:
    agent = create_agent(ScriptedModel(list(turns)), list(tools), middleware=list(middleware), checkpointer=InMemorySaver())
    return GraphSession(agent, "thread")


def message(text: str) -> dict:
    return {"messages": [{"role": "user", "content": text}]}


async def events_of(parts, translator: Translator | None = None) -> list:
    translator = translator or Translator()
    events = [event async for part in parts for event in translator.translate(part)]
    return [*events, *translator.rest()]


def text_of(events: list) -> str:
    return "".join(event.text for event in events if isinstance(event, Said))


async def test_text_is_streamed_in_pieces():
    events = await events_of(session_of(say("one two three four")).send(message("hi")))
    assert text_of(events) == "one two three four"
    assert len([event for event in events if isinstance(event, Said)]) > 1


async def test_a_tool_call_and_its_result_are_shown_once_and_in_order():
    events = await events_of(session_of(call("double", number=4), say("eight")).send(message("4?")))
    steps = [event for event in events if not isinstance(event, Said)]
    assert steps == [Called("main", "double", {"number": 4}), Returned("main", "double", "8", failed=False)]


async def test_the_plan_is_shown_when_it_changes():
    todos = [{"content": "look", "status": "in_progress"}]
    session = session_of(call("write_todos", todos=todos), say("done"), middleware=[TodoListMiddleware()])
    events = await events_of(session.send(message("go")))
    assert Planned("main", tuple(todos)) in events
    assert todos_of(await session.values()) == todos


async def test_checks_of_an_answer_are_shown_and_the_grader_is_not():
    def has_source(state):
        return None if "Source" in state["messages"][-1].text else "No source."

    judge = ScriptedModel(
        [call("GraderResponse", result="satisfied", explanation="", criteria=[{"name": "kind", "passed": True}])]
    )
    checked = RubricMiddleware(checks=[has_source], rubric="- kind", model=judge)
    events = await events_of(session_of(say("1890."), say("1890. Source: x"), middleware=[checked]).send(message("When?")))
    first, second = (event for event in events if isinstance(event, Checked))
    assert (first.result, first.words, first.missing) == ("needs_revision", "0 of 1 check passed.", ["has source: No source."])
    assert (second.result, second.words, second.missing) == ("satisfied", "2 of 2 checks passed.", [])
    assert not [event for event in events if isinstance(event, Called | Returned)]
    assert text_of(events) == "1890.1890. Source: x"


async def test_a_subagent_speaks_under_its_own_name():
    inner = create_agent(ScriptedModel([call("double", number=1), say("it is two")]), [double], name="counter")

    async def task(description: str) -> str:
        """Delegate."""
        result = await inner.ainvoke({"messages": [{"role": "user", "content": description}]})
        return str(result["messages"][-1].text)

    events = await events_of(session_of(call("task", description="count"), say("two"), tools=[task]).send(message("go")))
    assert Called("counter", "double", {"number": 1}) in events
    assert "it is two" in "".join(event.text for event in events if isinstance(event, Said) and event.speaker == "counter")
    assert "".join(event.text for event in events if isinstance(event, Said) and event.speaker == "main") == "two"


async def approve_with(*lines: str) -> tuple[list, list[str]]:
    """Run a guarded call, answer with these lines; the events after the answer, and what was asked."""
    session = session_of(call("double", number=4), say("ok"), middleware=[HumanInTheLoopMiddleware({"double": True})])
    translator = Translator()
    await events_of(session.send(message("go")), translator)
    asked: list[str] = []
    typed = iter(lines)

    def ask(question: str) -> str:
        asked.append(question)
        return next(typed)

    answers = answer_all(await session.interrupts(), ask)
    events = await events_of(session.answer(answers), translator)
    assert await session.interrupts() == ()
    return events, asked


async def test_nothing_runs_before_it_is_approved():
    session = session_of(call("double", number=4), say("ok"), middleware=[HumanInTheLoopMiddleware({"double": True})])
    events = await events_of(session.send(message("go")))
    assert not [event for event in events if isinstance(event, Returned)]
    assert len(await session.interrupts()) == 1


async def test_yes_runs_the_tool():
    events, asked = await approve_with("y")
    assert Returned("main", "double", "8", failed=False) in events
    assert 'double({"number": 4})' in asked[0]


async def test_no_tells_the_agent_why():
    events, _ = await approve_with("n not today")
    [returned] = [event for event in events if isinstance(event, Returned)]
    assert "not today" in returned.text
    assert returned.failed


async def test_edit_runs_the_tool_with_other_arguments():
    events, _ = await approve_with('e {"number": 10}')
    [returned] = [event for event in events if isinstance(event, Returned)]
    assert returned.text.endswith("20")


async def test_an_unclear_answer_is_asked_again():
    _, asked = await approve_with("maybe", "e nonsense", "y")
    assert len(asked) == 3
    assert "JSON" in asked[2]


async def test_a_decision_that_the_tool_does_not_allow_is_asked_again():
    guard = HumanInTheLoopMiddleware({"double": {"allowed_decisions": ["approve"]}})
    session = session_of(call("double", number=4), say("ok"), middleware=[guard])
    await events_of(session.send(message("go")))
    typed = iter(["n", "y"])
    asked: list[str] = []
    answers = answer_all(await session.interrupts(), lambda question: asked.append(question) or next(typed))
    assert "not allowed" in asked[1]
    assert [answer["decisions"] for answer in answers.values()] == [[{"type": "approve"}]]
