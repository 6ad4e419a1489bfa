"""What the run queue must do on every database, as tests.

`conformance` holds the rules of `stepwell.database.queue.run_queue`; `unfinished` is about runs that are handed back, fail or are stopped;
`workers` is about two workers at once, and one that is not heard of any more; `case` is what the tests stand on.
"""
