"""What model calls that run side by side may still spend: each holds its part of a ceiling before it begins, and gives it back at its end.

```
enter ──┬─ the ceiling is reached ────────────────────────────> refused
        ├─ nobody else is under way, or all fit together ─────> held ── leave ──> the next in line is looked at
        └─ otherwise ──> in line, until others leave ──┬──────> held
                                                       └──────> refused: the ceiling is reached, or it took too long
```
How much a call will need is an estimate: as much as the largest of its kind so far, or its own input if that is more. The first of a kind
runs alone, since nobody knows. A call that is alone may begin below the ceiling whatever it needs, so a run passes its ceiling by one
call, and calls that are held together by no more than their estimates were wrong.

Rules to keep: first come, first served, or a large call would wait for ever behind small ones. Nothing is measured while a call is
alone. Whoever enters several accounts takes the outermost first; so nobody waits for somebody who waits for them.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

from stepwell.middleware.spending.sums import Ceilings, Spending, add_spending, used_up

PATIENCE_S = 300.0
"""How long a call waits for others before it is refused."""
_OTHERS = "calls under way hold the rest of the budget, and did not end in time"

Measure = Callable[[], Spending | None]
"""What a call will probably spend; None if nobody knows."""


@dataclass(eq=False, slots=True)
class Hold:
    """A call's part of a ceiling."""

    measure: Measure
    decided: Future[str | None] = field(default_factory=Future)
    """None once it is held; otherwise why it is not, in words."""


class Account:
    """Spending that several steps at once add to, and what calls under way hold of its ceilings. Safe from any thread."""

    def __init__(self, spent: Spending, ceilings: Ceilings | None = None, *, patience_s: float = PATIENCE_S) -> None:
        self.patience_s = patience_s
        self._spent = spent
        self.ceilings = ceilings or Ceilings()
        self._held: list[Hold] = []
        self._line: deque[Hold] = deque()
        self._lock = threading.Lock()

    @property
    def spent(self) -> Spending:
        return self._spent

    def add(self, more: Spending) -> None:
        with self._lock:
            self._spent = add_spending(self._spent, {**more, "turn": self._spent.get("turn", "")})

    def enter(self, hold: Hold) -> None:
        """Hold a part, or stand in line for it; `hold.decided` tells."""
        with self._lock:
            self._line.append(hold)
            settled = self._look()
        _tell(settled)

    def leave(self, hold: Hold) -> None:
        """Give it back, or leave the line."""
        with self._lock:
            for place in (self._held, self._line):
                if hold in place:
                    place.remove(hold)
            settled = self._look()
        _tell(settled)

    def _look(self) -> list[tuple[Hold, str | None]]:
        """Decide about those at the head of the line, as far as that is possible now."""
        settled: list[tuple[Hold, str | None]] = []
        while self._line:
            ceiling = self.ceilings.reached(self._spent)
            if ceiling is None and self._held and not self._fits(self._line[0]):
                break
            hold = self._line.popleft()
            if ceiling is None:
                self._held.append(hold)
            settled.append((hold, used_up(ceiling) if ceiling else None))
        return settled

    def _fits(self, hold: Hold) -> bool:
        """Beside those that are held. Asked anew each time: what the others of its kind have needed meanwhile counts."""
        together = self._spent
        for each in (*self._held, hold):
            if (expected := each.measure()) is None:
                return False
            together = add_spending(together, {**expected, "turn": together.get("turn", "")})
        return all(share <= 1.0 for share in self.ceilings.shares(together).values())


def _tell(settled: Sequence[tuple[Hold, str | None]]) -> None:
    """Outside of the lock: whoever waits may go on at once."""
    for hold, refusal in settled:
        hold.decided.set_result(refusal)


@contextmanager
def holding(accounts: Sequence[Account], measure: Measure) -> Iterator[str | None]:
    """A part of each account for the body, outermost first; or why there is none, in words. Blocks while it waits."""
    held: list[tuple[Account, Hold]] = []
    try:
        refusal = None
        for account in accounts:
            held.append((account, hold := Hold(measure)))
            if refusal := wait_for(account, hold):
                break
        yield refusal
    finally:
        for account, hold in reversed(held):
            account.leave(hold)


@asynccontextmanager
async def aholding(accounts: Sequence[Account], measure: Measure) -> AsyncIterator[str | None]:
    """The same from async code."""
    held: list[tuple[Account, Hold]] = []
    try:
        refusal = None
        for account in accounts:
            held.append((account, hold := Hold(measure)))
            if refusal := await await_for(account, hold):
                break
        yield refusal
    finally:
        for account, hold in reversed(held):
            account.leave(hold)


def wait_for(account: Account, hold: Hold) -> str | None:
    """Enter, and wait for the decision in this thread. Whatever comes of it, the caller leaves in the end."""
    account.enter(hold)
    try:
        return hold.decided.result(account.patience_s)
    except TimeoutError:
        return _OTHERS


async def await_for(account: Account, hold: Hold) -> str | None:
    """The same from async code."""
    account.enter(hold)
    if hold.decided.done():
        return hold.decided.result()
    try:
        # Shielded: whoever decides later must still be able to say so.
        return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(hold.decided)), account.patience_s)
    except TimeoutError:
        return _OTHERS
