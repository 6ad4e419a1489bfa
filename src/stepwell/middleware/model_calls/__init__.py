"""What `RobustCallsMiddleware` makes of one model call: how long it may take (`deadlines`), whether its stream came to its end
(`stream_watch`), what went wrong with it (`faults`), and threads for calls that may never come back (`side_threads`).
"""
