"""What research may do.

```
rules.py             the rules, and how they apply to a step, an address or a text
file.py, POLICY.md   the Markdown file they are read from, and the default one
spellings.py         the spellings in which a text could slip past the rules
shown_addresses.py   which addresses an agent has been shown, for agents that fetch freely
```
"""
