"""Returns the answers of a recording, without a network or a model.

Requests are identified by what they ask, not by their keys, so a replay may run in a thread with another id. If the same request was made
twice, its two answers are returned in order.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

from stepwell.errors import BundleError, NotRecordedError
from stepwell.research.audit.exchanges.recording import Outgoing, RecordedReply
from stepwell.research.audit.exchanges.redaction import without_secrets_in_url


class Replay:
    """Answers requests from a recording. Use it as the `send` of a `Recorder` on a fresh vault."""

    def __init__(self, recording: bytes, read_body: Callable[[str], bytes]) -> None:
        """`recording` is `recording.jsonl`; `read_body` returns stored bytes by their sha256."""
        self._read_body = read_body
        self._answers: dict[str, deque[dict[str, Any]]] = defaultdict(deque)
        for number, line in enumerate(recording.splitlines(), 1):
            try:
                recorded = json.loads(line)
                self._answers[recorded["fingerprint"]].append(recorded)
            except (ValueError, KeyError, TypeError) as error:
                raise BundleError(f"Line {number} of the recording is not an answer. Verify the bundle.") from error

    async def answer(self, outgoing: Outgoing) -> RecordedReply:
        """The next recorded answer to this request; `NotRecordedError` if there is none."""
        asked = f"{outgoing.method.upper()} {without_secrets_in_url(outgoing.url)[:200]}"
        answers = self._answers.get(outgoing.fingerprint())
        if answers is None:
            raise NotRecordedError(
                f"The recording has no answer to {asked}"
                f" (step '{outgoing.step}'). A replay must ask what the recorded run asked: use the same version and settings."
            )
        if not answers:
            raise NotRecordedError(f"{asked} was asked more often than the recorded run asked it.")
        recorded = answers.popleft()
        return RecordedReply(recorded["answer"], self._read_body(recorded["body_sha256"]))

    @property
    def unused(self) -> int:
        """How many answers have not been used; zero after a complete replay."""
        return sum(map(len, self._answers.values()))
