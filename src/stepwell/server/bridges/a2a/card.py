"""An agent card: what an assistant says about itself, where it is reached, and what a caller has to bring."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from stepwell.database.types import Assistant
from stepwell.server.settings import ServerSettings

PROTOCOL_VERSION = "1.0"
_IN = ["text/plain", "application/json", "image/png", "image/jpeg", "application/pdf"]
OUTPUT_MODES = ["text/plain", "application/json"]


def make_card(assistant: Assistant, address: str, settings: ServerSettings, *, takes_messages: bool) -> dict[str, Any]:
    """The card of an assistant on the server at `address`."""
    about = (
        assistant.description
        or f"The assistant '{assistant.name}' of this server, which runs the graph '{assistant.graph_id}'."
    )
    modes = _IN if takes_messages else ["application/json"]
    skill = {
        "id": assistant.graph_id,
        "name": assistant.name,
        "description": about,
        "tags": [assistant.graph_id],
        "inputModes": modes,
        "outputModes": OUTPUT_MODES,
    }
    url = f"{address}/a2a/{assistant.assistant_id}"
    card = {
        "name": assistant.name,
        "description": about,
        "version": f"{version('stepwell')}+{assistant.version}",
        "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": PROTOCOL_VERSION}],
        "capabilities": {"streaming": True, "pushNotifications": False, "extendedAgentCard": True},
        "defaultInputModes": modes,
        "defaultOutputModes": OUTPUT_MODES,
        "skills": [skill],
    }
    return {**card, **_security(settings)}


def _security(settings: ServerSettings) -> dict[str, Any]:
    if not settings.asks_who:
        return {}
    schemes: dict[str, Any] = {
        "bearer": {
            "httpAuthSecurityScheme": {"scheme": "Bearer", "description": "An API key of this server, or an access token."}
        },
        "apiKey": {
            "apiKeySecurityScheme": {"location": "header", "name": "x-api-key", "description": "An API key of this server."}
        },
    }
    return {
        "securitySchemes": schemes,
        "securityRequirements": [{"schemes": {name: {"list": []}}} for name in schemes],
    }
