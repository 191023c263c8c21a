"""What a mirror does with a micro-batch: compare it with the cursor, decode and net it on the executors."""
