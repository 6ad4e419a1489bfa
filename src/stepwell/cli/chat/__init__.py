"""`stepwell chat`: `arguments` chooses between `command`, for a plain agent in this process, the chat of a product (`Product.chats`), and
`on_server`, for an assistant on a server. All of them use `terminal.chat`.

Importing this package imports nothing, so that `--help` stays fast.
"""
