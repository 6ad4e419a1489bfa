"""Demos that need no model, key or network: an agent that plays a script, and an invented web on which research is demonstrated.

They are the real graphs with the real tools, interrupts and evidence. Each says on the screen which parts are not real.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from stepwell.products import Demo, installed_products


def available_demos() -> dict[str, str]:
    """The demos whose dependencies are installed."""
    return {name: demo.place for name, demo in _demos().items() if all(map(find_spec, demo.needs))}


def __getattr__(name: str) -> Any:  # for `cli.compose`, until it reads the products itself
    if name == "DESCRIPTIONS":
        return {each: demo.description for each, demo in _demos().items()}
    raise AttributeError(name)


def _demos() -> dict[str, Demo]:
    """Research first, as everywhere on the screen."""
    return {name: demo for product in reversed(installed_products()) for name, demo in product.demos.items()}
