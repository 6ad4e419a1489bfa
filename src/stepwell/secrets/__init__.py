"""What counts as a secret, by its name (`names`) and by its form (`text`): one list for responses, events, checkpoints, logs and
trails. `values` finds secrets in a run's input."""
