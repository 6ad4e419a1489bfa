"""Finds the model servers on this computer: Ollama, LM Studio, llama.cpp.

Only loopback is asked, at the usual port or the one that the environment names. A server counts only if it answers in its own way:
another program on the same port is ignored. All are asked at the same time, the answer comes within half a second, and is remembered
for some seconds, because a page asks often.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from stepwell.errors import ConfigurationError
from stepwell.models.access import normal_address
from stepwell.models.provider_guide import guide_of
from stepwell.models.providers import LLAMACPP, LM_STUDIO, OLLAMA
from stepwell.settings import Settings
from stepwell.variables import is_loopback

if TYPE_CHECKING:
    import httpx

REMEMBER_S = 5.0
_ANSWER_S = 0.4
_MAX_DETAILS = 32
"""How many models of one Ollama are asked about their abilities."""


@dataclass(frozen=True)
class FoundModel:
    """A model that a local server has. None means that the server does not say."""

    name: str
    tools: bool | None = None
    sees: bool | None = None
    context: int | None = None
    size_bytes: int | None = None
    loaded: bool | None = None


@dataclass(frozen=True)
class LocalServer:
    """A model server that runs on this computer."""

    provider: str
    title: str
    base_url: str
    """In the form that the provider's chat model takes."""
    models: tuple[FoundModel, ...] = ()
    """Its chat models; embedding models are left out."""


async def find_local_servers(settings: Settings | None = None) -> list[LocalServer]:
    """The model servers that answer on this computer now, or did so some seconds ago."""
    settings = settings if settings is not None else await asyncio.to_thread(Settings.load)
    return await _shared(local_addresses(settings)).find()


def local_addresses(settings: Settings) -> tuple[tuple[str, str], ...]:
    """Provider and address of every place to look at: loopback only."""
    wanted = {
        OLLAMA: settings.ollama_address,
        LM_STUDIO: settings.lm_studio_address,
        LLAMACPP: settings.llamacpp_address,
    }
    found = []
    for provider, written in wanted.items():
        try:
            address = normal_address(provider, written)
        except ConfigurationError:  # reported where the address is used
            continue
        if address and is_local_address(address):
            found.append((provider, address))
    return tuple(found)


def is_local_address(address: str) -> bool:
    """Whether an address is on this computer, by its text alone."""
    return is_loopback(urlsplit(address).hostname or "")


class Discovery:
    """Looks at some addresses, and remembers for a while what it found."""

    def __init__(
        self,
        addresses: tuple[tuple[str, str], ...],
        *,
        remember_s: float = REMEMBER_S,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._addresses = addresses
        self._remember_s = remember_s
        self._now = now
        self._found: list[LocalServer] = []
        self._until = float("-inf")

    async def find(self) -> list[LocalServer]:
        if self._now() >= self._until:
            self._found = await self._look()
            self._until = self._now() + self._remember_s
        return list(self._found)

    async def _look(self) -> list[LocalServer]:
        import httpx

        # Without certificates, which take long to load: loopback is asked over http. Without a proxy: it could not reach this computer.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        async with httpx.AsyncClient(timeout=_ANSWER_S, trust_env=False, verify=context) as client:
            looks = (_ask(_LOOKS[provider], client, provider, address) for provider, address in self._addresses)
            found = await asyncio.gather(*looks)
        return [server for server in found if server is not None]


@lru_cache(maxsize=8)
def _shared(addresses: tuple[tuple[str, str], ...]) -> Discovery:
    return Discovery(addresses)


_Look = Callable[["httpx.AsyncClient", LocalServer], Awaitable[LocalServer | None]]


async def _ask(look: _Look, client: httpx.AsyncClient, provider: str, address: str) -> LocalServer | None:
    try:
        async with asyncio.timeout(_ANSWER_S):
            return await look(client, LocalServer(provider, guide_of(provider).title, address))
    except TimeoutError:
        return None


async def _ollama(client: httpx.AsyncClient, server: LocalServer) -> LocalServer | None:
    tags = _entries(await _json(client, f"{server.base_url}/api/tags"), "models")
    if tags is None:
        return None
    named = [tag for tag in tags if isinstance(tag.get("name"), str)]
    details = [_show(client, server, tag["name"]) for tag in named[:_MAX_DETAILS]]
    shown = dict(zip((tag["name"] for tag in named), await asyncio.gather(*details), strict=False))
    models = (_of_ollama(tag, shown.get(tag["name"], {})) for tag in named)
    return replace(server, models=tuple(model for model in models if model is not None))


async def _show(client: httpx.AsyncClient, server: LocalServer, name: str) -> Mapping[str, Any]:
    """What Ollama says about a model; nothing if it takes too long, so that one slow model does not hide the server."""
    import httpx

    try:
        answer = await client.post(f"{server.base_url}/api/show", json={"model": name}, timeout=_ANSWER_S / 2)
        told = answer.json() if answer.status_code == 200 else {}
    except (httpx.HTTPError, ValueError):
        return {}
    return told if isinstance(told, Mapping) else {}


def _of_ollama(tag: Mapping[str, Any], told: Mapping[str, Any]) -> FoundModel | None:
    able = told.get("capabilities", tag.get("capabilities"))
    says = isinstance(able, list)
    abilities = able if isinstance(able, list) else []
    if says and "completion" not in abilities:
        return None  # an embedding model
    about = told.get("model_info")
    windows = [size for name, size in about.items() if name.endswith(".context_length")] if isinstance(about, Mapping) else []
    return FoundModel(
        tag["name"],
        tools="tools" in abilities if says else None,
        sees="vision" in abilities if says else None,
        context=_count(windows[0]) if windows else None,
        size_bytes=_count(tag.get("size")),
    )


async def _lm_studio(client: httpx.AsyncClient, server: LocalServer) -> LocalServer | None:
    root = server.base_url.removesuffix("/v1")
    # Only LM Studio has this list; `/v1/models` would fit many servers.
    listed = _entries(await _json(client, f"{root}/api/v0/models"), "data")
    if listed is None or not all("type" in entry and "state" in entry for entry in listed):
        return None
    chats = [entry for entry in listed if entry["type"] in ("llm", "vlm") and isinstance(entry.get("id"), str)]
    return replace(server, models=tuple(_of_lm_studio(entry) for entry in chats))


def _of_lm_studio(entry: Mapping[str, Any]) -> FoundModel:
    able = entry.get("capabilities")
    return FoundModel(
        entry["id"],
        tools="tool_use" in able if isinstance(able, list) else None,
        sees=entry["type"] == "vlm",
        context=_count(entry.get("loaded_context_length")) or _count(entry.get("max_context_length")),
        loaded=entry["state"] == "loaded",
    )


async def _llamacpp(client: httpx.AsyncClient, server: LocalServer) -> LocalServer | None:
    root = server.base_url.removesuffix("/v1")
    told, about = await asyncio.gather(_json(client, f"{root}/v1/models"), _json(client, f"{root}/props"))
    listed = _entries(told, "data")
    if listed is None or not any(entry.get("owned_by") == "llamacpp" for entry in listed):
        return None
    props = about if isinstance(about, Mapping) else {}
    named = [entry for entry in listed if isinstance(entry.get("id"), str)]
    return replace(server, models=tuple(_of_llamacpp(entry, props) for entry in named))


def _of_llamacpp(entry: Mapping[str, Any], props: Mapping[str, Any]) -> FoundModel:
    meta, modes, caps, usual = (
        found if isinstance(found, Mapping) else {}
        for found in (
            entry.get("meta"),
            props.get("modalities"),
            props.get("chat_template_caps"),
            props.get("default_generation_settings"),
        )
    )
    return FoundModel(
        entry["id"],
        tools=_flag(caps.get("supports_tools")),
        sees=_flag(modes.get("vision")),
        context=_count(usual.get("n_ctx")) or _count(meta.get("n_ctx_train")),
        size_bytes=_count(meta.get("size")),
        loaded=True,
    )


_LOOKS: Mapping[str, _Look] = {OLLAMA: _ollama, LM_STUDIO: _lm_studio, LLAMACPP: _llamacpp}


async def _json(client: httpx.AsyncClient, url: str) -> Any:
    """The JSON at an address; None if there is none."""
    import httpx

    try:
        answer = await client.get(url)
        return answer.json() if answer.status_code == 200 else None
    except (httpx.HTTPError, ValueError):
        return None


def _entries(told: Any, name: str) -> list[Mapping[str, Any]] | None:
    """The list under a name, if the answer has one of objects."""
    listed = told.get(name) if isinstance(told, Mapping) else None
    if not isinstance(listed, list) or not all(isinstance(entry, Mapping) for entry in listed):
        return None
    return listed


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None
