"""The Agent Client Protocol (version 1), with which editors talk to an agent over the standard input and output of its process.

```
editor ⇄ stdio ⇄ agent (EditorAgent) ─ one Conversation per session ─ Session of `terminal.dialogue`, as in `stepwell chat`
                                        updates    what a run does        -> session/update
                                        questions  its interrupts         -> session/request_permission, or a question in words
                                        replay     a stored thread        -> session/update, for session/load
                                        prompts    what the person sends  -> a message
```
There is no second engine: a session is a thread, a prompt is a run. `cli.acp` decides where threads live.
"""
