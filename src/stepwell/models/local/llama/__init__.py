"""llama.cpp in this process: `server` starts it (and is the only module that imports it), `runtime` keeps it loaded and calls it, and
`memory` checks beforehand whether a file can be loaded.
"""
