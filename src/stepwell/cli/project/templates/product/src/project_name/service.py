"""The rule for runs: it counts each run before it starts, and refuses the one above the user's limit."""

from contextlib import asynccontextmanager

from project_name import tables
from stepwell.errors import LimitReachedError
from stepwell.runs.gates import Gate
from stepwell.server.parts import ProductService


class Counting(Gate):
    takes = True  # asked after gates that only look, so that what they refuse does not count

    def __init__(self, database):
        self._database = database

    async def admit(self, arrival):
        owner = arrival.owner
        if not await self._database.write(lambda connection: tables.take_one(connection, owner)):
            raise LimitReachedError("You have started all the runs you may start. Ask the operator for more.")
        return arrival


class Service(ProductService):
    def __init__(self, database):
        self.gate = Counting(database)


def open_service(settings):
    @asynccontextmanager
    async def opened(parts, supervisor):
        yield Service(parts.persistence.database)  # what follows the yield is done when the server stops

    return opened
