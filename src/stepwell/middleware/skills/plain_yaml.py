"""YAML without aliases and without deep nesting. Imported only when a skill is read."""

from __future__ import annotations

from typing import Any

import yaml

MAX_DEPTH = 20


# PyYAML's safe loader knows no Python objects. With libyaml, which most of its packages have, it is five times as fast; libyaml's own
# composer cannot be stopped at an alias, so its events go through PyYAML's.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_COMPOSER: Any = yaml.composer.Composer
_BASES: tuple[Any, ...] = (_LOADER,) if issubclass(_LOADER, _COMPOSER) else (_COMPOSER, _LOADER)


class PlainLoader(*_BASES):  # type: ignore[misc]  # PyYAML ships without types
    """A safe loader that also refuses aliases and what is nested too deep."""

    depth = 0

    def __init__(self, stream: str) -> None:
        _LOADER.__init__(self, stream)
        _COMPOSER.__init__(self)

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
