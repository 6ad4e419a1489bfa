"""The file tools of an agent: the tools themselves (`tools`), the texts that the model reads after each (`results`), and the order of
changes within one model turn (`order`).
"""
