"""A fault as an error for the caller: which model, what happened, the way out.

The provider's own words are not repeated, since some repeat the key; they stay in `__cause__`.
"""

from __future__ import annotations

from langchain_core.language_models import BaseChatModel

from stepwell.errors import (
    ModelAccessError,
    ModelBusyError,
    ModelCallError,
    ModelDeadlineError,
    ModelStreamCutError,
    ModelUnreachableError,
)
from stepwell.middleware.model_errors import Fault
from stepwell.models.facts import describe
from stepwell.settings import PROVIDER_VARIABLES

_SLOW = {
    "connect": "The connection was not there",
    "first token": "No answer began",
    "idle": "The answer stopped coming",
    "total": "The answer was not whole",
}


def label_of(model: BaseChatModel) -> str:
    """A model as people write it, `provider:name` where both are known."""
    facts = describe(model)
    parts = [part for part in (facts.provider, facts.name) if part]
    return ":".join(parts) or type(model).__name__


def failure(model: BaseChatModel, fault: Fault, attempts: int) -> ModelCallError:
    """The error for a fault that neither retries nor a fallback could mend."""
    name = label_of(model)
    status = f" ({fault.status})" if fault.status else ""
    asked = f" It was asked {attempts} times." if attempts > 1 else ""
    match fault.kind:
        case "key refused":
            return ModelAccessError(f"The provider of the model '{name}' refused the key{status}. {_key_hint(model)}")
        case "model unknown":
            return ModelAccessError(
                f"The provider does not know the model '{name}'{status}. Check the name, and the address of the server; a local "
                "server must have the model pulled or loaded."
            )
        case "no credit":
            return ModelAccessError(
                f"The account behind the model '{name}' has no credit left{status}. Top it up with the provider, or use another "
                "model."
            )
        case "rate limited":
            return ModelBusyError(
                f"The model '{name}' is rate limited{status}.{asked}{_wait(fault)} Or give it a fallback model."
            )
        case "overloaded":
            return ModelBusyError(
                f"The provider of the model '{name}' has trouble or is overloaded{status}.{asked}{_wait(fault)} Or give it a "
                "fallback model."
            )
        case "unreachable":
            return ModelUnreachableError(
                f"The model '{name}' cannot be reached: no connection.{asked} Is the server running, and is its address right?"
            )
        case "cut":
            return ModelStreamCutError(
                f"The answer of the model '{name}' broke off before its end.{asked} Nothing of it was kept. Ask again."
            )
        case "timeout":
            return ModelDeadlineError(_too_slow(name, fault) + asked, fault.deadline or "total")


def _key_hint(model: BaseChatModel) -> str:
    variables, _ = PROVIDER_VARIABLES.get(describe(model).provider or "", ((), ()))
    where = f"Set {variables[0]} to a valid one" if variables else "Set a valid one"
    return f"{where}, and check that it may use this model."


def _wait(fault: Fault) -> str:
    return f" Try again in {fault.retry_after_s:.0f} s." if fault.retry_after_s else " Try again later."


def _too_slow(name: str, fault: Fault) -> str:
    deadline = fault.deadline or "total"
    within = f" within {fault.seconds:g} s" if fault.seconds else " in time"
    setting = {"first token": "first_token_s", "idle": "idle_s", "connect": "connect_s"}.get(deadline, "total_s")
    return f"{_SLOW[deadline]}{within}: the model '{name}' is too slow ({deadline} time-out). Allow more with {setting}."
