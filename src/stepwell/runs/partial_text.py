"""The text of an answer that was stopped: kept in the thread, marked as unfinished, so that it is neither lost nor taken for whole."""

from __future__ import annotations

import logging
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.errors import InvalidUpdateError
from langgraph.pregel import Pregel

from stepwell.runs.events import PartialMessage

logger = logging.getLogger(__name__)

CANCELLED = "cancelled"
"""The `finish_reason` of an answer that was stopped."""
_MESSAGES = "messages"


class PartialText:
    """Remembers the newest answer under way at the root of a graph."""

    def __init__(self) -> None:
        self._newest: PartialMessage | None = None

    def note(self, partial: PartialMessage) -> None:
        self._newest = partial

    async def keep(self, graph: Pregel[Any, Any, Any, Any], thread_id: str) -> Any | None:
        """Write the unfinished answer into the thread's messages. Gives the thread's values, or `None` if there was none."""
        partial = self._newest
        if partial is None or partial.done or not partial.text or _MESSAGES not in graph.channels:
            return None
        message = AIMessage(partial.text, id=partial.message_id, response_metadata={"finish_reason": CANCELLED})
        config: Any = {"configurable": {"thread_id": thread_id}}
        try:
            await graph.aupdate_state(config, {_MESSAGES: [message]}, as_node=partial.node)
        except InvalidUpdateError:
            # A state whose messages are not a list of messages: the text stays in the run's events only.
            logger.info("the text of a stopped answer does not fit the graph's state", exc_info=True)
            return None
        snapshot = await graph.aget_state(config)
        return snapshot.values
