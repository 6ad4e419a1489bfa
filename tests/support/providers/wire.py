"""What all protocols have in common: replies, faults, and how a wire turns them into bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

FaultKind = Literal[
    "rate limited",
    "overloaded",
    "overloaded in the stream",
    "cut",
    "context overflow",
    "wrong key",
    "no credit",
    "server error",
]
PIECE = 7
"""Texts and JSON are sent in pieces of this many characters, so that no piece of JSON can be parsed by itself."""


@dataclass(frozen=True)
class Call:
    name: str
    arguments: Mapping[str, Any]
    id: str = "call_1"


@dataclass(frozen=True)
class Reply:
    """An answer that comes through."""

    text: str = ""
    calls: Sequence[Call] = ()
    thinking: str = ""
    """A reasoning block; providers that sign theirs send `SIGNATURE` with it."""
    usage: bool = True
    """Whether the provider says how many tokens were used."""
    refused: bool = False
    """The provider ends the answer because its rules forbid it."""
    searched: Sequence[str] = ()
    """The deferred tools that the provider's own search found before it answered."""


@dataclass(frozen=True)
class Fault:
    kind: FaultKind
    text: str = "Hello from the beginning of"
    """What was streamed before the fault, for those in the middle of a stream."""
    retry_after_s: float | None = 0.05


SIGNATURE = "EqQBCgIYAhIM1gbcDa9GJwZA2b3h"
INPUT_TOKENS = 1_200
OUTPUT_TOKENS = 34


@dataclass(frozen=True)
class Wire:
    """One provider's protocol."""

    name: str
    variables: Callable[[str], dict[str, str]]
    """The environment of a server that uses the provider at an address."""
    path: Callable[[str, Mapping[str, Any]], bool]
    """Whether a path asks for an answer of the model."""
    stream: Callable[[Mapping[str, Any], Reply], Iterator[bytes]]
    """A reply in the pieces in which it is streamed."""
    whole: Callable[[Mapping[str, Any], Reply], Mapping[str, Any]]
    wants_stream: Callable[[str, Mapping[str, Any]], bool]
    faults: Mapping[FaultKind, tuple[int, Mapping[str, Any]]]
    """Status and body."""
    stream_fault: Callable[[], bytes] | None = None
    """The event that says "overloaded" in the middle of a stream; None if the protocol has none."""
    media_type: str = "text/event-stream"
    listed: Mapping[str, Any] = field(default_factory=dict)
    """The answer to a request for the models there are."""


def pieces(text: str) -> Iterator[str]:
    for at in range(0, len(text), PIECE):
        yield text[at : at + PIECE]


def event(data: Mapping[str, Any] | str, name: str | None = None) -> bytes:
    said = data if isinstance(data, str) else json.dumps(data)
    return (f"event: {name}\n" if name else "").encode() + f"data: {said}\n\n".encode()
