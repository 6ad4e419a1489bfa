"""What every checkpoint saver must do, as tests.

`conformance` says how a suite for your saver is made; `case` is what the tests stand on; the other modules hold the tests, by what a
saver does.
"""
