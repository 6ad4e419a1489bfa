"""What every event log must do, as tests. Subclass `EventLogConformance` and give it a `persistence` fixture.

```python
class TestMyEventLog(EventLogConformance):
    @pytest.fixture
    async def persistence(self, tmp_path):
        async with MyPersistence(...) as opened:
            yield opened
```
"""

from __future__ import annotations

from tests.contract.suites.event_log.appending import AppendingCases, LogReadingCases
from tests.contract.suites.event_log.following import EndingCases, FollowingCases, ThreadEventCases


class EventLogConformance(AppendingCases, LogReadingCases, FollowingCases, EndingCases, ThreadEventCases):
    """All of it."""
