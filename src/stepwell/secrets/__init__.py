"""What counts as a secret, by its name (`names`) and by its form (`text`): one list for answers, events, checkpoints, logs and trails."""
