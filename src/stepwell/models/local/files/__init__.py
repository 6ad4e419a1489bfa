"""The files of local models: fetched completely and verified, or not at all (`fetching`), from a model hub (`hub`) or from a wheel
(`wheel`).
"""
