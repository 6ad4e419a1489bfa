"""`with_structured_output` for the embedded model."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable, RunnableLambda
from pydantic import BaseModel

from stepwell.models.local.forms import JsonForm, Unfit
from stepwell.models.local.schemas import checker, pydantic_fault, schema_of


def structured_output(
    bind: Callable[..., Runnable[Any, Any]], argument: str, wanted: dict[str, Any] | type, include_raw: bool
) -> Runnable[Any, Any]:
    """The model bound to the schema's form, and what its text stands for."""
    kind = wanted if isinstance(wanted, type) and issubclass(wanted, BaseModel) else None
    schema = schema_of(wanted)
    fault_of = checker(schema)

    def check(value: Any) -> None:
        # The class knows more than its schema does: validators of its own.
        fault = fault_of(value) or (pydantic_fault(kind, value) if kind else None)
        if fault:
            raise Unfit(fault)

    def read(message: AIMessage) -> Any:
        value = json.loads(str(message.text))
        parsed = kind.model_validate(value) if kind else value
        return {"raw": message, "parsed": parsed, "parsing_error": None} if include_raw else parsed

    return bind(**{argument: JsonForm(schema, check)}) | RunnableLambda(read, name="read_answer")
