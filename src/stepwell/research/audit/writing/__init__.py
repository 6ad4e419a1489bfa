"""From a model's draft to a report.

```
draft.py    the draft as sentences, with the evidence they cite    links.py        removes the model's own links
report.py   verdicts decide which sentences stay                   references.py   the list of sources, written and checked by code
```
"""
