"""Packages of others that a server imports only because something else does, and that it rarely needs.

`langgraph` imports `langgraph_sdk.auth.types`, and LangChain's tracing one enumeration of `langsmith.types`: Python then runs the
`__init__` of these packages, which loads a client with its HTTP stack, and a model for every route of LangSmith. A deferred package
runs its `__init__` when somebody asks it for a name; its modules are imported as usual. This module imports no other module of ours,
because it is used before everything else.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec, module_from_spec
from threading import RLock
from typing import Any

RARELY_NEEDED = ("langgraph_sdk", "langsmith.types")


def defer_packages(names: tuple[str, ...] = RARELY_NEEDED) -> None:
    """Affects the whole process, so only a main program calls this, before it imports anything else. Packages that are missing or
    loaded already stay as they are."""
    for name in names:
        if name not in sys.modules:
            _defer(name)


def _defer(name: str) -> None:
    spec = find_spec(name)
    if spec is None or spec.loader is None:
        return
    package, execute = module_from_spec(spec), spec.loader.exec_module
    lock, loading = RLock(), False

    def load(wanted: str) -> Any:
        nonlocal loading
        with lock:  # a second thread waits until the package is whole
            if loading:
                raise AttributeError(f"module '{name}' has no attribute '{wanted}' yet: it is being imported")
            if package.__dict__.get("__getattr__") is load:
                loading = True
                try:
                    execute(package)
                    if package.__dict__["__getattr__"] is load:
                        del package.__dict__["__getattr__"]
                finally:
                    loading = False
        return getattr(package, wanted)

    package.__dict__["__getattr__"] = load
    sys.modules[name] = package
    parent, _, child = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], child, package)
