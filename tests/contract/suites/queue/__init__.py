"""What every run queue must do, as tests.

`conformance` says how a suite for your queue is made and holds the rules of `stepwell.database.queue.types`; `unfinished` is about runs that are
handed back, fail or are stopped; `workers` is about two workers at once, and one that is
not heard of any more; `case` is what the tests stand on.
"""
