"""How often a server runs Python's garbage collector.

Nearly every object of a run is freed as soon as nothing refers to it; only cycles wait for the collector. By default it runs after
every 700 new objects, and from time to time scans all objects, including modules and graphs: with hundreds of active runs this took a
fifth of the server's time, and blocked all runs meanwhile. Here it runs less often, and never scans objects that existed when the
server started. This module imports no other module of ours, because it is used before everything else.
"""

from __future__ import annotations

import gc

_NEW_OBJECTS = 20_000
_YOUNG_ROUNDS = 20
_OLD_ROUNDS = 20


def pause_until_loaded() -> None:
    """Turn the collector off during imports: loaded modules stay, so there is nothing to free, and collecting took an eighth of the
    start-up."""
    gc.disable()


def collect_less_often() -> None:
    """Affects the whole process, so only the main program calls this, once, when everything is loaded."""
    gc.freeze()  # not preceded by a collection: imports leave almost no garbage, and a collection takes a tenth of the start-up
    gc.enable()
    gc.set_threshold(_NEW_OBJECTS, _YOUNG_ROUNDS, _OLD_ROUNDS)
