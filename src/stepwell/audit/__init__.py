"""Evidence: what a run has read, said and sent, kept so that a reader can check it without trusting anybody.

```
evidence.py    Source, Quote, Claim                    trail.py      entries, each sealed by the hash of the one before
vault.py       where both are kept (a protocol)        memory_vault.py, folder_vault.py   two such places
quoting.py     passages and their offsets              facts/        numbers, dates, names, directions of a sentence
checks.py      what a machine can say about a claim    judge.py      what it takes judgement for
verdicts.py    both together                           report.py     sentences with numbered references
recording.py   every request once, with its answer     replay.py     the answers again, without a network
receipt.py, refusals.py   what left, what was not sent  bundle.py, verify.py   all of it in one file, and its proof
story.py       which entries led to the report, where a thread has branches
```

Nothing here imports LangGraph or LangChain, sends a request, or calls a model.
"""
