"""`stepwell acp`: an agent for editors. `arguments` chooses between `here` (threads in files of this machine) and `on_server`.

`folder_agent` is the agent that works on the folder which the editor has open; `terminal.acp` is the protocol. Importing this package
imports nothing, so that `--help` stays fast.
"""
