"""What all engines share: sending, checking the status, reading JSON, and keeping only usable results."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from stepwell.errors import FetchRefusedError, WebError
from stepwell.tools.documents.plain_html import without_tags
from stepwell.tools.documents.visible import one_line
from stepwell.tools.web.addresses import read_url
from stepwell.tools.web.search.outcomes import Blocked, Empty, Failed, Found, SearchResult
from stepwell.tools.web.transport import Web, WebRequest, WebResponse

SEARCH_TIMEOUT_S = 12.0
_MAX_BYTES = 4 * 1024 * 1024
_ASKING = (
    "a an the of in on at by to for from with and or is are was were be do does did has have had can could should will would it its "
    "who whom whose what which when where why how study studies paper papers research evidence say says about myth"
)
_ASKING_WORDS = frozenset(_ASKING.split())
_LONGEST_PAUSE_S = 24 * 3600.0


def search_request(engine: str, url: str, **more: Any) -> WebRequest:
    """A request with the limits for a search."""
    return WebRequest(url, purpose=f"search:{engine}", timeout_s=SEARCH_TIMEOUT_S, max_bytes=_MAX_BYTES, **more)


async def ask(
    web: Web, engine: str, request: WebRequest, *, blocked_by: Iterable[int] = (429,)
) -> WebResponse | Blocked | Failed:
    """The response if its status is 200; otherwise the outcome of the search."""
    try:
        response = await web.send(request)
    except WebError as error:
        return Failed(engine, str(error))
    if response.status in blocked_by:
        pause = retry_after_s(response)
        return Blocked(engine, f"it answered with status {response.status}", pause)
    if response.status != 200:
        return Failed(engine, f"it answered with status {response.status}{_hint(response.status)}")
    return response


def retry_after_s(response: WebResponse, now: datetime | None = None) -> float | None:
    """`Retry-After` in seconds, from a number or a date (relative to the response's own `Date`)."""
    said = (response.header("retry-after") or "").strip()
    if said.isascii() and said.isdigit():
        return min(float(said), _LONGEST_PAUSE_S)
    then, sent = _date(said), _date(response.header("date") or "") or now
    if then is None or sent is None:
        return None
    return min(max(0.0, (then - sent).total_seconds()), _LONGEST_PAUSE_S)


def read_json(engine: str, response: WebResponse) -> dict[str, Any] | Failed:
    """The answer as a JSON object."""
    try:
        data = json.loads(response.content)
    except (ValueError, RecursionError):
        return Failed(engine, "its answer is not JSON")
    return data if isinstance(data, dict) else Failed(engine, "its answer is not the JSON object it should be")


def results_from(engine: str, items: Any, keys: tuple[str, str, str], limit: int) -> Found | Empty | Failed:
    """Results from a list of objects: `keys` name title, address and excerpt. A list without any usable result is a failure."""
    if not isinstance(items, list):
        return Failed(engine, "its answer has no list of results")
    title, url, snippet = keys
    rows = [(item.get(title), item.get(url), item.get(snippet)) for item in items if isinstance(item, dict)]
    results = usable_results(rows, limit)
    if items and not results:
        return Failed(engine, "none of its results can be used")
    return Found(engine, results) if results else Empty(engine)


def key_words(query: str, most: int) -> list[str]:
    """The words of a query without those that only ask, for engines that look for every word."""
    bare = (word.strip(" \t.,;:!?¿¡()[]{}\"'“”„‘’«»") for word in query.split())
    words = list(dict.fromkeys(word for word in bare if word))
    return ([word for word in words if word.lower() not in _ASKING_WORDS] or words)[:most]


def usable_results(rows: Iterable[tuple[Any, Any, Any]], limit: int) -> tuple[SearchResult, ...]:
    """The rows with a web address, each address once, text without markup."""
    results: dict[str, SearchResult] = {}
    for title, url, snippet in rows:
        if len(results) >= limit:
            break
        address = _web_address(url)
        if address is not None and address not in results:
            results[address] = SearchResult(_line(title, 200) or address, address, _line(snippet, 500))
    return tuple(results.values())


def _web_address(url: Any) -> str | None:
    if not isinstance(url, str):
        return None
    try:
        return str(read_url(url.strip().split("#")[0]))
    except FetchRefusedError:
        return None


def _line(text: Any, most: int) -> str:
    return one_line(without_tags(text[:20_000]), most) if isinstance(text, str) else ""


def _hint(status: int) -> str:
    return {401: " (its key is not accepted)", 403: " (access refused: a wrong key, or not allowed)"}.get(status, "")


def _date(text: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
