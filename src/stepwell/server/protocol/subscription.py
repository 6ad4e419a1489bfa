"""Which events a client of a thread stream wants: by channel, by namespace, by depth. Pure.

A namespace is the path to a subgraph, one part per level. A part is `node:task`; in a subscription, `node` alone matches any task of that
node. `depth` is how many levels below the requested namespaces to include, and has no effect without them. SDKs apply the same filter
again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Namespace = tuple[str, ...]

CHANNELS = ("values", "updates", "messages", "tools", "lifecycle", "input", "checkpoints", "tasks", "custom")
"""Clients may subscribe to `checkpoints`, because SDKs subscribe to all channels, but get no events on it."""
NAMED_CUSTOM = "custom:"
"""`custom:NAME` is the channel of the custom events that the graph sends under NAME."""


@dataclass(frozen=True)
class Subscription:
    """The filter of one stream."""

    channels: frozenset[str]
    namespaces: Sequence[Namespace] = ()
    depth: int | None = None

    def wants(self, channel: str, namespace: Namespace) -> bool:
        return self._wants_channel(channel) and self._wants_namespace(namespace)

    def _wants_channel(self, channel: str) -> bool:
        return channel in self.channels or (channel.startswith(NAMED_CUSTOM) and "custom" in self.channels)

    def _wants_namespace(self, namespace: Namespace) -> bool:
        if not self.namespaces:
            return True
        return any(
            _begins_with(namespace, wanted) and (self.depth is None or len(namespace) - len(wanted) <= self.depth)
            for wanted in self.namespaces
        )


def _begins_with(namespace: Namespace, wanted: Namespace) -> bool:
    if len(wanted) > len(namespace):
        return False
    return all(part in (there, there.partition(":")[0]) for part, there in zip(wanted, namespace, strict=False))
