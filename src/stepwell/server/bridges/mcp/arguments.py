"""The arguments of a call as the graph's input, checked against what `tools/list` says about the tool.

A graph's schema takes tens of milliseconds to build. A call with messages alone, as most are, is checked without it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from stepwell.answers.schemas import broken_rule
from stepwell.database.types import Assistant
from stepwell.errors import InvalidRequestError
from stepwell.server.bridges.incoming import messages_fault
from stepwell.server.bridges.schemas import small_input_schema, takes_messages, takes_object
from stepwell.server.login.principal import Principal
from stepwell.server.parts import Services

_MESSAGES = "messages"
_SAY_SOMETHING = (
    'Send \'messages\', such as [{"role": "user", "content": "..."}]. With nothing but \'thread_id\', a call returns what its newest '
    "run has come to."
)


async def read_arguments(
    services: Services, principal: Principal, assistant: Assistant, given: Mapping[str, Any], *, continues: bool
) -> Any:
    """The graph's input. `continues` if the call names a thread, whose state may have what the arguments leave out.

    Raises:
        InvalidRequestError: If the arguments do not fit.
    """
    owner = principal.owner
    fields = await services.registry.input_fields(assistant.graph_id, owner, services.persistence.store(owner))
    fault = None
    if fields is not None and _MESSAGES in fields:
        if not given or given.get(_MESSAGES) == []:
            raise InvalidRequestError(_SAY_SOMETHING)
        fault = await asyncio.to_thread(messages_fault, given[_MESSAGES]) if _MESSAGES in given else None
        if given.keys() == {_MESSAGES} and fault is None:
            return given
    if fields is not None and not given.keys() & fields:
        return given  # the engine says which there are
    schema = (await services.assistants.schemas(owner, assistant.assistant_id))["input_schema"]
    if schema is None:
        return given
    await asyncio.to_thread(_require_fit, schema, given, fault, continues)
    return given if takes_object(schema) else given.get("input")


def _require_fit(schema: Mapping[str, Any], given: Mapping[str, Any], fault: str | None, continues: bool) -> None:
    small = small_input_schema(schema)
    properties = dict(small["properties"])
    if takes_messages((schema.get("properties") or {}).get(_MESSAGES)):
        if fault:
            raise InvalidRequestError(fault)
        properties[_MESSAGES] = {}  # more forms can be read than the short schema names
    checked = {**small, "properties": properties, "required": [] if continues else small.get("required") or []}
    if broken := broken_rule(checked, given):
        place, rule = broken
        named = f"The argument '{place}' does" if place else "The arguments do"
        raise InvalidRequestError(f"{named} not fit the tool's inputSchema: {rule}. tools/list has it.")
