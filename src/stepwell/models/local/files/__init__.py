"""The files of local models: fetched whole and checked, or not at all (`fetching`), from a model hub (`hub`) or out of a wheel
(`wheel`).
"""
