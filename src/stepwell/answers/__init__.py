"""What an answer to an interrupt must look like: one rule per kind of question, in one table (`shapes`).

`approvals`, `clarification`, `client_tools`, `elicitation` and `payment` are the kinds of question that the library asks. `asking`
asks a question until an answer fits; `schemas` checks an answer against a JSON schema.
"""

from stepwell.answers.approvals import approvals_fault, approvals_schema
from stepwell.answers.asking import FindFault, ask, ask_again, mark_schema
from stepwell.answers.shapes import AnswerShapes

__all__ = ["AnswerShapes", "FindFault", "approvals_fault", "approvals_schema", "ask", "ask_again", "mark_schema"]
