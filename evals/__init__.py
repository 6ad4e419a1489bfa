"""How well agents on this harness do real tasks, with the model you have. Nothing here is part of the package.

```
run       options -> capable (is there a model for it?) -> trial x times, for each of tasks -> report
```
A task passes or fails by a check in Python over what the agent did; no model judges another one.
"""
