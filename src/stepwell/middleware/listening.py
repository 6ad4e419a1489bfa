"""Callbacks that hear the model while it answers. LangChain's loop calls the model itself, so they go into the call's configuration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.runnables.config import RunnableConfig, var_child_runnable_config


@contextmanager
def listening(*listeners: BaseCallbackHandler) -> Iterator[None]:
    """Let the listeners hear the model that the body calls, before all other callbacks, so that they may end the call."""
    if not listeners:
        yield
        return
    config = var_child_runnable_config.get() or RunnableConfig()
    heard = cast("RunnableConfig", {**config, "callbacks": _with_first(config.get("callbacks"), listeners)})
    token = var_child_runnable_config.set(heard)
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)


def _with_first(callbacks: Any, listeners: Sequence[BaseCallbackHandler]) -> Any:
    if not isinstance(callbacks, BaseCallbackManager):
        return [*listeners, *(callbacks or ())]
    manager = callbacks.copy()
    manager.handlers[:0] = listeners
    manager.inheritable_handlers[:0] = listeners
    return manager
