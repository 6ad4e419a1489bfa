"""Keyword settings of a model (`temperature`, `max_tokens` ...), checked against its class.

Integrations drop or forward a setting they do not know; this module rejects it with an error that names it. Two uses:

- `construction_settings` for a model that is still to be built: any field of its class.
- `with_settings` for a shared instance: a copy with some fields changed. The copy keeps the instance's connections, so the
  settings that define a connection cannot be changed this way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from stepwell.errors import ConfigurationError
from stepwell.validation import reason_of, suggest

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from pydantic.fields import FieldInfo

# One name for the length of an answer, whatever the integration calls it.
_SYNONYMS = {"max_tokens": ("num_predict", "max_output_tokens")}

# Fields that only matter while a model is constructed: its profile is looked up by its name, and its clients are made from the others.
_IDENTITY = ("model", "model_name", "model_id")
_CONNECTION = ("api_key", "api_base", "api_url", "base_url", "client", "timeout", "max_retries", "proxy", "headers", "organi")


def construction_settings(kind: type[BaseChatModel], wanted: Mapping[str, Any], *, owner: str) -> dict[str, Any]:
    """The settings by the names that the constructor uses; an unknown setting is rejected."""
    settings = {}
    for key, value in wanted.items():
        field, info = _field(kind, key, owner)
        settings[info.alias or field] = value
    return settings


def with_settings(model: BaseChatModel, wanted: Mapping[str, Any]) -> BaseChatModel:
    """A copy of the model with these settings; the model itself is unchanged."""
    kind = type(model)
    if not hasattr(kind, "model_fields"):
        raise ConfigurationError(
            f"The model settings {_list(wanted)} cannot be applied to a {kind.__name__}. Pass a chat model."
        )
    owner = f"the model {kind.__name__}"
    changes = {}
    for key, value in wanted.items():
        field, info = _field(kind, key, owner)
        if field in _IDENTITY or any(part in field for part in _CONNECTION):
            raise ConfigurationError(
                f"The model setting '{key}' of {owner} is fixed when the model is constructed. Construct another model, or "
                "name the model as 'provider:name' together with these settings."
            )
        changes[field] = _check_value(info, key, value, owner)
    return model.model_copy(update=changes)


def _field(kind: type[BaseChatModel], key: str, owner: str) -> tuple[str, FieldInfo]:
    """The field for a setting, by its name, its alias or a synonym."""
    fields = kind.model_fields
    for name in (key, *_SYNONYMS.get(key, ())):
        for field, info in fields.items():
            if name in (field, info.alias):
                return field, info
    raise ConfigurationError(f"Unknown model setting '{key}' for {owner} ({kind.__name__}).{suggest(key, fields)}")


def _check_value(info: FieldInfo, key: str, value: Any, owner: str) -> Any:
    from pydantic import ConfigDict, TypeAdapter, ValidationError

    adapter = TypeAdapter(info.rebuild_annotation(), config=ConfigDict(arbitrary_types_allowed=True))
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        fact = reason_of(error.errors(include_input=False)[0])
        raise ConfigurationError(f"The model setting '{key}' of {owner} has an invalid value: {fact}.") from None


def _list(names: Mapping[str, Any]) -> str:
    return ", ".join(f"'{name}'" for name in names)
