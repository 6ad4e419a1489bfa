"""Evidence: what a run has read, said and sent, stored so that a reader can check it without trusting anyone.

```
evidence.py    Source, Quote, Claim                      ledger.py     how they are written to the trail and read from it
trail.py       entries, each sealed by the one before    vault.py      where trail and bytes are stored (a protocol)
memory_vault.py, folder_vault.py (trail_file.py)         two implementations
exchanges/     requests and answers: recorded, replayed, refused, and the receipt of what was sent
quoting.py, sentences.py   passages and their offsets    facts/        figures, dates, names and directions of a sentence
checks.py      what a machine can say about a claim      judge.py      what needs judgement
verdicts.py    both together                             writing/      from a draft to a report with numbered references
bundle.py, container.py    all of it in one file         verify.py     checks it
forms.py       which fields an entry of each kind has    limits.py, checking_process.py   how much is checked, how long, and where
story.py       which entries led to the report, where a thread has branches
excerpts.py    documents on the user's device, from the excerpts that came with a question
export/        the report as a page, PDF, Word or Markdown
```

Nothing here imports LangGraph or LangChain, sends a request, or calls a model.
"""
