"""`stepwell research` and what is done with its evidence: `verify`, `replay` and `export`.

`command` runs a research in this process or on a server (`on_server`), `options` checks what is asked for before anything begins,
`gate` puts the plan and the sources to a person, `progress` shows what happens. Importing this package imports nothing; `arguments` is
read for `--help` and must stay light.
"""
