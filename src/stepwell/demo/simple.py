"""A deep agent with little added: plan, files in the thread, subagents, robust model calls, turns that can be taken back.

A model that cannot use tools (the small embedded one) gets a plain conversation instead; with tools it would only produce nonsense.
The same recipe serves `stepwell chat`, the server and `langgraph dev`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import Any

from langchain_core.language_models import BaseChatModel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph

from stepwell.agent import compile_agent, create_deep_agent
from stepwell.middleware import SummarizationMiddleware
from stepwell.middleware.rewind import RewindMiddleware
from stepwell.middleware.robust_calls import RobustCallsMiddleware
from stepwell.middleware.stubborn import StubbornModelMiddleware
from stepwell.models import capabilities_of, resolve_model
from stepwell.payments.paid_graphs import charge_for

Graph = CompiledStateGraph[Any, Any, Any, Any]


def make_graph() -> Graph:
    """The agent on the configured model, or on the embedded one if none is configured."""
    return build(resolve_model(None, embedded_fallback=True, own_retries=False))


def build(
    model: BaseChatModel,
    *,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    interrupt_on: Mapping[str, Any] | None = None,
) -> Graph:
    """The agent on the caller's model."""
    if capabilities_of(model).tools:
        return create_deep_agent(
            model,
            middleware=[*charge_for("simple_agent"), RewindMiddleware(), RobustCallsMiddleware()],
            checkpointer=checkpointer,
            interrupt_on=dict(interrupt_on) if interrupt_on else None,
            name="simple_agent",
        )
    prompt = (resources.files("stepwell.demo") / "prompts" / "plain.md").read_text(encoding="utf-8")
    return compile_agent(
        [*charge_for("simple_agent"), StubbornModelMiddleware(), SummarizationMiddleware(model)],
        model=model,
        system_prompt=prompt,
        checkpointer=checkpointer,
    )
