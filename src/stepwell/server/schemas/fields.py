"""Fields that several bodies, paths and queries share, with their limits."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import orjson
import re2
from fastapi import Path
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.config import JsonDict
from pydantic.warnings import UnsupportedFieldAttributeWarning

UUID_PATTERN = "^[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}$"
MAX_PAGE = 1000
MAX_OFFSET = 2**31 - 1
FIRST_YEAR, LAST_YEAR = 1970, 9900


def _check_uuid(text: str) -> str:
    if re2.fullmatch(UUID_PATTERN, text) is None:
        raise ValueError("must be a UUID, such as 1ba54ac6-6d3c-4a59-9f0a-1c2e3d4f5a6b")
    return str(UUID(text))


def _check_moment(moment: datetime) -> datetime:
    """In UTC, if no offset is given. The years leave room for time zones, and for what a database makes of a moment."""
    if not FIRST_YEAR <= moment.year < LAST_YEAR:
        raise ValueError(f"must be between the years {FIRST_YEAR} and {LAST_YEAR}")
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _as_whole(number: Any) -> Any:
    """Accepts 10.0 as 10, because JSON does not distinguish them."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _split_names(given: Any) -> Any:
    """SDKs send several names in a query as repeated parameters, with commas, or as a JSON array; and an empty string for no names."""
    texts = given if isinstance(given, list) else [given]
    return [name for text in texts for name in (_names_in(text) if isinstance(text, str) else [text])]


def _names_in(text: str) -> list[Any]:
    if not text.lstrip().startswith("["):
        return [name.strip() for name in text.split(",") if name.strip()]
    try:
        found = orjson.loads(text)
    except ValueError as error:
        raise ValueError("starts like a JSON array but is not valid JSON") from error
    return list(found)


Whole = BeforeValidator(_as_whole)
SeveralNames = BeforeValidator(_split_names)
_AS_UUID: JsonDict = {"pattern": UUID_PATTERN, "format": "uuid"}

Uuid = Annotated[str, Field(json_schema_extra=_AS_UUID), AfterValidator(_check_uuid)]
"""An id. Upper case and missing hyphens are accepted, and normalised."""

PathUuid = Annotated[str, Path(json_schema_extra=_AS_UUID), AfterValidator(_check_uuid)]
ThreadId = PathUuid
RunId = PathUuid

AssistantRef = Annotated[str, Field(min_length=1, max_length=256)]
"""An assistant's id, or the name of a graph for its default assistant."""

PathAssistant = Annotated[str, Path(min_length=1, max_length=256)]

Moment = Annotated[datetime, Field(strict=False), AfterValidator(_check_moment)]
"""A time, given as ISO 8601; without an offset, in UTC."""

JsonObject = dict[str, Any]
Name = Annotated[str, Field(max_length=1024)]
Text = Annotated[str, Field(max_length=65_536)]
NodeName = Annotated[str, Field(min_length=1, max_length=1024)]
CheckpointId = Annotated[str, Field(min_length=1, max_length=256)]
Limit = Annotated[int, Field(ge=1, le=MAX_PAGE), Whole]
Offset = Annotated[int, Field(ge=0, le=MAX_OFFSET), Whole]
SortOrder = Literal["asc", "desc"]
IfExists = Literal["raise", "do_nothing"]


class WireModel(BaseModel):
    """A request or a response. Pydantic builds its validator when it is first used: a server has more than a hundred, most of which it
    seldom needs, and building them took a tenth of its start-up."""

    model_config = ConfigDict(defer_build=True)


@contextmanager
def building_models() -> Iterator[None]:
    """For the first use of a `WireModel` as a parameter: FastAPI gives a body an alias, and silences pydantic's warning about it only
    where it declares the parameter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnsupportedFieldAttributeWarning)
        yield


class Body(WireModel):
    """A request's body: known fields are validated, others ignored."""

    model_config = ConfigDict(extra="ignore", strict=True)


class ResponseBody(WireModel):
    """Describes a response. Every field is optional, because callers choose fields with `select`."""

    model_config = ConfigDict(json_schema_extra=lambda schema: schema.pop("required", None))


class CheckpointRef(Body):
    """A checkpoint of a thread. Without `checkpoint_id`, the newest one of the namespace."""

    thread_id: str | None = None
    checkpoint_ns: Annotated[str, Field(max_length=4096)] | None = None
    checkpoint_id: CheckpointId | None = None
    checkpoint_map: JsonObject | None = None


def checkpoint_of(checkpoint: CheckpointRef | None, checkpoint_id: str | None) -> JsonObject | None:
    """Clients name a checkpoint by an object or by its id; returns an object for both."""
    if checkpoint is not None:
        return checkpoint.model_dump(exclude_none=True, exclude={"thread_id"}) or None
    return {"checkpoint_id": checkpoint_id} if checkpoint_id else None


def pick(whole: JsonObject, select: list[str] | None) -> JsonObject:
    """The selected fields; all of them if none are selected."""
    return {name: whole[name] for name in select if name in whole} if select else whole
