"""What the suite for repositories stands on: two people, the program itself, and things for them to keep."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.support.driven_runs import OWNER, DrivenRuns, driving, new_id

from stepwell.database.persistence import Persistence
from stepwell.database.records.repository import Repository
from stepwell.database.types import Assistant
from stepwell.errors import NotFoundError

OTHER = "somebody else"
PROGRAM: str | None = None
"""Who sees everything."""


def an_assistant(owner: str = OWNER, **fields: Any) -> Assistant:
    now = datetime.now(UTC)
    known: dict[str, Any] = {
        "assistant_id": new_id(),
        "graph_id": "a-graph",
        "owner": owner,
        "name": "Ada",
        "created_at": now,
        "updated_at": now,
    }
    return Assistant(**known | fields)


async def refusal(asking: Awaitable[Any], name: str) -> str:
    """What a caller is told who asks for something that is not there, or not theirs. The name is taken out, to compare."""
    with pytest.raises(NotFoundError) as refused:
        await asking
    return str(refused.value).replace(name, "<name>")


class RepositoryCase:
    """Override `persistence`."""

    @pytest.fixture
    def persistence(self) -> Persistence:
        raise NotImplementedError("Give the suite a persistence to test.")

    @pytest.fixture
    def records(self, persistence: Persistence) -> Repository:
        return persistence.records

    @pytest.fixture
    async def runs(self, persistence: Persistence) -> AsyncIterator[DrivenRuns]:
        async with driving(persistence) as runs:
            yield runs
