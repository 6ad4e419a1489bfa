"""A `Web` without sockets: the test defines the response for each URL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from stepwell.errors import FetchFailedError
from stepwell.tools.web.transport import WebRequest, WebResponse

Scripted = WebResponse | Exception | Callable[[WebRequest], WebResponse]


def answer(content: bytes | str = b"", status: int = 200, **headers: str) -> WebResponse:
    """A response; `content_type="text/html"` is the header `content-type`."""
    body = content.encode() if isinstance(content, str) else content
    pairs = tuple((name.replace("_", "-").lower(), value) for name, value in headers.items())
    return WebResponse(status, pairs, body, len(body))


class ScriptedWeb:
    """Looks up the response by the whole URL, then by the URL without its query. A list of responses is used entry by entry; the last
    entry repeats.

    robots.txt is answered with 404 unless it is defined; any other undefined URL fails like a host that does not exist.
    """

    def __init__(self, answers: Mapping[str, Scripted | list[Scripted]]) -> None:
        self._answers = {url: list(given) if isinstance(given, list) else [given] for url, given in answers.items()}
        self.requests: list[WebRequest] = []

    @property
    def urls(self) -> list[str]:
        """The requested URLs, without robots.txt."""
        return [request.url for request in self.requests if request.purpose != "robots"]

    async def send(self, request: WebRequest) -> WebResponse:
        self.requests.append(request)
        found = self._answers.get(request.url) or self._answers.get(request.url.split("?")[0])
        if found is None and request.purpose == "robots":
            return answer(status=404)
        if found is None:
            raise FetchFailedError(f"The name '{urlsplit(request.url).hostname}' has no address.", "network")
        scripted = found.pop(0) if len(found) > 1 else found[0]
        if isinstance(scripted, Exception):
            raise scripted
        return scripted if isinstance(scripted, WebResponse) else scripted(request)
