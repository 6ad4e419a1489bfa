"""Stream modes: what a caller may request, what to request from LangGraph, and what the events are called.

| caller's mode | LangGraph's mode | event |
|---|---|---|
| `values`, `updates`, `custom`, `debug`, `tasks`, `checkpoints` | the same | the same |
| `messages-tuple` | `messages` | `messages`: `[message, metadata]` |
| `messages` (older format) | `messages` | `messages/metadata`, `messages/partial`, `messages/complete` |
| `tools` | `tools` | `tools` |
| `lifecycle` | `tasks`, of subgraphs too | `lifecycle` |
| `events` | `astream_events` around everything | `events` |
| `protocol` (for the server only, not for callers) | `messages`, and the modes always requested | see `protocol` |

`values` and `tasks` are always requested, because the engine needs the newest values, and each interrupt with its task; `updates` reports
the interrupt at the same moment, but without the task. The cost of both is too small to measure.

An event of a subgraph is named `mode|ns1|ns2`, except for `events`, `lifecycle` and the older format of `messages`. If both formats of
messages are requested, only the newer is sent, as LangGraph's server does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from stepwell.errors import InvalidRequestError

Namespace = tuple[str, ...]

STREAM_MODES = (
    "values",
    "updates",
    "messages",
    "messages-tuple",
    "custom",
    "debug",
    "tasks",
    "checkpoints",
    "events",
    "tools",
    "lifecycle",
)

PROTOCOL = "protocol"
"""The mode for runs that were started through LangGraph's thread streams."""

_ALWAYS = ("values", "tasks")
_SAME = frozenset({"values", "updates", "custom", "debug", "tasks", "checkpoints", "tools"})


@dataclass(frozen=True)
class StreamPlan:
    """What to request from LangGraph for the modes a caller wants."""

    wanted: frozenset[str]
    langgraph_modes: tuple[str, ...]
    caller_subgraphs: bool

    @property
    def langgraph_subgraphs(self) -> bool:
        """Whether LangGraph must stream subgraphs. `lifecycle` needs this even if the caller does not want other events of subgraphs."""
        return self.caller_subgraphs or "lifecycle" in self.wanted

    @property
    def message_form(self) -> str | None:
        if "messages-tuple" in self.wanted:
            return "messages-tuple"
        return "messages" if "messages" in self.wanted else None

    def wants(self, mode: str, namespace: Namespace) -> bool:
        return mode in self.wanted and (self.caller_subgraphs or not namespace)


def plan_stream(modes: Iterable[str], subgraphs: bool) -> StreamPlan:
    """The plan for these modes. An unknown mode is refused, with a list of the known ones."""
    wanted = frozenset(modes)
    unknown = sorted(wanted.difference(STREAM_MODES, (PROTOCOL,)))
    if unknown:
        raise InvalidRequestError(f"Unknown stream mode '{unknown[0]}'. Use one of: {', '.join(STREAM_MODES)}.")
    asked = [*_ALWAYS, *sorted((wanted & _SAME).difference(_ALWAYS))]
    if wanted & {"messages", "messages-tuple", PROTOCOL}:
        asked.append("messages")
    return StreamPlan(wanted, tuple(asked), subgraphs)


def event_name(mode: str, namespace: Namespace) -> str:
    return "|".join((mode, *namespace)) if namespace else mode
