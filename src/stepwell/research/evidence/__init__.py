"""Evidence: what an application needs to research something so that a stranger can check it.

```
equipment.py     what is built once per graph             inquiry.py      one open question: its scope, connections and ceilings
policy/          what is allowed                          recorded/       the web and the models; records every request first
queries.py       what to search for, by rules             gathering.py    a step of a plan: search and read
sources.py       pages become sources, s1, s2 ...         side_by_side.py concurrent work that ends together
selecting.py, quotable.py   which passages to quote       extractive.py   a report made of quotes alone
asking.py, prompting.py     ask a model for a form        judging.py      ask a model whether quotes support a sentence
```

It builds no graph and knows no application. Afterwards, a reader checks the result with `audit`.
"""
