"""What a run has used of its models, as it is stored: one row for each model.

A `UsageMeter` in the callbacks of the run's config has counted it. Ceilings are not held here but by `BudgetMiddleware`, inside the agent.
"""

from __future__ import annotations

from stepwell.models.usage import UsageMeter
from stepwell.runs.records import ModelUsage


def model_usage(meter: UsageMeter) -> list[ModelUsage]:
    """The sums so far. A cost that is not known is None."""
    return [
        ModelUsage(model, used.calls, used.tokens.input, used.tokens.output, used.cost_usd)
        for model, used in meter.sums().items()
    ]
