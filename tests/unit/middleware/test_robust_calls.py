"""Model calls under deadlines, with retries and a fallback. No test waits for a clock to show how long something took."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from langchain_core.exceptions import ContextOverflowError, ModelConnectionError, ModelTimeoutError
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from stepwell import create_deep_agent
from stepwell.errors import (
    ConfigurationError,
    ModelAccessError,
    ModelBusyError,
    ModelDeadlineError,
    ModelStreamCutError,
    ModelUnreachableError,
)
from stepwell.middleware.model_calls.faults import fault_of
from stepwell.middleware.robust_calls import RobustCallsMiddleware
from stepwell.testing import ScriptedModel, call, fail, say, stream_then_fail

USER = {"messages": [("user", "go")]}


class HTTPError(Exception):
    """What SDKs raise for an answer with a status, reduced to what they have in common."""

    def __init__(self, status: int, headers: dict[str, str] | None = None, body: object = None) -> None:
        super().__init__(f"status {status}")
        self.status_code = status
        self.response = SimpleNamespace(status_code=status, headers=headers or {})
        self.body = body


class RemoteProtocolError(Exception):
    """Named as httpx names a connection that ended in the middle of an answer."""


class Waits:
    """A sleeper that does not sleep."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)

    async def asleep(self, seconds: float) -> None:
        self.seconds.append(seconds)


@pytest.fixture
def waits() -> Waits:
    return Waits()


def agent(model, waits, *, tools=(), checkpointer=None, **options):
    options = {"random": lambda: 0.5, **options}
    robust = RobustCallsMiddleware(sleep=waits.sleep, asleep=waits.asleep, **options)
    return create_deep_agent(model, list(tools), middleware=[robust], checkpointer=checkpointer)


def last_text(result) -> str:
    return result["messages"][-1].text


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
def test_a_passing_fault_is_retried(waits, status):
    model = ScriptedModel([fail(HTTPError(status)), say("here")])
    assert last_text(agent(model, waits).invoke(USER)) == "here"
    assert waits.seconds == [0.5]


async def test_a_passing_fault_is_retried_async(waits):
    model = ScriptedModel([fail(HTTPError(503)), fail(ModelConnectionError()), fail(ModelTimeoutError()), say("here")])
    assert last_text(await agent(model, waits).ainvoke(USER)) == "here"
    assert waits.seconds == [0.5, 1.0, 2.0], "half of a bound that doubles"


@pytest.mark.parametrize(
    ("status", "error"),
    [(401, ModelAccessError), (402, ModelAccessError), (403, ModelAccessError), (404, ModelAccessError), (400, HTTPError)],
)
def test_a_lasting_fault_is_not_retried(waits, status, error):
    model = ScriptedModel([fail(HTTPError(status)), say("never")])
    with pytest.raises(error) as caught:
        agent(model, waits).invoke(USER)
    assert waits.seconds == []
    assert not getattr(caught.value, "retryable", False)


def test_retry_after_is_honoured(waits):
    model = ScriptedModel([fail(HTTPError(429, {"retry-after": "7"})), say("here")])
    agent(model, waits).invoke(USER)
    assert waits.seconds == [7.5]


def test_a_wait_that_is_too_long_is_not_waited_for(waits):
    model = ScriptedModel([fail(HTTPError(429, {"retry-after": "3600"}))])
    with pytest.raises(ModelBusyError, match="Try again in 3600 s"):
        agent(model, waits).invoke(USER)
    assert waits.seconds == []


def test_after_the_last_retry_the_error_names_model_and_way_out(waits):
    model = ScriptedModel([fail(HTTPError(503))] * 3)
    with pytest.raises(ModelBusyError, match=r"outage \(503\)\. It was asked 3 times\. Try again in a moment, or") as caught:
        agent(model, waits, max_retries=2).invoke(USER)
    assert isinstance(caught.value.__cause__, HTTPError)
    assert caught.value.retryable
    model.assert_finished()


def test_a_run_has_a_budget_of_retries_over_all_its_calls(waits):
    """A provider that fails every other call ends the run when the budget is gone, not after hours."""
    script = [fail(HTTPError(503)), call("ls", path="/")] * 2 + [fail(HTTPError(503)), say("never")]
    with pytest.raises(ModelBusyError, match="503"):
        agent(ScriptedModel(script), waits, retry_budget=2).invoke(USER)
    assert len(waits.seconds) == 2


def test_the_budget_of_retries_is_new_for_each_message_of_the_user(waits):
    script = [fail(HTTPError(503)), say("one"), fail(HTTPError(503)), say("two")]
    chat = agent(ScriptedModel(script), waits, retry_budget=1, checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "t"}}
    assert last_text(chat.invoke(USER, thread)) == "one"
    assert last_text(chat.invoke(USER, thread)) == "two"


def test_an_error_that_is_not_the_models_passes_as_it_is(waits):
    with pytest.raises(ZeroDivisionError):
        agent(ScriptedModel([fail(ZeroDivisionError())]), waits).invoke(USER)
    assert waits.seconds == []


async def test_a_context_that_is_too_long_is_still_summarised(waits):
    """The middleware around sees the provider's own error and mends it."""
    model = ScriptedModel([say(f"{n}") for n in range(4)] + [fail(ContextOverflowError("too long")), say("sum"), say("end")])
    chat = agent(model, waits, checkpointer=InMemorySaver())
    for _ in range(4):
        await chat.ainvoke(USER, {"configurable": {"thread_id": "t"}})
    assert last_text(await chat.ainvoke(USER, {"configurable": {"thread_id": "t"}})) == "end"


def test_the_fallback_answers_with_the_agents_tools(waits):
    spare = ScriptedModel([call("ls", path="/"), say("from the spare")])
    main = ScriptedModel([fail(HTTPError(401)), fail(HTTPError(401))])
    result = agent(main, waits, fallback=spare).invoke(USER)
    assert last_text(result) == "from the spare"
    assert "ls" in spare.asked[0].tool_names


async def test_the_fallback_has_retries_of_its_own(waits):
    spare = ScriptedModel([fail(HTTPError(503)), say("here")])
    main = ScriptedModel([fail(HTTPError(503))] * 2)
    assert last_text(await agent(main, waits, fallback=spare, max_retries=1).ainvoke(USER)) == "here"


def test_when_the_fallback_fails_too_the_error_is_about_it(waits):
    main = ScriptedModel([fail(HTTPError(401))])
    with pytest.raises(ModelUnreachableError, match="Is the server running"):
        agent(main, waits, fallback=ScriptedModel([fail(ConnectionRefusedError())] * 1), max_retries=0).invoke(USER)


BROKEN = stream_then_fail("half an answer", RemoteProtocolError("peer closed"), after_chunks=2)


async def test_a_cut_stream_is_never_saved_as_an_answer(waits):
    chat = agent(ScriptedModel([BROKEN]), waits, max_retries=0, checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "t"}}
    seen = []

    async def follow() -> None:
        async for chunk, _ in chat.astream(USER, thread, stream_mode="messages"):
            seen.append(chunk.text)

    with pytest.raises(ModelStreamCutError, match="None of it was kept"):
        await follow()
    assert seen == ["half", " an"], "the client had seen it"
    assert [message.type for message in (await chat.aget_state(thread)).values["messages"]] == ["human"]


@pytest.mark.parametrize("colour", ["sync", "async"])
async def test_a_client_is_told_which_text_to_drop(waits, colour):
    chat = agent(ScriptedModel([BROKEN, say("a whole answer")]), waits)
    modes = ["messages", "custom"]
    if colour == "sync":
        parts = await asyncio.to_thread(lambda: list(chat.stream(USER, stream_mode=modes)))
    else:
        parts = [part async for part in chat.astream(USER, stream_mode=modes)]
    place = next(place for place, (mode, _) in enumerate(parts) if mode == "custom")
    event = parts[place][1]
    dropped = {chunk.id for mode, (chunk, _) in parts[:place]}
    assert event["type"] == "model_retry"
    assert (event["attempt"], event["reason"]) == (2, "cut")
    assert dropped == {event["message_id"]}
    assert "".join(chunk.text for mode, (chunk, _) in parts[place + 1 :]) == "a whole answer"


def hanging() -> ScriptedModel:
    """A model that never answers."""

    async def answer(_asked):
        await asyncio.Event().wait()

    return ScriptedModel.answering(answer)


class DrippingModel(ScriptedModel):
    """Streams one word, then nothing for ever."""

    async def _astream(self, *args, **kwargs):
        async for chunk in super()._astream(*args, **kwargs):
            yield chunk
            await asyncio.Event().wait()


async def streamed(chat) -> list:
    return [part async for part in chat.astream(USER, stream_mode="messages")]


async def test_no_first_token_in_time(waits):
    with pytest.raises(ModelDeadlineError, match="first_token_s") as caught:
        await streamed(agent(hanging(), waits, first_token_s=0.02, max_retries=1))
    assert caught.value.deadline == "first token"
    assert len(waits.seconds) == 1, "it is worth another try"


async def test_an_answer_that_stops_coming(waits):
    chat = agent(DrippingModel([say("one two three")] * 2), waits, idle_s=0.02, max_retries=1)
    with pytest.raises(ModelDeadlineError, match="stopped coming") as caught:
        await streamed(chat)
    assert caught.value.deadline == "idle"


async def test_the_total_time_of_a_call_is_not_spent_twice(waits):
    with pytest.raises(ModelDeadlineError) as caught:
        await agent(hanging(), waits, total_s=0.02).ainvoke(USER)
    assert caught.value.deadline == "total"
    assert waits.seconds == []


async def test_an_answer_in_one_piece_has_no_first_token(waits):
    """Nobody follows the tokens, so the model is asked for the whole at once: only the total counts."""

    async def answer(_asked):
        for _ in range(3):  # a deadline that has passed would cancel it in the next turn of the loop
            await asyncio.sleep(0)
        return "whole"

    assert last_text(await agent(ScriptedModel.answering(answer), waits, first_token_s=1e-9).ainvoke(USER)) == "whole"


async def test_cancelling_is_not_a_fault(waits):
    task = asyncio.create_task(agent(hanging(), waits).ainvoke(USER))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert waits.seconds == []


def test_a_sync_call_is_left_alone_when_its_time_is_up(waits):
    import threading

    release = threading.Event()
    ended = threading.Event()

    def answer(_asked):
        release.wait(120)
        ended.set()
        return "too late"

    try:
        with pytest.raises(ModelDeadlineError, match="total time-out"):
            agent(ScriptedModel.answering(answer), waits, total_s=0.02).invoke(USER)
        assert not ended.is_set()
    finally:
        release.set()
    assert ended.wait(60)


async def test_the_watch_hears_a_model_that_streams_by_events(waits):
    """Pins LangChain's second way to stream, which `stream_events` of version 3 uses."""
    from stepwell.middleware.model_calls.stream_watch import StreamWatch

    heard = []
    StreamWatch(lambda: heard.append(1)).on_stream_event({"event": "message-start", "id": "m"})
    assert heard == [1]


class Unmarked(ScriptedModel):
    """Says that it is OpenAI, whose streams end with a finish reason."""

    def _get_ls_params(self, stop=None, **kwargs):
        return {"ls_provider": "openai", "ls_model_name": "m"}


async def test_a_stream_without_its_end_mark_is_cut(waits):
    with pytest.raises(ModelStreamCutError):
        await streamed(agent(Unmarked([say("half")]), waits, max_retries=0))


async def test_a_server_that_never_marks_the_end_can_be_allowed(waits):
    assert await streamed(agent(Unmarked([say("whole")]), waits, require_end=False))


async def test_a_stream_with_its_end_mark_is_whole(waits):
    answer = AIMessage("whole", response_metadata={"finish_reason": "stop"})
    assert await streamed(agent(Unmarked([answer]), waits))


NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (HTTPError(429, body={"error": {"code": "insufficient_quota"}}), "no credit"),
        (HTTPError(200, body={"error": {"type": "overloaded_error"}}), "overloaded"),
        (HTTPError(401), "key refused"),
        (ConnectionResetError(), "unreachable"),
        (TimeoutError(), "timeout"),
        (type("ReadTimeout", (type("TimeoutException", (Exception,), {}),), {})(), "timeout"),
        (RemoteProtocolError(), "cut"),
    ],
)
def test_a_fault_is_told_by_what_it_carries(error, kind):
    fault = fault_of(error, now=NOW)
    assert fault is not None
    assert fault.kind == kind


@pytest.mark.parametrize("error", [ValueError("x"), HTTPError(400), HTTPError(422), asyncio.CancelledError(), KeyError("k")])
def test_what_is_not_the_models_fault_is_none(error):
    assert fault_of(error, now=NOW) is None


def test_retry_after_may_be_a_date():
    fault = fault_of(HTTPError(503, {"retry-after": "Thu, 01 Jan 2026 00:00:30 GMT"}), now=NOW)
    assert fault is not None
    assert fault.retry_after_s == 30


@pytest.mark.parametrize("options", [{"total_s": 0}, {"idle_s": -1}, {"max_retries": -1}])
def test_limits_that_make_no_sense_are_refused(options):
    with pytest.raises(ConfigurationError):
        RobustCallsMiddleware(**options)
