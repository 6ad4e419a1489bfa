"""Evidence at work: what an application needs to research something so that a stranger can check it.

```
equipment.py     what is made once for a graph            inquiry.py      one question at work: its scope, ways out and ceilings
policy/          what is allowed                          recorded/       the web and the models, nothing leaves unwritten
queries.py       what to search for, by rules             gathering.py    a step of a plan: search and read
sources.py       pages become sources, s1, s2 ...         side_by_side.py work that ends together
selecting.py, quotable.py   which passages to quote       extractive.py   a report made of quotes alone
asking.py, prompting.py     ask a model for a form        judging.py      ask a model whether quotes bear a sentence out
```

It builds no graph and knows no application. What a reader checks afterwards is `audit`.
"""
