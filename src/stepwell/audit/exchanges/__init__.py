"""What a run sent and what came back.

```
recording.py   every request written down before it leaves, with its answer    replay.py     the answers again, without a network
receipt.py     what left the machine, for a reader                             refusals.py   what a rule kept back
redaction.py   no secret in any of it
```
"""
