"""Stepwell: agents that do long, real work and can be trusted with it.

Everything public is listed in `__all__` and imported on first use, so importing the package reads no environment, opens nothing and
imports no model SDK.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stepwell.agent import compile_agent, create_deep_agent, default_stack
    from stepwell.agent.rewind import arewind, rewind
    from stepwell.backends import (
        AsyncBackend,
        BackendFactory,
        BackendProtocol,
        BrowserBackend,
        CompositeBackend,
        DeleteResult,
        EditResult,
        ExecuteResponse,
        FileData,
        FileInfo,
        FilesystemBackend,
        GrepMatch,
        MoveResult,
        SandboxBackendProtocol,
        StateBackend,
        SteppedBackend,
        StoreBackend,
        SyncBackend,
        WriteResult,
    )
    from stepwell.backends.container import ContainerBackend
    from stepwell.backends.objects import ObjectBackend, get_gcs_root_path, set_gcs_root_path
    from stepwell.backends.permissions import FilesystemPermission
    from stepwell.errors import ConfigurationError, ModelCallError, StepwellError, ToolNameConflictError, ToolUseError
    from stepwell.middleware import (
        CompiledSubAgent,
        FilesystemMiddleware,
        PatchToolCallsMiddleware,
        PlanningMiddleware,
        SubAgent,
        SubAgentMiddleware,
        SummarizationMiddleware,
    )
    from stepwell.middleware.background import AsyncSubAgent, AsyncSubAgentMiddleware, AsyncTask
    from stepwell.middleware.budget import BudgetMiddleware
    from stepwell.middleware.clarify import ClarifyWithHumanMiddleware
    from stepwell.middleware.client_tools import ClientToolsMiddleware
    from stepwell.middleware.hooks import HooksMiddleware, Refusal, SendBack
    from stepwell.middleware.memory import MemoryMiddleware
    from stepwell.middleware.rewind import RewindMiddleware, RewindReport
    from stepwell.middleware.robust_calls import RobustCallsMiddleware
    from stepwell.middleware.rubric import GraderResponse, RubricEvaluation, RubricMiddleware, Undecided
    from stepwell.middleware.shell import ShellMiddleware
    from stepwell.middleware.skills import SkillMetadata, SkillsMiddleware
    from stepwell.middleware.steering import SteeringMiddleware
    from stepwell.middleware.tool_search import ToolSearchMiddleware
    from stepwell.models import resolve_model
    from stepwell.models.routing import ModelRoutes
    from stepwell.payments.middleware import CashuPaymentMiddleware
    from stepwell.state import DeepAgentState, compact
    from stepwell.state.steering import Steering
    from stepwell.state.transcripts import Transcript, alist_transcripts, aread_transcript, list_transcripts, read_transcript
    from stepwell.workspace.middleware import ConfigToStateMiddleware, GCSRuntimeMiddleware

__version__ = "0.1.0"

_HOMES = {
    "stepwell.agent": ("compile_agent", "create_deep_agent", "default_stack"),
    "stepwell.agent.rewind": ("arewind", "rewind"),
    "stepwell.backends": (
        "AsyncBackend",
        "BackendFactory",
        "BackendProtocol",
        "BrowserBackend",
        "CompositeBackend",
        "DeleteResult",
        "EditResult",
        "ExecuteResponse",
        "FileData",
        "FileInfo",
        "FilesystemBackend",
        "GrepMatch",
        "MoveResult",
        "SandboxBackendProtocol",
        "StateBackend",
        "SteppedBackend",
        "StoreBackend",
        "SyncBackend",
        "WriteResult",
    ),
    "stepwell.backends.container": ("ContainerBackend",),
    "stepwell.backends.permissions": ("FilesystemPermission",),
    "stepwell.backends.objects": ("ObjectBackend", "get_gcs_root_path", "set_gcs_root_path"),
    "stepwell.errors": ("ConfigurationError", "ModelCallError", "StepwellError", "ToolNameConflictError", "ToolUseError"),
    "stepwell.middleware": (
        "CompiledSubAgent",
        "FilesystemMiddleware",
        "PatchToolCallsMiddleware",
        "PlanningMiddleware",
        "SubAgent",
        "SubAgentMiddleware",
        "SummarizationMiddleware",
    ),
    "stepwell.middleware.memory": ("MemoryMiddleware",),
    "stepwell.middleware.skills": ("SkillMetadata", "SkillsMiddleware"),
    "stepwell.middleware.rewind": ("RewindMiddleware", "RewindReport"),
    "stepwell.middleware.robust_calls": ("RobustCallsMiddleware",),
    "stepwell.middleware.background": ("AsyncSubAgent", "AsyncSubAgentMiddleware", "AsyncTask"),
    "stepwell.middleware.budget": ("BudgetMiddleware",),
    "stepwell.payments.middleware": ("CashuPaymentMiddleware",),
    "stepwell.middleware.clarify": ("ClarifyWithHumanMiddleware",),
    "stepwell.middleware.client_tools": ("ClientToolsMiddleware",),
    "stepwell.middleware.hooks": ("HooksMiddleware", "Refusal", "SendBack"),
    "stepwell.models.routing": ("ModelRoutes",),
    "stepwell.middleware.rubric": ("GraderResponse", "RubricEvaluation", "RubricMiddleware", "Undecided"),
    "stepwell.middleware.shell": ("ShellMiddleware",),
    "stepwell.middleware.steering": ("SteeringMiddleware",),
    "stepwell.middleware.tool_search": ("ToolSearchMiddleware",),
    "stepwell.workspace.middleware": ("ConfigToStateMiddleware", "GCSRuntimeMiddleware"),
    "stepwell.models": ("resolve_model",),
    "stepwell.state": ("DeepAgentState", "compact"),
    "stepwell.state.steering": ("Steering",),
    "stepwell.state.transcripts": (
        "Transcript",
        "alist_transcripts",
        "aread_transcript",
        "list_transcripts",
        "read_transcript",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AsyncBackend",
    "AsyncSubAgent",
    "AsyncSubAgentMiddleware",
    "AsyncTask",
    "BackendFactory",
    "BackendProtocol",
    "BrowserBackend",
    "BudgetMiddleware",
    "CashuPaymentMiddleware",
    "ClarifyWithHumanMiddleware",
    "ClientToolsMiddleware",
    "CompiledSubAgent",
    "CompositeBackend",
    "ConfigToStateMiddleware",
    "ConfigurationError",
    "ContainerBackend",
    "DeepAgentState",
    "DeleteResult",
    "EditResult",
    "ExecuteResponse",
    "FileData",
    "FileInfo",
    "FilesystemBackend",
    "FilesystemMiddleware",
    "FilesystemPermission",
    "GCSRuntimeMiddleware",
    "GraderResponse",
    "GrepMatch",
    "HooksMiddleware",
    "MemoryMiddleware",
    "ModelCallError",
    "ModelRoutes",
    "MoveResult",
    "ObjectBackend",
    "PatchToolCallsMiddleware",
    "PlanningMiddleware",
    "Refusal",
    "RewindMiddleware",
    "RewindReport",
    "RobustCallsMiddleware",
    "RubricEvaluation",
    "RubricMiddleware",
    "SandboxBackendProtocol",
    "SendBack",
    "ShellMiddleware",
    "SkillMetadata",
    "SkillsMiddleware",
    "StateBackend",
    "Steering",
    "SteeringMiddleware",
    "SteppedBackend",
    "StepwellError",
    "StoreBackend",
    "SubAgent",
    "SubAgentMiddleware",
    "SummarizationMiddleware",
    "SyncBackend",
    "ToolNameConflictError",
    "ToolSearchMiddleware",
    "ToolUseError",
    "Transcript",
    "Undecided",
    "WriteResult",
    "__version__",
    "alist_transcripts",
    "aread_transcript",
    "arewind",
    "compact",
    "compile_agent",
    "create_deep_agent",
    "default_stack",
    "get_gcs_root_path",
    "list_transcripts",
    "read_transcript",
    "resolve_model",
    "rewind",
    "set_gcs_root_path",
]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'stepwell' has no attribute '{name}'")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
