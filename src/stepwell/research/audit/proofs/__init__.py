"""What `verify.py` checks, one subject per module. Every function gets the opened bundle and yields what is wrong with it.

```
opened.py      the bundle, read as far as possible         contents.py    bytes, manifest, signature, members, quotes
sentences.py   the report against its claims               judgements.py  claims against the checks and the judge
exchanges.py   compares answers with requests, pages with answers, requests with approved plans
plans.py       approvals against plans, plans against questions
```
"""
