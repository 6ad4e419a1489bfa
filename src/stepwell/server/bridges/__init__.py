"""Protocols of other people, over the same engine, threads and assistants as our own API. None of them stores anything of its own.

```
mcp, openai, a2a ─> turns ─> engine, threads, assistants
```
`turns` is what they share: begin a turn, follow it, answer its questions. `stepwell.answers.typed` puts a question into words, and reads a
line as its answer.
"""
