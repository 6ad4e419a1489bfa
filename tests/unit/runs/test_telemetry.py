"""Traces of a run: which spans there are, what stands in them, and what never does (mission R15)."""

from __future__ import annotations

import asyncio
import contextlib
import re
import subprocess
import sys
from datetime import UTC, datetime

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from stepwell import create_deep_agent
from stepwell.database.types import Run, RunOutcome, RunRequest
from stepwell.errors import ConfigurationError
from stepwell.runs.telemetry import NoTelemetry, open_telemetry
from stepwell.runs.telemetry.otel import OtelTelemetry, parse_headers, traces_address
from stepwell.settings import Secret, Settings, TelemetrySettings
from stepwell.testing import ScriptedModel, call, fail, say

NOW = datetime(2026, 1, 1, tzinfo=UTC)
RUN = Run("r1", "t1", "me", RunRequest(assistant_id="a1", graph_id="clerk"), "running", NOW, NOW, attempt=1)
SUCCESS = RunOutcome(status="success", thread_status="idle")
SECRET = "sk-do-not-show"
USER = {"messages": [("user", f"my key is {SECRET}")]}


async def traced(agent, *, content=False, outcome=SUCCESS, given=USER, config=None):
    """The spans of one run of the agent, by name."""
    exporter = InMemorySpanExporter()
    telemetry = OtelTelemetry(exporter, content=content)
    handlers = telemetry.began(RUN)
    with contextlib.suppress(ConnectionError):
        await agent.ainvoke(given, {**(config or {}), "callbacks": list(handlers)})
    telemetry.ended(RUN, outcome)
    await telemetry.close()
    return exporter.get_finished_spans()


def by_name(spans, name):
    return next(span for span in spans if span.name == name)


def look(key: str) -> str:
    """Look."""
    return f"found {key}"


def agent_that_looks():
    return create_deep_agent(ScriptedModel([call("look", key=SECRET), say(f"it is {SECRET}")], usage=(10, 5)), [look])


async def test_a_run_is_one_trace_of_nodes_model_calls_and_tools():
    spans = await traced(agent_that_looks())
    assert sorted(span.name for span in spans) == [
        "chat scriptedmodel",
        "chat scriptedmodel",
        "execute_tool look",
        "invoke_agent clerk",
        "node model",
        "node model",
        "node tools",
    ]
    root = by_name(spans, "invoke_agent clerk")
    assert root.parent is None
    assert {span.context.trace_id for span in spans} == {root.context.trace_id}
    assert by_name(spans, "node tools").parent.span_id == root.context.span_id
    assert by_name(spans, "execute_tool look").parent.span_id == by_name(spans, "node tools").context.span_id
    assert all(span.attributes["stepwell.run_id"] == "r1" and span.attributes["stepwell.thread_id"] == "t1" for span in spans)


async def test_spans_carry_the_conventional_attributes():
    spans = await traced(agent_that_looks())
    root, chat, tool = (by_name(spans, name) for name in ("invoke_agent clerk", "chat scriptedmodel", "execute_tool look"))
    assert root.attributes["gen_ai.conversation.id"] == "t1"
    assert root.attributes["stepwell.assistant_id"] == "a1"
    assert root.attributes["stepwell.status"] == "success"
    assert chat.attributes["gen_ai.usage.input_tokens"] == 10
    assert chat.attributes["gen_ai.usage.output_tokens"] == 5
    assert chat.attributes["gen_ai.provider.name"] == "scriptedmodel"
    assert tool.attributes["gen_ai.tool.name"] == "look"
    assert by_name(spans, "node model").attributes["stepwell.node"] == "model"


async def test_no_content_leaves_unless_it_is_asked_for():
    assert SECRET not in "".join(span.to_json() for span in await traced(agent_that_looks()))
    told = await traced(agent_that_looks(), content=True)
    assert SECRET in by_name(told, "chat scriptedmodel").attributes["gen_ai.input.messages"]
    assert SECRET in by_name(told, "execute_tool look").attributes["gen_ai.tool.call.arguments"]
    assert "found" in by_name(told, "execute_tool look").attributes["gen_ai.tool.call.result"]


async def test_a_failure_marks_its_spans_without_its_text():
    outcome = RunOutcome(status="error", thread_status="error", error={"error": "ConnectionError", "message": SECRET})
    spans = await traced(create_deep_agent(ScriptedModel([fail(ConnectionError(SECRET))])), outcome=outcome)
    for name in ("chat scriptedmodel", "node model", "invoke_agent clerk"):
        span = by_name(spans, name)
        assert span.status.status_code is StatusCode.ERROR
        assert span.attributes["error.type"] == "ConnectionError"
    assert SECRET not in "".join(span.to_json() for span in spans)


async def test_content_leaves_without_keys():
    error = ConnectionError("401: wrong key sk-proj-abcdefghijklmnopqrstuvwx")
    spans = await traced(create_deep_agent(ScriptedModel([fail(error)])), content=True)
    assert by_name(spans, "chat scriptedmodel").status.description == "401: wrong key sk-proj-[hidden]"


async def test_a_pause_is_no_error():
    def ask() -> str:
        """Ask."""
        return interrupt("well?")

    agent = create_deep_agent(ScriptedModel([call("ask"), say("ok")]), [ask], checkpointer=InMemorySaver())
    spans = await traced(agent, config={"configurable": {"thread_id": "t1"}})
    assert by_name(spans, "execute_tool ask").attributes["stepwell.paused"] is True
    assert all(span.status.status_code is not StatusCode.ERROR for span in spans)


async def test_subagents_stand_within_the_tool_that_called_them():
    worker = ScriptedModel([say("done")])
    main = ScriptedModel([call("task", description="x", subagent_type="worker"), say("end")])
    sub = {"name": "worker", "description": "works", "system_prompt": "Work.", "model": worker}
    spans = await traced(create_deep_agent(main, subagents=[sub]))
    task = by_name(spans, "execute_tool task")
    assert [span.name for span in spans if span.parent and span.parent.span_id == task.context.span_id] == ["node model"]


async def test_a_cancelled_attempt_leaves_no_span_open():
    inside = asyncio.Event()

    async def wait() -> str:
        """Wait."""
        inside.set()
        await asyncio.Event().wait()
        return ""

    exporter = InMemorySpanExporter()
    telemetry = OtelTelemetry(exporter)
    agent = create_deep_agent(ScriptedModel([call("wait")]), [wait])
    drive = asyncio.create_task(agent.ainvoke(USER, {"callbacks": list(telemetry.began(RUN))}))
    await inside.wait()
    drive.cancel()
    with pytest.raises(asyncio.CancelledError):
        await drive
    telemetry.ended(RUN, None)
    await telemetry.close()
    spans = exporter.get_finished_spans()
    assert {span.name for span in spans} >= {"execute_tool wait", "node tools", "invoke_agent clerk"}
    assert by_name(spans, "invoke_agent clerk").attributes["stepwell.status"] == "given_up"
    assert all(span.status.status_code is not StatusCode.ERROR for span in spans)


async def test_off_hears_nothing():
    telemetry = open_telemetry(Settings.load({}).telemetry)
    assert isinstance(telemetry, NoTelemetry)
    assert telemetry.began(RUN) == ()
    telemetry.ended(RUN, SUCCESS)
    await telemetry.close()


def test_off_imports_nothing():
    code = "import sys, stepwell.runs.telemetry as t; t.open_telemetry(None); print('opentelemetry.sdk' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "False"


@pytest.mark.parametrize(
    ("given", "full"),
    [
        ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
        ("https://c.example/otlp/", "https://c.example/otlp/v1/traces"),
        ("http://127.0.0.1:4318/v1/traces", "http://127.0.0.1:4318/v1/traces"),
    ],
)
def test_the_address_may_be_the_collector_s_or_that_of_its_traces(given, full):
    assert traces_address(given) == full


def test_a_wrong_address_or_header_is_refused_without_showing_it():
    for wrong in (lambda: traces_address(SECRET), lambda: parse_headers(SECRET)):
        with pytest.raises(ConfigurationError) as refused:
            wrong()
        assert SECRET not in str(refused.value)
    assert parse_headers("Authorization=Bearer%20x, b = c") == {"authorization": "Bearer x", "b": "c"}


def test_settings_read_our_variables_and_opentelemetry_s():
    settings = Settings.load({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a", "OTEL_EXPORTER_OTLP_HEADERS": f"k={SECRET}"})
    assert settings.telemetry == TelemetrySettings("http://a", Secret(f"k={SECRET}"), content=False)
    assert SECRET not in repr(settings)
    own = Settings.load(
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a", "STEPWELL_OTEL_ENDPOINT": "http://b", "STEPWELL_OTEL_CONTENT": "1"}
    )
    assert own.telemetry == TelemetrySettings("http://b", None, content=True)


def test_headers_do_not_go_to_an_address_from_a_file_below_them(tmp_path):
    path = tmp_path / ".env"
    path.write_text("STEPWELL_OTEL_ENDPOINT=http://evil.example\n", encoding="utf-8")
    assert Settings.load({"OTEL_EXPORTER_OTLP_HEADERS": f"k={SECRET}"}, dotenv=path).telemetry is None
    assert Settings.load({}, dotenv=path).telemetry == TelemetrySettings("http://evil.example")


@pytest.mark.parametrize(
    ("variables", "address", "headers"),
    [
        (
            {"STEPWELL_TRACES": "langfuse", "LANGFUSE_PUBLIC_KEY": "pk", "LANGFUSE_SECRET_KEY": "sk"},
            "https://cloud.langfuse.com/api/public/otel/v1/traces",
            {"authorization": "Basic cGs6c2s=", "x-langfuse-ingestion-version": "4"},
        ),
        (
            {
                "STEPWELL_TRACES": "langfuse",
                "LANGFUSE_PUBLIC_KEY": "pk",
                "LANGFUSE_SECRET_KEY": "sk",
                "LANGFUSE_HOST": "http://127.0.0.1:3000/",
            },
            "http://127.0.0.1:3000/api/public/otel/v1/traces",
            {"authorization": "Basic cGs6c2s=", "x-langfuse-ingestion-version": "4"},
        ),
        (
            {"STEPWELL_TRACES": "LangSmith", "LANGSMITH_API_KEY": "k=,%", "LANGSMITH_PROJECT": "my project"},
            "https://api.smith.langchain.com/otel/v1/traces",
            {"x-api-key": "k=,%", "langsmith-project": "my project"},
        ),
        (
            {
                "STEPWELL_TRACES": "langsmith",
                "LANGSMITH_API_KEY": "k",
                "LANGSMITH_ENDPOINT": "https://eu.api.smith.langchain.com/otel",
            },
            "https://eu.api.smith.langchain.com/otel/v1/traces",
            {"x-api-key": "k"},
        ),
        ({"STEPWELL_TRACES": "phoenix"}, "http://127.0.0.1:6006/v1/traces", {}),
        (
            {"STEPWELL_TRACES": "phoenix", "PHOENIX_COLLECTOR_ENDPOINT": "https://p.example/s/me", "PHOENIX_API_KEY": "k"},
            "https://p.example/s/me/v1/traces",
            {"authorization": "Bearer k"},
        ),
    ],
)
def test_a_product_is_named_and_its_own_variables_do_the_rest(variables, address, headers):
    telemetry = Settings.load(variables).telemetry
    assert telemetry is not None
    assert telemetry.fault is None
    assert traces_address(telemetry.endpoint) == address
    assert (parse_headers(telemetry.headers.reveal()) if telemetry.headers else {}) == headers


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        (
            {"STEPWELL_TRACES": "grafana"},
            "STEPWELL_TRACES names no place for traces that we know. Use langfuse, langsmith or phoenix.",
        ),
        (
            {"STEPWELL_TRACES": "langfuse", "LANGFUSE_PUBLIC_KEY": "pk"},
            "STEPWELL_TRACES=langfuse needs LANGFUSE_SECRET_KEY. Set what is missing.",
        ),
        (
            {"STEPWELL_TRACES": "phoenix", "OTEL_EXPORTER_OTLP_HEADERS": f"k={SECRET}"},
            "STEPWELL_TRACES=phoenix and OTEL_EXPORTER_OTLP_HEADERS both say where traces go. Remove one of them.",
        ),
    ],
)
def test_a_product_that_cannot_be_reached_is_told_at_the_start_and_only_there(variables, sentence):
    settings = Settings.load(variables)
    with pytest.raises(ConfigurationError, match=re.escape(sentence)):
        open_telemetry(settings.telemetry)


def test_a_products_key_does_not_go_to_an_address_from_a_file_below_it(tmp_path):
    path = tmp_path / ".env"
    path.write_text("STEPWELL_TRACES=langsmith\nLANGSMITH_ENDPOINT=http://evil.example\n", encoding="utf-8")
    telemetry = Settings.load({"LANGSMITH_API_KEY": SECRET}, dotenv=path).telemetry
    assert telemetry is not None
    assert "evil" not in telemetry.endpoint
    assert SECRET not in repr(telemetry)
