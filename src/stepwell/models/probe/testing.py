"""The test itself: at most three requests to the provider (the list, one call with a tool, one without), few tokens, about 15 seconds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stepwell.errors import ConfigurationError, ModelAccessError
from stepwell.models.abilities import abilities_of
from stepwell.models.access import normal_address
from stepwell.models.choice import ModelChoice
from stepwell.models.connected import ConnectedModel
from stepwell.models.discovery import is_local_address
from stepwell.models.local.catalogue import find_local_model
from stepwell.models.probe.evidence import evidence_of
from stepwell.models.probe.keys import key_problem
from stepwell.models.probe.listing import is_for_chat, list_models
from stepwell.models.probe.result import Probe, Problem
from stepwell.models.probe.sentences import (
    About,
    no_model,
    no_streaming,
    no_tools,
    not_chat,
    problem_of,
    timeout_problem,
    unknown_model,
)
from stepwell.models.provider_guide import guide_of
from stepwell.models.providers import LLAMACPP, LM_STUDIO, LOCAL, OLLAMA, SPEAK_OPENAI
from stepwell.models.resolve import build_model
from stepwell.secrets.text import hide_secrets, secrets_of_address
from stepwell.settings import Secret, Settings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage

_ORDER = "Call the tool `report_ready` with the word 'ready'. Write nothing else."
_GREETING = "Answer with the single word: ready"
_MAX_CHUNKS = 2000


@dataclass(frozen=True)
class ProbeTarget:
    """A provider with a key and an address as the user entered them. Without a name: its default model, or the first that it lists."""

    provider: str
    name: str = ""
    key: Secret | None = None
    base_url: str | None = None

    def __repr__(self) -> str:
        return f"ProbeTarget({self.provider!r}, {self.name!r})"  # an address may contain a password


@dataclass(frozen=True)
class ProbeLimits:
    """How long a test may take, and how long its answers may be."""

    total_s: float = 15.0
    list_s: float = 6.0
    max_tokens: int = 400
    """Enough for a model that thinks before it calls a tool."""


async def probe(
    model: ConnectedModel | ProbeTarget, *, settings: Settings | None = None, limits: ProbeLimits | None = None
) -> Probe:
    """Test a model. Never raises for what the model, its server or the settings do; `problem` says what is wrong.

    `settings` have the access to a model of the environment, and the folder of embedded ones."""
    settings = settings if settings is not None else await asyncio.to_thread(Settings.load)
    test = _Test(_connected(model, settings), settings, limits or ProbeLimits())
    try:
        async with asyncio.timeout(test.limits.total_s):
            problem = await test.run()
    except TimeoutError:
        problem = timeout_problem(test.about)
    return test.result(problem)


async def ask_for_models(provider: str, name: str, key: Secret | None, address: str) -> tuple[Problem | None, int]:
    """One request without tokens, for the list of models: what is wrong (also if it lacks the named model), and how many it has."""
    import httpx

    about = About(guide_of(provider), name, address, bool(key and key.reveal()))
    known = [*([key.reveal()] if key else []), *secrets_of_address(address)]
    limits = ProbeLimits()
    try:
        async with (
            asyncio.timeout(limits.total_s),
            httpx.AsyncClient(timeout=limits.list_s, follow_redirects=False, trust_env=not is_local_address(address)) as client,
        ):
            listing = await list_models(client, about, key)
    except TimeoutError:
        return timeout_problem(about), 0
    problem = listing.problem
    if problem is None and name and listing.names and not {name, f"{name}:latest"} & set(listing.names):
        problem = unknown_model(replace(about, names=listing.names))
    return replace(problem, sentence=hide_secrets(problem.sentence, known)) if problem else None, len(listing.names)


def _connected(model: ConnectedModel | ProbeTarget, settings: Settings) -> ConnectedModel:
    """The model with its key and address, also if they are the environment's."""
    if isinstance(model, ProbeTarget):
        title = guide_of(model.provider).title
        return ConnectedModel("new", 0, model.provider, model.name, title, model.key, (model.base_url or "").strip() or None)
    if not model.from_environment:
        return model
    access = settings.access.get(model.provider)
    addresses = {
        OLLAMA: settings.ollama_address,
        LM_STUDIO: settings.lm_studio_address,
        LLAMACPP: settings.llamacpp_address,
    }
    key = settings.lm_studio_api_key if model.provider == LM_STUDIO else access.key if access else None
    return replace(model, key=key, base_url=addresses.get(model.provider) or (access.base_url if access else None))


class _Test:
    def __init__(self, model: ConnectedModel, settings: Settings, limits: ProbeLimits) -> None:
        self._target = model
        self._settings = settings
        self.limits = limits
        guide = guide_of(model.provider)
        has_key = bool(model.key and model.key.reveal())
        self.about = About(guide, model.name.strip() or guide.default_model or "", guide.address or "", has_key)
        self._found = Probe(ok=False, model=None)

    def result(self, problem: Problem | None) -> Probe:
        known = [self._target.key.reveal()] if self._target.key and self._target.key.reveal() else []
        known += secrets_of_address(self._target.base_url or "")
        names = [hide_secrets(name, known) for name in self.about.names]
        model = hide_secrets(self.about.model, known) or None
        found = replace(self._found, ok=self._found.answers, model=model, models=tuple(names))
        return replace(found, problem=Problem(problem.kind, hide_secrets(problem.sentence, known))) if problem else found

    async def run(self) -> Problem | None:
        problem = self._check_settings() or await self._check_list() or self._check_name()
        return problem or await self._check_calls()

    def _check_settings(self) -> Problem | None:
        """What is wrong before anything is sent."""
        guide, target = self.about.guide, self._target
        if install := guide.install:
            return Problem("package_missing", install)
        written = (target.base_url or "").strip()
        if guide.needs_address and not written:
            return Problem("address_missing", "No address was given. Enter that of the server's API; it usually ends in /v1.")
        try:
            address = normal_address(guide.id, written)
        except ConfigurationError as error:
            return Problem("address_malformed", str(error))
        self.about = replace(self.about, address=address or "")
        return key_problem(guide, target.key, own_address=bool(written) and address != guide.address)

    async def _check_list(self) -> Problem | None:
        if self.about.guide.id == LOCAL or not self.about.address:
            return None
        async with _client(self.limits.list_s, self._target) as client:
            listing = await list_models(client, self.about, self._target.key, look_closer=self._target.network is None)
        model = self.about.model or next(iter(listing.names), "")
        self.about = replace(self.about, names=listing.names, model=model)
        return listing.problem

    def _check_name(self) -> Problem | None:
        about = self.about
        if about.guide.id == LOCAL:
            return embedded_problem(about.model, self._settings)
        if not about.model:
            return no_model(about)
        if not is_for_chat(about.model):
            return Problem("not_a_chat_model", not_chat(about.model))
        if about.guide.id == OLLAMA and not {about.model, f"{about.model}:latest"} & set(about.names):
            return unknown_model(about) if about.names else no_model(about)
        return None

    async def _check_calls(self) -> Problem | None:
        try:
            model = await asyncio.to_thread(self._build)
        except ConfigurationError as error:
            return Problem("package_missing", str(error))
        sees = (await asyncio.to_thread(abilities_of, self.about.guide.id, self.about.model)).sees
        self._found = replace(self._found, sees=sees)
        try:
            problem = await self._call(model, tools=True, stream=True)
            if problem and problem.kind == "no_tools" and not self._found.answers:
                return await self._call(model, tools=False, stream=True) or self._note(problem, tools=False)
            if problem and problem.kind == "no_streaming":
                return await self._call(model, tools=True, stream=False) or self._note(problem, streams=False)
            return problem
        finally:
            if (client := getattr(model, "http_async_client", None)) is not None:
                await client.aclose()

    def _note(self, problem: Problem, **facts: bool) -> Problem:
        """The model answers in another way: remember the limitation, and report it."""
        self._found = replace(self._found, **facts)  # type: ignore[arg-type]  # tools and streams are bool
        return problem

    def _build(self) -> BaseChatModel:
        """The chat model that a run would use, with the limits of a test."""
        provider, name = self.about.guide.id, self.about.model
        choice = ModelChoice(provider, name, "tested", replace(self._target, name=name))
        return build_model(choice, self._settings, self._limit(provider))

    def _limit(self, provider: str) -> dict[str, Any]:
        tokens = self.limits.max_tokens
        if provider in (LOCAL, OLLAMA):
            return {"max_tokens": tokens}
        retries = 0 if provider in ("openai", "anthropic", *SPEAK_OPENAI) else 1  # the others count attempts
        # OpenAI-compatible servers get `max_tokens` by this name, which all of them know.
        most = {"extra_body": {"max_tokens": tokens}} if provider in SPEAK_OPENAI else {"max_tokens": tokens}
        return {**most, "timeout": self.limits.total_s, "max_retries": retries}

    async def _call(self, model: BaseChatModel, *, tools: bool, stream: bool) -> Problem | None:
        asked = model.bind_tools([_report_ready]) if tools else model
        started = time.monotonic()
        first: float | None = None
        whole: Any = None
        try:
            if stream:
                async for part in _parts(asked.astream(_ORDER if tools else _GREETING)):
                    whole = part if whole is None else whole + part
                    if first is None and _says_something(part):
                        first = time.monotonic()
            else:
                whole = await asked.ainvoke(_ORDER if tools else _GREETING)
        except TimeoutError:
            raise
        except ModelAccessError as error:  # a limit of ours: the provider was not asked
            return Problem("no_credit", str(error))
        except Exception as error:
            if whole is None and stream and isinstance(error, ValueError) and "No generation" in str(error):
                return Problem("no_streaming", no_streaming(self.about))
            problem = problem_of(evidence_of(error), self.about)
            return unknown_model(self.about) if problem.kind == "address_path" and self.about.names else problem
        return self._judge(whole, tools, stream, round(((first or time.monotonic()) - started) * 1000))

    def _judge(self, whole: AIMessage | None, tools: bool, stream: bool, latency_ms: int) -> Problem | None:
        called = bool(whole and whole.tool_calls)
        cut = whole is not None and "length" in str((whole.response_metadata or {}).get("finish_reason", "")).lower()
        if not whole or not (called or _says_something(whole) or cut):
            return Problem("empty_answer", f"'{self.about.model}' answers with nothing. Test again, or choose another model.")
        self._found = replace(self._found, answers=True, latency_ms=latency_ms, streams=True if stream else self._found.streams)
        if not tools or (cut and not called):
            return None
        if self.about.guide.id == LOCAL:  # whatever it writes is forced into the form of a call
            called = abilities_of(LOCAL, self.about.model).tools is not False
        self._found = replace(self._found, tools=called)
        return None if called else Problem("no_tools", no_tools(self.about))


def embedded_problem(name: str, settings: Settings) -> Problem | None:
    """What keeps an embedded model from answering soon. A test downloads nothing."""
    from stepwell.models.local.models import process_local_models

    try:
        known = find_local_model(name)
        if process_local_models(settings).is_downloaded(name):
            return None
    except ConfigurationError as error:
        return Problem("model_unknown", str(error))
    if known is None:
        return Problem("model_unknown", f"There is no file '{Path(name).name}' at this path. Check the path.")
    return Problem(
        "model_not_pulled",
        f"{known.title} is not on this machine yet ({known.download_size}). Download it with: stepwell models pull {known.id}",
    )


def _report_ready(word: str) -> str:
    """Report that you are able to call tools."""
    return word


_report_ready.__name__ = "report_ready"


async def _parts(stream: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """The parts of an answer, up to a limit: a server may send without end."""
    count = 0
    async for part in stream:
        yield part
        count += 1
        if count >= _MAX_CHUNKS:
            return


def _says_something(message: Any) -> bool:
    calls = getattr(message, "tool_call_chunks", None) or getattr(message, "tool_calls", None)
    return bool(message.content or calls or message.additional_kwargs.get("reasoning_content"))


@asynccontextmanager
async def _client(seconds: float, model: ConnectedModel) -> AsyncIterator[Any]:
    """A client that follows no redirect, because it carries the key."""
    import httpx

    transport = model.network(httpx) if model.network else None
    async with httpx.AsyncClient(timeout=httpx.Timeout(seconds), follow_redirects=False, transport=transport) as client:
        yield client
