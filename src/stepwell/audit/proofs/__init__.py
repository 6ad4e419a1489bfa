"""What `verify.py` looks at, one matter each. Every function is given the opened bundle and yields what is wrong with it.

```
opened.py      the bundle, read as far as it can be        contents.py    bytes, manifest, signature, members, quotes
sentences.py   the report against its claims               judgements.py  claims against the checks and the judge
exchanges.py   answers against requests, pages against answers, requests against approved plans
plans.py       approvals against plans, plans against questions
```
"""
