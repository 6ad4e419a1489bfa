"""What a model has against a value, as one sentence for everybody."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError, field_validator

from stepwell.validation import describe_first_fault


class Step(BaseModel):
    tool: str

    @field_validator("tool")
    @classmethod
    def _check_tool(cls, tool: str) -> str:
        if tool == "guess":
            raise ValueError("is not a tool")
        return tool


class Plan(BaseModel):
    steps: list[Step]


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ({"steps": [{"tool": "search"}, {}]}, "steps.1.tool: Field required"),
        ({"steps": [{"tool": "guess"}]}, "steps.0.tool: is not a tool"),
        ("a secret", "the plan: Input should be a valid dictionary or instance of Plan"),
    ],
)
def test_the_first_fault_is_named_by_its_place_and_without_what_was_sent(value: Any, sentence: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Plan.model_validate(value)
    assert describe_first_fault(caught.value, "the plan") == sentence


def test_a_value_inside_another_is_named_from_the_top() -> None:
    with pytest.raises(ValidationError) as caught:
        Plan.model_validate({})
    assert describe_first_fault(caught.value, under=("params",)) == "params.steps: Field required"
