"""What happens to threads that have expired: they are erased as a whole, or their history is merged into their newest state.

```
own ttl   set by the owner when the thread is made or later        looked for every minute
rule      checkpointer.ttl of langgraph.json, for other threads    looked for every sweep_interval_minutes, sweep_limit threads at most
```
Both count from the last use of a thread, and leave alone what is needed (`database/upkeep/expiry`).
"""

from __future__ import annotations

import logging

from stepwell.database.upkeep.expiry import Expired, ThreadRule
from stepwell.database.upkeep.maintenance import Maintenance
from stepwell.errors import ConfigurationError
from stepwell.runs.upkeep.retention import Retention

logger = logging.getLogger(__name__)

_PAGE = 100


class Expiry:
    """Applies what owners and the server's rule say. `rule=None`: threads without a time of their own never expire."""

    def __init__(self, maintenance: Maintenance, retention: Retention, rule: ThreadRule | None = None) -> None:
        self._maintenance = maintenance
        self._retention = retention
        self._rule = rule

    async def apply_own(self) -> int:
        """Returns how many threads were erased or shortened."""
        done = 0
        while expired := await self._maintenance.expired_by_own_ttl():
            for thread in expired:
                done += await self._apply(thread)
        return done

    async def apply_rule(self) -> int:
        """Returns how many threads were erased or shortened."""
        if (rule := self._rule) is None:
            return 0
        done, seen, after = 0, 0, ""
        while seen < rule.sweep_limit:
            limit = min(_PAGE, rule.sweep_limit - seen)
            found = await self._maintenance.expired_by_rule(rule.strategy, rule.minutes, after=after, limit=limit)
            if not found:
                break
            for thread in found:
                done += await self._apply(thread)
            seen, after = seen + len(found), found[-1].thread_id
        if done:
            logger.info("threads have expired", extra={"count": done, "strategy": rule.strategy})
        return done

    async def _apply(self, thread: Expired) -> bool:
        if thread.strategy == "delete":
            return await self._maintenance.erase_expired(thread)
        try:
            return await self._retention.shrink(thread.thread_id, thread.graph_id, 1) is not None
        except ConfigurationError as error:
            logger.info("an expired thread keeps its history: %s", error, extra={"thread_id": thread.thread_id})
            return False
