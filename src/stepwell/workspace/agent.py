"""The workspace agent talks to a user about a tenant's files, and delegates all work to subagents.

```
request {messages, config.configurable.gcs_root_path}
   └─ workspace (Sonnet): plans, delegates; its only tools are `task` and `write_todos`
        └─ gcs-filesystem (Haiku): ls, read_file, write_file, edit_file, delete, move below the root
             └─ a user approves each write: what would change, on which version
```

To add a subagent, add a folder in `subagents/` and a line in its registry. Only this module knows the order of both stacks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any, NamedTuple, cast

from langchain_core.language_models import BaseChatModel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt.tool_node import ToolCallRequest

from stepwell.agent import compile_agent
from stepwell.agent.compile import Middleware
from stepwell.backends.protocol import BackendProtocol
from stepwell.middleware.approvals import ApprovalMiddleware
from stepwell.middleware.change_previews import ChangePreviewMiddleware, PreviewedApprovals
from stepwell.middleware.patch_tool_calls import PatchToolCallsMiddleware
from stepwell.middleware.prompt_caching import prompt_caching
from stepwell.middleware.robust_calls import RobustCallsMiddleware
from stepwell.middleware.stubborn import StubbornModelMiddleware
from stepwell.middleware.subagents.specs import SubAgent, prompt_of
from stepwell.middleware.subagents.task import SubAgentMiddleware
from stepwell.middleware.summarization import SummarizationMiddleware
from stepwell.middleware.todos import PlanningMiddleware
from stepwell.models import resolve_model
from stepwell.settings import Settings
from stepwell.workspace.grants import GrantTable
from stepwell.workspace.mentions import MentionsMiddleware
from stepwell.workspace.middleware import (
    WRITE_TOOLS,
    ConfigToStateMiddleware,
    GCSRuntimeMiddleware,
    open_for_call,
    open_for_run,
)
from stepwell.workspace.models import main_model, subagent_model
from stepwell.workspace.places import Place, open_place
from stepwell.workspace.subagents import SUBAGENTS, Workspace, load_subagents

Graph = CompiledStateGraph[Any, Any, Any, Any]

WRITE_OPERATIONS_APPROVAL: Mapping[str, Any] = {"write_file": True, "edit_file": True, "delete": True, "move": True}
"""Tools that need approval, in every subagent that has them."""


def make_graph() -> Graph:
    """The agent on the configured models, with files in the configured bucket or in a folder of this machine."""
    settings = Settings.load()
    model = main_model(settings)
    return build_agent(model, open_place(settings), settings=settings, grants=GrantTable.load(settings.workspace_grants))


def build_agent(
    model: BaseChatModel,
    place: Place,
    *,
    settings: Settings | None = None,
    subagents: Sequence[str] = SUBAGENTS,
    approvals: Mapping[str, Any] = WRITE_OPERATIONS_APPROVAL,
    grants: GrantTable | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
) -> Graph:
    """The agent on the caller's model and place.

    `subagents` are entries of the registry; `approvals` say which tools need approval; `grants` who may use which roots.
    """
    recipe = Recipe(model, settings or Settings.load({}), place, approvals, grants or GrantTable())
    delegation = SubAgentMiddleware(subagents=load_subagents(subagents, Workspace(place)), build=recipe.build_subagent)
    return compile_agent(
        recipe.main_stack(delegation),
        model=model,
        system_prompt=_prompt("main"),
        checkpointer=checkpointer,
        name="workspace",
    )


class Recipe(NamedTuple):
    """What the agents are built from. Subagents are built when `task` first calls them.

    Not a dataclass: graph servers load this file by path, and a dataclass needs its module in `sys.modules`.
    """

    model: BaseChatModel
    settings: Settings
    place: Place
    approvals: Mapping[str, Any]
    grants: GrantTable

    def main_stack(self, delegation: SubAgentMiddleware) -> list[Middleware]:
        """The middleware around the main agent's model, outermost first."""
        stack = [
            ConfigToStateMiddleware(default=self.place.default_root, allowed=self.grants.of),  # first: no root, no work
            MentionsMiddleware(self._files_of),  # `@file` in a message; reads files, so it needs the root
            PlanningMiddleware(),  # the plan that the user sees
            delegation,  # `task`, the only way to act; there is no general-purpose subagent
            StubbornModelMiddleware(),  # stops a model that gets nowhere, with a message
            SummarizationMiddleware(self.model),
            prompt_caching(self.model),
            RobustCallsMiddleware(),
            PatchToolCallsMiddleware(),
            ApprovalMiddleware(interrupt_on=dict(self.approvals)) if self.approvals else None,  # last: a user sees what runs
        ]
        return [entry for entry in stack if entry]

    def subagent_stack(self, spec: SubAgent, model: BaseChatModel) -> list[Middleware]:
        """The middleware around a subagent's model, outermost first."""
        approvals = cast("Mapping[str, Any]", spec.get("interrupt_on", self.approvals))
        stack = [
            GCSRuntimeMiddleware(allowed=self.grants.of),  # first: tells the tools their root
            PlanningMiddleware(),
            StubbornModelMiddleware(),
            SummarizationMiddleware(model),
            prompt_caching(model),
            RobustCallsMiddleware(),
            PatchToolCallsMiddleware(),
            *spec.get("middleware", ()),
            self._approvals_of(approvals) if approvals else None,
            ChangePreviewMiddleware(self._files_of) if approvals else None,  # after the approvals, so it runs before them
        ]
        return [entry for entry in stack if entry]

    def build_subagent(self, spec: SubAgent) -> Graph:
        model = self._model_of(spec)
        return compile_agent(
            self.subagent_stack(spec, model),
            model=model,
            tools=spec.get("tools", ()),
            system_prompt=prompt_of(spec),
            response_format=spec.get("response_format"),
            name=spec["name"],
        )

    def _model_of(self, spec: SubAgent) -> BaseChatModel:
        if "model" in spec:
            wanted = spec.get("model_settings")
            return resolve_model(spec["model"], settings=self.settings, model_settings=wanted, own_retries=False)
        return subagent_model(spec["name"], self.model, self.settings)

    def _files_of(self, runtime: Any) -> BackendProtocol:
        """The files of a run, for mentions and previews: they read files outside a tool call."""
        return self.place.at(open_for_run(runtime.state, runtime.config, self.grants.of))

    def _approvals_of(self, wanted: Mapping[str, Any]) -> PreviewedApprovals:
        """Approvals that skip changes which `GCSRuntimeMiddleware` refuses anyway, because the caller may only read."""
        made = PreviewedApprovals(interrupt_on=dict(wanted))
        made.interrupt_on = {
            name: {**config, "when": self._may_write} if name in WRITE_TOOLS and "when" not in config else config
            for name, config in made.interrupt_on.items()
        }
        return made

    def _may_write(self, request: ToolCallRequest) -> bool:
        return not open_for_call(request, self.grants.of).read_only


def _prompt(name: str) -> str:
    return (resources.files("stepwell.workspace") / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()
