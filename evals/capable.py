"""Which model would be evaluated, and whether it is worth it. Builds nothing and asks nobody."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from stepwell.models.capabilities import CAPABLE, Capabilities
from stepwell.models.choice import ModelChoice, choose_model
from stepwell.models.local.catalogue import CATALOGUE, OWN_FILE, find_local_model
from stepwell.models.providers import LOCAL
from stepwell.settings import Settings


@dataclass(frozen=True)
class Candidate:
    """The model that the name or the environment stands for."""

    choice: ModelChoice
    lacks: tuple[str, ...]
    """What it cannot be trusted with; empty if it can do the tasks."""

    @property
    def title(self) -> str:
        """Its name as a page may show it: a file of one's own without its place on this machine."""
        name = self.choice.name
        known = self.choice.provider != LOCAL or name.strip().lower() in CATALOGUE
        return f"{self.choice.provider}:{name if known else Path(name).name}"


def find_candidate(name: str | None, settings: Settings) -> Candidate:
    """The model of a name, or else of the environment; at worst the embedded one. A name or variable that is wrong is an error."""
    choice = choose_model(name, settings, embedded_fallback=True)
    can = _capabilities(choice)
    needs = (("call tools", can.tools), ("write answers", can.writes))
    return Candidate(choice, tuple(what for what, has in needs if not has))


def refusal(candidate: Candidate) -> str:
    """One sentence: which model was found, why it is not enough, what to set."""
    better = next(model.id for model in CATALOGUE.values() if model.capabilities.tools and model.capabilities.writes)
    return (
        f"Nothing is evaluated: the model found is {candidate.title} ({candidate.choice.reason}), which cannot be trusted to "
        f"{' or to '.join(candidate.lacks)}; set a provider's key such as ANTHROPIC_API_KEY, or STEPWELL_MODEL=provider:name, or "
        f"STEPWELL_LOCAL_MODEL={better}."
    )


def _capabilities(choice: ModelChoice) -> Capabilities:
    if choice.provider != LOCAL:
        return CAPABLE
    known = find_local_model(choice.name)
    return known.capabilities if known else OWN_FILE
