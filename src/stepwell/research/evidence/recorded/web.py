"""The web as research sees it: every request is recorded before it is sent, counted, and never made twice for one step.

A failure counts as an answer, so that a replay and a node that runs again get the same one.
"""

from __future__ import annotations

from collections import Counter
from typing import Any
from urllib.parse import urlsplit

from stepwell.errors import FetchFailedError, FetchRefusedError, WebError
from stepwell.research.audit.exchanges.recording import Outgoing, RecordedReply, Recorder
from stepwell.research.audit.exchanges.replay import Replay
from stepwell.tools.web.transport import Web, WebRequest, WebResponse


class RecordedWeb:
    """A `Web` for one step of a plan. `scope` is the same when the step runs again."""

    def __init__(self, web: Web, recorder: Recorder, scope: str, replay: Replay | None = None) -> None:
        self._web = web
        self._recorder = recorder
        self._scope = scope
        self._replay = replay
        self._asked: Counter[str] = Counter()
        self._answered: set[str] = set()
        self._unanswered: set[str] = set()

    @property
    def out_of_reach(self) -> bool:
        """Whether every request here failed without an answer, as on a machine that is offline."""
        return bool(self._unanswered) and not self._answered

    def is_silent(self, host: str) -> bool:
        """Whether every request to this host failed without an answer."""
        return host in self._unanswered and host not in self._answered

    async def send(self, request: WebRequest) -> WebResponse:
        outgoing = self._outgoing(request)

        async def send() -> RecordedReply:
            return await self._replay.answer(outgoing) if self._replay else await self._send(request)

        answer = await self._recorder.once(outgoing, send)
        error = answer.data.get("error") or {}
        host = urlsplit(request.url).hostname or ""
        if not error:
            self._answered.add(host)
        elif not error.get("refused") and error.get("status") is None:
            self._unanswered.add(host)
        return _read_response(answer)

    def _outgoing(self, request: WebRequest) -> Outgoing:
        """The key says what is asked, and how often the step has asked it. It contains no running number, because pages are fetched in no
        fixed order."""
        bare = Outgoing("", "web", request.method, request.url, request.body, step=self._scope, why=request.purpose)
        fingerprint = bare.fingerprint()[:16]
        self._asked[fingerprint] += 1
        key = f"{self._scope}:{fingerprint}:{self._asked[fingerprint]}"
        return Outgoing(key, "web", request.method, request.url, request.body, step=self._scope, why=request.purpose)

    async def _send(self, request: WebRequest) -> RecordedReply:
        try:
            response = await self._web.send(request)
        except WebError as error:
            return RecordedReply({"error": _describe_error(error)})
        data = {
            "status": response.status,
            "headers": [list(header) for header in response.headers],
            "wire_bytes": response.wire_bytes,
            "complete": response.complete,
        }
        return RecordedReply(data, response.content)


def _describe_error(error: WebError) -> dict[str, Any]:
    refused = isinstance(error, FetchRefusedError)
    return {"refused": refused, "message": str(error), "reason": error.reason, "status": getattr(error, "status", None)}


def _read_response(answer: RecordedReply) -> WebResponse:
    error = answer.data.get("error")
    if error and error["refused"]:
        raise FetchRefusedError(error["message"], error["reason"])
    if error:
        raise FetchFailedError(error["message"], error["reason"], error["status"])
    return WebResponse(
        answer.data["status"],
        tuple((name, value) for name, value in answer.data["headers"]),
        answer.body,
        answer.data["wire_bytes"],
        answer.data["complete"],
    )
