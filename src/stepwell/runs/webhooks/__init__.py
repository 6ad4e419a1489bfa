"""Notifying a caller's own server that a run has ended.

`rules` defines where a webhook may go, `sender` delivers messages that are due, `signing` lets the receiver check that a message comes from
here. The messages themselves are in the database, written in the transaction that ends the run.
"""

from stepwell.runs.webhooks.signing import verify_signature

__all__ = ["verify_signature"]
