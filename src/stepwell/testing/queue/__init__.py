"""What every run queue must do, as tests.

`conformance` says how a suite for your queue is made and holds the rules of `stepwell.runs.queue`; `unfinished` is about runs that are
handed back, fail or are stopped; `case` is what the tests stand on.
"""
