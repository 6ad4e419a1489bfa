"""`before_compaction` and `after_compaction`: around the call that summarises a long conversation."""

from __future__ import annotations

from collections.abc import Sequence

from stepwell.middleware.moments.asking import Course, Hook, consult
from stepwell.middleware.moments.base import place_of
from stepwell.middleware.moments.events import CompactionEvent, SummaryEvent
from stepwell.middleware.request import ModelCall


class CompactionHooks:
    """The functions around the call that summarises a conversation."""

    def __init__(self, before: Sequence[Hook], after: Sequence[Hook]) -> None:
        self._before = before
        self._after = after

    def before(self, call: ModelCall, text: str) -> Course:
        """A course that ends with the text to summarise, or with None if there is to be no summary now."""
        event, verdict = yield from consult(
            self._before, CompactionEvent(**place_of(call.request.state, call.request.runtime), text=text)
        )
        return None if verdict else event.text

    def after(self, call: ModelCall, summary: str) -> Course:
        """A course that ends with the summary, or with None if it is refused."""
        event, verdict = yield from consult(
            self._after, SummaryEvent(**place_of(call.request.state, call.request.runtime), text=summary)
        )
        return None if verdict else event.text
