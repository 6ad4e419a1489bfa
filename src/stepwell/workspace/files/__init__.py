"""Files of workspaces over HTTP: `place` says whose they are and where, `uploads` takes large ones in parts, `shares` keeps one tenant from
using up what all need. The routes are in `http/files.py`."""
