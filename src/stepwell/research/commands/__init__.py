"""`stepwell research`, and the commands for its evidence: `show`, `verify`, `replay` and `export`.

`command` runs a research in this process or on a server (`on_server`), `options` checks the options before anything starts, `gate` asks
a person to approve the plan and the sources, `progress` shows what happens. Importing this package imports nothing; `--help` imports
`arguments`, which must stay light.
"""
