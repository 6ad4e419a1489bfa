"""Packages of others that a server imports only because something else does, and that it rarely needs.

`langgraph` imports `langgraph_sdk.auth.types`, and LangChain's tracing one enumeration of `langsmith.types`: Python then runs the
`__init__` of these packages, which loads a client with its HTTP stack, and a model for every route of LangSmith. `uvicorn` loads its
command line. A deferred package runs its `__init__` when somebody asks it for a name; its modules are imported as usual.

Pydantic builds a validator and a serializer for each model while its class is created. FastAPI, LangChain and LangSmith have two hundred
models, most of which a server seldom needs: those of OpenAPI, of LangSmith's API, of tracing. `import_with_late_models` lets pydantic build
each of them at its first use.

This module imports no other module of ours, because it is used before everything else.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from threading import RLock
from typing import Any

RARELY_NEEDED = ("langgraph_sdk", "langsmith.types", "uvicorn")
WITH_MANY_MODELS = ("fastapi", "langgraph.graph")
"""`langgraph.graph` imports LangChain's messages and runnables, and those LangSmith."""


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


def import_with_late_models(names: tuple[str, ...] = WITH_MANY_MODELS) -> None:
    """Import modules, and let pydantic build their models when they are first used. Models of other modules are built as usual, so that a
    project's mistakes are found when it is loaded. Does nothing with a pydantic that works in another way."""
    from pydantic import main
    from pydantic._internal import _config

    # Pydantic has a setting for a class, but none for classes of others. Without its lock, two threads might build a model at once.
    defaults = getattr(_config, "config_defaults", {}) if hasattr(main, "_rebuild_lock") else {}
    if "defer_build" not in defaults:
        return
    base: Any = main.BaseModel
    rebuild = vars(base)["model_rebuild"]

    def rebuild_if_used(cls: Any, /, *, raise_errors: bool = True, **options: Any) -> Any:
        """Modules call this after their last class; pydantic itself, which wants no errors, at the first use of a model."""
        return None if raise_errors else rebuild.__func__(cls, raise_errors=False, **options)

    defaults["defer_build"] = True
    base.model_rebuild = classmethod(rebuild_if_used)
    try:
        for name in names:
            import_module(name)
    finally:
        defaults["defer_build"] = False
        base.model_rebuild = rebuild
