"""What research may do.

```
rules.py             the rules, and what they have against a step, an address or a text
file.py, POLICY.md   the Markdown file they are read from, and the default one
spellings.py         the spellings in which a text could slip past them
shown_addresses.py   which addresses somebody has shown, for agents that are free in what they fetch
```
"""
