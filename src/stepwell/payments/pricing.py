"""What a model call costs. Pure functions: the operator sets the price, never the payer.

We reserve the most that a call may cost, and charge what it did cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from stepwell.errors import ConfigurationError

_MILLION = 1_000_000


@dataclass(frozen=True)
class CallSize:
    """What the price of a model call depends on. Before the call, `output_tokens` is an upper limit."""

    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0


class Price(Protocol):
    """Returns the price of a call: whole sats, zero or more."""

    @property
    def counts_tokens(self) -> bool:
        """Whether the price depends on tokens. If not, nobody counts them."""
        ...

    def cost(self, call: CallSize) -> int: ...

    def describe(self) -> dict[str, Any]:
        """A price table for payers (`GET /api/wallet/pricing`)."""
        ...

    def in_words(self) -> str: ...


@dataclass(frozen=True)
class FlatPrice:
    """The same price for every call."""

    sats_per_call: int
    counts_tokens: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _require_sats("sats_per_call", self.sats_per_call)

    def cost(self, call: CallSize) -> int:
        return self.sats_per_call

    def describe(self) -> dict[str, Any]:
        return {"kind": "flat", "sats_per_call": self.sats_per_call}

    def in_words(self) -> str:
        return f"{self.sats_per_call} sats per model call"


@dataclass(frozen=True)
class Rate:
    """Sats for a million tokens."""

    input_sats: int
    output_sats: int

    def __post_init__(self) -> None:
        _require_sats("input_sats", self.input_sats)
        _require_sats("output_sats", self.output_sats)


@dataclass(frozen=True)
class TokenPrice:
    """A price by tokens and model, rounded up to whole sats once per call. `"*"` stands for all other models."""

    rates: Mapping[str, Rate]
    minimum_sats: int = 1
    counts_tokens: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _require_sats("minimum_sats", self.minimum_sats)
        if not self.rates:
            raise ConfigurationError("A price by tokens needs a rate for at least one model, or '*' for all.")

    def cost(self, call: CallSize) -> int:
        rate = self.rates.get(call.model) or self.rates.get("*")
        if rate is None:
            raise ConfigurationError(
                f"There is no price for model '{call.model}'. Name it in the rates, or add '*' for all others."
            )
        millionths = call.input_tokens * rate.input_sats + call.output_tokens * rate.output_sats
        return max(self.minimum_sats, -(-millionths // _MILLION))

    def describe(self) -> dict[str, Any]:
        table = {
            model: {"input_sats_per_million": rate.input_sats, "output_sats_per_million": rate.output_sats}
            for model, rate in self.rates.items()
        }
        return {"kind": "tokens", "minimum_sats": self.minimum_sats, "models": table}

    def in_words(self) -> str:
        return f"by tokens and model ({', '.join(self.rates)})"


def _require_sats(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ConfigurationError(f"{name} is {value!r}; a price is a whole number of sats, zero or more.")
