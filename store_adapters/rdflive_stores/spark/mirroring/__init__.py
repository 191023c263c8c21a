"""The steps of a mirror's micro-batch: compare it with the cursor, then decode and net it on executors."""
