"""The parts of `RobustCallsMiddleware`: how long a model call may take (`deadlines`), whether its stream was complete (`stream_watch`),
what went wrong (`faults`), and threads for calls that may never return (`side_threads`).
"""
