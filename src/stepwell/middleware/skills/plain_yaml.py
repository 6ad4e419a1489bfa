"""YAML without aliases and without deep nesting. Imported only when a skill is read."""

from __future__ import annotations

from typing import Any

import yaml

MAX_DEPTH = 20


class PlainLoader(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML ships without types
    """PyYAML's safe loader, which knows no Python objects. This one also refuses aliases and what is nested too deep."""

    depth = 0

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
