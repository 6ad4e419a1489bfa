"""The tutor: a Socratic dialogue about one argument, on files that stay on the user's device.

```
payment, if configured ─ todos ─ clarification ─ own files (/scratch/ /summaries/ /analysis/) ─ the user's files (/project/)
   ─ subagents ─ the seminar: its files, its rules ─ summaries, caching, patching, robust calls ─ approvals
```
The method is code (`argument/`), not only a prompt: phases with exit tests, moves that are refused with a reason, rules on who may choose
the words of a clause (`tools`, `rules`). If a model gets nowhere, the method takes over (`standing_in`). Without a model that can use
tools, `unaided` asks questions from the method alone, and says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from langchain_core.language_models import BaseChatModel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph

from stepwell.agent import compile_agent
from stepwell.agent.compile import Middleware
from stepwell.backends.state import StateBackend
from stepwell.middleware.approvals import ApprovalMiddleware
from stepwell.middleware.clarify import ClarifyWithHumanMiddleware
from stepwell.middleware.client_tools import ClientToolsMiddleware
from stepwell.middleware.filesystem import FilesystemMiddleware
from stepwell.middleware.large_results import LARGE_RESULTS
from stepwell.middleware.patch_tool_calls import PatchToolCallsMiddleware
from stepwell.middleware.prompt_caching import prompt_caching
from stepwell.middleware.robust_calls import RobustCallsMiddleware
from stepwell.middleware.stubborn import StubbornModelMiddleware
from stepwell.middleware.subagents.specs import SubAgent
from stepwell.middleware.subagents.task import SubAgentMiddleware
from stepwell.middleware.summarization import SummarizationMiddleware
from stepwell.middleware.todos import PlanningMiddleware
from stepwell.models import capabilities_of, resolve_model
from stepwell.models.choice import find_model as find_choice
from stepwell.payments.paid_graphs import charge_for
from stepwell.settings import Settings
from stepwell.tutor.keeping import SeminarCommands, SeminarLoading, SeminarRereading, SeminarSaving
from stepwell.tutor.leading import LeadingMiddleware
from stepwell.tutor.rules import PROJECT_MOUNT, ProjectIsRead, SeminarRules
from stepwell.tutor.standing_in import ask_from_method
from stepwell.tutor.state import DeeptutorState
from stepwell.tutor.unaided import build_unaided

Graph = CompiledStateGraph[Any, Any, Any, Any]

NAME = "deeptutor"
SEMINAR = "seminar_agent"
"""The tutor's older name, for clients that still use it. It is the same graph."""
SCRATCH = ("/scratch/", "/summaries/", "/analysis/")
READER_TIMEOUT_S = 600.0


def make_graph() -> Graph:
    """The tutor on the configured model, with charges if the operator has set a price. Without a model that can use tools it runs on the
    method alone, which costs nothing."""
    return _make(NAME)


def make_seminar() -> Graph:
    """The tutor under its older name, which operators can price separately (`STEPWELL_PAID_GRAPHS`)."""
    return _make(SEMINAR)


def _make(graph_id: str) -> Graph:
    model = find_model()
    payment = next(iter(charge_for(graph_id)), None) if model else None
    return build(model, payment=payment)


def find_model() -> BaseChatModel | None:
    """The configured model if it can use tools. A wrong configuration raises an error instead of falling back to none."""
    settings = Settings.load()
    if find_choice(settings) is None:
        return None
    model = resolve_model(None, settings=settings, own_retries=False)
    return model if capabilities_of(model).tools else None


def build(
    model: BaseChatModel | None,
    *,
    payment: Middleware | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    interrupt_on: Mapping[str, Any] | None = None,
) -> Graph:
    """The tutor on the caller's model. `payment` charges for every model call; a seminar without a model costs nothing."""
    if model is None or not capabilities_of(model).tools:
        return build_unaided(checkpointer)
    return compile_agent(
        tutor_stack(model, payment=payment, interrupt_on=interrupt_on),
        model=model,
        system_prompt=_prompt("tutor"),
        state_schema=DeeptutorState,
        checkpointer=checkpointer,
        name=NAME,
    )


def tutor_stack(
    model: BaseChatModel, *, payment: Middleware | None = None, interrupt_on: Mapping[str, Any] | None = None
) -> list[Middleware]:
    """The middleware around the model, outermost first."""
    stack: list[Middleware | None] = [
        payment,  # first: calls that are retried further in are charged once
        PlanningMiddleware(),
        ClarifyWithHumanMiddleware(system_prompt=_prompt("clarify")),
        FilesystemMiddleware(backend=_scratch()),
        ClientToolsMiddleware(mount=PROJECT_MOUNT),
        SubAgentMiddleware(subagents=[_reader()], build=lambda spec: _build_reader(model, spec, payment)),
        SeminarLoading(),
        SeminarCommands(),
        SeminarRules(),  # inside clarification and files: it decides whether their tools may run
        LeadingMiddleware(fallback=ask_from_method),  # inside the rules, which check what is said in the model's place
        SeminarRereading(),
        SeminarSaving(),  # after-model hooks run last to first: this saves, then the one above rereads if that failed
        SummarizationMiddleware(model),
        prompt_caching(model),
        PatchToolCallsMiddleware(),
        RobustCallsMiddleware(),
        ApprovalMiddleware(interrupt_on=dict(interrupt_on)) if interrupt_on else None,  # last: a user sees exactly what runs
    ]
    return [entry for entry in stack if entry is not None]


def _scratch() -> StateBackend:
    return StateBackend(allowed_prefixes=(*SCRATCH, LARGE_RESULTS))


def _reader() -> SubAgent:
    return {
        "name": "reader",
        "description": "finds out what the user's files say about something, and answers with quotes",
        "system_prompt": _prompt("reader"),
        "timeout_s": READER_TIMEOUT_S,
    }


def _build_reader(model: BaseChatModel, spec: SubAgent, payment: Middleware | None) -> Graph:
    """A subagent that reads and takes notes. Only the tutor asks the user questions and works on the argument."""
    stack: Sequence[Middleware | None] = (
        payment,
        FilesystemMiddleware(backend=_scratch()),
        ClientToolsMiddleware(mount=PROJECT_MOUNT),
        ProjectIsRead(),
        StubbornModelMiddleware(),
        SummarizationMiddleware(model),
        prompt_caching(model),
        PatchToolCallsMiddleware(),
        RobustCallsMiddleware(),
    )
    kept = [entry for entry in stack if entry is not None]
    return compile_agent(kept, model=model, system_prompt=spec["system_prompt"], state_schema=DeeptutorState, name=spec["name"])


def _prompt(name: str) -> str:
    return (resources.files("stepwell.tutor") / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()
