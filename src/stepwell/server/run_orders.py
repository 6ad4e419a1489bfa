"""From a request's body to what the engine is asked for. `null` and a missing field are the same: the engine's default."""

from __future__ import annotations

from typing import Any

from stepwell.runs.starting import RunOrder
from stepwell.server.schemas.fields import checkpoint_of
from stepwell.server.schemas.runs import RunCommand, RunCreate

_AS_THEY_ARE = (
    "context", "metadata", "stream_subgraphs", "interrupt_before", "interrupt_after", "multitask_strategy", "if_not_exists",
    "on_completion", "on_disconnect", "after_seconds", "webhook",
)  # fmt: skip


def run_order_of(body: RunCreate, thread_id: str | None) -> RunOrder:
    """The order on a thread, or on none."""
    given = {name: value for name in _AS_THEY_ARE if (value := getattr(body, name)) is not None}
    if body.stream_mode:
        given["stream_modes"] = [body.stream_mode] if isinstance(body.stream_mode, str) else body.stream_mode
    if body.config:
        given["config"] = body.config.given()
    if durability := _durability(body):
        given["durability"] = durability
    return RunOrder(
        assistant_id=body.assistant_id,
        thread_id=thread_id,
        input=_input(body),
        command=_command(body.command) if body.command else None,
        checkpoint=checkpoint_of(body.checkpoint, body.checkpoint_id),
        **given,
    )


def _input(body: RunCreate) -> Any:
    """Clients send an empty input beside a command, and mean none."""
    return None if body.command and body.input == {} else body.input


def _command(command: RunCommand) -> dict[str, Any]:
    return {name: value for name, value in command.model_dump().items() if value is not None}


def _durability(body: RunCreate) -> str | None:
    """`checkpoint_during` is the older word for it: `false` keeps only what stands at the end."""
    if body.durability is None and body.checkpoint_during is not None:
        return "async" if body.checkpoint_during else "exit"
    return body.durability
