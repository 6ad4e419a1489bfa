"""What a request may bring and from where: the size and pace of its head, the size, depth and numbers of its body, its host, its origin,
the proxies before the server, and how many streams a user may hold open.

Plain ASGI layers; `layers` has their order. Wrong credentials are limited in `login.throttle`. Importing this package imports nothing.
"""
