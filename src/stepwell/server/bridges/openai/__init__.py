"""Assistants as models of an OpenAI-compatible endpoint: `/v1/models` and `/v1/chat/completions`.

```
request ─> requests.read ─> Conversation ─┬─ begin: the client's whole conversation, on a thread of its own
                                          ├─ begin: its new messages, on the thread that it names
                                          └─ answer: its last message, to the question that the thread waits for
         turn ─> completions ─> one completion, or chunks and [DONE]
```
The conversation is the client's: it sends all of it each time, and the run is stateless. A client that names a thread (`X-Thread-Id`, or
`metadata.thread_id`) continues that thread instead.

A question of the assistant is text. A thread that waits is named at the end of this text, in a Markdown comment that chat programs keep
and do not show, so the person's next message is the answer, in any chat program (`marks`).
"""
