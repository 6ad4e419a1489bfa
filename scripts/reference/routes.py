"""docs/reference/http-routes.md: parameters, bodies and responses of every route, from the OpenAPI document."""

from __future__ import annotations

import json
import re
import runpy
from collections import defaultdict
from pathlib import Path
from typing import Any

from reference.markdown import page, table

ROOT = Path(__file__).parents[2]
Json = dict[str, Any]


def openapi() -> Json:
    """The document as a server would send it; without starting one."""
    document = runpy.run_path(str(ROOT / "web/scripts/print_openapi.py"))["document"]()
    return json.loads(json.dumps(document))


def http_routes() -> str:
    document = openapi()
    by_tag: dict[str, list[str]] = defaultdict(list)
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            by_tag[(operation.get("tags") or ["Other"])[0]].append(_operation(method, path, operation))
    schemas = document["components"]["schemas"]
    parts = [part for tag in sorted(by_tag, key=str.lower) for part in (f"## {tag}", *by_tag[tag])]
    return page(
        "HTTP routes",
        "Parameters, bodies and responses of every route. What the routes are for, in the order in which one needs them: "
        "[Server API](server-api.md). A running server sends the same as `/openapi.json`.\n\n"
        f"Errors are problems ([RFC 9457](errors.md)): {_problems(document)}.",
        *parts,
        "## Schemas",
        *(_schema(name, schemas[name]) for name in sorted(schemas, key=str.lower)),
    )


def _problems(document: Json) -> str:
    found = {name.removeprefix("Problem"): each["description"] for name, each in document["components"]["responses"].items()}
    return "; ".join(f"{code}: {words[0].lower()}{words[1:]}" for code, words in sorted(found.items()))


def _operation(method: str, path: str, operation: Json) -> str:
    summary, description = operation.get("summary", ""), operation.get("description", "")
    parts = [f"### `{method.upper()} {path}`", f"{summary.rstrip('.')}." if summary else "", _prose(description)]
    parameters = [
        (
            f"`{each['name']}`",
            each["in"],
            type_of(each.get("schema", {})),
            "yes" if each.get("required") else "",
            _note(each, each.get("schema", {})),
        )
        for each in operation.get("parameters", ())
    ]
    parts.append(table(("parameter", "in", "type", "required", "meaning"), parameters))
    for media, body in operation.get("requestBody", {}).get("content", {}).items():
        parts.append(f"Body (`{media}`): {type_of(body.get('schema', {}))}.")
    parts.append(_responses(operation["responses"]))
    return "\n\n".join(part for part in parts if part)


def _responses(responses: Json) -> str:
    said, problems = [], []
    for code, response in sorted(responses.items()):
        if "$ref" in response:
            problems.append(code)
            continue
        forms = [
            type_of(each.get("schema", {})) if each.get("schema") else f"`{media}`"
            for media, each in response.get("content", {}).items()
        ]
        said.append(f"{code}{': ' + ' or '.join(dict.fromkeys(forms)) if forms else ''}")
    return f"Responses: {'; '.join(said)}." + (f" Problems: {', '.join(problems)}." if problems else "")


def type_of(schema: Json) -> str:
    """A schema in a few words, with links to those that have a name."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[`{name}`](#{name.lower()})"
    for word in ("anyOf", "oneOf"):
        if word in schema:
            return " or ".join(dict.fromkeys(type_of(each) for each in schema[word]))
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(each)}`" for each in schema["enum"])
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if len(schema.get("allOf", ())) == 1:
        return type_of(schema["allOf"][0])
    kind = schema.get("type", "any JSON")
    if kind == "array":
        return f"list of {type_of(schema.get('items', {}))}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict) and schema["additionalProperties"]:
        return f"object of {type_of(schema['additionalProperties'])}"
    words = kind if isinstance(kind, str) else " or ".join(kind)
    return f"{words} ({schema['format']})" if schema.get("format") else words


def _note(*holders: Json) -> str:
    """The description, then limits and default."""
    said = next((_prose(each["description"]) for each in holders if each.get("description")), "")
    schema = holders[-1]
    limits = [
        f"{words} {schema[key]}"
        for key, words in (
            ("minimum", "at least"),
            ("maximum", "at most"),
            ("minLength", "at least"),
            ("maxLength", "at most"),
            ("maxItems", "at most"),
        )
        if key in schema
    ]
    units = {"minLength": " characters", "maxLength": " characters", "maxItems": " items"}
    limits = [
        limit + next((unit for key, unit in units.items() if key in schema and str(schema[key]) in limit), "")
        for limit in limits
    ]
    default = schema.get("default")
    if default is not None and default != {} and default != []:
        limits.append(f"default `{json.dumps(default)}`")
    return " ".join(
        part for part in (said if not said or said.endswith((".", "!", "?")) else f"{said}.", "; ".join(limits)) if part
    )


def _prose(text: str) -> str:
    return re.sub(r"(?<!`)<(?=\w)", r"\\<", text.strip())


def _schema(name: str, schema: Json) -> str:
    required = set(schema.get("required", ()))
    rows = [
        (f"`{field}`", type_of(each), "yes" if field in required else "", _note(each))
        for field, each in schema.get("properties", {}).items()
    ]
    form = "" if rows else f"{type_of(schema)[0].upper()}{type_of(schema)[1:]}."
    parts = [
        f"### `{name}`",
        _prose(schema.get("description", "")),
        table(("field", "type", "required", "meaning"), rows),
        form,
    ]
    return "\n\n".join(part for part in parts if part)
