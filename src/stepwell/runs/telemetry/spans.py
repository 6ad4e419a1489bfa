"""One attempt at a run as a trace: a span for the run, and within it one for each node, model call and tool.

```
invoke_agent <graph>
├── node model
│   └── chat <model>
└── node tools
    └── execute_tool <tool>
        └── node ...             a subagent's
```
Names and attributes follow OpenTelemetry's conventions for generative AI (`gen_ai.*`); our own are `stepwell.*`. Messages, arguments,
results and the texts of errors are content. Since spans leave the machine, content is left out unless the operator asks for it. In that
case it is cut to a size that collectors accept, and keys and tokens of a known form are removed. A pause or a cancel is not an error.

LangChain catches and logs what a handler raises, so nothing here can fail a run.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langgraph.errors import GraphBubbleUp
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer, set_span_in_context

from stepwell.database.types import Run, RunOutcome
from stepwell.models.usage import reported_tokens
from stepwell.secrets.text import hide_secrets

_NODE_TAG = "graph:step:"
"""The prefix of LangGraph's tag for callbacks of a node itself; callbacks of what runs inside the node don't have it."""

Attributes = dict[str, Any]

MAX_CHARS = 16_000
"""Maximum length of an attribute's text: collectors cut or refuse longer ones."""
_ROLES = {"human": "user", "ai": "assistant"}


class RunSpans(BaseCallbackHandler):
    """Observes one attempt at a run and makes its spans. The run's own span begins here and ends with `finish`."""

    run_inline = True  # otherwise LangChain calls it in a thread, for every event
    ignore_retriever = True
    ignore_retry = True
    ignore_custom_event = True

    def __init__(self, tracer: Tracer, run: Run, *, content: bool = False) -> None:
        self._tracer = tracer
        self._content = content
        self._everywhere: Attributes = {"stepwell.run_id": run.run_id, "stepwell.thread_id": run.thread_id}
        # LangChain's run id -> the span of that run, or its parent's span if it has none of its own.
        self._spans: dict[UUID, Span] = {}
        self._owners: set[UUID] = set()
        # An empty context, not the current one: each run is a separate trace, whatever code drives it.
        self._run_span = tracer.start_span(
            f"invoke_agent {run.request.graph_id}", Context(), attributes={**self._everywhere, **_of_run(run)}
        )

    def finish(self, outcome: RunOutcome | None) -> None:
        """End the run's span, and any spans still open, which belong to calls in threads that nobody waits for any more."""
        for left in list(self._owners):
            self._end(left)
        self._spans.clear()
        self._run_span.set_attribute("stepwell.status", outcome.status if outcome else "given_up")
        if outcome and outcome.error:
            self._run_span.set_attribute("error.type", str(outcome.error.get("error", "error")))
            self._run_span.set_status(StatusCode.ERROR)
        self._run_span.end()

    def on_chain_start(
        self,
        serialized: dict[str, Any],
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        if any(tag.startswith(_NODE_TAG) for tag in tags or ()):
            node = str((metadata or {}).get("langgraph_node", ""))
            self._start(run_id, parent_run_id, f"node {node}", {"stepwell.node": node})
        else:
            self._spans[run_id] = self._parent(parent_run_id)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self._end(run_id)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self._fail(run_id, error)

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        span = self._start_model(run_id, parent_run_id, metadata)
        if self._content:
            span.set_attribute("gen_ai.input.messages", messages_text(messages[0] if messages else ()))

    def on_llm_start(
        self,
        serialized: dict[str, Any],
        prompts: list[str],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        self._start_model(run_id, parent_run_id, metadata)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        span = self._spans.get(run_id)
        generation = response.generations[0][0] if response.generations and response.generations[0] else None
        if span is not None and isinstance(generation, ChatGeneration):
            span.set_attributes(_of_answer(generation.message))
            if self._content:
                span.set_attribute("gen_ai.output.messages", messages_text([generation.message]))
        self._end(run_id)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self._fail(run_id, error)

    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        inputs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        name = str((serialized or {}).get("name") or kwargs.get("name") or "tool")
        attributes: Attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
        if call_id := kwargs.get("tool_call_id"):
            attributes["gen_ai.tool.call.id"] = str(call_id)
        if self._content:
            attributes["gen_ai.tool.call.arguments"] = text_of(inputs if inputs is not None else input_str)
        self._start(run_id, parent_run_id, f"execute_tool {name}", attributes)

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        span = self._spans.get(run_id)
        if span is not None and isinstance(output, ToolMessage):
            if output.status == "error":
                span.set_status(StatusCode.ERROR)
                span.set_attribute("error.type", "tool_error")
            if self._content:
                span.set_attribute("gen_ai.tool.call.result", text_of(output.content))
        self._end(run_id)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self._fail(run_id, error)

    def _start_model(self, run_id: UUID, parent_run_id: UUID | None, metadata: Mapping[str, Any] | None) -> Span:
        facts = metadata or {}
        model = str(facts.get("ls_model_name") or facts.get("ls_provider") or "model")
        attributes: Attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": model}
        if provider := facts.get("ls_provider"):
            attributes["gen_ai.provider.name"] = str(provider)
        return self._start(run_id, parent_run_id, f"chat {model}", attributes, SpanKind.CLIENT)

    def _parent(self, parent_run_id: UUID | None) -> Span:
        return self._spans.get(parent_run_id, self._run_span) if parent_run_id else self._run_span

    def _start(
        self, run_id: UUID, parent: UUID | None, name: str, attributes: Attributes, kind: SpanKind = SpanKind.INTERNAL
    ) -> Span:
        context = set_span_in_context(self._parent(parent), Context())
        span = self._tracer.start_span(name, context, kind, attributes={**self._everywhere, **attributes})
        self._spans[run_id] = span
        self._owners.add(run_id)
        return span

    def _end(self, run_id: UUID) -> None:
        span = self._spans.pop(run_id, None)
        if span is not None and run_id in self._owners:
            self._owners.discard(run_id)
            span.end()

    def _fail(self, run_id: UUID, error: BaseException) -> None:
        span = self._spans.get(run_id)
        if span is not None and run_id in self._owners:
            if isinstance(error, GraphBubbleUp):
                span.set_attribute("stepwell.paused", True)
            elif isinstance(error, asyncio.CancelledError | GeneratorExit):
                span.set_attribute("stepwell.cancelled", True)
            else:
                span.set_attribute("error.type", type(error).__name__)
                span.set_status(StatusCode.ERROR, text_of(str(error)) if self._content else None)
        self._end(run_id)


def _of_run(run: Run) -> Attributes:
    return {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": run.request.graph_id,
        "gen_ai.agent.id": run.request.assistant_id,
        "gen_ai.conversation.id": run.thread_id,
        "stepwell.graph_id": run.request.graph_id,
        "stepwell.assistant_id": run.request.assistant_id,
        "stepwell.attempt": run.attempt,
    }


def _of_answer(message: BaseMessage) -> Attributes:
    attributes: Attributes = {}
    if tokens := reported_tokens(message):  # no estimates in spans
        attributes["gen_ai.usage.input_tokens"] = tokens.input
        attributes["gen_ai.usage.output_tokens"] = tokens.output
    facts = message.response_metadata
    if isinstance(model := facts.get("model_name"), str):
        attributes["gen_ai.response.model"] = model
    if isinstance(reason := facts.get("finish_reason") or facts.get("stop_reason"), str):
        attributes["gen_ai.response.finish_reasons"] = [reason]
    return attributes


def messages_text(messages: Sequence[BaseMessage]) -> str:
    """The newest messages that fit, as JSON: a list of role and text."""
    kept: list[dict[str, str]] = []
    room = MAX_CHARS
    for message in reversed(messages):
        text = hide_secrets(message.text[:room])
        kept.append({"role": _ROLES.get(message.type, message.type), "content": text})
        room -= len(text)
        if room <= 0:
            break
    return json.dumps(kept[::-1], ensure_ascii=False)


def text_of(value: Any) -> str:
    """A value as the text of an attribute."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=_name_of)
    return hide_secrets(text[:MAX_CHARS])


def _name_of(value: Any) -> str:
    # If a runtime or a store is among a tool's inputs, show its type, not its contents.
    return f"<{type(value).__name__}>"
