"""What a test of a model found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ProblemKind = Literal[
    "key_missing",
    "key_malformed",
    "key_of_another_provider",
    "key_refused",
    "forbidden",
    "no_credit",
    "rate_limited",
    "region",
    "organisation_disabled",
    "model_missing",
    "model_unknown",
    "model_not_pulled",
    "model_not_loaded",
    "model_loading",
    "not_a_chat_model",
    "no_tools",
    "no_streaming",
    "context_too_small",
    "address_missing",
    "address_malformed",
    "address_path",
    "web_page",
    "another_server",
    "redirect",
    "needs_https",
    "needs_http",
    "tls",
    "unknown_host",
    "not_running",
    "unreachable",
    "proxy",
    "timeout",
    "server_error",
    "overloaded",
    "not_json",
    "not_http",
    "empty_answer",
    "package_missing",
    "other",
]


@dataclass(frozen=True)
class Problem:
    """What is wrong, for programs (`kind`) and for people (`sentence`: the fact and the way out, never a key or a password)."""

    kind: ProblemKind
    sentence: str


@dataclass(frozen=True)
class Probe:
    """The result of a test, in the shape of `POST /api/connections/test`. None means: not known."""

    ok: bool
    """The model answers. A `problem` beside it is a limitation: it cannot call tools, or cannot stream."""
    model: str | None
    """The model that was tested: the given one, or the provider's default."""
    answers: bool = False
    tools: bool | None = None
    streams: bool | None = None
    sees: bool | None = None
    latency_ms: int | None = None
    """From the request to the first part of the answer."""
    models: tuple[str, ...] = ()
    """The chat models that the provider lists, if it does."""
    problem: Problem | None = None
