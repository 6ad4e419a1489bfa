"""Limits on requests: the size and duration of the head; the size, depth and numbers of the body; the host; the origin; trusted proxies;
and how many streams a user may have open.

Plain ASGI layers; `layers` defines their order. `login.throttle` limits wrong credentials. Importing this package imports nothing.
"""
