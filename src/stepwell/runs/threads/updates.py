"""What a caller wants to write into a thread's state: converted from the wire format to LangGraph's, and checked against the graph.

Messages stay as they were sent: if a graph's reducer expects a message, it turns `{"role": ...}` into one, and a graph without such a
reducer gets what was sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel import Pregel
from langgraph.types import Command, Send, StateUpdate

from stepwell.errors import InvalidRequestError
from stepwell.runs.threads.loose_subgraphs import subgraph_at

Step = Sequence[StateUpdate]


def steps_from_wire(supersteps: Sequence[Mapping[str, Any]]) -> list[list[StateUpdate]]:
    """The steps in `[{"updates": [{"values" | "command", "as_node"}]}]`, which a client sends to copy a thread's history."""
    return [
        [_update(update, f"{n}.updates.{m}") for m, update in enumerate(_updates(step, n))] for n, step in enumerate(supersteps)
    ]


def _updates(step: Any, n: int) -> Sequence[Mapping[str, Any]]:
    updates = step.get("updates") if isinstance(step, Mapping) else None
    if not isinstance(updates, Sequence) or isinstance(updates, str) or not updates:
        raise InvalidRequestError(
            f'supersteps.{n} has no updates. Send {{"updates": [{{"values": {{...}}, "as_node": "..."}}]}}.'
        )
    return updates


def _update(update: Any, place: str) -> StateUpdate:
    if not isinstance(update, Mapping):
        raise InvalidRequestError(f"supersteps.{place} must be an object with 'values' or 'command', and 'as_node'.")
    as_node = update.get("as_node")
    if not isinstance(as_node, str) or not as_node:
        raise InvalidRequestError(f"supersteps.{place} names no node. Say in 'as_node' which node's update it is.")
    command = update.get("command")
    values = update.get("values") if command is None else _command(command, place)
    return StateUpdate(values, as_node)  # type: ignore[arg-type]  # LangGraph accepts a Command here; its annotation only allows dicts


def _command(command: Any, place: str) -> Command[Any]:
    if not isinstance(command, Mapping) or command.get("resume") is not None:
        raise InvalidRequestError(f"supersteps.{place}.command may contain 'update' and 'goto'; answer a question with a run.")
    goto = command.get("goto") or ()
    targets = [goto] if isinstance(goto, (str, Mapping)) else goto
    return Command(update=command.get("update"), goto=[_target(target, place) for target in targets])


def _target(target: Any, place: str) -> str | Send:
    if isinstance(target, str):
        return target
    if isinstance(target, Mapping) and isinstance(target.get("node"), str):
        return Send(target["node"], target.get("input"))
    raise InvalidRequestError(f"supersteps.{place}.command.goto must be a node's name, or an object with 'node' and 'input'.")


def require_known_channels(graph: Pregel[Any, Any, Any, Any], namespace: str, steps: Sequence[Step]) -> None:
    """Refuse names that the state does not have: LangGraph would silently drop them."""
    target = subgraph_at(graph, namespace)
    if not isinstance(target, CompiledStateGraph) or "__root__" in target.channels:
        return
    known = {name for name in target.channels if not name.startswith(("__", "branch:", "join:"))}
    for update in (update for step in steps for update in step):
        values: Any = update.values
        written = values.update if isinstance(values, Command) else values
        if isinstance(written, Mapping) and (unknown := sorted(str(name) for name in written.keys() - known)):
            raise InvalidRequestError(
                f"The state was not changed: the graph's state has no {', '.join(map(repr, unknown))}. "
                f"It has: {', '.join(sorted(known))}."
            )
