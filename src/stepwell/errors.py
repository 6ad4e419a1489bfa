"""Every exception Stepwell raises. Who can act on it decides its class.

```
StepwellError
├── ConfigurationError          the programmer, while building
│   ├── ToolNameConflictError   two tools of one name
│   ├── SubAgentSpecError       a subagent that cannot be built
│   ├── MissingExtraError       an optional dependency is not installed
│   └── ModelUnavailableError   no usable model, or an unknown provider
├── ToolUseError                the model: becomes a ToolMessage(status="error")
├── BackendError                storage; `retryable` says whether trying again can help
│   └── VersionConflictError    somebody else changed the file in between
├── RunError                    the caller of a run
├── PaymentError                the payer
└── AccessError                 the visitor
```

A message names the thing, the fact and the way out, and never holds a secret or a path of the host. Pausing is not an error:
LangGraph's bubble-up exceptions are never caught.
"""

from __future__ import annotations


class StepwellError(Exception):
    """The root of the tree above."""


class ConfigurationError(StepwellError):
    """The agent cannot be built as asked; the message says what to change."""


class ToolNameConflictError(ConfigurationError):
    """Two tools of one name would silently hide one another."""

    def __init__(self, name: str, first_owner: str, second_owner: str) -> None:
        self.name = name
        self.owners = (first_owner, second_owner)
        super().__init__(
            f"Two tools are named '{name}': one from {first_owner}, one from {second_owner}. "
            "Rename one of them, or replace the middleware that brings the other."
        )


class SubAgentSpecError(ConfigurationError):
    """A subagent's description is incomplete or contradicts itself."""


class MissingExtraError(ConfigurationError):
    """Something optional was asked for that is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        self.extra = extra
        super().__init__(f"{what} needs an extra that is not installed. Install it with: pip install 'stepwell[{extra}]'")


class ModelUnavailableError(ConfigurationError):
    """No model can be had: none configured, or a provider nobody knows."""


class ToolUseError(StepwellError):
    """A tool was used in a way that cannot work; the text is written for the model."""


class BackendError(StepwellError):
    """Storage failed."""

    retryable = False


class VersionConflictError(BackendError):
    """The file is no longer the one that was read."""

    retryable = True


class RunError(StepwellError):
    """A run cannot be started, resumed or found."""


class PaymentError(StepwellError):
    """Money is missing or not acceptable."""


class AccessError(StepwellError):
    """The visitor may not do this, or may not know whether the thing exists."""
