"""The gate: it counts each run before it starts, and refuses the one above the limit."""

import time
from contextlib import asynccontextmanager

from stepwell.errors import LimitReachedError
from stepwell.runs.gates import Arrival, Gate
from stepwell.server.parts import ProductService
from stepwell_allowance import tables


class DailyAllowance(Gate):
    takes = True  # asked after gates that only look, so that what they refuse does not count

    def __init__(self, database):
        self._database = database

    async def admit(self, arrival: Arrival) -> Arrival:
        owner, day = arrival.owner, tables.today()
        if not await self._database.write(lambda connection: tables.take_one(connection, owner, day)):
            raise LimitReachedError(
                "You have started all the runs you may start today. Try again after midnight (UTC), or ask the operator for more.",
                retry_after_s=86_400 - int(time.time()) % 86_400,
            )
        return arrival


class Allowance(ProductService):
    def __init__(self, database):
        self.gate = DailyAllowance(database)


def open_allowance(settings):
    @asynccontextmanager
    async def opened(parts, supervisor):
        yield Allowance(parts.persistence.database)

    return opened
