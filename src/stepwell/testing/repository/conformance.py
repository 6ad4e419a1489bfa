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

from stepwell.testing.repository.assistants import AssistantCases, VersionCases
from stepwell.testing.repository.claims import ClaimCases
from stepwell.testing.repository.effects import EffectCases
from stepwell.testing.repository.runs import CopyCases, ErasingCases, RunCases, UsageCases
from stepwell.testing.repository.steps import StepCases, WaitingCases
from stepwell.testing.repository.threads import SearchCases, ThreadCases


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
):
    """All of it."""
