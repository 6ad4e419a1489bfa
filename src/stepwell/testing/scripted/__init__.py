"""`ScriptedModel`: a chat model that plays a script.

`model` is the model, `replies` what a turn can be, `scripts` which turn comes next, `asked` what the model was asked, `playing` its state
during a run, `chunks` a message as a stream.
"""
