"""llama.cpp in this process: started by `server` (the only module that imports it), kept and asked by `runtime`; `memory` says
beforehand whether a file can be loaded.
"""
