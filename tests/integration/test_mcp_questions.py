"""Questions of a real MCP server become questions to the person, over standard streams and HTTP, with a session per call and with one."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from tests.support.mcp_process import mcp_over_http

from stepwell import create_deep_agent
from stepwell.testing import ScriptedModel, call, calls, say
from stepwell.tools.mcp import load_mcp_tools, load_mcp_tools_sync, mcp_session

SERVER = str(Path(__file__).with_name("mcp_asking_server.py"))
STDIO = {"command": sys.executable, "args": [SERVER, "stdio"]}
EVERY_WAY = pytest.mark.parametrize("opened", ["stdio", "http", "stdio session", "http session"], indirect=True)
OVER_HTTP = pytest.mark.parametrize("opened", ["http", "http session"], indirect=True)
ASK: Any = {"messages": [("user", "go")]}
THREAD: Any = {"configurable": {"thread_id": "1"}}
YES = {"action": "accept", "content": {"sure": True}}


@pytest.fixture(scope="module")
def http_server() -> Iterator[dict[str, str]]:
    with mcp_over_http(SERVER) as url:
        yield {"url": url}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "log"
    file.write_text("")
    return file


@pytest.fixture
def opened(request: pytest.FixtureRequest, http_server: dict[str, str]) -> Any:
    """The tools in one of the ways to have them."""
    server = STDIO if request.param.startswith("stdio") else http_server

    @asynccontextmanager
    async def tools(**options: Any) -> AsyncIterator[list[Any]]:
        if request.param.endswith("session"):
            async with mcp_session({"travel": server}, **options) as found:
                yield found
        else:
            yield await load_mcp_tools({"travel": server}, **options)

    return tools


def written(log: Path) -> str:
    return log.read_text()


def write(log: Path, text: str) -> None:
    log.write_text(text)


def agent_for(tools: list[Any], *script: Any, saver: Any = None) -> Any:
    return create_deep_agent(ScriptedModel([*script, say("done")]), tools, checkpointer=saver or InMemorySaver())


async def asked(agent: Any) -> Any:
    (interrupt,) = (await agent.ainvoke(ASK, THREAD))["__interrupt__"]
    return interrupt


async def answer(agent: Any, interrupt: Any, value: Any) -> Any:
    return await agent.ainvoke(Command(resume={interrupt.id: value}), THREAD)


def last(final: Any) -> Any:
    return [message for message in final["messages"] if message.type == "tool"][-1]


@EVERY_WAY
async def test_a_question_is_asked_and_its_answer_completes_the_call(opened: Any, log: Path) -> None:
    async with opened() as tools:
        agent = agent_for(tools, call("book", city="Rome", log=str(log)))
        question = await asked(agent)
        assert question.value == {
            "type": "mcp_elicitation",
            "server": "travel",
            "tool": "book",
            "mode": "form",
            "message": "How do you want to fly to Rome?",
            "requested_schema": {
                "type": "object",
                "properties": {
                    "seats": {
                        "type": "integer",
                        "title": "Seats",
                        "description": "how many people travel",
                        "minimum": 1,
                        "maximum": 9,
                    },
                    "seat": question.value["requested_schema"]["properties"]["seat"],
                    "name": {"type": "string", "title": "Name", "default": ""},
                },
                "required": ["seats"],
            },
            "question_id": question.value["question_id"],
        }
        assert written(log) == "", "the server asks before it acts"
        content = {"seats": 2, "seat": "aisle", "name": "Ada"}
        given = {"action": "accept", "content": content, "question_id": question.value["question_id"]}
        final = await answer(agent, question, given)
    assert last(final).text == "booked 2 at the aisle to Rome for Ada"
    assert written(log) == "booked Rome\n"


@OVER_HTTP
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_the_person_may_decline_or_cancel(opened: Any, log: Path, action: str) -> None:
    async with opened() as tools:
        agent = agent_for(tools, call("book", city="Rome", log=str(log)))
        final = await answer(agent, await asked(agent), {"action": action})
    assert last(final).text == f"not booked: {action}"
    assert last(final).additional_kwargs == {"stepwell_declined": True}
    assert written(log) == ""


@OVER_HTTP
async def test_a_second_question_gets_both_answers_in_order(opened: Any, log: Path) -> None:
    async with opened() as tools:
        agent = agent_for(tools, call("book_twice", log=str(log)))
        first = await asked(agent)
        (second,) = (await answer(agent, first, {"action": "accept", "content": {"seats": 3}}))["__interrupt__"]
        assert (first.value["message"], second.value["message"]) == ("How many there?", "Sure about 3?")
        final = await answer(agent, second, YES)
    assert last(final).text == "3 True"
    assert written(log) == "booked\n"


async def test_answers_without_ids_work_too(http_server: dict[str, str], log: Path) -> None:
    agent = agent_for(await load_mcp_tools({"travel": http_server}), call("book_twice", log=str(log)))
    await asked(agent)
    await agent.ainvoke(Command(resume={"action": "accept", "content": {"seats": 3}}), THREAD)
    final = await agent.ainvoke(Command(resume=YES), THREAD)
    assert last(final).text == "3 True"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("yes", "is an object, not a text"),
        ({"action": "perhaps"}, "no 'action' of: accept, decline, cancel"),
        ({"action": "accept"}, "accepts without a 'content'"),
        (
            {"action": "accept", "content": {"seats": "two"}},
            "at 'content.seats' does not fit the question's schema: it must be of the type integer",
        ),
        ({"action": "accept", "content": {"seats": 90}}, "it must be at most 9"),
        ({"action": "accept", "content": {}}, "'required' fails"),
    ],
)
async def test_an_invalid_answer_is_asked_again(http_server: dict[str, str], log: Path, given: Any, problem: str) -> None:
    agent = agent_for(await load_mcp_tools({"travel": http_server}), call("book", city="Rome", log=str(log)))
    (again,) = (await answer(agent, await asked(agent), given))["__interrupt__"]
    assert problem in again.value["problem"]
    assert written(log) == ""
    final = await answer(agent, again, {"action": "accept", "content": {"seats": 1}})
    assert last(final).text == "booked 1 at the window to Rome for nobody"


def test_a_sync_agent_asks_too(log: Path) -> None:
    agent = agent_for(load_mcp_tools_sync({"travel": STDIO}), call("book", city="Oslo", log=str(log)))
    (question,) = agent.invoke(ASK, THREAD)["__interrupt__"]
    final = agent.invoke(Command(resume={question.id: {"action": "accept", "content": {"seats": 1}}}), THREAD)
    assert last(final).text == "booked 1 at the window to Oslo for nobody"
    assert not last(final).additional_kwargs
    assert written(log) == "booked Oslo\n"


def test_a_sync_call_says_that_it_was_declined(log: Path) -> None:
    agent = agent_for(load_mcp_tools_sync({"travel": STDIO}), call("book", city="Oslo", log=str(log)))
    (question,) = agent.invoke(ASK, THREAD)["__interrupt__"]
    final = agent.invoke(Command(resume={question.id: {"action": "decline"}}), THREAD)
    assert last(final).additional_kwargs == {"stepwell_declined": True}


async def test_a_subagent_s_call_asks_the_person(http_server: dict[str, str], log: Path) -> None:
    model = ScriptedModel.by_agent(
        {
            "main": [call("task", description="fly", subagent_type="general-purpose"), say("done")],
            "general-purpose": [call("book", city="Rome", log=str(log)), say("flown")],
        }
    )
    agent = create_deep_agent(model, await load_mcp_tools({"travel": http_server}), checkpointer=InMemorySaver())
    question = await asked(agent)
    await answer(agent, question, {"action": "accept", "content": {"seats": 1}})
    assert written(log) == "booked Rome\n"


async def test_calls_of_one_turn_ask_each_for_itself(http_server: dict[str, str], log: Path) -> None:
    turn = calls(call("book", city="Rome", log=str(log)), call("book", city="Oslo", log=str(log)))
    agent = agent_for(await load_mcp_tools({"travel": http_server}), turn)
    questions = (await agent.ainvoke(ASK, THREAD))["__interrupt__"]
    answers = {
        each.id: {"action": "accept", "content": {"seats": 1, "name": each.value["message"][-5:-1]}} for each in questions
    }
    final = await agent.ainvoke(Command(resume=answers), THREAD)
    texts = [message.text for message in final["messages"] if message.type == "tool"]
    assert texts == [f"booked 1 at the window to {city} for {city}" for city in ("Rome", "Oslo")]


async def test_an_answer_is_not_given_to_another_question(http_server: dict[str, str], log: Path) -> None:
    write(log, "a\n")
    agent = agent_for(await load_mcp_tools({"travel": http_server}), call("changing", log=str(log)))
    question = await asked(agent)
    assert question.value["message"] == "Delete 1 files?"
    write(log, "a\nb\n")
    (again,) = (await answer(agent, question, {**YES, "question_id": question.value["question_id"]}))["__interrupt__"]
    assert again.value["message"] == "Delete 2 files?"
    assert "asks something else than before" in again.value["problem"]
    final = await answer(agent, again, {**YES, "question_id": again.value["question_id"]})
    assert last(final).text == "2 accept"


async def test_a_server_that_never_asks_the_same_is_given_up(http_server: dict[str, str]) -> None:
    agent = agent_for(await load_mcp_tools({"travel": http_server}), call("never_the_same"))
    state = await agent.ainvoke(ASK, THREAD)
    for _ in range(3):
        (question,) = state["__interrupt__"]
        state = await answer(agent, question, {**YES, "question_id": question.value["question_id"]})
    assert last(state).status == "error"
    assert "asks the user something else each time 'never_the_same' is called" in last(state).text


async def test_a_server_that_acts_first_acts_again_with_the_answer(http_server: dict[str, str], log: Path) -> None:
    """The honest limit: the call is made again, so what comes before a question is done again."""
    agent = agent_for(await load_mcp_tools({"travel": http_server}), call("act_then_ask", log=str(log)))
    final = await answer(agent, await asked(agent), YES)
    assert last(final).text == "accept"
    assert written(log) == "acted\nacted\n"


async def test_a_page_is_opened_by_the_person(http_server: dict[str, str]) -> None:
    agent = agent_for(await load_mcp_tools({"travel": http_server}), call("open_page"))
    question = await asked(agent)
    assert question.value["mode"] == "url"
    assert question.value["url"].startswith("https://bank.example/login?state=")
    given = {"action": "accept", "question_id": question.value["question_id"]}
    assert last(await answer(agent, question, given)).text == "page: accept"


async def test_an_address_that_is_no_page_is_not_shown(http_server: dict[str, str]) -> None:
    agent = agent_for(await load_mcp_tools({"travel": http_server}), call("open_file"))
    final = await agent.ainvoke(ASK, THREAD)
    assert "an address that is not one of the web" in last(final).text


@OVER_HTTP
@pytest.mark.parametrize(("action", "text"), [("accept", "balance: 3"), ("decline", "the user did not open the address")])
async def test_a_call_that_needs_a_page_is_made_again(opened: Any, log: Path, action: str, text: str) -> None:
    async with opened() as tools:
        agent = agent_for(tools, call("needs_page", log=str(log)))
        question = await asked(agent)
        assert question.value["url"] == "https://bank.example/login"
        write(log, "signed in" if action == "accept" else "")
        final = await answer(agent, question, {"action": action})
    assert text in last(final).text
    assert last(final).additional_kwargs.get("stepwell_declined", False) is (action == "decline")


async def test_the_time_out_counts_the_server_s_time(http_server: dict[str, str]) -> None:
    tools = await load_mcp_tools({"travel": http_server}, call_timeout_s=2)
    agent = agent_for(tools, call("ask_and_wait", seconds=60))
    question = await asked(agent)
    assert "did not answer within 2 s" in last(await answer(agent, question, YES)).text


async def test_a_server_that_dies_after_the_answer_is_an_error(log: Path) -> None:
    agent = agent_for(
        await load_mcp_tools({"travel": STDIO}), call("ask_and_die", log=str(log)), call("ask_and_die", log=str(log))
    )
    (again,) = (await answer(agent, await asked(agent), YES))["__interrupt__"]
    state = await agent.aget_state(THREAD)
    assert "gave no answer" in last(state.values).text
    assert last(await answer(agent, again, YES)).text == "alive: accept"


@EVERY_WAY
async def test_tools_that_never_ask_are_as_before(opened: Any) -> None:
    async with opened() as tools:
        assert last(await agent_for(tools, call("quiet")).ainvoke(ASK, THREAD)).text == "quiet"


async def test_without_a_checkpointer_nobody_can_be_asked(http_server: dict[str, str], log: Path) -> None:
    tools = await load_mcp_tools({"travel": http_server})
    model = ScriptedModel([call("book", city="Rome", log=str(log)), say("done")])
    final = await create_agent(model, tools).ainvoke(ASK)
    assert last(final).status == "error"
    assert "without a graph with a checkpointer nothing stores the question" in last(final).text


@OVER_HTTP
async def test_servers_may_be_kept_from_asking(opened: Any, log: Path) -> None:
    async with opened(may_ask=False) as tools:
        final = await agent_for(tools, call("book", city="Rome", log=str(log))).ainvoke(ASK, THREAD)
    assert last(final).status == "error"
    assert "not support" in last(final).text.lower()


async def test_a_caller_s_own_callback_is_kept(http_server: dict[str, str], log: Path) -> None:
    from mcp.types import ElicitResult

    async def decline(context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action="decline")

    server = {**http_server, "session_kwargs": {"elicitation_callback": decline}}
    for tools in (await load_mcp_tools({"travel": server}),):
        final = await agent_for(tools, call("book", city="Rome", log=str(log))).ainvoke(ASK, THREAD)
        assert last(final).text == "not booked: decline"


async def test_in_a_shared_session_a_question_of_two_calls_is_not_guessed(http_server: dict[str, str], log: Path) -> None:
    async with mcp_session({"travel": http_server}) as tools:
        turn = calls(call("book", city="Rome", log=str(log)), call("quiet", seconds=2))
        final = await agent_for(tools, turn, call("book", city="Rome", log=str(log))).ainvoke(ASK, THREAD)
        texts = [message.text for message in final["messages"] if message.type == "tool"]
        assert "it is unknown whose question this is" in texts[0]
        assert texts[1] == "quiet"
        assert final["__interrupt__"][0].value["message"] == "How do you want to fly to Rome?"


async def test_a_session_that_has_asked_serves_one_call_at_a_time(http_server: dict[str, str], log: Path) -> None:
    async with mcp_session({"travel": http_server}) as tools:
        first = agent_for(tools, call("book", city="Rome", log=str(log)))
        await asked(first)
        turn = calls(
            call("book", city="Oslo", log=str(log)), call("quiet", seconds=0.2), call("book", city="Bonn", log=str(log))
        )
        second = agent_for(tools, turn)
        messages = {each.value["message"] for each in (await second.ainvoke(ASK, THREAD))["__interrupt__"]}
    assert messages == {f"How do you want to fly to {city}?" for city in ("Oslo", "Bonn")}


async def test_the_pause_outlives_the_program(log: Path, tmp_path: Path) -> None:
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    database = str(tmp_path / "threads.db")
    async with AsyncSqliteSaver.from_conn_string(database) as saver:
        agent = agent_for(await load_mcp_tools({"travel": STDIO}), call("book", city="Rome", log=str(log)), saver=saver)
        question = await asked(agent)
    async with AsyncSqliteSaver.from_conn_string(database) as saver:
        agent = agent_for(await load_mcp_tools({"travel": STDIO}), saver=saver)
        await asyncio.sleep(0)
        final = await answer(agent, question, {"action": "accept", "content": {"seats": 1}})
    assert last(final).text == "booked 1 at the window to Rome for nobody"
    assert written(log) == "booked Rome\n"
