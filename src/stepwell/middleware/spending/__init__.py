"""The parts of `BudgetMiddleware`: a run's totals and limits (`sums`), the callback that sees every model call (`meter`), and what
concurrent calls reserve of a limit (`reservations`).
"""
