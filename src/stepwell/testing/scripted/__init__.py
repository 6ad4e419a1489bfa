"""`ScriptedModel`: a chat model that plays a script.

`model` is the model, `replies` the possible turns, `scripts` decides which turn comes next, `asked` records the calls, `playing` is the
state during a run, `chunks` turns a message into a stream.
"""
