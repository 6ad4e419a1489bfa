"""What research works with: policy, web, engines, models and vaults. Built once per graph; what belongs to one thread is found through
the run's config."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig

from stepwell.clock import Clock, SystemClock
from stepwell.errors import ConfigurationError
from stepwell.models import capabilities_of, find_model, resolve_model
from stepwell.models.embedding.embedder import Embedder, choose_embedder
from stepwell.models.routing import ModelRoutes
from stepwell.research.audit.exchanges.replay import Replay
from stepwell.research.audit.folder_vault import FolderVault
from stepwell.research.audit.vault import VAULT, EvidenceVault
from stepwell.research.evidence import own_documents
from stepwell.research.evidence.origin import Origin
from stepwell.research.evidence.policy.file import load_policy
from stepwell.research.evidence.policy.rules import ResearchPolicy
from stepwell.settings import Settings
from stepwell.tools.mcp_web import McpSource, McpWeb, read_sources
from stepwell.tools.web.fetch import Sleep, Turns
from stepwell.tools.web.search.chain import SearchChain
from stepwell.tools.web.search.choice import public_web, search_chain
from stepwell.tools.web.search.guard import EngineState
from stepwell.tools.web.transport import Web

PAGES_PER_STEP = 3
STEPS_AT_ONCE = 4
_MAX_OPEN = 256


@dataclass(frozen=True)
class Equipment:
    policy: ResearchPolicy
    web: Web
    search: Callable[[Web], SearchChain]
    """Builds the search engines over a connection. Each step has its own connection, which records."""
    embedder: Embedder
    vault_for: Callable[[RunnableConfig], EvidenceVault]
    """Where a run's thread stores its evidence."""
    mcp_sources: tuple[McpSource, ...] = ()
    """MCP servers that every search asks too. `web` reaches them."""
    models: ModelRoutes | None = None
    """`None` if no model can write; research is then extractive."""
    local: BaseChatModel | None = None
    """A model on this machine besides `models`, for a policy that allows only local models to plan."""
    clock: Clock = field(default_factory=SystemClock)
    replay: Replay | None = None
    origin: Origin | None = None
    """A bundle whose sources a new thread starts from."""
    pages_per_step: int = PAGES_PER_STEP
    has_route: Callable[[], bool] = own_documents.has_route
    """Whether the web can be reached at all. If it cannot, a question that came with documents is answered from these alone."""
    unanswered: str = ""
    """A sentence for the report on a question for which nothing could be written, as a demo has one."""
    sleep: Sleep = asyncio.sleep
    """Makes the pauses that a host asks for. A replay makes none."""
    _turns: OrderedDict[tuple[str, str], Turns] = field(default_factory=OrderedDict, init=False, repr=False, compare=False)

    @property
    def writes(self) -> bool:
        return self.models is not None

    def turns_for(self, config: RunnableConfig, scope: str) -> Turns:
        """The queues at the hosts, shared by all steps of a question: the steps run concurrently with a recording fetcher each, and
        together must ask a host no more often than a single fetcher would. There is no maximum wait: the ceiling of requests limits the
        queue."""
        question = str((config.get("configurable") or {}).get("thread_id") or ""), scope
        turns = self._turns.setdefault(question, Turns(self.clock, self.sleep))
        self._turns.move_to_end(question)
        while len(self._turns) > _MAX_OPEN:
            self._turns.popitem(last=False)
        return turns


def make_equipment(
    settings: Settings | None = None,
    *,
    policy: ResearchPolicy | None = None,
    web: Web | None = None,
    search: Callable[[Web], SearchChain] | None = None,
    embedder: Embedder | None = None,
    models: ModelRoutes | Literal["configured"] | None = "configured",
    local: BaseChatModel | None = None,
    clock: Clock | None = None,
    pages_per_step: int = PAGES_PER_STEP,
    has_route: Callable[[], bool] | None = None,
) -> Equipment:
    """Builds the equipment from the settings (by default, those of the environment). Other arguments replace what the settings say. A
    `web` of the caller's counts as within reach unless `has_route` says otherwise."""
    settings, clock = settings or Settings.load(), clock or SystemClock()
    sources = read_sources(settings.search.mcp_sources, settings.search.mcp_servers)
    has_route = has_route or (own_documents.has_route if web is None else _always)
    web = web or public_web(settings)
    policy = policy or load_policy(settings.policy)
    folder = settings.data_folder / "research"
    return Equipment(
        policy=policy,
        web=McpWeb(web, sources, policy.check_source) if sources else web,
        mcp_sources=sources,
        search=search or _engines(settings, clock),
        embedder=embedder or choose_embedder(settings),
        models=_models(settings) if models == "configured" else models,
        local=local or (None if policy.sends_before_approval else _local_model(settings)),
        vault_for=lambda config: find_vault(config, folder, clock),
        clock=clock,
        pages_per_step=pages_per_step,
        has_route=has_route,
    )


def _always() -> bool:
    return True


def _engines(settings: Settings, clock: Clock) -> Callable[[Web], SearchChain]:
    """Each step has its own chain of engines, because each records its own requests; together they ask an engine no more often than one
    chain would."""
    states: dict[str, EngineState] = {}
    # We use no disk cache, because results cached by another research would be missing from this recording.
    return lambda web: search_chain(settings, web, clock=clock, cached=False, states=states)


def find_vault(config: RunnableConfig, folder: Path, clock: Clock | None = None) -> EvidenceVault:
    """The vault that the engine gave to the run; without one, a folder for the thread."""
    configurable = config.get("configurable") or {}
    given: EvidenceVault | None = configurable.get(VAULT)
    if given is not None:
        return given
    thread = configurable.get("thread_id")
    if not thread:
        raise ConfigurationError("Research keeps its evidence by thread. Run it with a checkpointer and a thread_id.")
    # A hash, because a caller's thread id must not lead out of the folder.
    return FolderVault(folder / hashlib.sha256(str(thread).encode()).hexdigest()[:32], clock or SystemClock())


def _models(settings: Settings) -> ModelRoutes | None:
    """The configured models, if the one that writes is good enough for users; the embedded model is not."""
    if find_model(settings) is None:
        return None
    routes = ModelRoutes.from_settings(settings)
    return routes if capabilities_of(routes["write"]).writes else None


def _local_model(settings: Settings) -> BaseChatModel | None:
    """A local model that the environment names besides the configured one: on a server on this machine, or the embedded model."""
    named = {"ollama": settings.ollama_model_name, "lm_studio": settings.lm_studio_model_name, "local": settings.local_model}
    first = next((f"{provider}:{name}" for provider, name in named.items() if name), None)
    return resolve_model(first, settings=settings) if first else None
