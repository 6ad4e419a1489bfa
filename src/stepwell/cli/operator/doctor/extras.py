"""Which packages of Stepwell's extras are missing. Imports none of them."""

from __future__ import annotations

import importlib.util

from stepwell.errors import EXTRA_MODULES


def missing_packages(extra: str) -> list[str]:
    """The modules of an extra that are not installed."""
    return [module for module in EXTRA_MODULES[extra] if not _is_installed(module)]


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # a parent is missing
        return False
