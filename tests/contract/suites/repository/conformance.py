"""What every repository must do, as tests. Subclass `RepositoryConformance` and give it a `persistence` fixture.

```python
class TestMyRepository(RepositoryConformance):
    @pytest.fixture
    async def persistence(self, tmp_path):
        async with MyPersistence(...) as opened:
            yield opened
```
"""

from __future__ import annotations

from tests.contract.suites.repository.assistants import AssistantCases, VersionCases
from tests.contract.suites.repository.callers import CallerCases
from tests.contract.suites.repository.claims import ClaimCases
from tests.contract.suites.repository.effects import EffectCases
from tests.contract.suites.repository.runs import CopyCases, ErasingCases, RunCases, UsageCases
from tests.contract.suites.repository.steps import StepCases, WaitingCases
from tests.contract.suites.repository.threads import SearchCases, ThreadCases


class RepositoryConformance(
    AssistantCases,
    VersionCases,
    ThreadCases,
    SearchCases,
    RunCases,
    UsageCases,
    CopyCases,
    ErasingCases,
    EffectCases,
    StepCases,
    WaitingCases,
    ClaimCases,
    CallerCases,
):
    """All of it."""
