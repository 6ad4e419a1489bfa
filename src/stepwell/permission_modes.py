"""The names of what says how much a run may change. `middleware.run_modes` says what each mode means, and applies it.

A chat with a server, the queue and the engine need the names, and do without the middleware, which imports LangChain.
"""

from __future__ import annotations

from typing import Literal, get_args

PERMISSION_MODE = "permission_mode"
"""The key of a run's mode in its `configurable`."""
RunMode = Literal["plan", "ask", "accept_edits"]
RUN_MODES: tuple[str, ...] = get_args(RunMode)
