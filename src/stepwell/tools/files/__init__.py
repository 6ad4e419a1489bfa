"""The file tools of an agent: the tools themselves (`tools`), what the model reads after each (`results`), and the order among the
changes that one model turn asks for (`order`).
"""
