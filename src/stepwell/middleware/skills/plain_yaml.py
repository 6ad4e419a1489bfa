"""YAML without aliases and without deep nesting. Imported only when a skill is read."""

from __future__ import annotations

from typing import Any

import yaml

MAX_DEPTH = 20


def _parts() -> tuple[type, ...]:
    """PyYAML's safe loader, which knows no Python objects. With libyaml, which most of its packages have, it is five times as fast."""
    fast = getattr(yaml, "CSafeLoader", None)
    # libyaml's own composer cannot be stopped at an alias, so its events go through PyYAML's.
    return (yaml.SafeLoader,) if fast is None else (yaml.composer.Composer, fast)


class PlainLoader(*_parts()):  # type: ignore[misc]  # PyYAML ships without types
    """A safe loader that also refuses aliases and what is nested too deep."""

    depth = 0

    def __init__(self, stream: str) -> None:
        for part in _parts():
            part.__init__(self, *([] if part is yaml.composer.Composer else [stream]))

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.MarkedYAMLError(problem="an alias, which is not allowed here")
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise yaml.MarkedYAMLError(problem="nested too deep")
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1
