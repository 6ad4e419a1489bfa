"""What every repository must do, as tests.

`conformance` says how a suite for your repository is made; `case` is what the tests stand on; the other modules hold the tests, by what
is kept.
"""
