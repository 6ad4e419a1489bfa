"""What Stepwell's speed claims rest on: one module per claim, run by `python benchmarks/run.py`.

`docs/benchmarks.md` says what is measured and how. Nothing here is part of the package.
"""
