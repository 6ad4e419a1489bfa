"""Assistants as tools of an MCP server, over streamable HTTP (`/mcp`).

```
POST initialize, ping, tools/list   messages, tools    -> JSON
POST tools/call                     calls              -> JSON, or a stream: progress, questions, the result
POST an answer to a question        elicitation        -> 202, from any server
POST notifications/cancelled        calls              -> 202, from any server
GET  with Last-Event-ID             calls              -> the rest of a call's stream
```
Nothing is kept between requests. A session's id says what its client can do; a call is found by the session and its id (the table of
`Idempotency-Key`); a question's id names its thread and interrupt; an event's id names its run and its place in the journal.
"""
