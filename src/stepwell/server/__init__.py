"""HTTP over `stepwell.runs`: routes, who may use them, and limits. It imports no application and no agent.

Importing this package loads no web framework; `stepwell.server.app` does.
"""
