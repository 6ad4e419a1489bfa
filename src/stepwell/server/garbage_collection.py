"""How often a server looks for garbage.

Nearly everything a run makes is freed at once when nobody refers to it any more; only cycles wait for Python's collector. By
default that looks after every 700 new objects, and now and then through all there are, modules and graphs included: with hundreds
of runs under way it took a fifth of the server's time, and held all of them up while it looked. Here it looks less often, and
never at what was there when the server began.
"""

from __future__ import annotations

import gc

_NEW_OBJECTS = 20_000
_YOUNG_ROUNDS = 20
_OLD_ROUNDS = 20


def pause_until_loaded() -> None:
    """No look while modules are imported: they stay, so there is nothing to find, and looking was an eighth of the start."""
    gc.disable()


def collect_less_often() -> None:
    """For the whole process, so only its main program calls this, once, when everything is loaded."""
    gc.freeze()  # without looking first: importing leaves next to no garbage, and a look is a tenth of the start
    gc.enable()
    gc.set_threshold(_NEW_OBJECTS, _YOUNG_ROUNDS, _OLD_ROUNDS)
