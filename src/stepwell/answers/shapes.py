"""The table of answers: kind of question -> its rule.

| question of ours | its answer |
|---|---|
| `action_requests` (approvals, in LangChain's form) | `{"decisions": [...]}`, one per request, in order |
| `clarification_request` | `{"response": ...}`, or `{"selected": [...], "freeform": ...}` if there are options |
| `client_tool_execution` | `{"tool_results": [...]}`, one per call |
| `mcp_elicitation` | `{"action": "accept", "content": {...}}`, or `decline`, or `cancel` |
| `payment_exhausted` | `{"funding_id": ...}` of a session that pays, or `{"cancel": true}` |
| a `type` that an application has a rule for | what that rule says |

| another graph's question | its answer |
|---|---|
| one with a `response_schema` | what the schema says |
| anything else, whatever its `type` | any JSON |

Our questions are recognised by a mark (`asking.is_ours`), never by their words alone. An answer is checked twice: where it is received
from outside, and where the question is asked, so that LangGraph does not store an invalid one. A rejected answer leaves its question
open, under the same id.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from stepwell.answers.approvals import approvals_fault
from stepwell.answers.asking import ACTION_REQUESTS, FindFault, Json, is_ours, kind_of
from stepwell.answers.clarification import CLARIFICATION_REQUEST, clarification_fault
from stepwell.answers.client_tools import CLIENT_TOOL_EXECUTION, client_tools_fault
from stepwell.answers.elicitation import MCP_ELICITATION, elicitation_fault
from stepwell.answers.payment import PAYMENT_EXHAUSTED, payment_fault
from stepwell.answers.schemas import schema_fault
from stepwell.errors import AnswerShapeError

_log = logging.getLogger(__name__)

RULES: Mapping[str, FindFault] = {
    ACTION_REQUESTS: approvals_fault,
    CLARIFICATION_REQUEST: clarification_fault,
    CLIENT_TOOL_EXECUTION: client_tools_fault,
    MCP_ELICITATION: elicitation_fault,
    PAYMENT_EXHAUSTED: payment_fault,
}
"""The kinds that the library itself asks."""


class AnswerShapes:
    """The table: kind of question -> its rule. An application adds its own kinds."""

    def __init__(self, more: Mapping[str, FindFault] | None = None) -> None:
        self._rules: Mapping[str, FindFault] = {**RULES, **(more or {})}

    def require(self, interrupt_id: str, question: Any, answer: Any, schema: Json | None = None) -> None:
        """Reject an answer that does not fit its question.

        Raises:
            AnswerShapeError: With a message that says what to send.
        """
        if fault := self._find_fault(question, answer, schema):
            raise AnswerShapeError(f"{fault} The question '{interrupt_id}' is still open.", (interrupt_id,))

    def _find_fault(self, question: Any, answer: Any, schema: Json | None) -> str | None:
        rule = self._rules.get(kind_of(question)) if is_ours(question, schema) else None
        try:
            if rule:
                return rule(question, answer)
        except Exception as error:
            # Our own questions fit their rules, so another graph has copied our mark, and its question is checked like any other.
            _log.warning("a question has the mark of '%s' without its form: %s", kind_of(question), type(error).__name__)
        return schema_fault(schema, answer) if schema else None
