"""The models that a provider lists, asked at its own endpoint. Redirects are not followed, because the request carries the key."""

from __future__ import annotations

import asyncio
import json
import re
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from stepwell.models.probe.evidence import Evidence, evidence_of
from stepwell.models.probe.result import Problem
from stepwell.models.probe.sentences import About, another_server, https_sentence, other_path, problem_of, web_page
from stepwell.models.providers import OLLAMA
from stepwell.settings import Secret

if TYPE_CHECKING:
    import httpx

_MAX_BYTES = 8_000_000
_MAX_NAMES = 2000
_NAME = re.compile(r"[^\x00-\x20\x7f]{1,200}")
_OTHER_USE = re.compile(
    r"embed|(?:^|[/:-])(?:bge|gte|e5|minilm|rerank\w*|whisper|tts|dall-e|davinci|babbage|moderation|omni-moderation|imagen|veo|sora|transcribe)(?:[-:/.]|$)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Listing:
    """What the list says."""

    names: tuple[str, ...] = ()
    """Of chat models only."""
    problem: Problem | None = None
    """Why the test ends here."""
    silent: bool = False
    """The server has no list, or does not show it with this key; the model may work nevertheless."""


def is_for_chat(name: str) -> bool:
    """Whether a model may be a chat model by its name; models for embeddings, speech and pictures are not."""
    return not _OTHER_USE.search(name)


async def list_models(client: httpx.AsyncClient, about: About, key: Secret | None, *, look_closer: bool = True) -> Listing:
    """Ask for the list. `look_closer`: if the server speaks no HTTP, we may open another connection, without the client's checks."""
    seen, told = await _get(client, _url(about.guide.id, about.address), about.guide.id, key)
    names = None if seen.status != 200 else _names(about.guide.id, told)
    if names is not None:
        return Listing(names)
    better = await _better_address(client, about, key, seen)
    if better:
        return Listing(problem=other_path(better))
    return await _without_list(about, seen, told, look_closer)


async def _without_list(about: About, seen: Evidence, told: Any, look_closer: bool) -> Listing:
    if (
        look_closer
        and seen.connection == "not http"
        and about.address.startswith("http://")
        and await _speaks_tls(about.address)
    ):
        return Listing(problem=Problem("needs_https", https_sentence(about)))
    if seen.status == 200:
        if seen.is_web_page:
            return Listing(problem=web_page(about))
        if told is None:
            return Listing(problem=problem_of(Evidence(connection="not json"), about))
        return Listing(problem=another_server(about))
    if seen.status in (404, 405, 501):
        if seen.is_web_page:
            return Listing(problem=web_page(about))
        return Listing(problem=another_server(about)) if about.guide.id == OLLAMA else Listing(silent=True)
    problem = problem_of(seen, about)
    # A key may be restricted to calls; only the call shows whether it works.
    return Listing(silent=True) if problem.kind in ("forbidden", "other") else Listing(problem=problem)


async def _better_address(client: httpx.AsyncClient, about: About, key: Secret | None, seen: Evidence) -> str | None:
    """The address with or without `/v1`, if the list is there."""
    if seen.status not in (200, 404, 405):
        return None
    base = about.address
    other = base.removesuffix("/v1") if base.endswith("/v1") else f"{base}/v1"
    again, told = await _get(client, _url(about.guide.id, other), about.guide.id, key)
    return other if again.status == 200 and _names(about.guide.id, told) is not None else None


def _url(provider: str, base: str) -> str:
    paths = {"anthropic": "/v1/models?limit=1000", "google_genai": "/v1beta/models?pageSize=1000", OLLAMA: "/api/tags"}
    return base.rstrip("/") + paths.get(provider, "/models")


def _headers(provider: str, key: Secret | None) -> dict[str, str]:
    if key is None or not key.reveal():
        return {}
    if provider == "anthropic":
        return {"x-api-key": key.reveal(), "anthropic-version": "2023-06-01"}
    if provider == "google_genai":
        return {"x-goog-api-key": key.reveal()}
    return {"Authorization": f"Bearer {key.reveal()}"}


async def _get(client: httpx.AsyncClient, url: str, provider: str, key: Secret | None) -> tuple[Evidence, Any]:
    """What the server shows, and its JSON (None if there is none)."""
    import httpx

    try:
        async with client.stream("GET", url, headers={"Accept": "application/json", **_headers(provider, key)}) as response:
            body = bytearray()
            async for block in response.aiter_bytes():
                body += block
                if len(body) > _MAX_BYTES:
                    break
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
        return evidence_of(error), None
    text = bytes(body).decode("utf-8", "replace")
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Evidence(response.status_code, text[:20_000].lower(), headers), _json(text)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _names(provider: str, told: Any) -> tuple[str, ...] | None:
    """The names of the chat models; None if this is not a list of the provider's form."""
    listed = told.get("models" if provider in (OLLAMA, "google_genai") else "data") if isinstance(told, Mapping) else None
    if not isinstance(listed, list) or not all(isinstance(entry, Mapping) for entry in listed):
        return None
    found = (_name(provider, entry) for entry in listed[:_MAX_NAMES] if _may_chat(entry))
    return tuple(name for name in found if name and is_for_chat(name))


def _name(provider: str, entry: Mapping[str, Any]) -> str | None:
    name = entry.get("name") if provider in (OLLAMA, "google_genai") else entry.get("id")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return None
    return name.removeprefix("models/") if provider == "google_genai" else name


def _may_chat(entry: Mapping[str, Any]) -> bool:
    methods, able = entry.get("supportedGenerationMethods"), entry.get("capabilities")
    if isinstance(methods, list):
        return "generateContent" in methods
    return not (isinstance(able, Mapping) and able.get("completion_chat") is False)


async def _speaks_tls(address: str) -> bool:
    """Whether the server at an http address completes a TLS handshake. Nothing is sent over it, so the certificate does not matter."""
    parts = urlsplit(address)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        async with asyncio.timeout(2):
            _, writer = await asyncio.open_connection(parts.hostname, parts.port or 80, ssl=context)
    except (OSError, TimeoutError, ValueError):
        return False
    writer.transport.abort()
    with suppress(OSError):
        await writer.wait_closed()
    return True
