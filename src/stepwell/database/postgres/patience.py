"""How long reads and writes wait for an unreachable Postgres, for example during a restart, before their callers get an error."""

from __future__ import annotations

from time import monotonic, sleep

AWAY_S = 3.0
AGAIN_S = 0.1


class Patience:
    """Shared by all threads of a process. Once one thread has waited in vain, others that meet the same outage give up at once. Otherwise
    all work in a queue would wait for the full time, one piece after the other."""

    def __init__(self) -> None:
        self._given_up_until = 0.0

    def begin(self) -> float:
        """The time at which work that begins now should give up."""
        return monotonic() + AWAY_S

    def wait(self, give_up_at: float) -> bool:
        """Wait a little. False if it is time to give up."""
        now = monotonic()
        if now >= give_up_at or now < self._given_up_until:
            self._given_up_until = now + AGAIN_S
            return False
        sleep(AGAIN_S)
        return True
