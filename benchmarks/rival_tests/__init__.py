"""Runs tests of deepagents against this project, under an alias package that gives our names theirs.

```
python -m benchmarks.rival_tests PATH/TO/deepagents [skills] [memory] [permissions] [rubric] [-v]
```
PATH is a checkout of their repository. Nothing of it is part of this project: the tests are copied to a temporary folder and run there with
`alias/deepagents` in place of their package.
"""
