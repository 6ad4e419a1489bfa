"""What we ask the user's device to do, and what it must answer: nine operations on a project's files, each with a schema.

| operation | content of its result |
|---|---|
| `list_files`, `glob_files` | `FileRows` |
| `read_file` | `FileText` |
| `search_files` | `SearchHits` |
| `grep_files` | `LineMatches` |
| `write_file` | `WrittenFile` |
| `patch_file` | `PatchedFile` |
| `delete_file`, `move_file` (a file or a folder) | `RelocatedFiles` |

A result is `content`, or `error` with one of `ERROR_CODES`. An answer has one result per call, in any order, and may contain the
`claim_id` of the device that sends it. Paths start at the project's root: `/notes/a.md`.

Rule to keep: content is not trusted before its schema and size are checked, and the device's error texts are cut.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from stepwell.answers.asking import Json, worded
from stepwell.validation import describe_first_fault

CLIENT_TOOL_EXECUTION: Final = "client_tool_execution"
MAX_RESULT_CHARS = 1_000_000
"""Limit for all the texts of one answer together."""
MAX_READ_CHARS = 262_144
"""Limit for one read; a longer file is read in parts."""
MAX_ROWS = 10_000
MAX_MATCHES = 1_000
MAX_HITS = 100

ErrorCode = Literal["rejected", "not_found", "conflict", "too_large", "timeout", "failed"]
ERROR_CODES: tuple[str, ...] = get_args(ErrorCode)

Name = Annotated[str, Field(max_length=1024)]
Path = Annotated[str, Field(min_length=1, max_length=2048)]
Hash = Annotated[str, Field(max_length=128)]


class _Content(BaseModel):
    """Strict, so that a number in a string is not accepted as a number. Unknown fields are ignored, because later versions may add some."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


class FileRow(_Content):
    path: Path
    file_id: Name = ""
    is_dir: bool = False
    title: Name | None = None
    file_type: Name | None = None
    size: Annotated[int, Field(ge=0, le=2**53)] = 0
    modified_at: Name = ""
    hash: Hash | None = None


class FileRows(_Content):
    files: Annotated[list[FileRow], Field(max_length=MAX_ROWS)]
    truncated: bool = False


class FileText(_Content):
    """The lines that were asked for, as they are in the file."""

    text: Annotated[str, Field(max_length=MAX_READ_CHARS)]
    total_lines: Annotated[int, Field(ge=0, le=2**53)] | None = None
    hash: Hash | None = None
    """SHA-256 of the whole file, in hexadecimal."""
    file_id: Name = ""


class SearchHit(_Content):
    path: Path
    text: Annotated[str, Field(max_length=8_000)]
    score: float | None = None
    line_number: Annotated[int, Field(ge=1, le=2**53)] | None = None
    file_id: Name = ""


class SearchHits(_Content):
    hits: Annotated[list[SearchHit], Field(max_length=MAX_HITS)]


class LineMatch(_Content):
    path: Path
    line_number: Annotated[int, Field(ge=1, le=2**53)]
    line_content: Annotated[str, Field(max_length=10_000)]
    match_start: Annotated[int, Field(ge=0, le=2**53)] = 0
    match_end: Annotated[int, Field(ge=0, le=2**53)] = 0


class LineMatches(_Content):
    matches: Annotated[list[LineMatch], Field(max_length=MAX_MATCHES)]
    truncated: bool = False


class WrittenFile(_Content):
    file_id: Name
    path: Path | None = None
    hash: Hash | None = None


class PatchedFile(WrittenFile):
    occurrences: Annotated[int, Field(ge=1, le=2**53)] = 1


class RelocatedFiles(_Content):
    """What was deleted, or where it was moved to, and how many files that were."""

    path: Path | None = None
    file_id: Name = ""
    count: Annotated[int, Field(ge=0, le=2**53)] = 1


class DeviceError(_Content):
    """Why an operation was not carried out. Nothing has changed."""

    code: ErrorCode
    message: Annotated[str, Field(max_length=4_000)] = ""


CONTENTS: Final[Mapping[str, type[_Content]]] = {
    "list_files": FileRows,
    "glob_files": FileRows,
    "read_file": FileText,
    "search_files": SearchHits,
    "grep_files": LineMatches,
    "write_file": WrittenFile,
    "patch_file": PatchedFile,
    "delete_file": RelocatedFiles,
    "move_file": RelocatedFiles,
}
"""Operation -> schema of its content."""


def read_results(question: Json, answer: Json) -> list[Any]:
    """The device's answer to each call, in the order of the calls: the content's model, or a `DeviceError`."""
    given = {result["tool_call_id"]: result for result in answer["tool_results"]}
    return [_parse(call["name"], given[call["id"]]) for call in question["tool_calls"]]


def _parse(operation: str, result: Json) -> Any:
    if result.get("error") is not None:
        return DeviceError.model_validate(result["error"])
    return CONTENTS[operation].model_validate(result["content"])


def is_device_request(question: Any) -> bool:
    """Whether a question has the complete form of a device request. The `type` alone says little, because any graph may use it."""
    if not isinstance(question, Mapping) or question.get("type") != CLIENT_TOOL_EXECUTION:
        return False
    calls = question.get("tool_calls")
    return isinstance(calls, list | tuple) and bool(calls) and all(_is_operation(call) for call in calls)


def _is_operation(call: Any) -> bool:
    return (
        isinstance(call, Mapping)
        and isinstance(call.get("id"), str)
        and isinstance(call.get("name"), str)
        and call["name"] in CONTENTS
        and isinstance(call.get("args"), Mapping)
    )


def client_tools_fault(question: Json, answer: Any) -> str | None:
    """Why an answer does not contain valid results for all calls of this question; None if it does."""
    calls = _calls(question)
    results = answer.get("tool_results") if isinstance(answer, Mapping) else None
    if not isinstance(results, list | tuple):
        return (
            f"The answer is an object with a list of 'tool_results', not {worded(answer)}. "
            'Send {"tool_results": [{"tool_call_id": "...", "content": {...}}]}, one for each call.'
        )
    if not isinstance(answer.get("claim_id"), str | None):
        return f"'claim_id' is {worded(answer['claim_id'])}. Send the id that claiming returned, or leave it out."
    if not _is_within(results, MAX_RESULT_CHARS):
        return (
            f"The results hold more than {MAX_RESULT_CHARS:,} characters. "
            "Send the error 'too_large' for what does not fit, and the agent will ask for less."
        )
    return _matching_fault(calls, results) or next(
        (fault for result in results if (fault := _result_fault(calls[result["tool_call_id"]], result))), None
    )


def client_tools_schema(question: Json) -> dict[str, Any]:
    """The rule of `client_tools_fault` as JSON schema."""
    calls = _calls(question)
    results = {"type": "array", "minItems": len(calls), "maxItems": len(calls)}
    forms = [_form(call_id, operation) for call_id, operation in calls.items()]
    return {
        "title": "ToolResults",
        "type": "object",
        "required": ["tool_results"],
        "properties": {
            "tool_results": {**results, "items": forms[0] if len(forms) == 1 else {"anyOf": forms}},
            "claim_id": {"type": ["string", "null"]},
        },
    }


def _form(call_id: str, operation: str) -> dict[str, Any]:
    content = content_schema(CONTENTS[operation]) if operation in CONTENTS else {}
    properties = {"tool_call_id": {"const": call_id}, "content": content, "error": content_schema(DeviceError)}
    one = [{"required": ["content"]}, {"required": ["error"]}]
    return {"type": "object", "required": ["tool_call_id"], "properties": properties, "oneOf": one}


@cache
def content_schema(model: type[BaseModel]) -> dict[str, Any]:
    """A model's JSON schema without references."""
    schema = model.model_json_schema()
    definitions = schema.pop("$defs", {})

    def inline(part: Any) -> Any:
        if isinstance(part, list):
            return [inline(each) for each in part]
        if not isinstance(part, dict):
            return part
        if "$ref" in part:
            return inline(definitions[part["$ref"].rpartition("/")[2]])
        return {key: inline(value) for key, value in part.items() if key != "title" or not isinstance(value, str)}

    inlined: dict[str, Any] = inline(schema)
    return inlined


def _calls(question: Json) -> dict[str, str]:
    """Call id -> operation, of a question that may come from any graph."""
    calls = question.get("tool_calls")
    listed = [call for call in calls if isinstance(call, Mapping)] if isinstance(calls, list | tuple) else []
    return {str(call.get("id")): str(call.get("name")) for call in listed}


def _matching_fault(calls: Mapping[str, str], results: Sequence[Any]) -> str | None:
    named = [result.get("tool_call_id") if isinstance(result, Mapping) else None for result in results]
    if not all(isinstance(name, str) for name in named):
        return "A result does not say which call it belongs to. Send each as an object with a 'tool_call_id'."
    wanted = f"Send one result for each of: {', '.join(calls)}."
    if unknown := sum(name not in calls for name in named):
        return f"{unknown} of the results {'belongs' if unknown == 1 else 'belong'} to calls that were not requested. {wanted}"
    if len(set(named)) < len(named):
        return f"A call has two results. {wanted}"
    if missing := [name for name in calls if name not in named]:
        return f"The results of these calls are missing: {', '.join(missing)}. {wanted}"
    return None


def _result_fault(operation: str, result: Json) -> str | None:
    which = f"The result of '{operation}'"
    content, error = result.get("content"), result.get("error")
    if (content is None) == (error is None):
        return f"{which} needs either 'content' or an 'error', and has {'neither' if content is None else 'both'}."
    try:
        if error is not None:
            DeviceError.model_validate(error)
        elif operation in CONTENTS:
            CONTENTS[operation].model_validate(content)
    except ValidationError as fault:
        under = "error" if error is not None else "content"
        codes = f" An error has a 'code', one of {', '.join(ERROR_CODES)}, and a 'message'." if error is not None else ""
        return f"{which} has an invalid form: {describe_first_fault(fault, under=(under,))}.{codes}"
    return None


def _is_within(value: Any, room: int) -> bool:
    """Whether the texts of a JSON value fit into `room` characters. Stops counting as soon as they do not."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Mapping):
            waiting.extend(each.values())
            room -= sum(len(str(key)) for key in each)
        elif isinstance(each, list | tuple):
            waiting.extend(each)
        room -= len(each) if isinstance(each, str) else 1
        if room < 0:
            return False
    return True
