"""`stepwell research` and what is done with its evidence: `verify`, `replay` and `export`.

`command` runs a research in this process or on a server, `gate` puts its plan to a person. Importing this package imports nothing;
`arguments` is read for `--help` and must stay light.
"""
