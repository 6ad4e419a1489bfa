"""What foreign protocols share: a turn is begun, followed, answered and stopped, over the engine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio
from langchain.agents.middleware.types import ModelResponse
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from tests.integration.server.conftest import Server, serve
from tests.integration.server.graphs import GRAPHS

from stepwell import create_deep_agent
from stepwell.errors import NotFoundError
from stepwell.middleware import ModelCall, RequestMiddleware
from stepwell.server.bridges.turns import Outcome, TextPiece, ToolEnded, ToolStarted, Turns
from stepwell.server.login.principal import LOCAL
from stepwell.testing import Asked, Reply, ScriptedModel, call, say

pytestmark = pytest.mark.asyncio(loop_scope="module")
HELLO = {"messages": [{"role": "user", "content": "hello"}]}


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def play(asked: Asked) -> Reply:
    return say("It is 3.") if asked.messages[-1].type == "tool" else call("add", a=1, b=2)


async def draft(state: MessagesState) -> dict[str, Any]:
    await ScriptedModel([say("A draft with a mistake.")]).ainvoke("write")
    return {}


async def report(state: MessagesState) -> dict[str, Any]:
    return {"messages": [await ScriptedModel([say("The report.")]).ainvoke("write")]}


class Loud(RequestMiddleware):
    def review(self, call: ModelCall, response: ModelResponse[Any]) -> ModelResponse[Any]:
        (answer,) = response.result
        return ModelResponse([answer.model_copy(update={"content": answer.text.upper()})])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    graphs = {
        **GRAPHS,
        "drafts": StateGraph(MessagesState).add_sequence([draft, report]).add_edge(START, "draft").compile(),
        "loud": create_deep_agent(ScriptedModel.answering(lambda asked: say("so it is")), middleware=[Loud()]),
        "agent": create_deep_agent(ScriptedModel.answering(play), [add]),
        "careful": create_deep_agent(ScriptedModel.answering(play), [add], interrupt_on={"add": True}),
    }
    async with serve(tmp_path_factory.mktemp("turns"), graphs=graphs) as running:
        yield running


@pytest.fixture
def turns(server: Server) -> Turns:
    return Turns(server.services, LOCAL)


async def test_text_and_tools_come_in_order_and_the_outcome_last(turns: Turns) -> None:
    turn = await turns.begin("agent", HELLO)
    happened = [each async for each in turn.follow()]
    kinds = [type(each) for each in happened]
    assert kinds.index(ToolStarted) < kinds.index(ToolEnded) < kinds.index(TextPiece)
    assert "".join(each.text for each in happened if isinstance(each, TextPiece)) == "It is 3."
    outcome = happened[-1]
    assert isinstance(outcome, Outcome)
    assert (outcome.status, outcome.text) == ("answered", "It is 3.")
    assert outcome.values["messages"][0]["content"] == "hello"


async def test_a_turn_can_be_followed_again_from_any_event(turns: Turns) -> None:
    turn = await turns.begin("agent", HELLO, keep=True)
    first = [each async for each in turn.follow()]
    again = await turns.find(turn.run.thread_id, turn.run.run_id)
    assert [each async for each in again.follow()] == first
    assert [each async for each in again.follow(first[1].seq)] == [each for each in first if each.seq > first[1].seq]


async def test_a_message_of_a_node_without_a_model_is_text_too(turns: Turns) -> None:
    happened = [each async for each in (await turns.begin("echo", HELLO)).follow()]
    assert [each.text for each in happened if isinstance(each, TextPiece)] == ["You said: hello"]


async def test_what_a_node_asks_models_and_keeps_to_itself_is_not_told(turns: Turns) -> None:
    happened = [each async for each in (await turns.begin("drafts", HELLO)).follow()]
    assert [each.text for each in happened if isinstance(each, TextPiece)] == ["The report."]


async def test_an_answer_that_middleware_changes_is_told_as_it_is_stored(turns: Turns) -> None:
    happened = [each async for each in (await turns.begin("loud", HELLO)).follow()]
    said: dict[str, str] = {}
    for each in happened:
        if isinstance(each, TextPiece):
            said[each.message_id] = said.get(each.message_id, "") + each.text
    assert list(said.values()) == ["so it is", "SO IT IS"]
    assert isinstance(happened[-1], Outcome)
    assert happened[-1].text == "SO IT IS"


async def test_a_question_ends_the_turn_and_its_answer_is_the_next_one(server: Server, turns: Turns) -> None:
    turn = await turns.begin("careful", HELLO)
    asked = await turn.outcome()
    assert asked.status == "asks"
    (question,) = asked.questions
    assert question.response_schema
    listed = await server.client.threads.search(metadata={"graph_id": "careful"})
    assert [thread["metadata"]["title"] for thread in listed] == ["hello"]
    answers = {question.interrupt_id: {"decisions": [{"type": "approve"}]}}
    answered = await turns.answer(turn.run.thread_id, answers)
    assert (await answered.outcome()).text == "It is 3."
    again = await turns.answer(turn.run.thread_id, answers)
    assert again.run.run_id == answered.run.run_id


async def test_a_failure_is_a_sentence(turns: Turns) -> None:
    outcome = await (await turns.begin("fails", HELLO)).outcome()
    assert (outcome.status, outcome.error_kind, outcome.error) == ("failed", "ValueError", "the node fell over")


async def test_a_stopped_turn_says_so(turns: Turns) -> None:
    turn = await turns.begin("ticks", {"count": 1000, "seconds": 0.1})
    await turn.stop(wait=True)
    assert (await turn.outcome()).status == "stopped"


async def test_turns_of_others_are_not_found(server: Server, turns: Turns) -> None:
    turn = await turns.begin("asks", HELLO)
    asked = await turn.outcome()
    other = Turns(server.services, replace(LOCAL, user_id="other", owner="other", is_operator=False))
    with pytest.raises(NotFoundError):
        await other.find(turn.run.thread_id, turn.run.run_id)
    with pytest.raises(NotFoundError):
        await other.answer(turn.run.thread_id, {asked.questions[0].interrupt_id: "blue"})
    with pytest.raises(NotFoundError):
        await other.begin("asks", HELLO, thread_id=turn.run.thread_id)
    assert not await other.open_questions(turn.run.thread_id)
