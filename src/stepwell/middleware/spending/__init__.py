"""What `BudgetMiddleware` counts with: the sums of a run and its ceilings (`sums`), the callback that hears every model call
(`meter`), and what calls that run side by side hold of a ceiling (`reservations`).
"""
