"""How often a server runs Python's garbage collector.

Nearly everything a run makes is freed at once when nobody refers to it any more; only cycles wait for the collector. By default it
runs after every 700 new objects, and now and then goes through all there are, modules and graphs included: with hundreds of runs under
way it took a fifth of the server's time, and held all of them up meanwhile. Here it runs less often, and never looks at what was there
when the server began. This module imports nothing of ours: it is used before everything else.
"""

from __future__ import annotations

import gc

_NEW_OBJECTS = 20_000
_YOUNG_ROUNDS = 20
_OLD_ROUNDS = 20


def pause_until_loaded() -> None:
    """Not while modules are imported: they stay, so there is nothing to free, and collecting was an eighth of the start."""
    gc.disable()


def collect_less_often() -> None:
    """For the whole process, so only its main program calls this, once, when everything is loaded."""
    gc.freeze()  # without collecting first: importing leaves next to no garbage, and one collection is a tenth of the start
    gc.enable()
    gc.set_threshold(_NEW_OBJECTS, _YOUNG_ROUNDS, _OLD_ROUNDS)
