"""From a model's draft to a report.

```
draft.py    the draft as sentences, with the evidence they cite    links.py        the model's own links taken out
report.py   verdicts decide which sentences stand                  references.py   the list of sources, written and checked by code
```
"""
