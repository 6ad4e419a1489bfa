"""The errors of A2A: each has a code for JSON-RPC and a reason for programs."""

from __future__ import annotations

from typing import Any

from stepwell.errors import StepwellError

_DOMAIN = "a2a-protocol.org"
_ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"

REASONS = {
    -32700: "PARSE_ERROR",
    -32600: "INVALID_REQUEST",
    -32601: "METHOD_NOT_FOUND",
    -32602: "INVALID_PARAMS",
    -32603: "INTERNAL",
    -32001: "TASK_NOT_FOUND",
    -32002: "TASK_NOT_CANCELABLE",
    -32003: "PUSH_NOTIFICATION_NOT_SUPPORTED",
    -32004: "UNSUPPORTED_OPERATION",
    -32005: "CONTENT_TYPE_NOT_SUPPORTED",
    -32009: "VERSION_NOT_SUPPORTED",
}
(
    PARSE_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    INVALID_PARAMS,
    INTERNAL,
    TASK_NOT_FOUND,
    TASK_NOT_CANCELABLE,
    PUSH_NOT_SUPPORTED,
    UNSUPPORTED_OPERATION,
    CONTENT_NOT_SUPPORTED,
    VERSION_NOT_SUPPORTED,
) = REASONS


class A2AFault(StepwellError):
    """A call that cannot be answered; the text is for the caller."""

    def __init__(self, code: int, text: str) -> None:
        self.code = code
        super().__init__(text)

    def wire(self) -> dict[str, Any]:
        info = {"@type": _ERROR_INFO, "reason": REASONS[self.code], "domain": _DOMAIN}
        return {"code": self.code, "message": str(self), "data": [info]}
