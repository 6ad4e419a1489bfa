"""Arguments of tool calls that are nearly right: read as JSON (`nearly_json`), fitted to the tool's schema (`fitting`), and put back into
the model's answer (`mending`).
"""
