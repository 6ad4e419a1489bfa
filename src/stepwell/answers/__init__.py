"""What an answer to an interrupt must look like: one rule for each kind of question, kept in one table (`shapes`).

`approvals`, `clarification`, `client_tools` and `payment` are the kinds that the library asks; `asking` asks, and refuses an answer that
does not fit.
"""

from stepwell.answers.approvals import approvals_fault, approvals_schema
from stepwell.answers.asking import FindFault, ask, mark_schema
from stepwell.answers.shapes import AnswerShapes

__all__ = ["AnswerShapes", "FindFault", "approvals_fault", "approvals_schema", "ask", "mark_schema"]
