"""What a run sent and what came back.

```
recording.py   every request, recorded before it is sent, with its answer      replay.py     the answers again, without a network
receipt.py     what was sent, for a reader                                     refusals.py   what a rule stopped
redaction.py   keeps secrets out of all of it
```
"""
