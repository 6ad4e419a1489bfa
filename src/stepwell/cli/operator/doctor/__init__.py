"""`stepwell doctor`: finds the likeliest problems of an installation, says why each is one, and what mends it.

| module | what is checked |
|---|---|
| `models` | the model that would be used, keys, packages of providers, embedded models, model servers |
| `environment` | `.env`, names and values of variables, certificates, proxies |
| `machine` | Python, programs, extras, files with secrets, limits of the system |
| `storage` | data folder, database, Redis, object storage |
| `graphs` | `langgraph.json` and its graphs |
| `server` | the port, the server that runs there, its runs, the web page |

A check is a function from an `Installation` to `Finding`s, listed in the `CHECKS` of its module; `command` runs all of them.
`docs/reference/doctor.md` has the same list, which a test compares.

Rules to keep: a check changes no setting and no data (it may take a lock or a port for a moment). Without `--online`, no check sends
anything to another machine, except to the installation's own database and Redis. No finding contains a secret.
"""
