"""`stepwell chat`: `arguments` chooses between `command` (a plain agent in this process), the chat of a product (`Product.chats`) and
`on_server` (an assistant on a server). All of them use `terminal.chat`.

Importing this package imports nothing, so that `--help` stays fast.
"""
